//! Exports, read back by other people's parsers.

use crate::gpu;
use crate::made::{self, Folder, Made, Scope};
use crate::program::{ID, folder, stdout};
use crate::samples;
use hodo_format::record::SpanId;
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

/// The Python with Perfetto's definitions that `make test` provides.
pub fn python() -> Option<String> {
    let python = std::env::var("HODO_PYTHON").ok().filter(|p| Path::new(p).exists());
    if python.is_none() {
        eprintln!(
            "not checked: HODO_PYTHON names no Python with the perfetto package (`make test` does)"
        );
    }
    python
}

/// Exports the newest run of `dir` and compares its tree with the report's.
pub fn same_tree(dir: &Folder) {
    let Some(python) = python() else { return };
    let trace = dir.path().join("run.pftrace");
    let report = dir.path().join("report.json");
    stdout(dir.path(), &["export", "--to", "perfetto", "-o", trace.to_str().unwrap()]);
    std::fs::write(&report, stdout(dir.path(), &["report", "--json"])).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/perfetto_tree.py");
    let output = Command::new(python).args([&script, &trace, &report]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("same tree"));
}

#[test]
fn perfetto_shows_the_same_tree() {
    for run in [samples::training(100), samples::crossing(200), samples::hostile(300)] {
        same_tree(&folder(&run));
    }
}

#[test]
fn perfetto_keeps_processes_of_several_hosts_apart() {
    let dir = Folder::new();
    let (mut first, mut second) = (samples::training(100), samples::crossing(100));
    (first.rank, second.rank) = (Some(0), Some(1));
    second.host = 1;
    made::write(dir.path(), ID, &[&first, &second]);
    same_tree(&dir);
}

#[test]
fn perfetto_ties_a_process_to_the_scope_that_started_it() {
    let dir = Folder::new();
    let first = samples::training(100);
    let mut worker = samples::crossing(200);
    worker.parent = Some((first.process(), SpanId::new(1, 1)));
    made::write(dir.path(), ID, &[&first, &worker]);
    assert!(stdout(dir.path(), &["report"]).contains("└─ serve"));
    same_tree(&dir);
}

#[test]
fn perfetto_keeps_scopes_whose_parent_is_lost() {
    let mut run = Made::new(100);
    let gone = run.open(1);
    let kept = run.open(1);
    run.span(Scope::new("inside", kept, 20, 30));
    run.close(kept, Scope::new("kept", gone, 10, 40));
    let dir = folder(&run);
    assert!(stdout(dir.path(), &["report"]).contains("(lost scope)"));
    same_tree(&dir);
}

/// A run of a real GPU, and one with graphs, copies and launches of every sort.
#[test]
fn perfetto_has_gpu_work_on_streams_with_arrows_from_its_launches() {
    same_tree(&folder(&gpu::step(100)));
    let dir = Folder::new();
    copy(Path::new(gpu::H200), &dir.path().join("h200-training"));
    same_tree(&dir);
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &to);
        } else {
            std::fs::copy(&path, &to).unwrap();
        }
    }
}

#[test]
fn chrome_has_gpu_work_on_streams_with_arrows_from_its_launches() {
    let events = chrome(&gpu::step(100));
    let of = |cat: &str| events.iter().filter(|e| e["cat"] == cat).collect::<Vec<_>>();
    let (kernels, copies) = (of("gpu,kernel"), of("gpu,copy"));
    assert_eq!((kernels.len(), copies.len()), (12, 1));
    assert_eq!(copies[0]["name"], "HtoD 4 MiB");
    let gemm = kernels.iter().find(|e| e["name"] == "sgemm").unwrap();
    let args = &gemm["args"];
    assert_eq!(args["name"], "sgemm(float*, float*, float*, int)");
    assert_eq!((&args["grid"], &args["block"]), (&"64, 2, 1".into(), &"256, 1, 1".into()));
    assert_eq!((&args["registers"], &args["dynamic_shared_bytes"]), (&40.into(), &16384.into()));
    assert_eq!(
        (&args["scope"], &args["launch_latency_ns"]),
        (&"step/forward_pass".into(), &8000.into())
    );
    let inherited = kernels.iter().filter(|e| e["args"]["inherited"] == true);
    assert!(inherited.clone().all(|e| e["args"]["gradient_of"] == "step/forward_pass"));
    assert_eq!(inherited.count(), 5);
    let nodes = kernels.iter().filter(|e| e["args"]["graph"] == 3).collect::<Vec<_>>();
    assert_eq!((nodes.len(), &nodes[1]["args"]["graph_node"]), (2, &2.into()));
    assert_eq!(nodes[0]["args"]["captured_in"], "capture");
    let titles = events.iter().filter(|e| e["name"] == "thread_name").map(|e| &e["args"]["name"]);
    let titles: Vec<_> = titles.collect();
    assert_eq!(titles, ["main", "GPU 0 (NVIDIA H200) stream 7", "GPU 0 (NVIDIA H200) stream 9"]);
    for phase in ["s", "f"] {
        assert_eq!(of("launch").iter().filter(|e| e["ph"] == phase).count(), 13);
    }
}

/// Kernels of a graph run at the same time on what CUPTI calls one stream.
#[test]
fn kernels_that_overlap_on_a_stream_get_rows_of_their_own() {
    let mut run = Made::new(100);
    run.gpu_state = r#"{"level":"trace"}"#.into();
    let step = run.span(Scope::new("step", SpanId::NONE, 0, 100 * made::MS));
    for (start, end) in [(10, 30), (20, 40), (30, 50), (60, 70)] {
        run.kernel(step, "node", start * made::MS, end * made::MS);
    }
    let events = chrome(&run);
    let rows = events.iter().filter(|e| e["cat"] == "gpu,kernel").map(|e| e["tid"].as_u64());
    let rows: Vec<_> = rows.collect();
    assert_eq!(rows, [rows[0], rows[1], rows[0], rows[0]]);
    assert_ne!(rows[0], rows[1]);
    let named = |name: &str| events.iter().any(|e| e["args"]["name"] == name);
    assert!(named("GPU 0 stream 7") && named("GPU 0 stream 7, overlap 1"));
    same_tree(&folder(&run));
}

fn chrome(run: &Made) -> Vec<Value> {
    let dir = folder(run);
    let text = stdout(dir.path(), &["export", "--to", "chrome"]);
    // serde_json refuses NaN, bare control characters and trailing commas, as strict parsers do.
    let document: Value = serde_json::from_str(&text).unwrap();
    document["traceEvents"].as_array().unwrap().clone()
}

#[test]
fn chrome_json_holds_every_scope_and_mark() {
    for (run, spans, marks) in [
        (samples::training(100), 42, 6),
        (samples::crossing(200), 8, 0),
        (samples::hostile(300), 3, 3),
    ] {
        let events = chrome(&run);
        let count = |phases: &[&str]| {
            events.iter().filter(|e| phases.contains(&e["ph"].as_str().unwrap())).count()
        };
        assert_eq!(count(&["X", "b"]), spans);
        assert_eq!(count(&["b"]), count(&["e"]));
        assert_eq!(count(&["C", "i"]), marks);
    }
}

#[test]
fn threads_that_nobody_named_are_numbered() {
    let mut run = Made::new(100);
    run.thread(1, "train");
    run.thread(2, "train");
    run.thread(3, "loader");
    for thread in 1..=3 {
        run.span(Scope::new("work", SpanId::NONE, 0, 10).on(thread));
    }
    let events = chrome(&run);
    let names = events.iter().filter(|e| e["name"] == "thread_name").map(|e| &e["args"]["name"]);
    assert_eq!(names.collect::<Vec<_>>(), ["train", "thread 2", "loader"]);
}

#[test]
fn chrome_slices_of_a_row_never_cross() {
    let mut rows: HashMap<(u64, u64), Vec<(f64, f64)>> = HashMap::new();
    for e in chrome(&samples::crossing(200)).iter().filter(|e| e["ph"] == "X") {
        let row = (e["pid"].as_u64().unwrap(), e["tid"].as_u64().unwrap());
        let start = e["ts"].as_f64().unwrap();
        rows.entry(row).or_default().push((start, start + e["dur"].as_f64().unwrap()));
    }
    assert!(rows.len() >= 3, "the crossing requests lie on rows of their own: {rows:?}");
    for slices in rows.values() {
        for (a, b) in slices.iter().flat_map(|a| slices.iter().map(move |b| (a, b))) {
            assert!(!(a.0 < b.0 && b.0 < a.1 && a.1 < b.1), "{a:?} crosses {b:?}");
        }
    }
}

#[test]
fn chrome_values_survive_that_json_cannot_hold() {
    let events = chrome(&samples::hostile(300));
    let args = |name: &str| {
        let event = events.iter().find(|e| e["args"].get(name).is_some()).unwrap();
        event["args"][name].clone()
    };
    assert_eq!(args("nan"), "NaN");
    assert_eq!(args("infinite"), "-inf");
    assert_eq!(args("shape"), serde_json::json!({"batch": [1, 2]}));
    assert_eq!(args("broken"), r#"{"batch":[1,"#);
    assert_eq!(args("quote\"key"), "line\nbreak \u{0} \"quoted\"");
}

#[test]
fn python_reads_the_chrome_export_strictly() {
    let Some(python) = python() else { return };
    let dir = folder(&samples::hostile(300));
    let file = dir.path().join("run.json");
    stdout(dir.path(), &["export", "--to", "chrome", "-o", file.to_str().unwrap()]);
    let program = "import json, sys\n\
        def refuse(constant): sys.exit(f'{constant} is no JSON')\n\
        trace = json.load(open(sys.argv[1], encoding='utf-8'), parse_constant=refuse)\n\
        assert len(trace['traceEvents']) == 8, len(trace['traceEvents'])";
    let status = Command::new(python).args(["-c", program]).arg(&file).status().unwrap();
    assert!(status.success());
}
