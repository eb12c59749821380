//! GPU work: read, named, and attributed to scopes.

use crate::support::gpu::Works;
use crate::support::{Records, TestRun};
use hodo_format::gpu::{self, Detail, Sample, flag};
use hodo_format::record::SpanId;
use hodo_trace::timeline::Stable;
use hodo_trace::{
    Filter, GpuMissing, GpuWork, Last, NamePattern, ProcessState, Run, Tree, backward_by_forward,
    kernels, kernels_in_full,
};
use std::fmt::Write;

fn read(records: &Records, works: &Works) -> Run {
    let run = TestRun::new();
    let folder = run.finished(records);
    works.write(&folder);
    run.read()
}

fn tree(run: &Run) -> Tree {
    hodo_trace::tree(run, &Filter::default())
}

/// Busy time and kernels of every node with all that is below it and of its own, and idle time.
fn gpu_text(tree: &Tree) -> String {
    let mut text = String::new();
    for node in &tree.nodes {
        let indent = "  ".repeat(node.depth as usize);
        let _ = write!(text, "{indent}{}", node.name);
        let _ = match &node.gpu {
            None => writeln!(text, " -"),
            Some(gpu) => {
                let idle = gpu.idle_ns.map_or("?".to_owned(), |ns| ns.to_string());
                let line = |work: &GpuWork| format!("{} in {}k", work.busy_ns, work.kernels);
                writeln!(text, " busy {} own {} idle {idle}", line(&gpu.all), line(&gpu.own))
            }
        };
    }
    text
}

#[track_caller]
fn assert_gpu(tree: &Tree, expected: &str) {
    let lines: Vec<&str> = expected.lines().filter(|line| !line.trim().is_empty()).collect();
    let margin = lines.iter().map(|l| l.len() - l.trim_start().len()).min().unwrap_or(0);
    let expected: String = lines.iter().map(|line| format!("{}\n", &line[margin..])).collect();
    let found = gpu_text(tree);
    assert!(found == expected, "expected\n{expected}\nfound\n{found}");
}

/// Two steps with forward and backward; their kernels overlap and outlive the scopes.
fn training() -> (Records, Works) {
    let mut r = Records::new(1);
    let mut w = Works::new();
    for step in 0..2 {
        let at = 1000 * (step + 1);
        let id = r.id(1);
        let forward = r.scope(1, id, "forward", at + 10, at + 200);
        let backward = r.scope(1, id, "backward", at + 210, at + 500);
        r.close(id, SpanId::NONE, "step", at, at + 600);
        w.copy(id, 4096, at + 5, at + 15);
        w.kernel(&mut r, forward, "gemm", at + 20, at + 120);
        w.kernel(&mut r, forward, "gemm", at + 100, at + 140).stream = 8;
        for (flags, start, end) in [(flag::INHERITED, 220, 320), (flag::BY_LAUNCH, 550, 650)] {
            let work = w.kernel(&mut r, backward, "gemm_grad", at + start, at + end);
            (work.flags, work.forward) = (flags, forward);
        }
    }
    (r, w)
}

#[test]
fn time_that_kernels_share_counts_once_and_a_parent_has_that_of_its_children() {
    let (r, w) = training();
    let tree = tree(&read(&r, &w));
    assert_gpu(
        &tree,
        "
        step busy 660 in 8k own 20 in 0k idle 640
          forward busy 240 in 4k own 240 in 4k idle 130
          backward busy 400 in 4k own 400 in 4k idle 380
        ",
    );
    let step = tree.nodes[0].gpu.as_ref().expect("captured");
    assert_eq!((step.captured, step.missing, step.in_gap), (2, 0, 0));
    assert_eq!((step.all.kernel_ns, step.all.inherited, step.all.graph), (680, 2, 0));
    let copy = &step.all.copies[0];
    assert_eq!(
        (copy.direction, copy.count, copy.bytes, copy.total_ns),
        ("host to device", 2, 8192, 20)
    );
    let by_kernel: Vec<_> = step
        .all
        .by_kernel
        .iter()
        .map(|k| (k.name.as_str(), k.count, k.total_ns, k.mean_ns))
        .collect();
    assert_eq!(by_kernel, [("gemm_grad", 4, 400, Some(100)), ("gemm", 4, 280, Some(70))]);
    let launch = step.all.launch.expect("launches are known");
    assert_eq!((launch.count, launch.mean_ns, launch.p50_ns, launch.p95_ns), (8, 10, 10, 10));
    let forward = tree.nodes[1].gpu.as_ref().expect("captured");
    assert_eq!((forward.backward.kernels, forward.backward.busy_ns), (4, 400));
    assert_eq!(step.backward, forward.backward);
}

#[test]
fn devices_count_by_themselves() {
    let mut r = Records::new(1);
    let mut w = Works::new();
    let step = r.scope(1, SpanId::NONE, "step", 100, 300);
    w.kernel(&mut r, step, "a", 110, 160);
    w.kernel(&mut r, step, "a", 120, 170).device = 1;
    let run = read(&r, &w);
    assert_gpu(&tree(&run), "step busy 100 in 2k own 100 in 2k idle 140");
    assert_eq!(tree(&run).gpu.devices, 2);
    let range = run.timeline(&mut Stable::default()).range(&run, &Filter::default(), None);
    assert_eq!((&range["gpu_busy_ns"], &range["gpu_devices"]), (&100.into(), &2.into()));
}

#[test]
fn work_of_no_scope_is_counted_and_visible() {
    let mut r = Records::new(1);
    let mut w = Works::new();
    let step = r.scope(1, SpanId::NONE, "step", 100, 300);
    let lost = r.id(1);
    w.kernel(&mut r, step, "in", 110, 120);
    w.kernel(&mut r, SpanId::NONE, "outside", 110, 130);
    w.kernel(&mut r, SpanId::NONE, "early", 140, 150).flags = flag::UNKNOWN;
    w.kernel(&mut r, lost, "of a lost scope", 160, 165);
    let run = read(&r, &w);
    let gpu = tree(&run).gpu;
    let of = |work: &Option<GpuWork>| work.as_ref().map(|w| (w.kernels, w.busy_ns));
    assert_eq!(of(&gpu.outside), Some((1, 20)));
    assert_eq!(of(&gpu.unknown), Some((1, 10)));
    assert_eq!(of(&gpu.lost_scopes), Some((1, 5)));
    assert_eq!((gpu.all.kernels, gpu.all.busy_ns, gpu.captured), (4, 35, 1));
    let filter = Filter { name: Some(NamePattern::new("step")), ..Filter::default() };
    let filtered = hodo_trace::tree(&run, &filter).gpu;
    assert_eq!((filtered.all.kernels, of(&filtered.outside)), (1, None));
    let table = kernels(&run, &Filter::default());
    let places: Vec<_> = table.rows.iter().map(|row| row.scopes[0].path.join("/")).collect();
    let expected = ["(outside any scope)", "(unknown launch)", "step", "(lost scope)"];
    assert_eq!(places, expected);
}

#[test]
fn work_without_times_is_counted_and_part_of_none() {
    let mut r = Records::new(1);
    let mut w = Works::new();
    let step = r.scope(1, SpanId::NONE, "step", 100, 300);
    w.kernel(&mut r, step, "a", 110, 120);
    w.kernel(&mut r, step, "a", 0, 0).flags = flag::UNSTAMPED;
    w.kernel(&mut r, step, "a", 150, 0).flags = flag::UNFINISHED;
    w.add(step, Detail::Sync { what: 3 }, 200, 240);
    w.add(step, Detail::Memory { freed: false, bytes: 512, address: 64, memory: 3 }, 200, 0);
    let tree = tree(&read(&r, &w));
    assert_gpu(&tree, "step busy 10 in 3k own 10 in 3k idle 190");
    let own = &tree.nodes[0].gpu.as_ref().expect("captured").own;
    assert_eq!((own.unstamped, own.unfinished), (1, 1));
    assert_eq!((own.by_kernel[0].total_ns, own.by_kernel[0].mean_ns), (10, Some(10)));
    assert_eq!((own.syncs.count, own.syncs.total_ns), (1, 40));
    assert_eq!((own.memory.taken, own.memory.taken_bytes, own.memory.freed), (1, 512, 0));
}

#[test]
fn kernels_of_a_graph_belong_to_the_launch_and_to_the_capture() {
    let mut r = Records::new(1);
    let mut w = Works::new();
    let capture = r.scope(1, SpanId::NONE, "capture", 100, 200);
    let step = r.scope(1, SpanId::NONE, "step", 300, 500);
    for node in 0..3 {
        let work = w.kernel(&mut r, step, "a", 310 + 20 * node, 320 + 20 * node);
        (work.flags, work.graph, work.node) = (flag::GRAPH, 4, node + 1);
        (work.captured, work.launched) = (capture, 301);
    }
    let tree = tree(&read(&r, &w));
    assert_gpu(
        &tree,
        "
        capture busy 0 in 0k own 0 in 0k idle 100
        step busy 30 in 3k own 30 in 3k idle 170
        ",
    );
    let gpu = |at: usize| tree.nodes[at].gpu.as_ref().expect("captured");
    assert_eq!((gpu(0).graph_captured.kernels, gpu(0).graph_captured.busy_ns), (3, 30));
    assert_eq!((gpu(1).all.graph, gpu(1).all.launch), (3, None));
}

#[test]
fn a_filter_drops_the_work_of_what_it_drops() {
    let (r, w) = training();
    let run = read(&r, &w);
    let named = |name: &str| Filter { name: Some(NamePattern::new(name)), ..Filter::default() };
    assert_gpu(
        &hodo_trace::tree(&run, &named("forward")),
        "
        step -
          forward busy 240 in 4k own 240 in 4k idle 130
        ",
    );
    let table = kernels(&run, &named("backward"));
    assert_eq!((table.rows.len(), table.count, table.rows[0].name.as_str()), (1, 4, "gemm_grad"));
    let rows = backward_by_forward(&run, &named("backward"));
    let found: Vec<_> =
        rows.iter().map(|r| (r.forward.join("/"), r.launched.join("/"), r.work.busy_ns)).collect();
    assert_eq!(found, [("step/forward".to_owned(), "step/backward".to_owned(), 400)]);
    assert!(backward_by_forward(&run, &named("forward")).is_empty());
}

/// The first step is dropped and what outlives it is not: its work is no other step's.
#[test]
fn work_of_a_kept_scope_is_not_that_of_a_dropped_one_around_it() {
    let mut r = Records::new(1);
    let mut w = Works::new();
    for (start, end, late_end) in [(100, 200, 900), (300, 800, 390)] {
        let step = r.id(1);
        let late = r.scope(1, step, "late", start + 10, late_end);
        r.close(step, SpanId::NONE, "step", start, end);
        w.kernel(&mut r, step, "a", start + 5, start + 10);
        w.kernel(&mut r, late, "b", start + 20, start + 60);
    }
    let filter = Filter { last: Some(Last::Scopes(2)), ..Filter::default() };
    assert_gpu(
        &hodo_trace::tree(&read(&r, &w), &filter),
        "
        step busy 5 in 1k own 5 in 1k idle 455
          late busy 40 in 1k own 40 in 1k idle 705
        ",
    );
}

#[test]
fn processes_started_in_a_scope_add_to_it() {
    let mut launcher = Records::new(1);
    let launch = launcher.scope(1, SpanId::NONE, "launch", 100, 900);
    let mut worker = Records::new(2);
    worker.parent = Some((launcher.process, launch));
    let mut w = Works::new();
    let step = worker.scope(1, SpanId::NONE, "step", 200, 300);
    w.kernel(&mut worker, step, "a", 210, 250);
    let run = TestRun::new();
    run.finished(&launcher);
    w.write(&run.finished(&worker));
    let tree = tree(&run.read());
    assert_gpu(
        &tree,
        "
        launch busy 40 in 1k own 0 in 0k idle ?
          step busy 40 in 1k own 40 in 1k idle 60
        ",
    );
    let launch = tree.nodes[0].gpu.as_ref().expect("its worker captured");
    assert_eq!((launch.captured, launch.missing), (0, 1));
    assert_eq!(tree.gpu.captured, 1);
    let missing: Vec<_> = tree.gpu.missing.iter().map(|m| (m.reason, m.processes)).collect();
    assert_eq!(missing, [(GpuMissing::NotRecorded, 1)]);
}

#[test]
fn a_reason_is_told_where_nothing_was_captured() {
    let mut r = Records::new(1);
    r.scope(1, SpanId::NONE, "step", 100, 300);
    let of = |state: &str| {
        let mut w = Works::new();
        w.state = state.into();
        let tree = tree(&read(&r, &w));
        (tree.nodes[0].gpu.clone(), tree.gpu.missing)
    };
    let (node, missing) = of(r#"{"missing":"no_library","why":"no libcupti.so.13 on the path"}"#);
    assert!(node.is_none());
    assert_eq!(missing[0].reason, GpuMissing::NoLibrary);
    assert_eq!(missing[0].why, "no libcupti.so.13 on the path");
    let (node, missing) = of(r#"{"level":"off"}"#);
    assert!(node.is_none());
    assert_eq!(
        (missing[0].reason, missing[0].why.as_str()),
        (GpuMissing::Off, "capturing the GPU was turned off")
    );
    let (node, missing) = of(r#"{"level":"trace"}"#);
    assert_eq!(node.expect("captured, and nothing was launched").idle_ns, Some(200));
    assert!(missing.is_empty());
}

#[test]
fn a_process_without_clock_readings_has_no_gpu_times() {
    let (mut r, w) = training();
    r.anchors.truncate(1);
    let run = read(&r, &w);
    let tree = tree(&run);
    assert_eq!(tree.gpu.missing[0].reason, GpuMissing::Uncalibrated);
    assert!(tree.nodes.iter().all(|node| node.gpu.is_none()));
    assert_eq!(run.processes[0].gpu.work.len(), 10);
}

#[test]
fn scopes_in_a_gap_say_so() {
    let (r, mut w) = training();
    w.state =
        r#"{"level":"trace","gaps":[{"start":1900,"end":2100,"why":"torch.profiler"}]}"#.into();
    let run = read(&r, &w);
    let (tree, process) = (tree(&run), &run.processes[0]);
    let step = tree.nodes[0].gpu.as_ref().expect("captured");
    assert_eq!((step.captured, step.in_gap, step.idle_ns), (2, 1, Some(320)));
    assert_eq!(tree.gpu.gaps, 1);
    let of = |row| process.gpu_by_span().of(row).expect("captured").idle_ns;
    let rows = process.spans.rows();
    assert_eq!(
        rows.map(of).collect::<Vec<_>>(),
        [Some(65), Some(190), Some(320), None, Some(190), None]
    );
}

#[test]
fn the_table_of_kernels_has_names_shapes_and_scopes() {
    let mut r = Records::new(1);
    let mut w = Works::new();
    let step = r.id(1);
    let inner = r.scope(1, step, "inner", 110, 290);
    r.close(step, SpanId::NONE, "step", 100, 300);
    let add = "_ZN2at6native29vectorized_elementwise_kernelILi4EfEEviT0_";
    let other = "_ZN2at6native29vectorized_elementwise_kernelILi4EdEEviT0_";
    w.kernel(&mut r, inner, add, 120, 130);
    w.kernel(&mut r, inner, other, 140, 170);
    w.kernel(&mut r, step, add, 180, 200);
    if let Detail::Kernel(kernel) =
        &mut w.kernel(&mut r, step, "triton_poi_fused_0", 210, 220).detail
    {
        kernel.registers = 200;
    }
    let run = read(&r, &w);
    let table = kernels(&run, &Filter::default());
    assert_eq!((table.count, table.total_ns, table.captured), (4, 70, 1));
    let row = &table.rows[0];
    assert_eq!(row.name, "vectorized_elementwise_kernel");
    assert_eq!((row.count, row.total_ns, row.mean_ns), (3, 60, Some(20)));
    assert_eq!((row.min_ns, row.max_ns, row.shapes), (Some(10), Some(30), 1));
    assert_eq!((row.typical.grid, row.typical.registers), ([8, 1, 1], 32));
    let scopes: Vec<_> =
        row.scopes.iter().map(|s| (s.path.join("/"), s.count, s.total_ns)).collect();
    assert_eq!(scopes, [("step/inner".to_owned(), 2, 40), ("step".to_owned(), 1, 20)]);
    assert_eq!(
        row.full_names[0],
        "void at::native::vectorized_elementwise_kernel<4, float>(int, float)"
    );
    assert_eq!(table.rows[1].typical.registers, 200);
    assert_eq!(kernels_in_full(&run, &Filter::default()).rows.len(), 3);
    let name = run.processes[0].gpu.kernel_name(r.name(add));
    assert_eq!((&*name.raw, &*name.short), (add, "vectorized_elementwise_kernel"));
}

#[test]
fn single_scopes_have_their_work() {
    let (r, w) = training();
    let run = read(&r, &w);
    let process = &run.processes[0];
    let gpu = process.gpu_by_span();
    let of = |name: &str, nth: usize| {
        let named = |row: &u32| process.span(*row).name() == name;
        let row = process.spans.rows().filter(named).nth(nth).expect("a scope");
        let found = gpu.of(row).expect("captured");
        (found.all.busy_ns, found.all.kernels, found.own.busy_ns, found.idle_ns.unwrap_or(0))
    };
    assert_eq!(of("step", 0), (330, 4, 10, 320));
    assert_eq!(of("step", 1), (330, 4, 10, 320));
    assert_eq!(of("forward", 1), (120, 2, 120, 65));
    let step = process.spans.id(process.spans.len() as u32 - 1);
    let work = &process.gpu.work;
    let launched: Vec<u64> = work.by_scope().of(step).map(|row| work.start(row)).collect();
    assert_eq!(launched, [2005], "the copy of the second step");
    let without = read(&r, &Works { state: r#"{"level":"off"}"#.into(), ..Works::new() });
    assert_eq!(without.processes[0].gpu_by_span().of(0), Err(GpuMissing::Off));
}

#[test]
fn several_files_samples_and_the_newest_state_are_read() {
    let (r, w) = training();
    let run = TestRun::new();
    let folder = run.finished(&r);
    w.write(&folder);
    let mut second = hodo_format::spool::file_header(1, 2).to_vec();
    gpu::state_frame(3, r#"{"level":"trace","kept":10,"dropped":2}"#, &mut second);
    gpu::samples_frame(4, &[Sample { pc: 16, samples: 3, ..Sample::default() }], &mut second);
    std::fs::write(folder.join("gpu-000002.hodo"), second).expect("a second file");
    let run = run.read();
    let process = &run.processes[0];
    assert!(process.damage.is_none(), "{:?}", process.damage);
    assert_eq!(process.gpu.work.len(), 10);
    assert_eq!(process.gpu.samples.len(), 1);
    assert_eq!(tree(&run).gpu.counts.dropped, 2);
}

#[test]
fn damage_is_counted_and_costs_only_what_it_hit() {
    let (r, w) = training();
    let run = TestRun::new();
    let folder = run.finished(&r);
    let mut bytes = w.bytes();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(folder.join("gpu-000001.hodo"), &bytes).expect("a GPU file");
    let damaged = run.read();
    assert_eq!((damaged.processes[0].gpu.work.len(), damaged.processes[0].damage.frames), (5, 1));
    bytes.truncate(last - 10);
    std::fs::write(folder.join("gpu-000001.hodo"), &bytes).expect("a GPU file");
    let torn = run.read();
    assert_eq!(torn.processes[0].damage.frames, 1);
    assert_eq!(torn.processes[0].damage.places[0].why, "the file ends inside a frame");
    assert_eq!(torn.processes[0].state, ProcessState::Finished);
    std::fs::remove_file(folder.join("gpu-000001.hodo")).expect("removed");
    assert!(run.read().processes[0].damage.is_none());
}

#[test]
fn a_first_frame_that_is_missing_is_counted() {
    let (r, w) = training();
    let run = TestRun::new();
    let folder = run.finished(&r);
    let mut bytes = w.bytes();
    let state = 40 + w.state.len();
    bytes.drain(64..64 + state);
    std::fs::write(folder.join("gpu-000001.hodo"), &bytes).expect("a GPU file");
    let process = &run.read().processes[0];
    assert_eq!((process.damage.frames, process.gpu.work.len()), (1, 10));
    assert!(process.gpu.missing().is_none());
}
