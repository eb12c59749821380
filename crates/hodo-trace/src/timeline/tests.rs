//! Boxes compared with what looking at every slice says.

use super::*;
use crate::spans::SpansBuilder;
use crate::{Account, Attrs, Clock, Condition, Damage, Filter, Gpu, MarkAttrs, Names, Spans};
use crate::{ProcessInfo, ProcessState, RunInfo, Thread};
use hodo_format::arena::Anchor;
use hodo_format::record::{Span, SpanId};
use proptest::prelude::*;

/// Ticks are nanoseconds; recording began at this one.
const EPOCH: u64 = 1_000;
const WALL_NS: u64 = 1_000_000_000_000_000;

/// A scope: start and length in nanoseconds, which of the earlier ones is its parent, its name.
pub(super) type Drawn = (u64, u64, Option<usize>, u32);

fn process(spans: Spans, threads: u32) -> Process {
    let anchor =
        |ns: u64| Anchor { ticks: EPOCH + ns, monotonic_ns: EPOCH + ns, wall_ns: WALL_NS + ns };
    let mut names = Names::default();
    (0..8).for_each(|id| names.insert(id, &format!("name {id}")));
    Process {
        folder: "p".into(),
        info: ProcessInfo::default(),
        state: ProcessState::Finished,
        clock: Clock::new(vec![anchor(0), anchor(1_000_000_000)]),
        names,
        threads: (1..=threads).map(|number| Thread { number, ..Thread::default() }).collect(),
        spans,
        attrs: Attrs::default(),
        marks: Vec::new(),
        mark_attrs: MarkAttrs::default(),
        gpu: Gpu::default(),
        account: Account::default(),
        damage: Damage::default(),
        process: 7,
        last_tick: EPOCH + 1_000_000,
    }
}

pub(super) fn run(drawn: &[Drawn]) -> Run {
    made(drawn, 0)
}

/// The same with an index on every scope.
fn indexed(drawn: &[Drawn]) -> Run {
    made(drawn, hodo_format::record::flag::HAS_INDEX)
}

fn made(drawn: &[Drawn], flags: u16) -> Run {
    let id = |at: usize| SpanId::new(1, at as u64 + 1);
    let mut builder = SpansBuilder::default();
    let mut order: Vec<usize> = (0..drawn.len()).collect();
    // As they close.
    order.sort_by_key(|&at| drawn[at].0 + drawn[at].1);
    for at in order {
        let (start, length, parent, name) = drawn[at];
        let parent = parent.map_or(SpanId::NONE, id);
        let (start, end) = (EPOCH + start, EPOCH + start + length);
        let (cpu, index, overhead) = (0, at as i64, 0);
        builder.push(&Span { flags, name, id: id(at), parent, start, end, cpu, index, overhead });
    }
    let processes = vec![process(builder.finish(&[]), 1)];
    let info = RunInfo::default();
    Run { folder: "run".into(), info, processes, machines: Vec::new() }
}

/// In order of their start, as ids are given; parents are earlier ones.
fn some_scopes() -> impl Strategy<Value = Vec<Drawn>> {
    let length = prop_oneof![6 => 0_u64..12, 3 => 0_u64..200, 1 => 0_u64..3_000];
    let scope = (0_u64..15, length, any::<prop::sample::Index>(), any::<bool>(), 0_u32..8);
    prop::collection::vec(scope, 1..150).prop_map(|all| {
        let mut at = 0;
        let mut drawn: Vec<Drawn> = Vec::new();
        for (gap, length, parent, has_parent, name) in all {
            at += gap;
            let parent = (has_parent && !drawn.is_empty()).then(|| parent.index(drawn.len()));
            drawn.push((at, length, parent, name));
        }
        drawn
    })
}

/// The lane of each scope, found by looking at all before it.
fn lanes(drawn: &[Drawn]) -> Vec<usize> {
    let mut lanes: Vec<usize> = Vec::new();
    for (at, &(start, _, parent, _)) in drawn.iter().enumerate() {
        let last_in = |lane: usize| (0..at).rev().find(|&before| lanes[before] == lane);
        let end = |of: usize| drawn[of].0 + drawn[of].1;
        let is_above = |up: &usize| last_in(lanes[*up]) == Some(*up) && end(*up) >= start;
        let first = parent.filter(is_above).map_or(0, |up| lanes[up] + 1);
        let is_free = |lane: &usize| last_in(*lane).is_none_or(|last| end(last) <= start);
        lanes.push((first..).find(is_free).unwrap_or(first));
    }
    lanes
}

/// What a tile is by its definition: start, length, count, name, depth, busy.
fn expected(drawn: &[Drawn], [from, to]: [i64; 2], res: u64) -> Vec<(i64, u64, u32, u32, u16, u8)> {
    let lanes = lanes(drawn);
    let depths = lanes.iter().max().map_or(0, |most| most + 1);
    let mut found = Vec::new();
    for depth in 0..depths {
        let mut group: Vec<Drawn> = Vec::new();
        let mut close = |group: &mut Vec<Drawn>| {
            let (Some(&first), Some(&last)) = (group.first(), group.last()) else { return };
            let length = last.0 + last.1 - first.0;
            let time: u64 = group.iter().map(|one| one.1).sum();
            let most = group.iter().map(|one| one.1).max();
            let longest = group.iter().find(|one| Some(one.1) == most).map_or(0, |one| one.3);
            let share =
                if length == 0 || group.len() == 1 { 1.0 } else { time as f64 / length as f64 };
            let busy = (share * 255.0).round() as u8;
            found.push((first.0 as i64, length, group.len() as u32, longest, depth as u16, busy));
            group.clear();
        };
        for (_, &one) in drawn.iter().enumerate().filter(|(at, _)| lanes[*at] == depth) {
            let (start, length) = (one.0 as i64, one.1);
            let touches = start < to && start + length as i64 > from;
            if length >= res {
                close(&mut group);
                if touches {
                    group.push(one);
                    close(&mut group);
                }
            } else if start >= from && start < to {
                if group.first().is_some_and(|first| first.0 / res != one.0 / res) {
                    close(&mut group);
                }
                group.push(one);
            }
        }
        close(&mut group);
    }
    found
}

proptest! {
    #[test]
    fn a_tile_is_what_looking_at_every_slice_says(
        drawn in some_scopes(), level in 0_u32..9, window in 0_i64..6, width in 1_i64..40,
    ) {
        let run = run(&drawn);
        let mut stable = Stable::default();
        let timeline = run.timeline(&mut stable);
        prop_assert_eq!(timeline.tracks.len(), 1);
        let track = &timeline.tracks[0];
        prop_assert_eq!(track.slices, drawn.len() as u64);
        let res = 1_u64 << level;
        let range = [window * width, (window + 1) * width].map(|at| at * res as i64);
        let boxes = timeline.boxes(&run, track, range, res, None);
        let name = |id: u32| stable.names().iter().position(|n| *n == format!("name {id}"));
        let told: Vec<_> = boxes
            .iter()
            .map(|b| (b.start_ns, b.duration_ns, b.count, b.name, b.depth, b.busy))
            .collect();
        let wanted: Vec<_> = expected(&drawn, range, res)
            .into_iter()
            .map(|(start, length, count, id, depth, busy)| {
                (start, length, count, name(id).unwrap_or(usize::MAX) as u32, depth, busy)
            })
            .collect();
        prop_assert_eq!(told, wanted);
    }

    #[test]
    fn every_slice_is_found_by_its_id_and_reached_on_foot(drawn in some_scopes()) {
        let run = run(&drawn);
        let timeline = run.timeline(&mut Stable::default());
        let track = &timeline.tracks[0];
        let mut seen = 0;
        for one in timeline.boxes(&run, track, [0, i64::MAX], 1, None) {
            let Some(id) = one.id else {
                seen += one.count;
                continue;
            };
            let found = timeline.find(&run, id).expect("found");
            let (look, at) = timeline.place(found).expect("placed");
            prop_assert_eq!((look.depth, look.one(at)), (one.depth, one));
            let next = timeline.walk(&run, id, Step::Next);
            prop_assert_eq!(next.is_some(), at + 1 < look.len());
            seen += 1;
        }
        prop_assert_eq!(seen as usize, drawn.len());
    }

    #[test]
    fn what_a_filter_drops_is_dimmed(drawn in some_scopes(), level in 0_u32..7, wanted in 0_u32..8) {
        let run = run(&drawn);
        let timeline = run.timeline(&mut Stable::default());
        let track = &timeline.tracks[0];
        let filter = Filter { name: Some(crate::NamePattern::new(&format!("name {wanted}"))), ..Filter::default() };
        let kept = Kept::new(&run, &timeline, &filter);
        // A scope is kept with all under it.
        let mut fits = vec![false; drawn.len()];
        for (at, one) in drawn.iter().enumerate() {
            fits[at] = one.3 == wanted || one.2.is_some_and(|up| fits[up]);
        }
        let lanes = lanes(&drawn);
        // The boxes of a lane hold its slices one after another.
        let mut left: Vec<_> = (0..track.depths())
            .map(|depth| (0..drawn.len()).filter(|&at| lanes[at] == depth).collect::<Vec<_>>().into_iter())
            .collect();
        for one in timeline.boxes(&run, track, [0, i64::MAX / 2], 1 << level, Some(&kept)) {
            let of_lane = left[usize::from(one.depth)].by_ref();
            let inside: Vec<usize> = of_lane.take(one.count as usize).collect();
            let any = inside.iter().any(|&at| fits[at]);
            prop_assert_eq!(one.flags & box_flag::DIMMED == 0, any, "{:?}", one);
        }
    }

    #[test]
    fn sums_of_a_range_are_what_its_parts_add_up_to(drawn in some_scopes(), cut in 1_i64..900) {
        let run = run(&drawn);
        let timeline = run.timeline(&mut Stable::default());
        let total = |range| {
            let range = timeline.range(&run, &Filter::default(), Some(range));
            let sum = |key: &str| -> u64 {
                let rows = range["scopes"].as_array().cloned().unwrap_or_default();
                rows.iter().filter_map(|row| row[key].as_u64()).sum()
            };
            (sum("total_ns"), sum("self_ns"))
        };
        let (all, left, right) = (total([-1, 1 << 40]), total([-1, cut]), total([cut, 1 << 40]));
        prop_assert_eq!(all.0, left.0 + right.0);
        prop_assert_eq!(all.0, drawn.iter().map(|one| one.1).sum::<u64>());
        prop_assert_eq!(all.1, left.1 + right.1);
    }
}

#[test]
fn numbers_stay_while_a_run_grows() {
    let drawn: Vec<Drawn> = (0..40).map(|at| (at * 10, 5, None, (at % 5) as u32)).collect();
    let mut stable = Stable::default();
    let before = run(&drawn[..20]).timeline(&mut stable);
    let names = stable.names().to_vec();
    let after = run(&drawn).timeline(&mut stable);
    assert_eq!(before.tracks[0].number, after.tracks[0].number);
    assert_eq!(stable.names()[..names.len()], names[..]);
    let early = run(&drawn[..20]);
    let id = |timeline: &Timeline, run: &Run| {
        timeline.boxes(run, &timeline.tracks[0], [0, 50], 1, None)[2].id
    };
    assert_eq!(id(&before, &early), id(&after, &run(&drawn)));
}

#[test]
fn a_filter_is_written_in_one_line() {
    let filter: Filter = "rank=3 variant=\"beam search\" index>=10 load*".parse().expect("read");
    let conditions: Vec<Condition> =
        ["variant=beam search", "index>=10"].map(|c| c.parse().expect("read")).into();
    assert_eq!((filter.rank, filter.conditions), (Some(3), conditions));
    assert_eq!(filter.name, Some(crate::NamePattern::new("load*")));
    assert!("a b".parse::<Filter>().is_err(), "two names");
    assert!("x>y".parse::<Filter>().is_err(), "no number");
    assert!("".parse::<Filter>().expect("read").conditions.is_empty());
}

#[test]
fn the_main_loop_is_the_outermost_that_is_called_one() {
    // Epochs of batches of layers, all with an index; only the names say which are steps.
    let of = |names: [u32; 3]| {
        let mut drawn: Vec<Drawn> = Vec::new();
        for epoch in 0..2 {
            drawn.push((epoch * 1000, 1000, None, names[0]));
            let epoch_at = drawn.len() - 1;
            for batch in 0..12 {
                let at = epoch * 1000 + batch * 80;
                drawn.push((at, 70, Some(epoch_at), names[1]));
                let batch_at = drawn.len() - 1;
                drawn.extend((0..3).map(|layer| (at + layer * 20, 15, Some(batch_at), names[2])));
            }
        }
        drawn
    };
    let main = |names: [u32; 3]| {
        let mut run = indexed(&of(names));
        let texts = ["epoch", "batch", "layer", "pass", "round"];
        texts
            .iter()
            .enumerate()
            .for_each(|(id, text)| run.processes[0].names.insert(id as u32, text));
        let steps = run.timeline(&mut Stable::default()).steps(&run, &Filter::default());
        let steps = steps.expect("a loop");
        (steps["path"].clone(), steps["count"].clone(), steps["parts"].clone())
    };
    let (path, count, parts) = main([0, 1, 2]);
    assert_eq!((path, count), (serde_json::json!(["epoch", "batch"]), 24.into()));
    assert_eq!(parts["layer"][0], 45);
    assert_eq!(
        main([0, 3, 4]).0,
        serde_json::json!(["epoch", "pass"]),
        "the outermost that goes round often"
    );
}

#[test]
fn a_short_loop_further_out_is_not_the_main_one() {
    // A benchmark of twelve short steps beside epochs of long ones.
    let mut drawn: Vec<Drawn> = vec![(0, 10_000, None, 0), (0, 9_000, Some(0), 0)];
    drawn.extend((0..12).map(|step| (step * 700, 600, Some(1), 1)));
    drawn.push((20_000, 200, None, 2));
    let bench = drawn.len() - 1;
    drawn.extend((0..12).map(|step| (20_000 + step * 12, 10, Some(bench), 1)));
    let mut run = indexed(&drawn);
    let texts = ["epoch", "step", "benchmark"];
    (0..).zip(texts).for_each(|(id, text)| run.processes[0].names.insert(id, text));
    let steps = run.timeline(&mut Stable::default()).steps(&run, &Filter::default());
    assert_eq!(steps.expect("a loop")["path"], serde_json::json!(["epoch", "epoch", "step"]));
}

#[test]
fn steps_without_an_index_are_numbered_by_order() {
    // As torch.profiler and GPUFlight write them: a warm-up, then steps of two parts each.
    let mut drawn: Vec<Drawn> = vec![(0, 50, None, 0)];
    for step in 0..50 {
        drawn.push((100 + step * 100, 90, None, 1));
        let inside = drawn.len() - 1;
        drawn.extend([0, 40].map(|at| (100 + step * 100 + at, 30, Some(inside), 2)));
    }
    let named = |texts: [&str; 3]| {
        let mut run = run(&drawn);
        (0..).zip(texts).for_each(|(id, text)| run.processes[0].names.insert(id, text));
        run
    };
    let run = named(["warmup", "step", "part"]);
    let timeline = run.timeline(&mut Stable::default());
    let all = Filter::default();
    let steps = timeline.steps(&run, &all).expect("a loop");
    assert_eq!((&steps["path"], &steps["count"]), (&serde_json::json!(["step"]), &50.into()));
    assert_eq!((&steps["by_order"], &steps["largest_index"]), (&true.into(), &49.into()));
    assert_eq!(steps["index"], serde_json::json!((0..50).collect::<Vec<_>>()));
    let found = timeline.step_after(&run, &all, 100).expect("a loop");
    assert_eq!(found["index"], serde_json::json!([1]));
    // Whatever it is called, what most of the run goes round in is its main loop; a part of it is not.
    let unnamed = named(["warmup", "work", "part"]);
    let timeline = unnamed.timeline(&mut Stable::default());
    let steps = timeline.steps(&unnamed, &all).expect("a loop");
    assert_eq!(steps["path"], serde_json::json!(["work"]));
    let rare = self::run(&[(0, 50, None, 0), (60, 1000, None, 1)]);
    assert_eq!(rare.timeline(&mut Stable::default()).steps(&rare, &all), None);
}

#[test]
fn one_step_of_more_than_are_shown_is_found_by_its_index_and_by_time() {
    let mut drawn: Vec<Drawn> = vec![(0, 100_000, None, 0)];
    drawn.extend((0..9_000).map(|step| (step * 10, 8, Some(0), 1)));
    let run = indexed(&drawn);
    let timeline = run.timeline(&mut Stable::default());
    let all = Filter::default();
    let index = |found: Option<serde_json::Value>| found.expect("a loop")["index"].clone();
    let one = |index: i64| serde_json::json!([index]);
    let found = timeline.step_with_index(&run, &all, 5_000).expect("a loop");
    assert_eq!(found["index"], one(5_000));
    assert_eq!(found["count"], 9_000);
    assert_eq!(found["largest_index"], 9_000);
    let start_ns = found["start_ns"][0].as_i64().expect("a moment");
    assert_eq!(index(timeline.step_after(&run, &all, start_ns)), one(5_001));
    assert_eq!(index(timeline.step_before(&run, &all, start_ns)), one(4_999));
    assert_eq!(index(timeline.step_with_index(&run, &all, 9_001)), serde_json::json!([]));
    let late = "index>100".parse::<Filter>().expect("a filter");
    assert_eq!(index(timeline.step_with_index(&run, &late, 5)), one(101), "the next larger one");
}

#[test]
fn statistics_of_steps_are_the_reports_however_few_are_shown() {
    let mut drawn: Vec<Drawn> = vec![(0, 200_000, None, 0)];
    drawn.extend((0..9_000).map(|step| (step * 20, 1 + step % 19, Some(0), 1)));
    let run = indexed(&drawn);
    let all = Filter::default();
    let steps = run.timeline(&mut Stable::default()).steps(&run, &all).expect("a loop");
    assert!(steps["step_ns"].as_array().expect("a list").len() < 9_000);
    let tree = crate::tree(&run, &all);
    assert_eq!(steps["durations"], serde_json::json!(tree.nodes[1].durations));
}

#[test]
fn the_flames_self_time_is_the_reports_where_scopes_ran_at_the_same_time() {
    // The second and third overlap, as on two threads; the fourth outlives what it is in.
    let run = run(&[
        (0, 100, None, 0),
        (10, 40, Some(0), 1),
        (20, 60, Some(0), 2),
        (90, 500, Some(0), 3),
    ]);
    let timeline = run.timeline(&mut Stable::default());
    let flame = timeline.flame(&run, &Filter::default(), None, FlameBy::Wall);
    let tree = crate::tree(&run, &Filter::default());
    let root = &flame["roots"][0];
    assert_eq!(tree.nodes[0].self_ns, Some(20));
    assert_eq!(root["self_ns"], 20);
    assert_eq!(root["parallel_ns"], 40 + 60 + 500 + 20 - 100);
    assert_eq!(root["children"][0]["parallel_ns"], 0);
    let narrow = timeline.flame(&run, &Filter::default(), Some([0, 50]), FlameBy::Wall);
    assert_eq!(narrow["roots"][0]["self_ns"], 10);
}
