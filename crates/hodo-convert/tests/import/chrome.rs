use crate::support::{Place, attrs, gzip, import, marks, refused, sample, shown, work};
use hodo_trace::{Cpu, CpuMissing, flag};

/// Events on thread 1 of process 7, as complete slices.
fn slices(all: &[(&str, f64, f64)]) -> String {
    let event = |(name, ts, dur): &(&str, f64, f64)| {
        format!(r#"{{"ph":"X","name":"{name}","pid":7,"tid":1,"ts":{ts},"dur":{dur}}}"#)
    };
    format!("[{}]", all.iter().map(event).collect::<Vec<_>>().join(","))
}

#[test]
fn slices_nest_by_time_and_those_that_cross_are_all_kept() {
    let text = slices(&[
        ("inner", 20.0, 10.0),
        ("outer", 10.0, 50.0),
        // Crosses the end of `outer`, so it is not in it.
        ("crossing", 40.0, 40.0),
        ("in both", 45.0, 5.0),
        ("same start", 10.0, 2.5),
        ("after", 90.0, 1.0),
    ]);
    let (run, _) = import("trace.json", text);
    assert_eq!(
        shown(&run),
        "outer ×1 50000\n  same start ×1 2500\n  inner ×1 10000\ncrossing ×1 40000\n  in both ×1 5000\n\
         after ×1 1000\n"
    );
    let views: Vec<_> = run.processes[0].span_views().collect();
    assert!(views.iter().all(|s| s.cpu_ns() == Cpu::Missing(CpuMissing::Off)), "never 0");
    assert!(!run.processes[0].has_overhead());
    assert_eq!(run.processes[0].info.pid, 7);
}

#[test]
fn the_steps_of_torchs_profiler_are_one_scope_with_an_index() {
    let text = slices(&[
        ("ProfilerStep#3", 0.0, 10.0),
        ("ProfilerStep#4", 10.0, 12.0),
        ("issue #5", 30.0, 1.0),
    ]);
    let (run, _) = import("trace.json", text);
    assert_eq!(shown(&run), "ProfilerStep ×2 22000\nissue #5 ×1 1000\n");
    let indices: Vec<_> = run.processes[0].span_views().map(|s| s.index()).collect();
    assert_eq!(indices, [Some(3), Some(4), None]);
}

#[test]
fn begin_and_end_make_scopes_and_what_has_no_end_is_open() {
    let (run, imported) = import(
        "trace.json",
        r#"{"traceEvents":[
            {"ph":"B","name":"a","pid":1,"tid":1,"ts":0,"args":{"k":1.5,"list":[1,2],"yes":true}},
            {"ph":"B","name":"b","pid":1,"tid":1,"ts":1},
            {"ph":"E","pid":1,"tid":1,"ts":2},
            {"ph":"E","pid":1,"tid":2,"ts":2},
            {"ph":"B","name":"c","pid":1,"tid":1,"ts":3},
            {"ph":"i","name":"last","pid":1,"tid":2,"ts":10},
            {"ph":"s","id":1,"pid":1,"tid":1,"ts":1},{"ph":"?","ts":1},{"ph":"X","name":"no time"},3
        ],"otherData":{"start_ns":"1700000000000000000"}}"#,
    );
    assert_eq!(shown(&run), "a ×1 10000\n  b ×1 1000\n  c ×1 7000\n");
    assert_eq!(run.processes[0].open_count(), 2);
    assert_eq!(attrs(&run, "a"), ["list=[1,2]", "k=1.5", "yes=true"]);
    assert_eq!(run.start_ns(), Some(1_700_000_000_000_000_000));
    let notes = imported.notes.join("\n");
    for words in [
        "1 ends of a scope that did not begin",
        "2 scopes without an end",
        "1 events of a kind that is not known",
        "1 events without a time",
        "1 events that cannot be read",
    ] {
        assert!(notes.contains(words), "{words} in {notes}");
    }
}

#[test]
fn asynchronous_scopes_are_bound_to_no_thread() {
    let (run, _) = import(
        "trace.json",
        r#"[{"ph":"b","cat":"net","id":"0x1","name":"request","pid":1,"tid":1,"ts":0},
            {"ph":"X","name":"work","pid":1,"tid":1,"ts":1,"dur":100},
            {"ph":"b","cat":"net","id":"0x1","name":"dns","pid":1,"tid":1,"ts":2},
            {"ph":"b","cat":"net","id":"0x2","name":"request","pid":1,"tid":1,"ts":2},
            {"ph":"e","cat":"net","id":"0x1","name":"dns","pid":1,"tid":1,"ts":5},
            {"ph":"e","cat":"net","id":"0x1","name":"request","pid":1,"tid":1,"ts":50}]"#,
    );
    assert_eq!(shown(&run), "request ×2 149000\n  dns ×1 3000\nwork ×1 100000\n");
    let unbound = run.processes[0]
        .span_views()
        .filter(|s| run.processes[0].spans.flags(s.row) & flag::CPU_MASK == flag::CPU_OTHER_THREAD);
    assert_eq!(unbound.count(), 3);
}

#[test]
fn counters_and_moments_are_marks() {
    let (run, _) = import(
        "trace.json",
        r#"[{"ph":"X","name":"step","pid":1,"tid":1,"ts":0,"dur":10},
            {"ph":"C","name":"loss","pid":1,"tid":1,"ts":1,"args":{"value":0.5}},
            {"ph":"C","name":"mem","pid":1,"tid":1,"ts":2,"args":{"used":7,"free":9}},
            {"ph":"i","name":"saved","s":"t","pid":1,"tid":1,"ts":3,"args":{"file":"a.pt"}},
            {"ph":"i","name":"outside","pid":1,"tid":1,"ts":30,"args":{"value":"text"}}]"#,
    );
    assert_eq!(
        marks(&run),
        [
            "loss = 0.5 in step",
            "mem.used = 7 in step",
            "mem.free = 9 in step",
            r#"saved = true in step {"file":"a.pt"}"#,
            "outside = text",
        ]
    );
}

/// A step as torch.profiler writes it: a launch on the user's thread, and one in backward on
/// another, in no order.
const TORCH: &str = r#"{"deviceProperties":[{"id":0,"name":"NVIDIA H200"}],"cupti_version":130001,
  "distributedInfo":{"backend":"nccl","rank":3,"world_size":8},
  "traceEvents":[
  {"ph":"X","cat":"kernel","name":"gemm<float>","pid":0,"tid":7,"ts":40,"dur":5,"args":{"device":0,"context":1,"stream":7,"correlation":11,"grid":[2,3,4],"block":[128,1,1],"registers per thread":32,"shared memory":1024}},
  {"ph":"X","cat":"kernel","name":"grad<float>","pid":0,"tid":7,"ts":45,"dur":7,"args":{"device":0,"context":1,"stream":7,"correlation":12,"graph node id":9}},
  {"ph":"X","cat":"kernel","name":"grad<float>","pid":0,"tid":7,"ts":46,"dur":7,"args":{"device":0,"context":1,"stream":7,"correlation":12,"graph node id":10}},
  {"ph":"X","cat":"kernel","name":"orphan","pid":0,"tid":7,"ts":60,"dur":1,"args":{"stream":7,"correlation":99}},
  {"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pinned -> Device)","pid":0,"tid":9,"ts":3,"dur":2,"args":{"stream":9,"correlation":10,"bytes":4096}},
  {"ph":"X","cat":"cuda_runtime","name":"cudaMemcpyAsync","pid":5,"tid":5,"ts":1,"dur":1,"args":{"correlation":10}},
  {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":5,"tid":5,"ts":10,"dur":5,"args":{"External id":1,"Fwd thread id":0,"Input Dims":[[2,2]]}},
  {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":5,"tid":5,"ts":11,"dur":2,"args":{"correlation":11}},
  {"ph":"X","cat":"cpu_op","name":"MmBackward0","pid":5,"tid":6,"ts":22,"dur":6,"args":{"Fwd thread id":1}},
  {"ph":"X","cat":"cuda_runtime","name":"cudaGraphLaunch","pid":5,"tid":6,"ts":23,"dur":2,"args":{"correlation":12}},
  {"ph":"X","cat":"cuda_runtime","name":"cudaDeviceSynchronize","pid":5,"tid":5,"ts":70,"dur":9,"args":{"correlation":13}},
  {"ph":"X","cat":"user_annotation","name":"backward","pid":5,"tid":5,"ts":20,"dur":20},
  {"ph":"X","cat":"user_annotation","name":"step","pid":5,"tid":5,"ts":8,"dur":90},
  {"ph":"X","cat":"gpu_user_annotation","name":"step","pid":0,"tid":7,"ts":40,"dur":13},
  {"ph":"M","name":"thread_name","pid":5,"tid":6,"args":{"name":"autograd"}},
  {"ph":"M","name":"process_name","pid":5,"tid":0,"args":{"name":"python"}}],
  "baseTimeNanoseconds":1700000000000000000}"#;

#[test]
fn kernels_belong_to_the_innermost_scope_at_their_launch() {
    let (run, imported) = import("trace.json", TORCH);
    assert_eq!(
        shown(&run),
        "cudaMemcpyAsync ×1 1000\nstep ×1 90000 3 kernels\n  aten::mm ×1 5000 1 kernels\n    cudaLaunchKernel ×1 2000\n  \
         backward ×1 20000 2 kernels\n    MmBackward0 ×1 6000 2 kernels\n      cudaGraphLaunch ×1 2000\n  \
         cudaDeviceSynchronize ×1 9000\n"
    );
    let totals = imported.totals;
    assert_eq!((totals.kernels, totals.copies, totals.waits), (4, 1, 1));
    assert_eq!(totals.without_launch, 1, "the orphan");
    let process = &run.processes[0];
    assert_eq!(
        (process.info.pid, process.info.rank, process.info.world_size),
        (5, Some(3), Some(8))
    );
    assert_eq!(process.gpu.state.as_ref().unwrap().devices()[0].name, "NVIDIA H200");
    assert_eq!(run.info.app, "python");
    assert_eq!(
        process.threads.iter().map(|t| t.name.as_str()).collect::<Vec<_>>(),
        ["", "autograd"]
    );
    let gemm =
        work(&run).rows().map(|row| work(&run).get(row)).find(|w| w.correlation == 11).unwrap();
    let hodo_format::gpu::Detail::Kernel(kernel) = gemm.detail else { panic!("a kernel") };
    assert_eq!((kernel.grid, kernel.block, kernel.registers), ([2, 3, 4], [128, 1, 1], 32));
    assert_eq!((gemm.thread, gemm.start - gemm.launched), (5, 29_000));
    assert_eq!(attrs(&run, "aten::mm"), ["Input Dims=[[2,2]]"], "not what the profiler needs");
    assert!(imported.notes.iter().any(|n| n.contains("drew again on the GPU's row")));
}

#[test]
fn files_of_several_ranks_become_one_run() {
    let place = Place::new();
    let first = place.file("rank3.json", TORCH);
    let second =
        place.file("rank4.json.gz", gzip(TORCH.replace(r#""rank":3"#, r#""rank":4"#).as_bytes()));
    let (run, imported) = place.import(&[first, second]).unwrap();
    let mut ranks: Vec<_> = run.processes.iter().map(|p| p.info.rank).collect();
    ranks.sort();
    assert_eq!(ranks, [Some(3), Some(4)]);
    assert_eq!((imported.totals.kernels, run.info.imported.len()), (8, 2));
}

#[test]
fn a_cut_file_is_imported_up_to_the_damage() {
    let cut = TORCH.find(r#"{"ph":"X","cat":"user_annotation","name":"step""#).unwrap();
    let (run, imported) = import("trace.json", &TORCH[..cut + 30]);
    assert_eq!(run.span_count(), 7);
    let place = format!("is damaged at byte {cut} (the file ends inside the element");
    assert!(imported.notes.iter().any(|n| n.contains(&place)), "{:?}", imported.notes);
    let folded = gzip(TORCH.as_bytes());
    let (_, imported) = import("trace.json.gz", &folded[..folded.len() - 12]);
    let place = "is damaged at byte";
    assert!(imported.notes.iter().any(|n| n.contains(place)), "{:?}", imported.notes);
}

#[test]
fn a_file_that_does_not_say_when_says_so() {
    let (run, imported) = import("trace.json", slices(&[("a", 5.0, 10.0)]));
    assert!(imported.notes.iter().any(|n| n.contains("does not say when it was recorded")));
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as i64;
    let end = run.processes[0].end_ns().unwrap();
    assert!((now - end).abs() < 3_600_000_000_000, "about now: {end}");
    let (run, imported) = import("trace.json", slices(&[("a", 1_700_000_000_000_000.5, 10.0)]));
    assert_eq!(run.start_ns(), Some(1_700_000_000_000_000_500));
    assert!(imported.notes.is_empty(), "{:?}", imported.notes);
}

#[test]
fn what_is_no_trace_is_refused_by_its_content() {
    assert!(refused("trace.json", "").contains("it is empty"));
    assert!(refused("trace.json", "hello").contains("none of the formats that are known"));
    assert!(refused("trace.json", r#"{"a":1}"#).contains("JSON of a kind that is not known"));
    assert!(refused("x.sqlite", b"SQLite format 3\0....").contains("Nsight Systems are not read"));
    assert!(refused("trace.json", "[]").contains("nothing to import"));
    assert!(refused("trace.json", r#"{"traceEvents":[{"ph":"X"}]}"#).contains("without a time"));
}

#[test]
fn the_trace_of_a_real_training_loop() {
    let (run, imported) =
        Place::new().import(&[sample("torch_profiler_h200_mlp.json.gz")]).unwrap();
    let totals = imported.totals;
    assert_eq!((totals.kernels, totals.sets, totals.records.spans), (3300, 50, 22_832));
    assert_eq!(totals.without_launch, 0);
    let text = shown(&run);
    assert!(text.starts_with("step ×50 131339958 3300 kernels\n"), "{text}");
    let backward = text.lines().find(|line| line.starts_with("  backward ×50")).unwrap();
    assert!(backward.ends_with(" 1800 kernels"), "{backward}");
}

#[test]
fn hodos_own_chrome_export_comes_back() {
    let (run, _) = import("trace.json", TORCH);
    let mut text = Vec::new();
    hodo_convert::chrome::write(&run, &mut text, &|_, _| ()).unwrap();
    let (again, imported) = import("again.json", &text);
    assert_eq!(shown(&again), shown(&run));
    assert_eq!((imported.totals.kernels, imported.totals.copies), (4, 1));
    assert_eq!(again.start_ns(), run.start_ns());
    assert_eq!(attrs(&again, "aten::mm"), attrs(&run, "aten::mm"));
    let ids = |run: &hodo_trace::Run| {
        let mut ids: Vec<_> = run.processes[0].span_views().map(|s| s.id()).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(&again), ids(&run));
}
