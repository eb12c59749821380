//! Marks and tags by node.

use super::measure::Sum;
use super::paths::{NodeId, Paths, ROOT};
use super::{MarkSeries, Tag};
use crate::select::Selection;
use crate::{MarkRow, OVERHEAD_MARK, Process, Run, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap, btree_map, hash_map};

/// Marks of one name in the making; first and last with their moments.
struct Growing {
    count: u64,
    first: (i64, Value),
    last: (i64, Value),
    last_attrs: Option<Value>,
    min: Option<f64>,
    max: Option<f64>,
    sum: f64,
    finite: u64,
}

/// Node, name and whether they are summaries.
type Key<Name> = (NodeId, Name, bool);

/// The marks of every node; those made outside any scope under the root.
pub(super) fn series(
    run: &Run,
    paths: &mut Paths,
    kept: &[Selection],
) -> BTreeMap<NodeId, Vec<MarkSeries>> {
    let mut growing: BTreeMap<Key<String>, Growing> = BTreeMap::new();
    for (at, process) in run.processes.iter().enumerate() {
        for ((node, name, summary), grown) in of_process(process, at, paths, &kept[at]) {
            let name = process.names.text(name).into_owned();
            match growing.entry((node, name, summary)) {
                btree_map::Entry::Vacant(place) => drop(place.insert(grown)),
                btree_map::Entry::Occupied(mut place) => place.get_mut().join(grown),
            }
        }
    }
    let mut by_node: BTreeMap<NodeId, Vec<MarkSeries>> = BTreeMap::new();
    for ((node, name, summary), grown) in growing {
        by_node.entry(node).or_default().push(grown.finish(name, summary));
    }
    by_node
}

fn of_process(
    process: &Process,
    at: usize,
    paths: &mut Paths,
    kept: &Selection,
) -> HashMap<Key<u32>, Growing> {
    let mut growing: HashMap<Key<u32>, Growing> = HashMap::new();
    for (place, mark) in process.marks.iter().enumerate() {
        if let Some(node) = node_of(mark, process, at, paths, kept) {
            let point = Growing::new(mark, process.mark_attrs.of(place), process);
            match growing.entry((node, mark.name, mark.summary)) {
                hash_map::Entry::Vacant(place) => drop(place.insert(point)),
                hash_map::Entry::Occupied(mut place) => place.get_mut().join(point),
            }
        }
    }
    growing
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

impl Growing {
    fn new(mark: &MarkRow, attrs: Option<&Value>, process: &Process) -> Growing {
        let at = process.clock.steady_ns(mark.at);
        let value = mark.value.resolved(&process.names);
        let number = value.as_f64().filter(|n| !n.is_nan());
        let finite = number.filter(|n| n.is_finite());
        Growing {
            count: 1,
            first: (at, value.clone()),
            last: (at, value),
            last_attrs: attrs.cloned(),
            min: number,
            max: number,
            sum: finite.unwrap_or(0.0),
            finite: u64::from(finite.is_some()),
        }
    }

    fn join(&mut self, other: Growing) {
        let pick = |a: Option<f64>, b: Option<f64>, of: fn(f64, f64) -> f64| match (a, b) {
            (Some(a), Some(b)) => Some(of(a, b)),
            (a, b) => a.or(b),
        };
        self.count += other.count;
        self.min = pick(self.min, other.min, f64::min);
        self.max = pick(self.max, other.max, f64::max);
        self.sum += other.sum;
        self.finite += other.finite;
        if other.first.0 < self.first.0 {
            self.first = other.first;
        }
        if other.last.0 >= self.last.0 {
            self.last = other.last;
            self.last_attrs = other.last_attrs;
        }
    }

    fn finish(self, name: String, summary: bool) -> MarkSeries {
        MarkSeries {
            name,
            summary,
            count: self.count,
            first: self.first.1,
            last: self.last.1,
            last_attrs: self.last_attrs,
            min: self.min,
            max: self.max,
            mean: (self.finite > 0).then(|| self.sum / self.finite as f64),
        }
    }
}

/// The overhead of a node's scopes as the mark they all have.
pub(super) fn overhead(sum: &Sum) -> MarkSeries {
    let overhead = &sum.overhead;
    MarkSeries {
        name: OVERHEAD_MARK.to_owned(),
        summary: true,
        count: sum.timed(),
        first: Value::I64(overhead.first as i64),
        last: Value::I64(overhead.last as i64),
        last_attrs: None,
        min: Some(overhead.min as f64),
        max: Some(overhead.max as f64),
        mean: Some(overhead.total as f64 / sum.timed() as f64),
    }
}

/// The key whose value is shown next to a scope's name.
pub(crate) const TAG_KEY: &str = "tag";

/// The tags of every node.
pub(crate) fn tags(run: &Run, paths: &Paths, kept: &[Selection]) -> BTreeMap<NodeId, Tag> {
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
