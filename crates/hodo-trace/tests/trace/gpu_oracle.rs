//! GPU times against a count of ticks, over random scopes and work.

use crate::support::gpu::Works;
use crate::support::{Records, TestRun};
use hodo_format::gpu::Work;
use hodo_format::record::SpanId;
use hodo_trace::{Filter, NodeGpu, Run, Tree};
use proptest::prelude::*;

/// Scopes as (parent, name, start, length), a parent before its children; 0 is no parent.
type Scopes = Vec<(usize, u8, u64, u64)>;
/// Work as (scope, device, start, length, forward).
type Pieces = Vec<(usize, u32, u64, u64, usize)>;

fn made() -> impl Strategy<Value = (Scopes, Pieces)> {
    let scope = (0..8usize, 0..2u8, 1..120u64, 0..60u64);
    let piece = (0..9usize, 0..2u32, 1..200u64, 0..40u64, 0..9usize);
    (prop::collection::vec(scope, 1..8), prop::collection::vec(piece, 0..24))
}

struct World {
    run: Run,
    /// Id, parent, name, interval of each scope.
    scopes: Vec<(SpanId, Option<usize>, u8, u64, u64)>,
    works: Vec<Work>,
}

fn world(scopes: &Scopes, pieces: &Pieces) -> World {
    let mut r = Records::new(1);
    let mut made: Vec<(SpanId, Option<usize>, u8, u64, u64)> = Vec::new();
    for (at, &(parent, name, start, length)) in scopes.iter().enumerate() {
        let id = r.id(1);
        let parent = parent.checked_sub(1).filter(|&parent| parent < at);
        made.push((id, parent, name, start, start + length));
    }
    for &(id, parent, name, start, end) in made.iter().rev() {
        let parent = parent.map_or(SpanId::NONE, |parent| made[parent].0);
        r.close(id, parent, &format!("n{name}"), start, end);
    }
    let mut w = Works::new();
    for &(scope, device, start, length, forward) in pieces {
        let id =
            |at: usize| at.checked_sub(1).and_then(|at| made.get(at)).map_or(SpanId::NONE, |s| s.0);
        let work = w.kernel(&mut r, id(scope), "k", start, start + length);
        (work.device, work.forward) = (device, id(forward));
    }
    let run = TestRun::new();
    w.write(&run.finished(&r));
    World { run: run.read(), scopes: made, works: w.all }
}

impl World {
    fn path(&self, scope: usize) -> Vec<String> {
        let mut names = Vec::new();
        let mut next = Some(scope);
        while let Some(at) = next {
            names.insert(0, format!("n{}", self.scopes[at].2));
            next = self.scopes[at].1;
        }
        names
    }

    /// The scope with this id and all around it.
    fn around(&self, id: SpanId) -> Vec<usize> {
        let mut found = Vec::new();
        let mut next = self.scopes.iter().position(|scope| scope.0 == id);
        while let Some(at) = next {
            found.push(at);
            next = self.scopes[at].1;
        }
        found
    }

    /// Ticks covered on each device by the work that fits, added up.
    fn busy(&self, fits: impl Fn(&Work) -> bool) -> u64 {
        let on = |device: u32, tick: u64| {
            let busy = |w: &&Work| w.device == device && w.start <= tick && tick < w.end;
            self.works.iter().filter(busy).any(&fits)
        };
        (0..2).map(|device| (0..300).filter(|&tick| on(device, tick)).count() as u64).sum()
    }

    fn check(&self, tree: &Tree, at: u32) {
        let path: Vec<String> = tree.path(at).into_iter().map(String::from).collect();
        let here = |scope: usize| self.path(scope) == path;
        let launched = |w: &Work| self.around(w.span).first().is_some_and(|&s| here(s));
        let below = |id: SpanId| self.around(id).into_iter().any(here);
        let gpu: &NodeGpu = tree.nodes[at as usize].gpu.as_ref().expect("captured");
        assert_eq!(gpu.own.busy_ns, self.busy(launched), "own of {path:?}");
        assert_eq!(gpu.all.busy_ns, self.busy(|w| below(w.span)), "all of {path:?}");
        assert_eq!(gpu.backward.busy_ns, self.busy(|w| below(w.forward)), "backward of {path:?}");
        let kernels = self.works.iter().filter(|w| below(w.span)).count() as u64;
        assert_eq!(gpu.all.kernels, kernels);
        let idle_in = |scope: usize| {
            let (_, _, _, start, end) = self.scopes[scope];
            let busy = |t: u64| self.works.iter().any(|w| w.start <= t && t < w.end);
            (start..end).filter(|&t| !busy(t)).count() as u64
        };
        let idle: u64 = (0..self.scopes.len()).filter(|&s| here(s)).map(idle_in).sum();
        assert_eq!(gpu.idle_ns, Some(idle), "idle of {path:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn gpu_times_are_what_counting_ticks_says((scopes, pieces) in made()) {
        let world = world(&scopes, &pieces);
        let tree = hodo_trace::tree(&world.run, &Filter::default());
        (0..tree.nodes.len() as u32).for_each(|at| world.check(&tree, at));
        prop_assert_eq!(tree.gpu.all.busy_ns, world.busy(|_| true));
        let outside = tree.gpu.outside.as_ref().map(|w| w.busy_ns);
        prop_assert_eq!(outside, Some(world.busy(|w| w.span.is_none())));
        let process = &world.run.processes[0];
        let by_span = process.gpu_by_span();
        for (at, scope) in world.scopes.iter().enumerate() {
            let row = process.spans.row_of(scope.0).expect("a scope");
            let gpu = by_span.of(row).expect("captured");
            prop_assert_eq!(gpu.all.busy_ns, world.busy(|w| world.around(w.span).contains(&at)));
            prop_assert_eq!(gpu.own.busy_ns, world.busy(|w| w.span == scope.0));
        }
    }
}
