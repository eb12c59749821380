//! The aggregated tree.

use crate::support::render::assert_tree;
use crate::support::{Records, TestRun};
use hodo_format::record::{SpanId, Value, flag};
use hodo_trace::{Filter, FlatSort, NamePattern, OVERHEAD_MARK, Run, Tree, flat};

fn read(records: &Records) -> Run {
    let run = TestRun::new();
    run.finished(records);
    run.read()
}

fn tree(records: &Records) -> Tree {
    hodo_trace::tree(&read(records), &Filter::default())
}

fn filtered(records: &Records, filter: &Filter) -> Tree {
    hodo_trace::tree(&read(records), filter)
}

/// Two batches on thread 1, one on thread 2.
fn training() -> Records {
    let mut r = Records::new(1);
    for (thread, begin, batches) in [(1, 100, 2), (2, 150, 1)] {
        let epoch = r.id(thread);
        for index in 0..batches {
            let start = begin + 10 + 100 * index;
            let batch = r.id(thread);
            let forward = r.scope(thread, batch, "forward", start + 5, start + 35);
            r.attr(forward, "variant", Value::I64(index as i64));
            r.scope(thread, batch, "backward", start + 40, start + 80);
            let span = r.span(batch, epoch, "batch", start, start + 90);
            let flags = flag::HAS_INDEX;
            r.push(
                thread,
                vec![hodo_format::record::Span { flags, index: index as i64, ..span }.to_unit()],
            );
        }
        r.close(epoch, SpanId::NONE, "epoch", begin, begin + 20 + 100 * batches);
    }
    r
}

#[test]
fn paths_merge_over_threads() {
    assert_tree(
        &tree(&training()),
        "
        epoch 2x total 340 self 70
          batch 3x total 270 self 60
            forward 3x total 90 self 90
            backward 3x total 120 self 120
        ",
    );
}

#[test]
fn siblings_stand_in_the_order_they_first_opened() {
    let mut r = Records::new(1);
    r.scope(2, SpanId::NONE, "late", 500, 600);
    r.scope(1, SpanId::NONE, "early", 100, 200);
    assert_tree(
        &tree(&r),
        "
        early 1x total 100 self 100
        late 1x total 100 self 100
        ",
    );
}

#[test]
fn children_on_other_threads_and_overlapping_ones_count_once_in_self_time() {
    let mut r = Records::new(1);
    let root = r.id(1);
    r.scope(1, root, "a", 110, 150);
    r.scope(2, root, "b", 120, 180);
    r.scope(3, root, "outlives", 190, 900);
    r.close(root, SpanId::NONE, "root", 100, 200);
    assert_tree(
        &tree(&r),
        "
        root 1x total 100 self 20
          a 1x total 40 self 40
          b 1x total 60 self 60
          outlives 1x total 710 self 710
        ",
    );
}

#[test]
fn scopes_whose_parent_is_lost_stay_in_the_tree() {
    let mut r = Records::new(1);
    let lost = r.id(1);
    let batch = r.id(1);
    r.scope(1, batch, "forward", 110, 120);
    r.close(batch, lost, "batch", 100, 150);
    r.scope(1, SpanId::NONE, "after", 400, 410);
    assert_tree(
        &tree(&r),
        "
        (lost scope) -
          batch 1x total 50 self 40
            forward 1x total 10 self 10
        after 1x total 10 self 10
        ",
    );
}

#[test]
fn a_circle_of_parents_is_cut() {
    let mut r = Records::new(1);
    let (a, b, own) = (r.id(1), r.id(1), r.id(1));
    r.close(a, b, "a", 100, 150);
    r.close(b, a, "b", 100, 160);
    r.close(own, own, "own parent", 200, 210);
    let tree = tree(&r);
    assert_eq!(tree.spans, 3);
    assert_eq!(tree.nodes.iter().map(|n| n.count).sum::<u64>(), 3);
}

#[test]
fn a_child_process_hangs_under_the_scope_that_started_it() {
    let run = TestRun::new();
    let mut parent = Records::new(1);
    let launch = parent.id(1);
    parent.close(launch, SpanId::NONE, "launch", 100, 900);
    let mut child = Records::new(2);
    child.parent = Some((parent.process, launch));
    child.scope(1, SpanId::NONE, "work", 200, 300);
    let mut stranger = Records::new(3);
    stranger.parent = Some((77, launch));
    stranger.scope(1, SpanId::NONE, "work", 400, 450);
    for process in [&parent, &child, &stranger] {
        run.finished(process);
    }
    assert_tree(
        &hodo_trace::tree(&run.read(), &Filter::default()),
        "
        launch 1x total 800 self 700
          work 1x total 100 self 100
        work 1x total 50 self 50
        ",
    );
}

#[test]
fn ranks_merge_by_path_and_can_be_picked() {
    let run = TestRun::new();
    for rank in 0..3 {
        let mut r = Records::new(rank + 1);
        r.rank = Some(rank);
        r.scope(1, SpanId::NONE, "step", 100, 110 + u64::from(rank));
        run.finished(&r);
    }
    let all = hodo_trace::tree(&run.read(), &Filter::default());
    assert_tree(&all, "step 3x total 33 self 33");
    assert_eq!((all.nodes[0].processes, all.nodes[0].threads), (3, 3));
    let filter = Filter { rank: Some(2), ..Filter::default() };
    assert_tree(&hodo_trace::tree(&run.read(), &filter), "step 1x total 12 self 12");
}

#[test]
fn filters_keep_what_is_under_a_match_and_show_the_way_to_it() {
    let name = |text: &str| Filter { name: Some(NamePattern::new(text)), ..Filter::default() };
    assert_tree(&filtered(&training(), &name("fw*rd")), "");
    assert_tree(
        &filtered(&training(), &name("f*w?rd")),
        "
        epoch -
          batch -
            forward 3x total 90 self 90
        ",
    );
    let filter =
        Filter { conditions: vec!["index>=1".parse().expect("a condition")], ..Filter::default() };
    assert_tree(
        &filtered(&training(), &filter),
        "
        epoch -
          batch 1x total 90 self 20
            forward 1x total 30 self 30
            backward 1x total 40 self 40
        ",
    );
    let both = Filter {
        conditions: vec!["index=0".parse().expect("a condition")],
        thread: Some("thread-2".to_owned()),
        ..name("forward")
    };
    assert_tree(
        &filtered(&training(), &both),
        "
        epoch -
          batch -
            forward 1x total 30 self 30
        ",
    );
}

#[test]
fn the_last_value_of_an_attribute_decides() {
    let mut r = Records::new(1);
    let id = r.id(1);
    r.text(id, "state", "warm");
    r.text(id, "state", "hot");
    r.close(id, SpanId::NONE, "s", 100, 200);
    let matching = |text: &str| {
        let conditions = vec![text.parse().expect("a condition")];
        filtered(&r, &Filter { conditions, ..Filter::default() }).spans
    };
    assert_eq!(matching("state=hot"), 1);
    assert_eq!(matching("state=warm"), 0);
    assert_eq!(matching("state!=warm"), 1);
    assert_eq!(matching("other=hot"), 0);
}

#[test]
fn a_tag_is_named_or_counted() {
    let mut r = Records::new(1);
    for (name, tag, start) in [("a", "x", 100), ("a", "x", 200), ("b", "x", 300), ("b", "y", 400)] {
        let id = r.id(1);
        r.text(id, "tag", tag);
        r.close(id, SpanId::NONE, name, start, start + 10);
    }
    assert_tree(
        &tree(&r),
        "
        a / x 2x total 20 self 20
        b / 2 tags 2x total 20 self 20
        ",
    );
}

#[test]
fn a_benchmark_loop_has_statistics_without_its_warm_up() {
    let mut r = Records::new(1);
    let warm = r.id(1);
    for start in [100, 120] {
        let id = r.id(1);
        r.flagged(id, warm, "iteration", start, start + 19, flag::ITERATION | flag::WARMUP);
    }
    r.flagged(warm, SpanId::NONE, "mm warm-up", 100, 150, flag::WARMUP);
    let bench = r.id(1);
    for (start, len) in [(200, 10), (220, 12), (240, 14), (260, 8), (280, 11)] {
        let id = r.id(1);
        r.flagged(id, bench, "iteration", start, start + len, flag::ITERATION);
    }
    r.flagged(bench, SpanId::NONE, "mm", 200, 300, flag::BENCH);
    let tree = tree(&r);
    let node = tree.nodes.iter().find(|n| n.name == "mm").expect("the loop");
    let bench = node.bench.expect("statistics");
    assert_eq!((bench.iterations, bench.warmup), (5, 2));
    assert_eq!((bench.min_ns, bench.median_ns, bench.mean_ns, bench.p95_ns), (8, 11, 11, 14));
    // s = 2.236, t = 2.776, n = 5: 11 ± 2.78.
    assert_eq!(bench.ci95_ns, Some([8, 14]));
    assert!(tree.nodes.iter().filter(|n| n.bench.is_some()).count() == 1);
}

#[test]
fn cpu_time_is_a_value_a_zero_or_not_captured_with_the_reason() {
    let mut r = Records::new(1);
    for (name, flags) in [
        ("some", 0),
        ("some", flag::CPU_SUSPENDED),
        ("none", flag::CPU_OFF),
        ("none", flag::CPU_OTHER_THREAD),
    ] {
        let id = r.id(1);
        r.flagged(id, SpanId::NONE, name, 100, 200, flags);
    }
    r.scope(1, SpanId::NONE, "zero", 300, 301);
    let tree = tree(&r);
    let cpu = |name: &str| tree.nodes.iter().find(|n| n.name == name).expect("a node").cpu;
    assert_eq!(
        (cpu("some").total_ns, cpu("some").captured, cpu("some").suspended),
        (Some(50), 1, 1)
    );
    assert_eq!((cpu("none").total_ns, cpu("none").off, cpu("none").other_thread), (None, 1, 1));
    assert_eq!(cpu("zero").total_ns, Some(0));
}

#[test]
fn marks_are_series_and_summaries_and_every_scope_has_its_overhead() {
    let mut r = Records::new(1);
    let id = r.id(1);
    for (at, value) in [(110, 3.0), (120, f64::NAN), (130, 1.0), (140, f64::INFINITY)] {
        r.mark(1, id, "loss", at, Value::F64(value), false);
    }
    r.mark(1, id, "best", 150, Value::I64(4), true);
    r.mark(1, id, "best", 160, Value::I64(7), true);
    r.mark(1, SpanId::NONE, "outside", 170, Value::Bool(true), false);
    r.close(id, SpanId::NONE, "s", 100, 200);
    let tree = tree(&r);
    let marks = &tree.nodes[0].marks;
    let names: Vec<_> = marks.iter().map(|m| (m.name.as_str(), m.count)).collect();
    assert_eq!(names, [(OVERHEAD_MARK, 1), ("best", 2), ("loss", 4)]);
    assert_eq!(marks[0].last, hodo_trace::Value::I64(1));
    assert_eq!(marks[1].last, hodo_trace::Value::I64(7));
    let loss = &marks[2];
    assert_eq!((loss.min, loss.max, loss.mean), (Some(1.0), Some(f64::INFINITY), Some(2.0)));
    assert_eq!((&loss.first, loss.summary), (&hodo_trace::Value::F64(3.0), false));
    assert_eq!(tree.marks_outside_scopes[0].name, "outside");
    let json = serde_json::to_string(&tree).expect("JSON");
    assert!(json.contains(r#""last":"inf""#), "{json}");
    assert!(json.starts_with(r#"{"schema":"hodo.tree/1""#), "{json}");
}

#[test]
fn failed_and_left_open_scopes_are_counted() {
    let mut r = Records::new(1);
    for flags in [0, flag::FAILED, flag::LEFT_OPEN] {
        let id = r.id(1);
        r.flagged(id, SpanId::NONE, "s", 100, 110, flags);
    }
    let tree = tree(&r);
    assert_tree(&tree, "s 3x total 30 self 30 open 1 failed 1");
    assert_eq!(tree.nodes[0].durations.expect("two closed").max_ns, 10);
}

#[test]
fn a_scope_with_the_text_of_an_error_failed() {
    let mut r = Records::new(1);
    let (told, number) = (r.id(1), r.id(1));
    r.close(told, SpanId::NONE, "told", 100, 110);
    r.text(told, "error", "out of memory");
    r.close(number, SpanId::NONE, "number", 200, 210);
    r.attr(number, "error", Value::F64(0.01));
    assert_tree(
        &tree(&r),
        "
        told 1x total 10 self 10 failed 1
        number 1x total 10 self 10
        ",
    );
}

#[test]
fn the_flat_table_counts_a_scope_inside_its_like_once() {
    let mut r = Records::new(1);
    let outer = r.id(1);
    let inner = r.id(1);
    r.scope(1, inner, "g", 120, 140);
    r.close(inner, outer, "f", 110, 150);
    r.close(outer, SpanId::NONE, "f", 100, 200);
    let rows = flat(&tree(&r), FlatSort::Total);
    let rows: Vec<_> =
        rows.iter().map(|r| (r.name.as_str(), r.count, r.total_ns, r.self_ns)).collect();
    assert_eq!(rows, [("f", 2, Some(100), Some(80)), ("g", 1, Some(20), Some(20))]);
}

#[test]
fn a_node_with_thousands_of_children_is_right() {
    let mut r = Records::new(1);
    for i in 0..3000u64 {
        let name = format!("n{:04}", i % 1500);
        r.scope(1, SpanId::NONE, &name, 100 + i, 101 + i);
    }
    let tree = tree(&r);
    assert_eq!(tree.nodes.len(), 1500);
    assert!(tree.nodes.iter().all(|n| n.count == 2));
}

#[test]
fn processes_started_in_a_scope_count_in_its_self_time() {
    let run = TestRun::new();
    let (mut starter, mut worker) = (Records::new(1), Records::new(2));
    let step = starter.id(1);
    starter.scope(1, step, "local", 110, 130);
    starter.close(step, SpanId::NONE, "step", 100, 200);
    // Its counter stands elsewhere and is twice as fast: 50 to 70 and 120 to 180 of the starter's.
    worker.anchors = worker
        .anchors
        .iter()
        .map(|a| hodo_format::arena::Anchor { ticks: 7 + 2 * a.ticks, ..*a })
        .collect();
    worker.parent = Some((starter.process, step));
    worker.scope(1, SpanId::NONE, "early", 7 + 2 * 50, 7 + 2 * 70);
    worker.scope(1, SpanId::NONE, "work", 7 + 2 * 120, 7 + 2 * 180);
    run.finished(&starter);
    run.finished(&worker);
    assert_tree(
        &hodo_trace::tree(&run.read(), &Filter::default()),
        "
        step 1x total 100 self 30
          early 1x total 20 self 20
          local 1x total 20 self 20
          work 1x total 60 self 60
        ",
    );
}

#[test]
fn shares_are_of_all_the_parents_a_filter_passed_through() {
    let mut r = Records::new(1);
    for (at, fits) in [(100, true), (300, false), (500, false)] {
        let batch = r.id(1);
        let forward = r.scope(1, batch, "forward", at, at + 60);
        if fits {
            r.attr(batch, "variant", Value::I64(1));
        }
        if at < 500 {
            r.attr(forward, "variant", Value::I64(1));
        }
        r.close(batch, SpanId::NONE, "batch", at, at + 100);
    }
    let variant: hodo_trace::Condition = "variant=1".parse().expect("a condition");
    let filter = Filter { conditions: vec![variant], ..Filter::default() };
    let tree = filtered(&r, &filter);
    let share = |at: usize| tree.nodes[at].of_parent().expect("a share");
    // One batch fits; the forward of another does too, so two batches are what is looked at.
    assert_eq!((tree.nodes[0].total_ns, tree.nodes[1].total_ns), (Some(100), Some(120)));
    assert_eq!((share(0), share(1)), (0.1, 0.6));
    let all = hodo_trace::tree(&read(&r), &Filter::default());
    assert_eq!(all.nodes[1].of_parent(), Some(0.6));
}

#[test]
fn the_run_is_as_long_as_it_was_recorded_whatever_the_filter() {
    let r = training();
    let run = read(&r);
    assert_eq!(run.wall_ns(), Some(1000), "between the first and the last reading of the clocks");
    let filter = Filter { name: Some(NamePattern::new("forward")), ..Filter::default() };
    assert_eq!(hodo_trace::tree(&run, &filter).wall_ns, run.wall_ns());
}

#[test]
fn failures_and_open_scopes_are_told_from_the_inside_out() {
    let mut r = Records::new(1);
    let (outer, inner) = (r.id(1), r.id(1));
    r.text(inner, "error", "NaN");
    r.flagged(inner, outer, "inner", 200, 250, flag::FAILED);
    r.flagged(outer, SpanId::NONE, "outer", 100, 300, flag::FAILED);
    let run = read(&r);
    let failed = run.failed(&Filter::default());
    assert_eq!(failed.len(), 1);
    let names: Vec<_> = failed[0].path.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["inner", "outer"]);
    assert_eq!((failed[0].after_ns, failed[0].duration_ns), (Some(199), Some(50)));
    assert_eq!(failed[0].error.as_deref(), Some("NaN"));
    assert!(run.open_scopes(&Filter::default()).is_empty());
}

#[test]
fn endings_are_of_scopes_that_fit_the_filter() {
    let mut r = Records::new(1);
    for (name, from, flags) in [("load", 100, flag::FAILED), ("save", 200, flag::LEFT_OPEN)] {
        let id = r.id(1);
        r.flagged(id, SpanId::NONE, name, from, from + 50, flags);
    }
    let run = read(&r);
    let start_ns = run.start_ns().expect("times");
    let of = |filter: &Filter| (run.failed(filter).len(), run.open_scopes(filter).len());
    let named = |text: &str| of(&text.parse().expect(text));
    assert_eq!((named("load"), named("save"), named("none")), ((1, 0), (0, 1), (0, 0)));
    let open_in = Some([start_ns, start_ns + 140]);
    assert_eq!(of(&Filter { open_in, ..Filter::default() }), (1, 0));
    let filter: Filter = "save".parse().expect("a name");
    let tree = hodo_trace::tree(&run, &filter);
    let document = hodo_trace::document(&run, &filter, &tree, &[], 5);
    assert_eq!((&document["failed"]["count"], &document["open"]["count"]), (&0.into(), &1.into()));
}

/// A path that holds every other path's names would take the square of the depth.
#[test]
fn a_document_of_deep_nesting_names_parents_and_stays_small() {
    const DEPTH: usize = 3000;
    let mut r = Records::new(1);
    let ids: Vec<SpanId> = (0..DEPTH).map(|_| r.id(1)).collect();
    for (at, &id) in ids.iter().enumerate().rev() {
        let around = at.checked_sub(1).map_or(SpanId::NONE, |up| ids[up]);
        let begin = 100 + at as u64;
        r.close(id, around, &format!("level {at}"), begin, 100_000 - begin);
    }
    let run = read(&r);
    let tree = hodo_trace::tree(&run, &Filter::default());
    let document =
        hodo_trace::document(&run, &Filter::default(), &tree, &hodo_trace::by_total(&tree), 10);
    let nodes = document["nodes"].as_array().expect("nodes");
    assert_eq!(nodes.len(), DEPTH);
    let mut at = nodes.len() - 1;
    let mut names = vec![nodes[at]["name"].clone()];
    while let Some(up) = nodes[at]["parent"].as_u64() {
        at = up as usize;
        names.push(nodes[at]["name"].clone());
    }
    assert_eq!(names.len(), DEPTH, "the way through the parents");
    let path = nodes[DEPTH - 1]["path"].as_array().expect("a path");
    assert_eq!((path.len(), &path[0], &path[63]), (64, &"level 0".into(), &"level 2999".into()));
    assert_eq!(path[1], "(2937 left out)");
    assert!(nodes.iter().all(|node| node["path"].as_array().is_some_and(|path| path.len() <= 64)));
}

#[test]
fn conditions_on_one_attribute_hold_of_one_scope() {
    let mut r = Records::new(1);
    let indexed = |r: &mut Records, id, up, name: &str, index| {
        let span = r.span(id, up, name, 100, 200);
        r.push(
            1,
            vec![hodo_format::record::Span { flags: flag::HAS_INDEX, index, ..span }.to_unit()],
        );
    };
    let (epoch, inner) = (r.id(1), r.id(1));
    let load = r.scope(1, inner, "read", 110, 120);
    r.attr(load, "variant", Value::I64(7));
    indexed(&mut r, inner, epoch, "load", 150);
    indexed(&mut r, epoch, SpanId::NONE, "epoch", 3);
    let shown = |text: &str| filtered(&r, &text.parse().expect(text)).spans;
    assert_eq!((shown("index>100"), shown("index<90")), (2, 3));
    assert_eq!(shown("index>100 index<90"), 0, "no scope has both");
    assert_eq!(shown("index>100 index<200"), 2);
    assert_eq!(shown("index<90 variant=7"), 1, "two attributes may be of two scopes around");
}
