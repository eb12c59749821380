//! Random forests against an oracle that counts ticks one by one.

use crate::support::{Records, TestRun};
use hodo_format::record::SpanId;
use hodo_trace::{Filter, Row};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A scope: thread, which earlier scope is its parent, start, length.
type Made = (u32, usize, u64, u64);

fn forest() -> impl Strategy<Value = Vec<Made>> {
    prop::collection::vec((1u32..4, 0usize..20, 1u64..80, 0u64..60), 1..40)
}

/// Total and self time of every path, by looking at every tick of every scope.
fn expected(made: &[Made]) -> BTreeMap<String, (u64, u64, u64)> {
    let parent = |at: usize| (made[at].1 < at).then_some(made[at].1);
    let mut paths: Vec<String> = Vec::new();
    let mut sums: BTreeMap<String, (u64, u64, u64)> = BTreeMap::new();
    for (at, &(_, _, start, len)) in made.iter().enumerate() {
        let up = parent(at).map_or(String::new(), |up| paths[up].clone());
        paths.push(format!("{up}/{}", name(at)));
        let children: Vec<_> = (0..made.len()).filter(|&c| parent(c) == Some(at)).collect();
        let covered =
            |t: u64| children.iter().any(|&c| made[c].2 <= t && t < made[c].2 + made[c].3);
        let own = (start..start + len).filter(|&t| !covered(t)).count() as u64;
        let sum = sums.entry(paths[at].clone()).or_default();
        *sum = (sum.0 + 1, sum.1 + len, sum.2 + own);
    }
    sums
}

fn name(at: usize) -> &'static str {
    ["a", "b", "c"][at % 3]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn the_tree_is_what_counting_ticks_says(made in forest()) {
        let mut r = Records::new(1);
        let ids: Vec<SpanId> = made.iter().map(|m| r.id(m.0)).collect();
        for (at, &(_, up, start, len)) in made.iter().enumerate() {
            let parent = if up < at { ids[up] } else { SpanId::NONE };
            r.close(ids[at], parent, name(at), start, start + len);
        }
        let run = TestRun::new();
        run.finished(&r);
        let read = run.read();
        let tree = hodo_trace::tree(&read, &Filter::default());
        let found: BTreeMap<String, (u64, u64, u64)> = (0..tree.nodes.len() as u32)
            .map(|at| {
                let node = &tree.nodes[at as usize];
                let time = |ns: Option<u64>| ns.expect("a time");
                let sums = (node.count, time(node.total_ns), time(node.self_ns));
                (format!("/{}", tree.path(at).join("/")), sums)
            })
            .collect();
        prop_assert_eq!(found, expected(&made));
        let spans = &read.processes[0].spans;
        for (row, id) in ids.iter().enumerate() {
            let at = spans.row_of(*id).expect("every scope has a row");
            prop_assert_eq!(spans.id(at), *id, "row {}", row as Row);
        }
    }
}
