//! Which GPUs a program may see.

use super::{Card, told};
use crate::Absent;
use hodo_format::machine::part;

/// Which GPUs are to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Visible {
    /// Every one that NVML shows, which in a container are those it was given.
    All,
    /// Those that CUDA shows a program.
    Named {
        /// The text of `CUDA_VISIBLE_DEVICES`.
        list: String,
        /// Whether CUDA numbers them as NVML does, by PCI bus: `CUDA_DEVICE_ORDER` says so. Else it
        /// numbers them by speed.
        is_pci_order: bool,
    },
}

/// GPUs that were chosen, and what the choice does not say.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) cards: Vec<Card>,
    pub(super) notes: Vec<Absent>,
}

impl Visible {
    /// Those that CUDA shows this process. Where several ranks share a host each may see another
    /// one, and whoever samples for all of them reads all.
    pub fn from_env(read: impl Fn(&str) -> Option<String>) -> Visible {
        let number = |name: &str| read(name).and_then(|text| text.trim().parse::<u32>().ok());
        let ranks = ["LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_NTASKS_PER_NODE"];
        let is_shared = ranks.iter().filter_map(|name| number(name)).any(|ranks| ranks > 1);
        let is_pci_order = read("CUDA_DEVICE_ORDER").is_some_and(|order| order == "PCI_BUS_ID");
        match read("CUDA_VISIBLE_DEVICES") {
            Some(list) if !is_shared => Visible::Named { list, is_pci_order },
            _ => Visible::All,
        }
    }

    /// Those of `cards` that are visible, in NVML's order; `parent` finds the UUID of the GPU that a
    /// MIG instance is part of.
    pub(super) fn choose(
        &self,
        cards: Vec<Card>,
        parent: &dyn Fn(&str) -> Option<String>,
    ) -> Chosen {
        let Visible::Named { list, is_pci_order } = self else {
            return Chosen { cards, notes: Vec::new() };
        };
        // CUDA ends the list at the first word that names no device.
        let words = list.split(',').map(str::trim);
        let found: Vec<(Name<'_>, &Card)> =
            words.map_while(|word| find(&cards, Name::parse(word)?, parent)).collect();
        let mut chosen: Vec<Card> = found.iter().map(|(_, card)| (*card).clone()).collect();
        chosen.sort_by_key(|card| card.index);
        chosen.dedup();
        let by_number = found.iter().any(|(name, _)| matches!(name, Name::Number(_)));
        let has_mig = found.iter().any(|(name, _)| matches!(name, Name::Mig(_)));
        let mut notes: Vec<Absent> = has_mig.then(whole_gpus).into_iter().collect();
        let is_mixed = cards.iter().any(|card| card.name != cards[0].name);
        if by_number && is_mixed && !is_pci_order && chosen.len() < cards.len() {
            notes.push(unknown_numbers(list));
            chosen = cards;
        }
        Chosen { cards: chosen, notes }
    }
}

/// What a word of the list is.
#[derive(Clone, Copy)]
enum Name<'a> {
    Number(u32),
    /// The start of a GPU's UUID.
    Gpu(&'a str),
    Mig(&'a str),
}

impl Name<'_> {
    fn parse(word: &str) -> Option<Name<'_>> {
        match word {
            _ if word.starts_with("MIG-") => Some(Name::Mig(word)),
            _ if word.starts_with("GPU-") => Some(Name::Gpu(word)),
            _ => word.parse().ok().map(Name::Number),
        }
    }
}

/// The GPU that a name means.
fn find<'a, 'n>(
    cards: &'a [Card],
    name: Name<'n>,
    parent: &dyn Fn(&str) -> Option<String>,
) -> Option<(Name<'n>, &'a Card)> {
    let card = match name {
        Name::Number(number) => cards.iter().find(|card| card.index == number),
        Name::Gpu(start) => beginning(cards, start),
        Name::Mig(word) => match word.strip_prefix("MIG-GPU-") {
            // Older drivers put the GPU's UUID in front: `MIG-GPU-UUID/1/0`.
            Some(_) => beginning(cards, word["MIG-".len()..].split('/').next()?),
            None => beginning(cards, &parent(word)?),
        },
    };
    Some((name, card?))
}

/// The GPU whose UUID begins so; a start that two share names none.
fn beginning<'a>(cards: &'a [Card], start: &str) -> Option<&'a Card> {
    let mut matching = cards.iter().filter(|card| card.uuid.starts_with(start));
    let first = matching.next();
    first.filter(|_| matching.next().is_none())
}

fn whole_gpus() -> Absent {
    let why = "CUDA_VISIBLE_DEVICES names MIG instances, which are parts of GPUs; the readings are those of the whole GPUs";
    Absent { part: part::MIG.into(), ..told(why, "") }
}

fn unknown_numbers(list: &str) -> Absent {
    let why = format!(
        "CUDA_VISIBLE_DEVICES={list} names GPUs by number, and CUDA numbers GPUs of different models by their speed; all are read"
    );
    let fix = "set CUDA_DEVICE_ORDER=PCI_BUS_ID, or name the GPUs by their UUID";
    Absent { part: part::GPU_CHOICE.into(), ..told(&why, fix) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cards(names: [&str; 3]) -> Vec<Card> {
        let uuids = ["GPU-aa10", "GPU-aa20", "GPU-bb00"];
        let all = uuids.into_iter().zip(names).zip(0..);
        all.map(|((uuid, name), index)| Card { uuid: uuid.into(), index, name: name.into() })
            .collect()
    }

    fn choose(list: &str, is_pci_order: bool, names: [&str; 3]) -> Chosen {
        let parent = |word: &str| (word == "MIG-77").then(|| "GPU-aa20".to_owned());
        Visible::Named { list: list.into(), is_pci_order }.choose(cards(names), &parent)
    }

    fn chosen(list: &str) -> Vec<u32> {
        let chosen = choose(list, false, ["H"; 3]);
        chosen.cards.iter().map(|card| card.index).collect()
    }

    #[test]
    fn the_list_means_what_cuda_makes_of_it() {
        assert_eq!(chosen("1"), [1]);
        assert_eq!(chosen("2, 0"), [0, 2]);
        assert_eq!(chosen("0,7,1"), [0], "it ends at what names no device");
        assert_eq!(chosen("GPU-bb,GPU-aa1"), [0, 2]);
        assert_eq!(chosen("GPU-aa"), [0; 0], "two begin so");
        assert_eq!(chosen("MIG-GPU-bb00/1/0"), [2]);
        assert_eq!(chosen("MIG-77"), [1]);
        assert_eq!(chosen("0,MIG-78,1"), [0], "one that NVML does not know");
        for none in ["", "-1", "NoDevFiles", "none"] {
            assert_eq!(chosen(none), [0; 0], "{none:?}");
        }
        assert_eq!(Visible::All.choose(cards(["H"; 3]), &|_| None).cards.len(), 3);
    }

    #[test]
    fn a_number_says_nothing_where_models_differ() {
        let mixed = ["H100", "T4", "T4"];
        let chosen = choose("1", false, mixed);
        assert_eq!(chosen.cards.len(), 3, "it may be any");
        assert!(chosen.notes[0].why.contains("CUDA_VISIBLE_DEVICES=1"), "{chosen:?}");
        assert!(chosen.notes[0].fix.contains("PCI_BUS_ID"), "{chosen:?}");
        let by_bus = choose("1", true, mixed);
        assert_eq!((by_bus.cards[0].index, by_bus.cards.len()), (1, 1));
        for clear in ["GPU-bb", "2,1,0", "-1"] {
            assert_eq!(choose(clear, false, mixed).notes, [], "{clear}");
        }
        assert_eq!(by_bus.notes, []);
    }

    #[test]
    fn readings_of_a_mig_instance_are_the_whole_gpus_and_that_is_told() {
        for list in ["MIG-77", "MIG-GPU-bb00/1/0"] {
            let notes = choose(list, false, ["H"; 3]).notes;
            assert!(notes.len() == 1 && notes[0].why.contains("whole GPU"), "{notes:?}");
        }
    }

    #[test]
    fn who_samples_for_several_ranks_reads_every_gpu() {
        let alone = |name: &str| (name == "CUDA_VISIBLE_DEVICES").then(|| "1".to_string());
        let named = |is_pci_order| Visible::Named { list: "1".into(), is_pci_order };
        assert_eq!(Visible::from_env(alone), named(false));
        let ordered = |name: &str| match name {
            "CUDA_DEVICE_ORDER" => Some("PCI_BUS_ID".to_string()),
            name => alone(name),
        };
        assert_eq!(Visible::from_env(ordered), named(true));
        let shared = |name: &str| match name {
            "LOCAL_WORLD_SIZE" => Some("8".to_string()),
            name => alone(name),
        };
        assert_eq!(Visible::from_env(shared), Visible::All);
        assert_eq!(Visible::from_env(|_| None), Visible::All);
    }
}
