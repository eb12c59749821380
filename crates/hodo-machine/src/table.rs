//! The newest value of each series, and what fills it.

use hodo_format::machine::{Metric, Source};
use std::collections::HashMap;

/// Most series that are read together: processes on a GPU come and go, and each has its own.
const MAX_SERIES: usize = 4096;

/// The series that are read together, and the values of the round at hand.
#[derive(Debug, Default)]
pub struct Table {
    series: Vec<(Source, &'static Metric)>,
    row: Vec<Option<f64>>,
    /// Places by source and metric.
    places: HashMap<(Source, &'static str), usize>,
    /// Whether there was a value since the last look for series that are gone.
    was_set: Vec<bool>,
    refused: u64,
}

/// A series' place in its table, for the round at hand.
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
        let key = (source, metric.name);
        if let Some(&at) = self.places.get(&key) {
            return Slot(at);
        }
        let at = self.series.len();
        if at == MAX_SERIES {
            self.refused += 1;
            return Slot(usize::MAX);
        }
        self.series.push((key.0.clone(), metric));
        self.row.push(None);
        self.was_set.push(false);
        self.places.insert(key, at);
        Slot(at)
    }

    /// Sets the value of this round.
    pub fn set(&mut self, slot: Slot, value: f64) {
        if let Some(place) = self.row.get_mut(slot.0) {
            *place = Some(value);
            self.was_set[slot.0] = true;
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

    /// Gives back the places of series whose source comes and goes and that had no value since the
    /// last time this was asked. Says of each place whether it stays; the others move up.
    pub fn retire(&mut self) -> Vec<bool> {
        let was_set = self.was_set.iter().zip(&self.series);
        let stays: Vec<bool> =
            was_set.map(|(was_set, (source, _))| *was_set || !source.comes_and_goes()).collect();
        self.refused = 0;
        self.was_set.fill(false);
        if stays.contains(&false) {
            keep(&mut self.series, &stays);
            keep(&mut self.row, &stays);
            self.was_set.truncate(self.series.len());
            let named = self.series.iter().enumerate();
            self.places = named.map(|(at, (s, metric))| ((s.clone(), metric.name), at)).collect();
        }
        stays
    }

    /// Every series that has a place, in order of their places.
    pub fn series(&self) -> &[(Source, &'static Metric)] {
        &self.series
    }

    /// The values of this round, in the same order.
    pub fn row(&self) -> &[Option<f64>] {
        &self.row
    }

    /// How often a series found no place since the last look for series that are gone.
    pub fn refused(&self) -> u64 {
        self.refused
    }
}

/// Keeps those of `all` that stay.
pub(crate) fn keep<T>(all: &mut Vec<T>, stays: &[bool]) {
    let mut stays = stays.iter();
    all.retain(|_| stays.next().copied().unwrap_or(true));
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

    #[test]
    fn what_came_and_went_gives_its_place_back_and_what_stays_keeps_its_value() {
        let mut table = Table::default();
        let process = |pid| Source::GpuProcess("GPU-1".into(), pid);
        table.put(Source::Host, &metric::LOAD, 1.0);
        table.put(process(1), &metric::GPU_PROCESS_MEMORY, 1.0);
        table.put(process(2), &metric::GPU_PROCESS_MEMORY, 2.0);
        assert_eq!(table.retire(), [true; 3], "all had a value");
        table.clear();
        table.put(process(2), &metric::GPU_PROCESS_MEMORY, 3.0);
        assert_eq!(table.retire(), [true, false, true], "a load that is not read stays");
        assert_eq!(table.row(), [None, Some(3.0)]);
        table.put(process(2), &metric::GPU_PROCESS_MEMORY, 4.0);
        table.put(process(9), &metric::GPU_PROCESS_MEMORY, 5.0);
        assert_eq!(table.row(), [None, Some(4.0), Some(5.0)]);
        assert_eq!(table.series()[2].0, process(9));
    }

    #[test]
    fn a_full_table_has_room_again_when_processes_have_ended() {
        let mut table = Table::default();
        for pid in 0..3 * MAX_SERIES as u32 {
            table.clear();
            table.put(Source::GpuProcess("GPU-1".into(), pid), &metric::GPU_PROCESS_MEMORY, 1.0);
            if pid as usize % (MAX_SERIES + 1) == MAX_SERIES {
                assert_eq!(table.refused(), 1, "none was given back so far");
                table.retire();
                table.retire();
                assert_eq!((table.series().len(), table.refused()), (0, 0));
            }
        }
    }
}
