use crate::harness::{Scratch, Victim, read};

type Table<'a> = &'a [(&'a str, &'a [(&'a str, &'a str)], [Option<u32>; 3])];

/// Launcher, its variables, then rank, local rank and world size as they must be understood.
const LAUNCHERS: Table<'_> = &[
    ("none", &[], [None, None, None]),
    (
        "torchrun",
        &[("RANK", "5"), ("LOCAL_RANK", "1"), ("WORLD_SIZE", "8")],
        [Some(5), Some(1), Some(8)],
    ),
    (
        "slurm",
        &[("SLURM_PROCID", "3"), ("SLURM_LOCALID", "0"), ("SLURM_NTASKS", "4")],
        [Some(3), Some(0), Some(4)],
    ),
    (
        "openmpi",
        &[
            ("OMPI_COMM_WORLD_RANK", "2"),
            ("OMPI_COMM_WORLD_LOCAL_RANK", "2"),
            ("OMPI_COMM_WORLD_SIZE", "16"),
        ],
        [Some(2), Some(2), Some(16)],
    ),
    (
        "torchrun inside slurm",
        &[
            ("RANK", "1"),
            ("WORLD_SIZE", "2"),
            ("LOCAL_RANK", "1"),
            ("SLURM_PROCID", "0"),
            ("SLURM_NTASKS", "1"),
        ],
        [Some(1), Some(1), Some(2)],
    ),
    ("nonsense", &[("RANK", "first"), ("WORLD_SIZE", "-3")], [None, None, None]),
];

#[test]
fn ranks_come_from_the_launcher() {
    for (launcher, variables, expected) in LAUNCHERS {
        let scratch = Scratch::new("ranks");
        let mut victim = Victim::new(&scratch, "steady", 1).arg("lanes", 1).arg("steps", 1);
        for (key, value) in *variables {
            victim = victim.env(key, value);
        }
        victim.run();
        let run = read(&scratch.runs());
        let info = &run.processes[0].info;
        assert_eq!([info.rank, info.local_rank, info.world_size], *expected, "{launcher}");
        assert_eq!((run.info.rank, run.info.world_size), (expected[0], expected[2]), "{launcher}");
    }
}
