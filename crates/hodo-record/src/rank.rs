//! Which rank of a distributed job this process is, from its launcher's variables.

/// A process's place in a distributed job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rank {
    /// Its number among all.
    pub rank: Option<u64>,
    /// Its number on this machine.
    pub local_rank: Option<u64>,
    /// How many there are.
    pub world_size: Option<u64>,
    /// What all ranks of one job share; names their common run.
    pub job: Option<String>,
}

/// Launchers in the order they are asked: rank, local rank, world size, job.
const LAUNCHERS: [(&str, &str, &str, &[&str]); 4] = [
    ("RANK", "LOCAL_RANK", "WORLD_SIZE", &["TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"]),
    (
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_SIZE",
        &["PMIX_NAMESPACE"],
    ),
    ("PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE", &["HYDI_CONTROL_FD"]),
    ("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", &["SLURM_JOB_ID", "SLURM_STEP_ID"]),
];

impl Rank {
    /// Reads the launcher's variables.
    pub fn detect(read: impl Fn(&str) -> Option<String>) -> Rank {
        let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
        for (rank, local, world, job) in LAUNCHERS {
            let Some(rank) = number(rank) else { continue };
            return Rank {
                rank: Some(rank),
                local_rank: number(local),
                world_size: number(world),
                job: job_name(job, &read),
            };
        }
        Rank::default()
    }
}

/// The job's parts joined; `None` unless the first names a job ("none" is torchrun's word for it).
fn job_name(parts: &[&str], read: impl Fn(&str) -> Option<String>) -> Option<String> {
    let first = read(parts.first()?)?;
    if first.is_empty() || first == "none" || parts[0] == "HYDI_CONTROL_FD" {
        return None;
    }
    let rest = parts[1..].iter().filter_map(|name| read(name));
    Some(std::iter::once(first).chain(rest).collect::<Vec<_>>().join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(pairs: &[(&str, &str)]) -> Rank {
        Rank::detect(|name| {
            pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string())
        })
    }

    #[test]
    fn launchers_are_known() {
        let torchrun =
            [("RANK", "3"), ("LOCAL_RANK", "1"), ("WORLD_SIZE", "8"), ("TORCHELASTIC_RUN_ID", "none")];
        let rank = from(&torchrun);
        assert_eq!((rank.rank, rank.local_rank, rank.world_size), (Some(3), Some(1), Some(8)));
        assert_eq!(rank.job, None);
        let slurm =
            [("SLURM_PROCID", "5"), ("SLURM_NTASKS", "16"), ("SLURM_JOB_ID", "77"), ("SLURM_STEP_ID", "0")];
        assert_eq!(from(&slurm).job.as_deref(), Some("77-0"));
        assert_eq!(from(&[("OMPI_COMM_WORLD_RANK", "2")]).rank, Some(2));
        assert_eq!(from(&[("RANK", "first")]), Rank::default());
        assert_eq!(from(&[]), Rank::default());
    }
}
