//! Columns of the blocks that were read: times in order, each once.

use super::collect::{Block, BlockId, Column};
use crate::machine::MachineSeries;
use crate::machine::series::falls;
use hodo_format::machine::{Kind, Source, metric};
use std::collections::HashMap;
use std::sync::Arc;

/// The times of some blocks, and how values come to stand beside them.
struct Times {
    times: Arc<[i64]>,
    /// Places of the values, where they do not stand in order already.
    order: Option<Vec<u32>>,
    /// Places in `times` where another sampler's begin.
    writers: Vec<usize>,
}

/// The series, by source and metric, `offset_ns` later than the monotonic clock; one that was never
/// read is none.
pub(super) fn series(columns: Vec<Column>, blocks: &[Block], offset_ns: i64) -> Vec<MachineSeries> {
    let mut known: HashMap<Vec<BlockId>, Times> = HashMap::new();
    let mut series: Vec<MachineSeries> = columns
        .into_iter()
        .filter(|column| column.values.iter().any(|value| !value.is_nan()))
        .map(|column| {
            let Column { series, blocks: of, mut values, .. } = column;
            let times = known.entry(of).or_insert_with_key(|of| Times::new(of, blocks, offset_ns));
            if let Some(order) = &times.order {
                values = order.iter().map(|&at| values[at as usize]).collect();
            }
            let source = Source::parse(&series.source);
            let anew = match series.kind {
                Kind::Gauge => Vec::new(),
                Kind::Counter => anew(&source, &series.metric, &values, &times.writers),
            };
            let (metric, unit, kind) = (series.metric, series.unit, series.kind);
            let times = Arc::clone(&times.times);
            values.shrink_to_fit();
            MachineSeries { source, metric, unit, kind, times, values, anew }
        })
        .collect();
    series.sort_by(|a, b| (&a.source, &a.metric).cmp(&(&b.source, &b.metric)));
    series
}

/// Where a counter started anew: where it fell, and one that the sampler itself keeps wherever
/// another sampler went on.
fn anew(source: &Source, metric: &str, values: &[f64], writers: &[usize]) -> Vec<usize> {
    let mut anew = falls(values);
    let is_own =
        matches!(source, Source::Processes | Source::Sampler) || metric == metric::GPU_XIDS.name;
    if is_own {
        anew.extend(writers);
        anew.sort_unstable();
        anew.dedup();
    }
    anew
}

impl Times {
    fn new(of: &[BlockId], blocks: &[Block], offset_ns: i64) -> Times {
        let of = || of.iter().map(|&id| &blocks[id as usize]);
        let at = |&ns: &u64| i64::try_from(ns).unwrap_or(i64::MAX).saturating_add(offset_ns);
        let all: Vec<i64> = of().flat_map(|block| block.times.iter().map(at)).collect();
        let writers = of().flat_map(|block| block.times.iter().map(|_| block.writer));
        let writers: Vec<Option<u64>> = writers.collect();
        if all.is_sorted_by(|a, b| a < b) {
            let changes = changes(writers.iter());
            return Times { times: all.into(), order: None, writers: changes };
        }
        let mut order: Vec<u32> = (0..all.len() as u32).collect();
        order.sort_by_key(|&at| all[at as usize]);
        order.dedup_by_key(|at| all[*at as usize]);
        Times {
            times: order.iter().map(|&at| all[at as usize]).collect(),
            writers: changes(order.iter().map(|&at| &writers[at as usize])),
            order: Some(order),
        }
    }
}

/// Places whose writer is known and is another than the one known before.
fn changes<'a>(writers: impl Iterator<Item = &'a Option<u64>>) -> Vec<usize> {
    let mut found = Vec::new();
    let mut before = None;
    for (at, &writer) in writers.enumerate().filter_map(|(at, writer)| Some((at, writer.as_ref()?)))
    {
        if before.is_some_and(|before| before != writer) {
            found.push(at);
        }
        before = Some(writer);
    }
    found
}
