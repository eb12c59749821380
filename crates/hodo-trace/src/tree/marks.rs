//! Marks and tags by node.

use super::measure::Sum;
use super::paths::{NodeId, Paths, ROOT};
use super::{MarkSeries, Tag};
use crate::select::Selection;
use crate::{MarkRow, OVERHEAD_MARK, Process, Run, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Marks of one name in the making.
struct Growing {
    series: MarkSeries,
    first_at: i64,
    last_at: i64,
    sum: f64,
    finite: u64,
}

type Key = (NodeId, String, bool);

/// The marks of every node; those made outside any scope under the root.
pub(super) fn series(
    run: &Run,
    paths: &mut Paths,
    kept: &[Selection],
) -> BTreeMap<NodeId, Vec<MarkSeries>> {
    let mut growing: BTreeMap<Key, Growing> = BTreeMap::new();
    for (at, process) in run.processes.iter().enumerate() {
        for mark in &process.marks {
            if let Some(node) = node_of(mark, process, at, paths, &kept[at]) {
                add(&mut growing, node, mark, process);
            }
        }
    }
    let mut by_node: BTreeMap<NodeId, Vec<MarkSeries>> = BTreeMap::new();
    for ((node, _, _), grown) in growing {
        by_node.entry(node).or_default().push(grown.finish());
    }
    by_node
}

/// The node a mark belongs to; none when the filter dropped its scope. What belongs to no scope,
/// or to a lost one, shows only when nothing is filtered.
fn node_of(
    mark: &MarkRow,
    process: &Process,
    at: usize,
    paths: &mut Paths,
    kept: &Selection,
) -> Option<NodeId> {
    match process.spans.row_of(mark.span) {
        Some(row) => kept.keeps(row).then(|| paths.node(at, row))?,
        None if !matches!(kept, Selection::All) => None,
        None if mark.span.is_none() => Some(ROOT),
        None => Some(paths.lost()),
    }
}

fn add(growing: &mut BTreeMap<Key, Growing>, node: NodeId, mark: &MarkRow, process: &Process) {
    let name = process.names.text(mark.name).into_owned();
    let at = process.clock.steady_ns(mark.at);
    let value = mark.value.resolved(&process.names);
    match growing.entry((node, name, mark.summary)) {
        std::collections::btree_map::Entry::Vacant(place) => {
            let (_, name, summary) = place.key().clone();
            place.insert(Growing::new(name, summary, at, value));
        }
        std::collections::btree_map::Entry::Occupied(place) => place.into_mut().add(at, value),
    }
}

impl Growing {
    fn new(name: String, summary: bool, at: i64, value: Value) -> Growing {
        let series = MarkSeries {
            name,
            summary,
            count: 0,
            first: value.clone(),
            last: value.clone(),
            min: None,
            max: None,
            mean: None,
        };
        let mut growing = Growing { series, first_at: at, last_at: at, sum: 0.0, finite: 0 };
        growing.add(at, value);
        growing
    }

    fn add(&mut self, at: i64, value: Value) {
        let series = &mut self.series;
        series.count += 1;
        if let Some(number) = value.as_f64().filter(|n| !n.is_nan()) {
            series.min = Some(series.min.map_or(number, |min| min.min(number)));
            series.max = Some(series.max.map_or(number, |max| max.max(number)));
            if number.is_finite() {
                self.sum += number;
                self.finite += 1;
            }
        }
        if at < self.first_at {
            self.first_at = at;
            series.first = value;
        } else if at >= self.last_at {
            self.last_at = at;
            series.last = value;
        }
    }

    fn finish(mut self) -> MarkSeries {
        self.series.mean = (self.finite > 0).then(|| self.sum / self.finite as f64);
        self.series
    }
}

/// The overhead of a node's scopes as the mark they all have.
pub(super) fn overhead(sum: &Sum) -> MarkSeries {
    let overhead = &sum.overhead;
    MarkSeries {
        name: OVERHEAD_MARK.to_owned(),
        summary: true,
        count: sum.count,
        first: Value::I64(overhead.first as i64),
        last: Value::I64(overhead.last as i64),
        min: Some(overhead.min as f64),
        max: Some(overhead.max as f64),
        mean: Some(overhead.total as f64 / sum.count as f64),
    }
}

/// The key whose value is shown next to a scope's name.
const TAG_KEY: &str = "tag";

/// The tags of every node.
pub(super) fn tags(run: &Run, paths: &Paths, kept: &[Selection]) -> BTreeMap<NodeId, Tag> {
    let mut found: BTreeMap<NodeId, BTreeSet<String>> = BTreeMap::new();
    for (at, process) in run.processes.iter().enumerate() {
        let tags = process.attrs.all().iter();
        for attr in tags.filter(|a| process.names.get(a.key) == Some(TAG_KEY)) {
            let row = process.spans.row_of(attr.span).filter(|&row| kept[at].keeps(row));
            if let Some(node) = row.and_then(|row| paths.node(at, row)) {
                found.entry(node).or_default().insert(attr.value.display(&process.names));
            }
        }
    }
    found.into_iter().filter_map(|(node, tags)| Some((node, tag(tags)?))).collect()
}

fn tag(mut tags: BTreeSet<String>) -> Option<Tag> {
    match tags.len() {
        1 => tags.pop_first().map(Tag::One),
        many => Some(Tag::Many(many as u64)),
    }
}
