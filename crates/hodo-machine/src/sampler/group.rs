//! What is read together: the readers of a tier.

use super::Newest;
use super::cost::Stopwatch;
use super::known::Known;
use crate::table::{Absent, Reader, Table, keep};
use crate::tier::Tier;
use std::time::Duration;

/// A reader that takes a larger share of a processor than one in so many is called more rarely.
const MOST_SHARE: u64 = 50;
/// How slowly the mean of its cost follows: one odd round is forgiven.
const MEAN_OF: u64 = 8;

/// The values of a tier at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// How often it is read.
    pub tier: Tier,
    /// The moment, nanoseconds of the monotonic clock.
    pub time_ns: u64,
    /// Ids of its series, as [`Sampler::series`](super::Sampler::series) has them.
    pub ids: &'a [u32],
    /// Their values, as [`Series::stored`](hodo_format::machine::Series::stored) gives them.
    pub values: &'a [Option<i64>],
}

/// The readers of a tier.
pub(super) struct Group {
    tier: Tier,
    period_ns: u64,
    interval_ns: u64,
    readers: Vec<Watched>,
    table: Table,
    ids: Vec<u32>,
    stored: Vec<Option<i64>>,
    read_at: Option<u64>,
    is_new: bool,
}

/// A reader and what it costs.
struct Watched {
    reader: Box<dyn Reader>,
    mean_ns: u64,
    /// Rounds of its tier to leave out.
    skip: u64,
}

impl Watched {
    /// Reads, unless it has cost too much of late; says whether it did.
    fn read(&mut self, table: &mut Table, period_ns: u64) -> bool {
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        let watch = Stopwatch::start();
        self.reader.read(table);
        self.mean_ns = (self.mean_ns * (MEAN_OF - 1) + watch.cpu_ns()) / MEAN_OF;
        self.skip = self.mean_ns * MOST_SHARE / period_ns;
        true
    }
}

impl Group {
    pub(super) fn new(tier: Tier, interval: Duration) -> Group {
        let interval_ns = interval.as_nanos() as u64;
        Group {
            tier,
            period_ns: tier.every(interval) * interval_ns,
            interval_ns,
            readers: Vec::new(),
            table: Table::default(),
            ids: Vec::new(),
            stored: Vec::new(),
            read_at: None,
            is_new: false,
        }
    }

    pub(super) fn add(&mut self, reader: Box<dyn Reader>) {
        self.readers.push(Watched { reader, mean_ns: 0, skip: 0 });
    }

    /// Rounds are on time but for some jitter, so half of one decides.
    fn is_due(&self, now_ns: u64, between: bool) -> bool {
        let least = match between {
            true => self.tier.at_least_at_an_edge().as_nanos() as u64,
            false => self.period_ns - self.interval_ns / 2,
        };
        !self.readers.is_empty() && self.read_at.is_none_or(|at| now_ns.saturating_sub(at) >= least)
    }

    /// Reads, if it is time; what the sampler has to say of itself goes with the medium tier. Says
    /// how many readers were spared; none when it was not read.
    pub(super) fn read(
        &mut self,
        now_ns: u64,
        between: bool,
        known: &mut Known,
        own: impl Fn(&mut Table),
    ) -> Option<u64> {
        self.is_new = self.is_due(now_ns, between);
        if !self.is_new {
            return None;
        }
        self.read_at = Some(now_ns);
        self.table.clear();
        let mut spared = 0;
        for watched in &mut self.readers {
            spared += u64::from(!watched.read(&mut self.table, self.period_ns));
        }
        if self.tier == Tier::Medium {
            own(&mut self.table);
        }
        for (source, metric) in &self.table.series()[self.ids.len()..] {
            self.ids.push(known.add(source, metric));
        }
        let values = self.ids.iter().zip(self.table.row());
        self.stored.clear();
        self.stored.extend(values.map(|(id, value)| known.get(*id)?.stored((*value)?)));
        Some(spared)
    }

    /// Gives back the places of series that are gone: see [`Table::retire`].
    pub(super) fn retire(&mut self, known: &mut Known) {
        let stays = self.table.retire();
        let gone = self.ids.iter().zip(&stays).filter(|(_, stays)| !**stays);
        let gone: Vec<u32> = gone.map(|(id, _)| *id).collect();
        if !gone.is_empty() {
            known.forget(&gone);
            keep(&mut self.ids, &stays);
            keep(&mut self.stored, &stays);
        }
    }

    pub(super) fn row(&self) -> Option<Row<'_>> {
        let time_ns = self.read_at.filter(|_| self.is_new)?;
        Some(Row { tier: self.tier, time_ns, ids: &self.ids, values: &self.stored })
    }

    pub(super) fn forget_row(&mut self) {
        self.is_new = false;
    }

    pub(super) fn newest(&self) -> impl Iterator<Item = Newest> {
        let series = self.table.series().iter().zip(self.table.row());
        series.map(|((source, metric), value)| Newest {
            source: source.clone(),
            metric,
            value: *value,
            time_ns: self.read_at.unwrap_or(0),
        })
    }

    pub(super) fn absent(&self) -> Vec<Absent> {
        let mut absent: Vec<Absent> = self.readers.iter().flat_map(|r| r.reader.absent()).collect();
        if self.table.refused() > 0 {
            absent.push(Absent {
                part: "further series".into(),
                why: format!("{:?} has as many series as it may have", self.tier),
                fix: String::new(),
            });
        }
        absent
    }

    pub(super) fn told(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.readers.iter().filter_map(|watched| watched.reader.told())
    }
}
