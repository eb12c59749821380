//! The schedule: which readers are due, what they read, and what that costs.

mod cost;
mod gpus;
mod group;
mod known;

pub use cost::Cost;
pub use group::Row;

use crate::gpu::Visible;
use crate::host::{self, Root};
use crate::processes::{Processes, Roots};
use crate::table::Absent;
use crate::tier::{Readers, Tier};
use cost::Stopwatch;
use group::Group;
use hodo_format::machine::{Metric, Series, Source, metric};
use known::Known;
use std::time::Duration;

/// Rounds closer together than this would measure the sampler.
pub const MIN_INTERVAL: Duration = Duration::from_millis(10);

/// How often it is looked which series are gone, where nothing else says when.
const RETIRE_NS: u64 = 60_000_000_000;

/// What of this machine is to be read.
#[derive(Clone, Debug)]
pub struct Parts {
    /// The processes that are summed up.
    pub processes: Roots,
    /// The GPUs that are read; none for no word of GPUs at all.
    pub gpus: Option<Visible>,
}

/// Readers of this machine. Opens what they need, which may take a while where a driver is asked.
pub fn readers(parts: &Parts) -> Readers {
    let root = Root::default();
    let mut readers = host::readers(&root);
    readers.push((Tier::Medium, Box::new(Processes::new(&root, parts.processes.clone()))));
    readers.extend(parts.gpus.iter().flat_map(gpus::readers));
    readers
}

/// Reads the machine in rounds: call [`Sampler::round`] when [`Sampler::next_ns`] has come.
pub struct Sampler {
    interval_ns: u64,
    next_ns: Option<u64>,
    groups: Vec<Group>,
    known: Known,
    retired_at: Option<u64>,
    cost: Cost,
}

/// The newest value of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct Newest {
    /// Where it was read.
    pub source: Source,
    /// What was.
    pub metric: &'static Metric,
    /// The value; none where the last reading gave none.
    pub value: Option<f64>,
    /// When, nanoseconds of the monotonic clock.
    pub time_ns: u64,
}

impl Sampler {
    /// A sampler that calls `readers` in rounds `interval` apart, at least [`MIN_INTERVAL`]. It
    /// writes nothing.
    ///
    /// ```
    /// use hodo_machine::{Parts, Roots, Sampler, monotonic_ns, readers};
    ///
    /// let parts = Parts { processes: Roots::none(), gpus: None };
    /// let mut sampler = Sampler::new(std::time::Duration::from_secs(1), readers(&parts));
    /// sampler.round(&monotonic_ns);
    /// for one in sampler.newest() {
    ///     println!("{} {} {:?}", one.source, one.metric.name, one.value);
    /// }
    /// ```
    pub fn new(interval: Duration, readers: Readers) -> Sampler {
        let interval = interval.max(MIN_INTERVAL);
        let mut groups: Vec<Group> = Tier::ALL.map(|tier| Group::new(tier, interval)).into();
        for (tier, reader) in readers {
            groups[tier as usize].add(reader);
        }
        Sampler {
            interval_ns: interval.as_nanos() as u64,
            next_ns: None,
            groups,
            known: Known::default(),
            retired_at: None,
            cost: Cost::default(),
        }
    }

    /// Reads what is due; `clock` gives nanoseconds of the monotonic clock. Rounds that should have
    /// been meanwhile are left out, and counted.
    pub fn round(&mut self, clock: &dyn Fn() -> u64) {
        let now = clock();
        let next = self.next_ns.unwrap_or(now);
        if now >= next {
            let missed = (now - next) / self.interval_ns;
            self.cost.late += missed;
            self.next_ns = Some(next + (missed + 1) * self.interval_ns);
        }
        self.read(clock, false);
    }

    /// Reads between two rounds what may be read at any time: where something begins or ends.
    pub fn round_between(&mut self, clock: &dyn Fn() -> u64) {
        self.read(clock, true);
    }

    fn read(&mut self, clock: &dyn Fn() -> u64, between: bool) {
        let watch = Stopwatch::start();
        let Sampler { groups, known, cost, .. } = self;
        let mut spared = None;
        for group in groups {
            let read = group.read(clock(), between, known, |table| {
                let round = table.slot(Source::Sampler, &metric::SAMPLER_ROUND);
                if cost.rounds > 0 {
                    table.set(round, cost.last_round_ns as f64 / 1e9);
                }
                let mut put = |metric, value| table.put(Source::Sampler, metric, value);
                put(&metric::SAMPLER_CPU_TIME, cost.cpu_ns as f64 / 1e9);
                put(&metric::SAMPLER_LATE, cost.late as f64);
            });
            spared = read.map(|more| more + spared.unwrap_or(0)).or(spared);
        }
        // A round so soon after another that nothing may be read again is none.
        if let Some(spared) = spared {
            self.cost.add_round(&watch, spared);
        }
    }

    /// There was no round: [`Sampler::rows`] has none.
    pub fn forget_rows(&mut self) {
        self.groups.iter_mut().for_each(Group::forget_row);
    }

    /// When the next round is due; none before the first, which is at once.
    pub fn next_ns(&self) -> Option<u64> {
        self.next_ns
    }

    /// Forgets the schedule: the next round is at once, and what was left out until then is not
    /// counted.
    pub fn rest(&mut self) {
        self.next_ns = None;
    }

    /// The time between rounds.
    pub fn interval(&self) -> Duration {
        Duration::from_nanos(self.interval_ns)
    }

    /// What the last round read, a row for each tier that was due.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.groups.iter().filter_map(Group::row)
    }

    /// The series that are read, in order of their ids. An id is given once and counts from 1.
    pub fn series(&self) -> &[Series] {
        self.known.all()
    }

    /// Forgets the series of a tier whose process, interface or disk is gone: those that had no
    /// value since this was last asked. One that comes back is a new series of the same name.
    pub fn retire(&mut self, tier: Tier) {
        self.groups[tier as usize].retire(&mut self.known);
    }

    /// The same for all tiers, once a minute: for whoever keeps no rows that name them.
    pub fn retire_sometimes(&mut self, now_ns: u64) {
        let since = *self.retired_at.get_or_insert(now_ns);
        if now_ns.saturating_sub(since) >= RETIRE_NS {
            self.retired_at = Some(now_ns);
            Tier::ALL.into_iter().for_each(|tier| self.retire(tier));
        }
    }

    /// The newest value of every series.
    pub fn newest(&self) -> Vec<Newest> {
        self.groups.iter().flat_map(Group::newest).collect()
    }

    /// What cannot be read here, and why. Each part is named once.
    pub fn absent(&self) -> Vec<Absent> {
        let mut absent: Vec<Absent> = Vec::new();
        for one in self.groups.iter().flat_map(Group::absent) {
            if !absent.contains(&one) {
                absent.push(one);
            }
        }
        absent
    }

    /// Members of the sampler's state that readers tell: name and JSON.
    pub fn told(&self) -> Vec<(&'static str, String)> {
        self.groups.iter().flat_map(Group::told).collect()
    }

    /// What sampling has cost so far.
    pub fn cost(&self) -> Cost {
        self.cost
    }

    /// Runs work of the sampling that is no reading, and counts what it costs.
    pub fn charge<T>(&mut self, work: impl FnOnce(&mut Sampler) -> T) -> T {
        let watch = Stopwatch::start();
        let result = work(self);
        self.cost.cpu_ns += watch.cpu_ns();
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Reader, Table};
    use std::cell::Cell;

    /// Counts its readings and shows the count.
    struct Count(&'static Metric, u64);

    impl Reader for Count {
        fn read(&mut self, table: &mut Table) {
            self.1 += 1;
            table.put(Source::Host, self.0, self.1 as f64);
        }
    }

    fn sampler(ms: u64) -> Sampler {
        let readers: Readers = vec![
            (Tier::Fast, Box::new(Count(&metric::CPU_TIME, 0))),
            (Tier::Brisk, Box::new(Count(&metric::GPU_SM_ACTIVE, 0))),
            (Tier::Medium, Box::new(Count(&metric::LOAD, 0))),
            (Tier::Slow, Box::new(Count(&metric::SWAP_USED, 0))),
        ];
        Sampler::new(Duration::from_millis(ms), readers)
    }

    fn of(sampler: &Sampler, metric: &Metric) -> Option<f64> {
        sampler.newest().iter().find(|one| one.metric.name == metric.name)?.value
    }

    fn run(sampler: &mut Sampler, until_ms: u64) {
        let now = Cell::new(0u64);
        while now.get() < until_ms * 1_000_000 {
            sampler.round(&|| now.get());
            now.set(sampler.next_ns().unwrap());
        }
    }

    #[test]
    fn each_tier_is_read_at_its_own_rate() {
        let mut sampler = sampler(50);
        run(&mut sampler, 10_000);
        assert_eq!(of(&sampler, &metric::CPU_TIME), Some(200.0));
        assert_eq!(of(&sampler, &metric::GPU_SM_ACTIVE), Some(100.0));
        assert_eq!(of(&sampler, &metric::LOAD), Some(10.0));
        assert_eq!(of(&sampler, &metric::SWAP_USED), Some(2.0));
        assert_eq!(sampler.cost().rounds, 200);
        assert_eq!(sampler.cost().late, 0);
    }

    #[test]
    fn rounds_that_come_too_late_are_left_out_and_the_others_stay_on_time() {
        let mut sampler = sampler(50);
        let ms = |ms: u64| ms * 1_000_000;
        sampler.round(&|| ms(1000));
        assert_eq!(sampler.next_ns(), Some(ms(1050)));
        sampler.round(&|| ms(1061));
        assert_eq!(sampler.next_ns(), Some(ms(1100)), "a little late is no drift");
        sampler.round(&|| ms(1275));
        assert_eq!(sampler.next_ns(), Some(ms(1300)));
        assert_eq!(sampler.cost().late, 3, "1100, 1150 and 1200");
        sampler.rest();
        sampler.round(&|| ms(9000));
        assert_eq!(sampler.cost().late, 3, "nothing was due while it rested");
    }

    #[test]
    fn a_round_between_reads_what_may_be_read_and_moves_nothing() {
        let mut sampler = sampler(1000);
        sampler.round(&|| 0);
        sampler.round_between(&|| 50_000_000);
        assert_eq!(sampler.next_ns(), Some(1_000_000_000));
        assert_eq!(of(&sampler, &metric::CPU_TIME), Some(2.0));
        assert_eq!(of(&sampler, &metric::LOAD), Some(1.0), "read 50 ms ago");
        let rows: Vec<_> = sampler.rows().map(|row| (row.tier, row.time_ns)).collect();
        assert_eq!(rows, [(Tier::Fast, 50_000_000)]);
    }

    #[test]
    fn an_edge_right_after_a_round_is_no_round() {
        let mut sampler = sampler(1000);
        sampler.round(&|| 0);
        sampler.round_between(&|| 600_000);
        assert_eq!(sampler.rows().count(), 0);
        assert_eq!(of(&sampler, &metric::CPU_TIME), Some(1.0));
    }

    #[test]
    fn what_sampling_costs_is_a_series() {
        let mut sampler = sampler(1000);
        sampler.round(&|| 0);
        assert_eq!(of(&sampler, &metric::SAMPLER_ROUND), None, "no round has ended yet");
        run(&mut sampler, 3000);
        assert!(of(&sampler, &metric::SAMPLER_CPU_TIME).unwrap() > 0.0);
        assert_eq!(of(&sampler, &metric::SAMPLER_LATE), Some(0.0));
        let cost = sampler.cost();
        assert!(cost.max_round_ns >= cost.mean_round_ns() && cost.mean_round_ns() > 0, "{cost:?}");
    }

    #[test]
    fn ids_of_series_stay_when_others_come() {
        struct Grows(u32);
        impl Reader for Grows {
            fn read(&mut self, table: &mut Table) {
                self.0 += 1;
                table.put(Source::Core(self.0), &metric::CPU_TIME, 1.0);
            }
        }
        let readers: Readers = vec![
            (Tier::Fast, Box::new(Grows(0))),
            (Tier::Medium, Box::new(Count(&metric::LOAD, 0))),
        ];
        let mut sampler = Sampler::new(Duration::from_secs(1), readers);
        sampler.round(&|| 0);
        let first: Vec<Series> = sampler.series().to_vec();
        sampler.round(&|| 1_000_000_000);
        assert_eq!(sampler.series()[..first.len()], first[..]);
        assert_eq!(sampler.series().len(), first.len() + 1);
        let row = sampler.rows().next().unwrap();
        assert_eq!(row.values, [None, Some(1000)]);
        assert_eq!(row.ids.len(), 2);
    }
}
