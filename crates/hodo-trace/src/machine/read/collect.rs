//! Takes readings from frames, each once.

use super::super::MachineState;
use super::Window;
use hodo_format::arena::Anchor;
use hodo_format::machine::{Readings, Series};
use hodo_format::record::Sink;
use hodo_format::spool::FrameSink;
use std::collections::HashMap;
use std::ops::Range;

/// What the files of a host hold, as far as they were read.
pub(super) struct Collected {
    pub(super) state: Option<MachineState>,
    pub(super) anchors: Vec<Anchor>,
    pub(super) columns: Vec<Column>,
    pub(super) blocks: Vec<Block>,
    /// Readings whose series or moments are not known.
    pub(super) unusable: u64,
}

/// A series in the making: its values block by block.
pub(super) struct Column {
    pub(super) series: Series,
    pub(super) blocks: Vec<BlockId>,
    pub(super) values: Vec<f64>,
    /// The latest moment it has.
    last: Option<u64>,
}

/// Moments that series have in common.
pub(super) struct Block {
    /// Nanoseconds of the monotonic clock.
    pub(super) times: Vec<u64>,
    /// The random number of the sampler that wrote it.
    pub(super) writer: Option<u64>,
}

pub(super) type BlockId = u32;

/// Readings as they are read.
pub(super) struct Collector {
    found: Collected,
    window: Option<Window>,
    /// By source and metric.
    known: HashMap<(String, String), usize>,
    /// By id, in the file that is being read.
    ids: HashMap<u32, usize>,
    /// Blocks of the file that is being read begin here.
    first_block: usize,
    /// Take only what is later than what a series has.
    later: bool,
}

impl Collector {
    pub(super) fn new(window: Option<Window>) -> Collector {
        let found = Collected {
            state: None,
            anchors: Vec::new(),
            columns: Vec::new(),
            blocks: Vec::new(),
            unusable: 0,
        };
        let (known, ids) = (HashMap::new(), HashMap::new());
        Collector { found, window, known, ids, first_block: 0, later: false }
    }

    /// Ids mean a series in their file only.
    pub(super) fn next_file(&mut self) {
        self.ids.clear();
        self.first_block = self.found.blocks.len();
    }

    /// Says who wrote the file that was read.
    pub(super) fn wrote(&mut self, writer: Option<u64>) {
        self.found.blocks[self.first_block..].iter_mut().for_each(|block| block.writer = writer);
    }

    /// From here on only what is later than the blocks counts.
    pub(super) fn only_later(&mut self) {
        self.later = true;
    }

    pub(super) fn finish(self) -> Collected {
        self.found
    }

    /// Rows of `times` that a series takes which has everything up to `last`.
    fn wanted(&self, times: &[u64], last: Option<u64>) -> Range<usize> {
        let known = last.filter(|_| self.later);
        let from = known.map_or(0, |last| times.partition_point(|&time| time <= last));
        let Some(window) = &self.window else { return from..times.len() };
        let low = times.partition_point(|time| time < window.start());
        let high = times.partition_point(|time| time <= window.end());
        from.max(low)..high.max(from.max(low))
    }

    fn block(&mut self, times: &[u64]) -> BlockId {
        self.found.blocks.push(Block { times: times.to_vec(), writer: None });
        self.found.blocks.len() as BlockId - 1
    }
}

impl Sink for Collector {}

impl FrameSink for Collector {
    fn anchors(&mut self, anchors: &[Anchor]) {
        self.found.anchors.extend_from_slice(anchors);
    }

    fn machine_state(&mut self, json: &str) {
        self.found.state = MachineState::parse(json).or(self.found.state.take());
    }

    fn series(&mut self, series: &[Series]) {
        for one in series {
            let columns = &mut self.found.columns;
            let key = (one.source.clone(), one.metric.clone());
            let at = *self.known.entry(key).or_insert_with(|| {
                let series = one.clone();
                columns.push(Column { series, blocks: Vec::new(), values: Vec::new(), last: None });
                columns.len() - 1
            });
            // A later version may store it in other steps.
            columns[at].series.exponent = one.exponent;
            self.ids.insert(one.id, at);
        }
    }

    fn readings(&mut self, readings: Readings) {
        let times = &readings.times;
        if !times.is_sorted() {
            self.found.unusable += readings.values.len() as u64;
            return;
        }
        let mut made: Option<(Range<usize>, BlockId)> = None;
        for (at, id) in readings.series.iter().enumerate() {
            let Some(&column) = self.ids.get(id) else {
                self.found.unusable += times.len() as u64;
                continue;
            };
            let rows = self.wanted(times, self.found.columns[column].last);
            if rows.is_empty() {
                continue;
            }
            let block = match &made {
                Some((of, block)) if *of == rows => *block,
                _ => self.block(&times[rows.clone()]),
            };
            made = Some((rows.clone(), block));
            let column = &mut self.found.columns[column];
            let values = &readings.values_of(at)[rows.clone()];
            let series = &column.series;
            let value = |whole: &Option<i64>| whole.map_or(f64::NAN, |whole| series.value(whole));
            column.values.extend(values.iter().map(value));
            column.blocks.push(block);
            column.last = column.last.max(times[rows].last().copied());
        }
    }
}
