//! Rows of a tier that are in no block yet.

use crate::sampler::Row;
use hodo_format::machine::Readings;
use std::collections::VecDeque;

/// Most values that wait: what does not fit while the disk refuses is lost, and counted.
const MAX_VALUES: usize = 1 << 18;

/// The rows, in order of time.
#[derive(Debug, Default)]
pub struct Pending {
    ids: Vec<u32>,
    rows: VecDeque<(u64, Box<[Option<i64>]>)>,
}

impl Pending {
    /// Adds a row; returns how many older ones had to go for it.
    pub fn add(&mut self, row: &Row<'_>) -> u64 {
        let most = (MAX_VALUES / row.ids.len().max(1)).max(1);
        // While rows wait, series only ever come behind those that are there.
        let over = match row.ids.starts_with(&self.ids) {
            true => (self.rows.len() + 1).saturating_sub(most),
            false => self.rows.len(),
        };
        self.rows.drain(..over);
        self.ids.clear();
        self.ids.extend_from_slice(row.ids);
        self.rows.push_back((row.time_ns, row.values.into()));
        over as u64
    }

    /// Whether rows that wait are of the series with this id.
    pub fn names(&self, id: u32) -> bool {
        self.ids.contains(&id)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Moment of the first.
    pub fn first_ns(&self) -> Option<u64> {
        self.rows.front().map(|(time, _)| *time)
    }

    /// Whether they fill a block by their values alone.
    pub fn is_large(&self) -> bool {
        self.rows.len() * self.ids.len() >= MAX_VALUES / 4
    }

    /// All of them as one block.
    pub fn block(&self) -> Readings {
        let of = |at: usize| self.rows.iter().map(move |(_, row)| row.get(at).copied().flatten());
        Readings {
            series: self.ids.clone(),
            times: self.rows.iter().map(|(time, _)| *time).collect(),
            values: (0..self.ids.len()).flat_map(of).collect(),
        }
    }

    /// Each of them by itself.
    pub fn rows(&self) -> impl Iterator<Item = Readings> {
        self.rows.iter().map(|(time, values)| single(*time, &self.ids, values))
    }

    /// They are in a block.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.ids.clear();
    }
}

/// One row as readings.
pub fn single(time_ns: u64, ids: &[u32], values: &[Option<i64>]) -> Readings {
    let series = ids[..values.len().min(ids.len())].to_vec();
    Readings { series, times: vec![time_ns], values: values.to_vec() }
}
