//! Bursts of every row in turn, each between two bursts of the floor.

use crate::machine::thread_cpu_ns;

/// One thing that is measured.
pub struct Row {
    /// As in the table.
    pub name: &'static str,
    /// What it keeps of a scope.
    pub keeps: &'static str,
    /// Runs that many cycles; the thread CPU time they took, in nanoseconds.
    pub burst: Box<dyn FnMut(u64) -> u64>,
    /// Empties buffers after a burst of that many cycles; how many records were lost.
    pub drain: Box<dyn FnMut(u64) -> u64>,
}

impl Row {
    /// A row that keeps everything it is given, or nothing at all.
    pub fn new(name: &'static str, keeps: &'static str, burst: fn(u64)) -> Row {
        Row::drained(name, keeps, burst, |_| 0)
    }

    /// A row whose buffers must be emptied between bursts.
    pub fn drained(
        name: &'static str,
        keeps: &'static str,
        burst: fn(u64),
        drain: impl FnMut(u64) -> u64 + 'static,
    ) -> Row {
        Row {
            name,
            keeps,
            burst: Box::new(move |cycles| timed(burst, cycles)),
            drain: Box::new(drain),
        }
    }
}

/// Thread CPU time of one call of `burst`. Not inlined: instruction counting begins and ends here.
#[inline(never)]
pub fn timed(burst: fn(u64), cycles: u64) -> u64 {
    let start = thread_cpu_ns();
    burst(cycles);
    thread_cpu_ns() - start
}

/// How long to measure.
#[derive(Clone, Copy)]
pub struct Plan {
    /// Rounds that count.
    pub rounds: usize,
    /// Rounds before them that do not.
    pub warmup: usize,
    /// Cycles (an open and a close each) in a burst.
    pub cycles: u64,
}

/// What the rounds gave for one row.
pub struct Figures {
    /// As in [`Row`].
    pub name: &'static str,
    /// As in [`Row`].
    pub keeps: &'static str,
    /// Nanoseconds a cycle, one value a round, sorted.
    pub ns: Vec<f64>,
    /// Times the floor measured just before and just after, one value a round, sorted.
    pub ratio: Vec<f64>,
    /// Records that did not survive.
    pub lost: u64,
}

impl Figures {
    /// The middle nanoseconds.
    pub fn median_ns(&self) -> f64 {
        quantile(&self.ns, 0.5)
    }

    /// The fewest nanoseconds.
    pub fn min_ns(&self) -> f64 {
        quantile(&self.ns, 0.0)
    }

    /// The middle ratio.
    pub fn median_ratio(&self) -> f64 {
        quantile(&self.ratio, 0.5)
    }

    /// Quartiles of the ratio: how far the noise reaches.
    pub fn quartiles(&self) -> (f64, f64) {
        (quantile(&self.ratio, 0.25), quantile(&self.ratio, 0.75))
    }
}

/// The value below which a share `at` of the sorted `values` lies.
pub fn quantile(values: &[f64], at: f64) -> f64 {
    let last = values.len().saturating_sub(1);
    values.get((last as f64 * at).round() as usize).copied().unwrap_or(f64::NAN)
}

/// Measures all rows, round by round, against `floor`.
pub fn rounds(rows: &mut [Row], floor: fn(u64), plan: Plan) -> Vec<Figures> {
    let mut figures: Vec<Figures> = rows.iter().map(empty).collect();
    for round in 0..plan.warmup + plan.rounds {
        let mut before = timed(floor, plan.cycles);
        // Every row follows another one in the next round, so that none always inherits the caches of
        // the heaviest, or always comes after the one that sleeps longest.
        for at in shuffled(rows.len(), round as u64) {
            let row = &mut rows[at];
            let took = (row.burst)(plan.cycles);
            let after = timed(floor, plan.cycles);
            figures[at].lost += (row.drain)(plan.cycles);
            if round >= plan.warmup {
                figures[at].ns.push(took as f64 / plan.cycles as f64);
                figures[at].ratio.push(2.0 * took as f64 / (before + after) as f64);
            }
            before = timed(floor, plan.cycles);
        }
    }
    for figure in &mut figures {
        figure.ns.sort_by(f64::total_cmp);
        figure.ratio.sort_by(f64::total_cmp);
    }
    figures
}

fn empty(row: &Row) -> Figures {
    Figures { name: row.name, keeps: row.keeps, ns: vec![], ratio: vec![], lost: 0 }
}

/// All of `0..len` in an order of that round's own, the same in every run of the program.
fn shuffled(len: usize, round: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..len).collect();
    let mut random = round;
    for last in (1..len).rev() {
        random = split_mix(random);
        order.swap(last, (random % (last as u64 + 1)) as usize);
    }
    order
}

/// The next of a series of numbers that look random (splitmix64).
fn split_mix(seed: u64) -> u64 {
    let mut word = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
