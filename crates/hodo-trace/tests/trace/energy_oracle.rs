//! Energy of made-up runs against the definition, applied tick by tick.

use crate::support::gpu::Works;
use crate::support::machine::{Sampled, gpu};
use crate::support::{Records, TestRun};
use hodo_format::machine::metric;
use hodo_format::record::SpanId;
use hodo_trace::{Anchor, Filter};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A scope: thread, parent among those before it, start and length.
type Scope = (u32, Option<prop::sample::Index>, u64, u64);
/// A kernel: its scope (or none), start and length.
type Kernel = (Option<prop::sample::Index>, u64, u64);

const FIRST: u64 = 1;
const LAST: u64 = 121;

#[derive(Debug, Clone)]
struct Case {
    scopes: Vec<Scope>,
    kernels: Vec<Kernel>,
    /// Time since the reading before, and joules; some are none, for a counter that starts anew.
    readings: Vec<(u64, Option<u32>)>,
}

fn case() -> impl Strategy<Value = Case> {
    let index = || prop::option::of(any::<prop::sample::Index>());
    let scope = (1u32..4, index(), 2u64..110, 0u64..60);
    let kernel = (index(), 2u64..110, 0u64..30);
    let reading = (1u64..25, prop::option::weighted(0.9, 0u32..1000));
    let all = (
        prop::collection::vec(scope, 0..12),
        prop::collection::vec(kernel, 0..8),
        prop::collection::vec(reading, 1..9),
    );
    all.prop_map(|(scopes, kernels, readings)| Case { scopes, kernels, readings })
}

/// Where scopes and kernels are: start, end.
struct Laid {
    parents: Vec<Option<usize>>,
    scopes: Vec<(u64, u64)>,
    kernels: Vec<(Option<usize>, u64, u64)>,
    /// Watts, or rather joules a tick, by tick.
    power: BTreeMap<u64, f64>,
}

fn lay(case: &Case) -> Laid {
    let parent = |at: usize, index: &Option<prop::sample::Index>| {
        index.filter(|_| at > 0).map(|index| index.index(at))
    };
    let all = case.scopes.len();
    let kernel = |(scope, start, length): &Kernel| {
        let scope = scope.filter(|_| all > 0).map(|index| index.index(all));
        (scope, *start, start + length)
    };
    let mut power = BTreeMap::new();
    let mut time = FIRST;
    for (step, joules) in &case.readings[1..] {
        for tick in (time..time + step).filter(|tick| (FIRST..LAST).contains(tick)) {
            joules.map(|joules| power.insert(tick, f64::from(joules) / *step as f64));
        }
        time += step;
    }
    Laid {
        parents: case.scopes.iter().enumerate().map(|(at, s)| parent(at, &s.1)).collect(),
        scopes: case.scopes.iter().map(|s| (s.2, s.2 + s.3)).collect(),
        kernels: case.kernels.iter().map(kernel).collect(),
        power,
    }
}

/// Joules of each scope and outside, by the words of the definition.
fn by_definition(laid: &Laid) -> (Vec<f64>, f64) {
    let mut own = vec![0.0; laid.scopes.len()];
    let mut outside = 0.0;
    for (&tick, &joules) in &laid.power {
        let mut owners: Vec<Option<usize>> = laid
            .kernels
            .iter()
            .filter(|(_, start, end)| (*start..*end).contains(&tick))
            .map(|kernel| kernel.0)
            .collect();
        owners.sort_unstable();
        owners.dedup();
        if owners.is_empty() {
            let is_open = |at: usize| (laid.scopes[at].0..laid.scopes[at].1).contains(&tick);
            let has_child =
                |of: usize| (0..own.len()).any(|at| laid.parents[at] == Some(of) && is_open(at));
            let leaves = (0..own.len()).filter(|&at| is_open(at) && !has_child(at));
            owners = leaves.map(Some).collect();
        }
        let share = joules / owners.len().max(1) as f64;
        if owners.is_empty() {
            outside += joules;
        }
        for owner in owners {
            match owner {
                Some(at) => own[at] += share,
                None => outside += share,
            }
        }
    }
    (own, outside)
}

fn write(case: &Case, laid: &Laid) -> TestRun {
    let (run, mut r, mut w) = (TestRun::new(), Records::new(1), Works::new());
    let anchor = |ticks| Anchor { ticks, monotonic_ns: ticks, wall_ns: 1_000_000_000_000 + ticks };
    r.anchors = vec![anchor(FIRST), anchor(LAST)];
    let ids: Vec<SpanId> = case.scopes.iter().map(|scope| r.id(scope.0)).collect();
    for (at, &(start, end)) in laid.scopes.iter().enumerate() {
        let parent = laid.parents[at].map_or(SpanId::NONE, |parent| ids[parent]);
        r.close(ids[at], parent, &format!("scope {at}"), start, end.min(LAST));
    }
    for &(scope, start, end) in &laid.kernels {
        w.kernel(&mut r, scope.map_or(SpanId::NONE, |at| ids[at]), "k", start, end);
    }
    let folder = run.finished(&r);
    w.write(&folder);
    let mut box_ = Sampled::new(run.path());
    let energy = box_.add(gpu(), &metric::GPU_ENERGY);
    let (mut time, mut count) = (FIRST, 50_000.0);
    let mut rows = vec![(time, [Some(count)])];
    for (step, joules) in &case.readings[1..] {
        time += step;
        // One that starts anew begins below where it was.
        count = joules.map_or(count - 1.0, |joules| count + f64::from(joules));
        rows.push((time, [Some(count)]));
    }
    let rows: Vec<(u64, &[Option<f64>])> = rows.iter().map(|r| (r.0, r.1.as_slice())).collect();
    box_.write(1, 7, &[box_.rows(&[energy], &rows)]);
    run
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn energy_is_what_the_definition_says(case in case()) {
        let laid = lay(&case);
        let run = write(&case, &laid).read();
        let tree = hodo_trace::tree(&run, &Filter::default());
        let (own, outside) = by_definition(&laid);
        let whole: f64 = laid.power.values().sum();
        let Some(all) = &tree.energy else {
            prop_assert_eq!(laid.power.len(), 0);
            return Ok(());
        };
        let is_near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * whole.max(1.0);
        prop_assert!(is_near(all.total_j, whole), "{} {}", all.total_j, whole);
        prop_assert!(is_near(all.outside_j, outside), "{} {}", all.outside_j, outside);
        prop_assert!(is_near(all.scopes_j + all.outside_j, whole));
        let mut found = vec![0.0; own.len()];
        for node in &tree.nodes {
            let at: usize = node.name["scope ".len()..].parse().expect("its number");
            found[at] += node.energy.map_or(0.0, |energy| energy.self_j);
        }
        for (at, (found, expected)) in found.iter().zip(&own).enumerate() {
            prop_assert!(is_near(*found, *expected), "scope {}: {} {}", at, found, expected);
        }
    }
}
