//! The steps of a run: what its main loop repeats.

use super::Timeline;
use crate::links::Links;
use crate::select::select;
use crate::tree::paths::{NodeId, ROOT};
use crate::tree::statistics_of;
use crate::{Filter, Process, Row, Run};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};

/// Points of the strip; more steps are shown by the slowest of each group.
const MOST_POINTS: usize = 4000;
/// A loop that goes round less often is the main one only where there is no other.
const MANY: u64 = 10;
/// What steps are called, without case and separators.
const NAMES: [&str; 7] =
    ["step", "batch", "iteration", "iter", "trainstep", "trainingstep", "minibatch"];
/// Parts of a step that are told apart; the rest is one.
const MOST_PARTS: usize = 8;

/// One step.
struct Step {
    start_ns: i64,
    ns: u64,
    index: Option<i64>,
    process: usize,
    row: Row,
}

/// The scopes that are the steps.
struct MainLoop {
    node: NodeId,
    /// Whether they are numbered by their order, since none of them has an index.
    is_by_order: bool,
}

/// Scopes of a path, and their time.
type Rounds = Vec<(u64, u64)>;

/// Whether scopes of this name are steps.
fn is_step(name: &str) -> bool {
    let letters = name.chars().filter(|letter| letter.is_alphanumeric());
    let plain: String = letters.flat_map(char::to_lowercase).collect();
    NAMES.contains(&plain.as_str())
}

/// Numbers steps that are in order of their start, those of each process from 0 on.
fn number(steps: &mut [Step], processes: usize) {
    let mut next = vec![0; processes];
    for step in steps {
        step.index = Some(next[step.process]);
        next[step.process] += 1;
    }
}

impl Timeline {
    /// How long each step took, and what of it. Of the paths whose scopes have an index it is the
    /// outermost that is called a step and goes round often; else the outermost that does; else the
    /// outermost; of several that are not inside each other the one with the most time. Where no scope
    /// has an index it is a loop that is called a step, or one with most of the time, and its
    /// scopes are numbered from 0 in each process. None where there is no such loop.
    pub fn steps(&self, run: &Run, filter: &Filter) -> Option<Value> {
        let (main, steps) = self.main_steps(run, filter)?;
        let per_point = steps.len().div_ceil(MOST_POINTS).max(1);
        let slowest = |group: &[Step]| (0..group.len()).max_by_key(|&at| group[at].ns);
        let places = steps.chunks(per_point).enumerate();
        let places = places.filter_map(|(at, group)| Some(at * per_point + slowest(group)?));
        let shown: Vec<&Step> = places.map(|at| &steps[at]).collect();
        Some(self.told(run, &main, &steps, per_point, &shown))
    }

    /// The first step with this index, or with the next larger one that there is; told as
    /// [`Timeline::steps`] tells all, in lists of one or, where there is none, of nothing.
    pub fn step_with_index(&self, run: &Run, filter: &Filter, index: i64) -> Option<Value> {
        self.one_step(run, filter, |steps| {
            let from = steps.iter().filter(|step| step.index >= Some(index));
            from.min_by_key(|step| step.index)
        })
    }

    /// The first step that begins after a moment, in the same form.
    pub fn step_after(&self, run: &Run, filter: &Filter, ns: i64) -> Option<Value> {
        self.one_step(run, filter, |steps| steps.iter().find(|step| step.start_ns > ns))
    }

    /// The last step that begins before a moment, in the same form.
    pub fn step_before(&self, run: &Run, filter: &Filter, ns: i64) -> Option<Value> {
        self.one_step(run, filter, |steps| steps.iter().rfind(|step| step.start_ns < ns))
    }

    fn one_step(
        &self,
        run: &Run,
        filter: &Filter,
        choose: impl FnOnce(&[Step]) -> Option<&Step>,
    ) -> Option<Value> {
        let (main, steps) = self.main_steps(run, filter)?;
        let shown: Vec<&Step> = choose(&steps).into_iter().collect();
        Some(self.told(run, &main, &steps, 1, &shown))
    }

    /// The main loop and its steps that a filter keeps, in order of their start.
    fn main_steps(&self, run: &Run, filter: &Filter) -> Option<(MainLoop, Vec<Step>)> {
        let main = self.main_loop(run)?;
        let kept = select(run, &Links::new(&run.processes), filter);
        let mut steps = self.steps_of(run, main.node);
        steps.sort_by_key(|step| step.start_ns);
        if main.is_by_order {
            number(&mut steps, run.processes.len());
        }
        steps.retain(|step| kept[step.process].keeps(step.row));
        Some((main, steps))
    }

    /// Some of the steps in columns, and the number and statistics of all.
    fn told(
        &self,
        run: &Run,
        main: &MainLoop,
        steps: &[Step],
        per_point: usize,
        shown: &[&Step],
    ) -> Value {
        let mut all_ns: Vec<u64> = steps.iter().map(|step| step.ns).collect();
        let largest_index = steps.iter().filter_map(|step| step.index).max();
        let column =
            |of: &dyn Fn(&Step) -> Value| shown.iter().map(|step| of(step)).collect::<Vec<_>>();
        json!({
            "path": self.paths(run).path(main.node), "by_order": main.is_by_order,
            "count": steps.len(), "per_point": per_point,
            "largest_index": largest_index, "durations": statistics_of(&mut all_ns),
            "step_ns": column(&|step| json!(step.ns)),
            "start_ns": column(&|step| json!(step.start_ns)),
            "index": column(&|step| json!(step.index)),
            "rank": column(&|step| json!(run.processes[step.process].info.rank)),
            "id": column(&|step| json!(self.step_id(run, step))),
            "parts": self.parts(run, shown),
        })
    }

    fn step_id(&self, run: &Run, step: &Step) -> Option<String> {
        let found = self.scope(run, step.process, step.row)?;
        Some(self.id_of(found.track, found.process, found.row)?.to_string())
    }

    fn main_loop(&self, run: &Run) -> Option<MainLoop> {
        let paths = self.paths(run);
        let is_named = |node: NodeId| is_step(paths.name(node));
        let indexed = self.rounds(run, |process, row| process.spans.index(row).is_some());
        let choices: [&dyn Fn(NodeId, u64) -> bool; 4] = [
            &|node, count| is_named(node) && count >= MANY,
            &|_, count| count >= MANY,
            &|node, count| is_named(node) || count > 1,
            &|_, _| true,
        ];
        if indexed.iter().any(|sum| sum.0 > 0) {
            let node = choices.iter().find_map(|choice| self.outermost(run, &indexed, choice))?;
            return Some(MainLoop { node, is_by_order: false });
        }
        let all = self.rounds(run, |_, _| true);
        let outermost = paths.nodes.iter().zip(&all).filter(|(node, _)| node.parent == ROOT);
        let whole_ns = outermost.fold(0u64, |whole, (_, sum)| whole.saturating_add(sum.1));
        let is_most = |node: NodeId| all[node as usize].1 >= whole_ns / 2;
        let choices: [&dyn Fn(NodeId, u64) -> bool; 3] = [
            &|node, count| is_named(node) && count >= MANY,
            &|node, count| is_named(node) && count > 1,
            &|node, count| is_most(node) && count >= MANY,
        ];
        let node = choices.iter().find_map(|choice| self.outermost(run, &all, choice))?;
        Some(MainLoop { node, is_by_order: true })
    }

    /// By node, the scopes that are meant and their time.
    fn rounds(&self, run: &Run, is_meant: impl Fn(&Process, Row) -> bool) -> Rounds {
        let paths = self.paths(run);
        let mut rounds = vec![(0u64, 0u64); paths.nodes.len()];
        for (at, process) in run.processes.iter().enumerate().filter(|(_, p)| p.is_timed()) {
            for row in process.spans.rows().filter(|&row| is_meant(process, row)) {
                let ns = process.clock.duration_ns(process.spans.duration(row));
                if let Some(node) = paths.node(at, row).filter(|&node| node != ROOT) {
                    let sum = &mut rounds[node as usize];
                    *sum = (sum.0 + 1, sum.1.saturating_add(ns));
                }
            }
        }
        rounds
    }

    /// Of the nodes that are a choice, by their number of scopes too, one that is in no other: that
    /// with the most time.
    fn outermost(
        &self,
        run: &Run,
        rounds: &Rounds,
        is_choice: &dyn Fn(NodeId, u64) -> bool,
    ) -> Option<NodeId> {
        let count = |node: NodeId| rounds[node as usize].0;
        let fits = |node: NodeId| count(node) > 0 && is_choice(node, count(node));
        let is_inside = |node: NodeId| self.above(run, node).any(fits);
        let nodes = 0..rounds.len() as NodeId;
        nodes
            .filter(|&node| fits(node) && !is_inside(node))
            .max_by_key(|&node| rounds[node as usize].1)
    }

    /// The nodes that a node is in.
    fn above(&self, run: &Run, node: NodeId) -> impl Iterator<Item = NodeId> {
        let nodes = &self.paths(run).nodes;
        let up = move |node: &NodeId| Some(nodes[*node as usize].parent).filter(|_| *node != ROOT);
        std::iter::successors(up(&node), up)
    }

    fn steps_of(&self, run: &Run, node: NodeId) -> Vec<Step> {
        let paths = self.paths(run);
        let mut steps = Vec::new();
        for (at, process) in run.processes.iter().enumerate().filter(|(_, p)| p.is_timed()) {
            let rows = process.spans.closed_rows().filter(|&row| paths.node(at, row) == Some(node));
            steps.extend(rows.map(|row| Step {
                start_ns: self.moment_ns(process, process.spans.start(row)),
                ns: process.clock.duration_ns(process.spans.duration(row)),
                index: process.spans.index(row),
                process: at,
                row,
            }));
        }
        steps
    }

    /// By name of a child, the time in it of each step; those with the least time together.
    fn parts(&self, run: &Run, steps: &[&Step]) -> Value {
        let places: HashMap<(usize, Row), usize> =
            steps.iter().enumerate().map(|(at, step)| ((step.process, step.row), at)).collect();
        let mut parts: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for (at, process) in run.processes.iter().enumerate().filter(|(_, p)| p.is_timed()) {
            let mut scan = process.spans.scan();
            for row in process.spans.rows() {
                let step = scan.parent_row(row).and_then(|up| places.get(&(at, up)));
                if let Some(&step) = step {
                    let name = process.span(row).name().into_owned();
                    let part = parts.entry(name).or_insert_with(|| vec![0; steps.len()]);
                    part[step] += process.clock.duration_ns(scan.duration(row));
                }
            }
        }
        let mut parts: Vec<(String, Vec<u64>)> = parts.into_iter().collect();
        parts.sort_by_key(|(_, ns)| std::cmp::Reverse(ns.iter().sum::<u64>()));
        if parts.len() > MOST_PARTS {
            let rest = parts.split_off(MOST_PARTS);
            let sum = |at: usize| rest.iter().map(|(_, ns)| ns[at]).sum();
            parts.push((format!("({} others)", rest.len()), (0..steps.len()).map(sum).collect()));
        }
        parts
            .into_iter()
            .map(|(name, ns)| (name, json!(ns)))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }
}
