//! Slices by name.

use super::{Kept, Timeline, Track};
use crate::{Process, Row, Run};
use serde_json::{Value, json};
use std::collections::{BinaryHeap, HashMap};

/// Slices that were found: the first ones from a moment on, and how many there are in all.
#[derive(Debug)]
pub struct Hits {
    /// In order of their start.
    pub hits: Vec<Value>,
    /// All that have the name.
    pub total: u64,
}

/// Start, place of the track, row.
type Hit = (i64, usize, Row);

impl Timeline {
    /// The first `limit` slices from `after_ns` on whose name has `text` in it, in any case, of
    /// those that are kept.
    pub fn search(
        &self,
        run: &Run,
        text: &str,
        after_ns: i64,
        limit: usize,
        kept: Option<&Kept>,
    ) -> Hits {
        let wanted = text.to_lowercase();
        let mut first: BinaryHeap<Hit> = BinaryHeap::new();
        let mut total = 0;
        for (place, track) in self.tracks.iter().enumerate() {
            let process = &run.processes[track.process];
            let mut fits = Fits { wanted: &wanted, known: HashMap::new() };
            for (depth, lane) in track.lanes.iter().enumerate() {
                let kept = kept.map(|kept| kept.lane(track.number, depth));
                let is_kept = |at| kept.as_ref().is_none_or(|kept| kept.any(at, at + 1));
                for (at, row) in lane.rows.iter().map(|row| row as Row).enumerate() {
                    if !is_kept(at) || !fits.row(process, track, row) {
                        continue;
                    }
                    total += 1;
                    let start_ns = self.moment_ns(process, track.times(process, row).0);
                    let is_among = first.len() < limit
                        || first.peek().is_some_and(|last| (start_ns, place, row) < *last);
                    if start_ns >= after_ns && is_among {
                        first.push((start_ns, place, row));
                    }
                    if first.len() > limit {
                        first.pop();
                    }
                }
            }
        }
        let hits = first.into_sorted_vec();
        Hits { hits: hits.into_iter().filter_map(|hit| self.hit(run, hit)).collect(), total }
    }

    fn hit(&self, run: &Run, (_, track, row): Hit) -> Option<Value> {
        let track = &self.tracks[track];
        let found = match track.is_stream() {
            true => self.work(run, track.process, row)?,
            false => self.scope(run, track.process, row)?,
        };
        let (look, at) = self.place(found)?;
        Some(json!(self.reference(run, &look, at)))
    }
}

/// Which names fit; each is looked at once.
struct Fits<'a> {
    wanted: &'a str,
    known: HashMap<u32, bool>,
}

impl Fits<'_> {
    fn row(&mut self, process: &Process, track: &Track, row: Row) -> bool {
        let wanted = self.wanted;
        let kernel = || process.gpu.work.kernel(row).map(|kernel| kernel.name);
        let name = if track.is_stream() { kernel() } else { Some(process.spans.name(row)) };
        let Some(name) = name else {
            return super::detail::work_name(process, row).to_lowercase().contains(wanted);
        };
        *self.known.entry(name).or_insert_with(|| match track.is_stream() {
            true => process.gpu.kernel_name(name).full.to_lowercase().contains(wanted),
            false => process.names.text(name).to_lowercase().contains(wanted),
        })
    }
}
