//! The series that are read, each with its number.

use hodo_format::machine::{Metric, Series, Source};

/// The series, in order of their ids. An id is given once, so whoever knows the highest one that
/// was told knows which are new.
#[derive(Debug, Default)]
pub(super) struct Known {
    series: Vec<Series>,
    last_id: u32,
}

impl Known {
    /// Adds a series; returns its id.
    pub(super) fn add(&mut self, source: &Source, metric: &'static Metric) -> u32 {
        self.last_id += 1;
        self.series.push(Series::new(self.last_id, source, metric));
        self.last_id
    }

    /// The series of an id.
    pub(super) fn get(&self, id: u32) -> Option<&Series> {
        self.series.get(self.series.binary_search_by_key(&id, |one| one.id).ok()?)
    }

    /// Forgets those of `ids`, which are in order.
    pub(super) fn forget(&mut self, ids: &[u32]) {
        self.series.retain(|one| ids.binary_search(&one.id).is_err());
    }

    /// All of them.
    pub(super) fn all(&self) -> &[Series] {
        &self.series
    }
}
