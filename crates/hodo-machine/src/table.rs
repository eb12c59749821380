//! The newest value of each series, and what fills it.

use hodo_format::machine::{Metric, Source};

/// Most series that are read together: processes on a GPU come and go, and each has its own.
const MAX_SERIES: usize = 4096;

/// The series that are read together, and the values of the round at hand.
#[derive(Debug, Default)]
pub struct Table {
    series: Vec<(Source, &'static Metric)>,
    row: Vec<Option<f64>>,
    refused: u64,
}

/// A series' place in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(usize);

/// Reads one part of the machine. A round may take long only where its tier is slow.
pub trait Reader: Send {
    /// Reads what there is now. What cannot be read is left out, and [`Reader::absent`] tells why.
    fn read(&mut self, table: &mut Table);
    /// What of its part cannot be had here.
    fn absent(&self) -> Vec<Absent> {
        Vec::new()
    }
    /// What the sampler's state should say of it: a member's name and its JSON.
    fn told(&self) -> Option<(&'static str, String)> {
        None
    }
}

/// A part of the machine that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absent {
    /// The part, in a word or two.
    pub part: String,
    /// Why.
    pub why: String,
    /// What would help; empty when nothing does.
    pub fix: String,
}

impl Table {
    /// The place of a series, made at its first mention. Past a bound there is none: what is set
    /// there is left out, and counted.
    pub fn slot(&mut self, source: Source, metric: &'static Metric) -> Slot {
        let same = |(s, m): &(Source, &'static Metric)| m.name == metric.name && *s == source;
        match self.series.iter().position(same) {
            Some(at) => Slot(at),
            None if self.series.len() == MAX_SERIES => {
                self.refused += 1;
                Slot(usize::MAX)
            }
            None => {
                self.series.push((source, metric));
                self.row.push(None);
                Slot(self.row.len() - 1)
            }
        }
    }

    /// Sets the value of this round.
    pub fn set(&mut self, slot: Slot, value: f64) {
        if let Some(place) = self.row.get_mut(slot.0) {
            *place = Some(value);
        }
    }

    /// Sets the value of a series that is asked for by its name each time: for few and slow ones.
    pub fn put(&mut self, source: Source, metric: &'static Metric, value: f64) {
        let slot = self.slot(source, metric);
        self.set(slot, value);
    }

    /// Forgets the values, before the next round.
    pub fn clear(&mut self) {
        self.row.fill(None);
    }

    /// Every series there has been, in order of their places.
    pub fn series(&self) -> &[(Source, &'static Metric)] {
        &self.series
    }

    /// The values of this round, in the same order.
    pub fn row(&self) -> &[Option<f64>] {
        &self.row
    }

    /// How often a series found no place.
    pub fn refused(&self) -> u64 {
        self.refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hodo_format::machine::metric;

    #[test]
    fn series_past_the_bound_are_left_out_and_counted() {
        let mut table = Table::default();
        for pid in 0..MAX_SERIES as u32 + 2 {
            table.put(Source::GpuProcess("GPU-1".into(), pid), &metric::GPU_PROCESS_MEMORY, 1.0);
        }
        assert_eq!((table.series().len(), table.refused()), (MAX_SERIES, 2));
        table.clear();
        table.put(Source::GpuProcess("GPU-1".into(), 3), &metric::GPU_PROCESS_MEMORY, 2.0);
        assert_eq!(table.row()[3], Some(2.0));
        assert_eq!(table.row()[4], None);
    }
}
