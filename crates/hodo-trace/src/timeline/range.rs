//! A stretch of time as tables.

use super::Timeline;
use super::sums::{ScopeSum, Sums};
use crate::select::Selection;
use crate::tree::paths::NodeId;
use crate::{Filter, Run};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Rows of each table; all of them are counted.
const MOST_ROWS: usize = 500;

impl Timeline {
    /// What happened in a stretch of time, of what `filter` keeps: scopes and GPU work cut to it,
    /// and the marks made in it.
    pub fn range(&self, run: &Run, filter: &Filter, range: Option<[i64; 2]>) -> Value {
        let sums = self.sums(run, filter, range);
        let with_scopes = (0..).zip(&sums.scopes).filter(|(_, sum)| sum.count > 0);
        let mut scopes: Vec<(NodeId, &ScopeSum)> = with_scopes.collect();
        scopes.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.total_ns));
        let mut work: Vec<_> = sums.work.iter().collect();
        work.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.total_ns));
        let rows = scopes.iter().take(MOST_ROWS).map(|&(node, sum)| row(&sums, node, sum));
        let kernel = |&(name, sum): &(&String, &super::sums::WorkSum)| {
            json!({
                "name": name, "kernel": sum.is_kernel, "count": sum.count,
                "total_ns": sum.total_ns, "max_ns": sum.max_ns, "bytes": sum.bytes,
            })
        };
        json!({
            "scopes": rows.collect::<Vec<_>>(), "scopes_count": scopes.len(),
            "kernels": work.iter().take(MOST_ROWS).map(kernel).collect::<Vec<_>>(),
            "kernels_count": work.len(),
            "gpu_busy_ns": sums.gpu_busy_ns, "gpu_devices": sums.gpu_devices, "gpu_why": sums.gpu_why,
            "marks": self.marks_in(run, &sums.kept, range),
        })
    }

    fn marks_in(&self, run: &Run, kept: &[Selection], range: Option<[i64; 2]>) -> Vec<Value> {
        let mut found: BTreeMap<String, MarkSum> = BTreeMap::new();
        for (process, kept) in run.processes.iter().zip(kept).filter(|(p, _)| p.is_timed()) {
            let (from, to) = self.window(process, range);
            for mark in process.marks.iter().filter(|mark| mark.at >= from && mark.at < to) {
                let scope = process.spans.row_of(mark.span);
                let is_all = matches!(kept, Selection::All);
                if scope.map_or(is_all, |row| kept.keeps(row)) {
                    let name = process.names.text(mark.name).into_owned();
                    found.entry(name).or_default().add(mark.value.as_f64());
                }
            }
        }
        let one = |(name, sum): (String, MarkSum)| {
            let mean = (sum.numbers > 0).then(|| sum.sum / sum.numbers as f64);
            json!({"name": name, "count": sum.count, "mean": mean, "min": sum.min, "max": sum.max})
        };
        found.into_iter().map(one).collect()
    }
}

fn row(sums: &Sums<'_>, node: NodeId, sum: &ScopeSum) -> Value {
    json!({
        "path": sums.paths.path(node), "name": sums.paths.name(node), "count": sum.count,
        "total_ns": sum.total_ns, "self_ns": sum.self_ns,
        "cpu_ns": sum.cpu_ns(), "cpu_why": sum.cpu_why, "gpu_ns": sum.gpu_ns,
    })
}

#[derive(Default)]
struct MarkSum {
    count: u64,
    numbers: u64,
    sum: f64,
    min: Option<f64>,
    max: Option<f64>,
}

impl MarkSum {
    fn add(&mut self, number: Option<f64>) {
        self.count += 1;
        if let Some(number) = number.filter(|number| number.is_finite()) {
            self.numbers += 1;
            self.sum += number;
            self.min = Some(self.min.map_or(number, |min| min.min(number)));
            self.max = Some(self.max.map_or(number, |max| max.max(number)));
        }
    }
}
