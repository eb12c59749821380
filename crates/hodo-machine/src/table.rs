//! The newest value of each series, and what fills it.

use hodo_format::machine::{Metric, Source};

/// The series that are read together, and the values of the round at hand.
#[derive(Debug, Default)]
pub struct Table {
    series: Vec<(Source, &'static Metric)>,
    row: Vec<Option<f64>>,
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
    /// The place of a series, made at its first mention.
    pub fn slot(&mut self, source: Source, metric: &'static Metric) -> Slot {
        let same = |(s, m): &(Source, &'static Metric)| m.name == metric.name && *s == source;
        let at = self.series.iter().position(same).unwrap_or_else(|| {
            self.series.push((source, metric));
            self.row.push(None);
            self.row.len() - 1
        });
        Slot(at)
    }

    /// Sets the value of this round.
    pub fn set(&mut self, slot: Slot, value: f64) {
        if let Some(place) = self.row.get_mut(slot.0) {
            *place = Some(value);
        }
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
}
