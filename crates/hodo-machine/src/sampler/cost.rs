//! What sampling itself costs.

use hodo_record::binding::nanoseconds;

/// What sampling has cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Rounds that were read.
    pub rounds: u64,
    /// Rounds that were left out since the one before took too long.
    pub late: u64,
    /// Readings that were left out since their reader costs much.
    pub spared: u64,
    /// CPU time of the thread that samples.
    pub cpu_ns: u64,
    /// How long the last round took.
    pub last_round_ns: u64,
    /// How long the longest did.
    pub max_round_ns: u64,
    /// How long all did together.
    pub all_rounds_ns: u64,
}

impl Cost {
    /// How long a round takes on average.
    pub fn mean_round_ns(&self) -> u64 {
        self.all_rounds_ns / self.rounds.max(1)
    }

    pub(super) fn add_round(&mut self, watch: &Stopwatch, spared: u64) {
        let took = nanoseconds(libc::CLOCK_MONOTONIC).saturating_sub(watch.wall_ns);
        self.rounds += 1;
        self.spared += spared;
        self.last_round_ns = took;
        self.max_round_ns = self.max_round_ns.max(took);
        self.all_rounds_ns += took;
        self.cpu_ns += watch.cpu_ns();
    }
}

/// The clocks of this thread at a moment.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    wall_ns: u64,
    cpu_ns: u64,
}

impl Stopwatch {
    /// Now.
    pub fn start() -> Stopwatch {
        Stopwatch {
            wall_ns: nanoseconds(libc::CLOCK_MONOTONIC),
            cpu_ns: nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID),
        }
    }

    /// CPU time of this thread since.
    pub fn cpu_ns(&self) -> u64 {
        nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID).saturating_sub(self.cpu_ns)
    }
}
