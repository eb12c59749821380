//! Which GPUs a program may see.

use super::Card;

/// Which GPUs are to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Visible {
    /// Every one that NVML shows, which in a container are those it was given.
    All,
    /// Those that `CUDA_VISIBLE_DEVICES` names: its text.
    Named(String),
}

impl Visible {
    /// Those that CUDA shows this process. Where several ranks share a host each may see another
    /// one, and whoever samples for all of them reads all.
    pub fn from_env(read: impl Fn(&str) -> Option<String>) -> Visible {
        let number = |name: &str| read(name).and_then(|text| text.trim().parse::<u32>().ok());
        let ranks = ["LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_NTASKS_PER_NODE"];
        let is_shared = ranks.iter().filter_map(|name| number(name)).any(|ranks| ranks > 1);
        match read("CUDA_VISIBLE_DEVICES") {
            Some(text) if !is_shared => Visible::Named(text),
            _ => Visible::All,
        }
    }

    /// Those of `cards` that are visible, in NVML's order.
    pub(super) fn choose(&self, cards: Vec<Card>) -> Vec<Card> {
        let Visible::Named(text) = self else { return cards };
        // CUDA ends the list at the first word that names no device.
        let named: Vec<&str> = text.split(',').map(str::trim).collect();
        let found = named.iter().map_while(|word| find(&cards, word));
        let mut chosen: Vec<Card> = found.cloned().collect();
        chosen.sort_by_key(|card| card.index);
        chosen.dedup();
        chosen
    }
}

/// The GPU that a word of the list names: by number, or by the start of its UUID. A MIG instance is
/// named `MIG-GPU-UUID/...` by older drivers, which names its GPU too.
fn find<'a>(cards: &'a [Card], word: &str) -> Option<&'a Card> {
    if let Ok(number) = word.parse::<u32>() {
        return cards.iter().find(|card| card.index == number);
    }
    let word = word.strip_prefix("MIG-").unwrap_or(word);
    let uuid = word.split('/').next().filter(|uuid| uuid.starts_with("GPU-"))?;
    let mut matching = cards.iter().filter(|card| card.uuid.starts_with(uuid));
    let first = matching.next();
    // A start that two GPUs share names none.
    first.filter(|_| matching.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cards() -> Vec<Card> {
        let card = |(index, uuid): (u32, &str)| Card { uuid: uuid.into(), index, name: "H".into() };
        [(0, "GPU-aa10"), (1, "GPU-aa20"), (2, "GPU-bb00")].map(card).into()
    }

    fn chosen(text: &str) -> Vec<u32> {
        Visible::Named(text.into()).choose(cards()).iter().map(|card| card.index).collect()
    }

    #[test]
    fn the_list_means_what_cuda_makes_of_it() {
        assert_eq!(chosen("1"), [1]);
        assert_eq!(chosen("2, 0"), [0, 2]);
        assert_eq!(chosen("0,7,1"), [0], "it ends at what names no device");
        assert_eq!(chosen("GPU-bb,GPU-aa1"), [0, 2]);
        assert_eq!(chosen("GPU-aa"), [0; 0], "two begin so");
        assert_eq!(chosen("MIG-GPU-bb00/1/0"), [2]);
        for none in ["", "-1", "NoDevFiles", "none"] {
            assert_eq!(chosen(none), [0; 0], "{none:?}");
        }
        assert_eq!(Visible::All.choose(cards()).len(), 3);
    }

    #[test]
    fn who_samples_for_several_ranks_reads_every_gpu() {
        let alone = |name: &str| (name == "CUDA_VISIBLE_DEVICES").then(|| "1".to_string());
        assert_eq!(Visible::from_env(alone), Visible::Named("1".into()));
        let shared = |name: &str| match name {
            "CUDA_VISIBLE_DEVICES" => Some("1".to_string()),
            "LOCAL_WORLD_SIZE" => Some("8".to_string()),
            _ => None,
        };
        assert_eq!(Visible::from_env(shared), Visible::All);
        assert_eq!(Visible::from_env(|_| None), Visible::All);
    }
}
