//! Reports of runs whose GPU was captured, in part or not at all.

use crate::made::{self, Folder, MS, Made, Scope, US};
use crate::program::{ID, folder, same_as, stdout};
use crate::samples;
use hodo_format::gpu::{Detail, Sample, flag};
use hodo_format::record::SpanId;
use serde_json::Value;
use std::path::Path;

/// A real run; see `tests/data/README.md`.
pub const H200: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/h200-training");

const GEMM: &str = "_Z5sgemmPfS_S_i";
const RELU: &str = "_Z4reluPf";
const NORM: &str = "_ZN2nn9batchnormILi4EEEvPf";

/// A step as in a textbook, a copy, a graph, gradients, work of no scope, and a gap.
pub fn step(pid: u32) -> Made {
    let mut run = Made::new(pid);
    run.gpu_state = format!(
        r#"{{"level":"trace","tier":"callbacks","library":"libcupti.so.13","version":"13.0.1",
        "driver":"CUDA 13.0","devices":[{{"device":0,"name":"NVIDIA H200"}}],"kept":13,
        "gaps":[{{"start":{},"end":{},"why":"torch.profiler was running"}}]}}"#,
        made::EPOCH + 190 * MS,
        made::EPOCH + 195 * MS
    );
    let step = run.open(1);
    let forward = run.span(Scope::new("forward_pass", step, 5 * MS, 50 * MS));
    let backward = run.span(Scope::new("backward", step, 50 * MS, 90 * MS));
    run.close(step, Scope::new("step", SpanId::NONE, 0, 100 * MS));
    let capture = run.span(Scope::new("capture", SpanId::NONE, 110 * MS, 112 * MS));
    let replay = run.span(Scope::new("replay", SpanId::NONE, 120 * MS, 130 * MS));
    run.span(Scope::new("profiled", SpanId::NONE, 180 * MS, 200 * MS));
    let bytes = 4 << 20;
    run.work(step, Detail::Copy { bytes, direction: 1, from: 2, to: 3 }, MS, 2 * MS);
    run.kernel(forward, GEMM, 6 * MS, 8 * MS + 300 * US);
    run.kernel(forward, NORM, 9 * MS, 10 * MS + 800 * US);
    run.kernel(forward, RELU, 11 * MS, 11 * MS + 100 * US);
    for (at, name) in [(52, GEMM), (56, GEMM), (60, NORM), (64, RELU), (66, "triton_sum")] {
        let work = run.kernel(backward, name, at * MS, (at + 2) * MS);
        (work.flags, work.forward, work.stream) = (flag::INHERITED, forward, 9);
    }
    for node in 0..2 {
        let at = 122 + 2 * node;
        let work = run.kernel(replay, GEMM, at * MS, (at + 1) * MS);
        (work.flags, work.graph, work.node, work.captured) = (flag::GRAPH, 3, node + 1, capture);
    }
    run.kernel(SpanId::NONE, RELU, 150 * MS, 151 * MS);
    run.kernel(SpanId::NONE, RELU, 152 * MS, 153 * MS).flags = flag::UNKNOWN;
    run
}

/// The same with samples.
pub fn sampled(pid: u32) -> Made {
    let mut run = step(pid);
    let (gemm, relu) = (run.name(GEMM), run.name(RELU));
    let (memory, wait, file) =
        (run.name("long_scoreboard"), run.name("wait"), run.name("a/gemm.cu"));
    let forward = SpanId::new(1, 2);
    let sample = |kernel, pc, stall, samples| Sample {
        kernel,
        cubin: 7,
        pc,
        stall,
        samples,
        span: forward,
        correlation: 2,
        ..Sample::default()
    };
    run.samples = vec![
        Sample { file, line: 42, ..sample(gemm, 0x1a0, memory, 700) },
        Sample { file, line: 42, ..sample(gemm, 0x1a0, wait, 100) },
        sample(gemm, 0x40, wait, 150),
        sample(relu, 0x10, wait, 50),
    ];
    run
}

fn report(run: &Path, args: &[&str]) -> String {
    let run = run.display().to_string();
    stdout(Path::new("."), &[&["report", &run], args].concat())
}

#[test]
fn kernels_stand_under_the_scope_that_launched_them() {
    let dir = folder(&step(100));
    let mut all = String::new();
    for width in ["60", "80", "120", "160"] {
        let text = stdout(dir.path(), &["report", "--top", "0", "--width", width]);
        all += &format!("$ hodo report --top 0 --width {width}\n{text}\n");
    }
    same_as(&all, "gpu-step.txt");
}

#[test]
fn a_run_of_an_h200_reads_well() {
    let mut all = String::new();
    for args in [&["--width", "80"][..], &["--width", "140"], &["--kernels", "--width", "160"]] {
        all += &format!("$ hodo report {}\n{}\n", args.join(" "), report(Path::new(H200), args));
    }
    same_as(&all, "gpu-h200.txt");
}

#[test]
fn sections_about_the_gpu() {
    let dir = folder(&sampled(100));
    let mut all = String::new();
    for args in [
        &["--kernels"][..],
        &["--kernels-in-full", "--width", "100"],
        &["--kernels", "--name", "forward_pass"],
        &["--backward"],
        &["--samples"],
        &["--samples", "--width", "70"],
    ] {
        let text = stdout(dir.path(), &[&["report"], args].concat());
        let sections: Vec<&str> = text.split("\n\n").collect();
        let section = sections[2..sections.len() - 1].join("\n\n");
        all += &format!("$ hodo report {}\n{section}\n\n", args.join(" "));
    }
    same_as(&all, "gpu-sections.txt");
}

#[test]
fn the_tree_without_kernels_and_by_gpu_time() {
    let dir = folder(&step(100));
    let text =
        stdout(dir.path(), &["report", "--per-scope", "0", "--sort", "gpu", "--width", "90"]);
    let tree = text.split("\n\n").nth(2).unwrap();
    assert!(!tree.contains("sgemm") && !tree.contains("inherited"), "{tree}");
    let names: Vec<&str> =
        tree.lines().skip(1).filter_map(|l| l.split_whitespace().next()).take(6).collect();
    assert_eq!(names, ["step", "├─", "└─", "replay", "capture", "profiled"], "{tree}");
}

#[test]
fn a_run_without_a_gpu_says_so_once_and_shows_nothing_of_it() {
    let dir = folder(&samples::training(100));
    let text = stdout(dir.path(), &["report"]);
    let why = " · GPU not captured: no CUDA was used, or the process was forked\n";
    assert!(text.contains(why), "{text}");
    let rest = text.replace(why, "");
    assert!(!rest.contains("GPU") && !rest.contains("kernel"), "{text}");
    let mut off = samples::training(100);
    off.gpu_state = r#"{"level":"off"}"#.into();
    let off = stdout(folder(&off).path(), &["report"]);
    assert_eq!(off, text.replace(why, " · GPU not captured: capturing the GPU was turned off\n"));
    let kernels = stdout(dir.path(), &["report", "--kernels", "--backward", "--samples"]);
    let why = "not captured: no CUDA was used, or the process was forked";
    for title in ["Kernels", "Backward", "Samples"] {
        assert!(kernels.contains(&format!("{title}  {why}\n")), "{kernels}");
    }
}

#[test]
fn why_nothing_was_captured_is_said_once() {
    let mut run = samples::training(100);
    run.gpu_state =
        r#"{"level":"trace","missing":"no_cuda","why":"the program has not started CUDA"}"#.into();
    let text = stdout(folder(&run).path(), &["report"]);
    let note = "GPU not captured: the program has not started CUDA\n";
    assert_eq!(text.matches("GPU").count(), 1, "{text}");
    assert!(text.contains(note), "{text}");
}

#[test]
fn a_process_that_captured_nothing_shows_dashes_beside_one_that_did() {
    let dir = Folder::new();
    made::write(dir.path(), ID, &[&step(100), &samples::training(200)]);
    let text = stdout(dir.path(), &["report"]);
    let load = text.lines().find(|line| line.starts_with("load ")).unwrap();
    assert!(load.contains(" – "), "{load}");
    let note = "–, ≥ GPU not captured in 1 process: no CUDA was used, or the process was forked\n";
    assert!(text.contains(note), "{text}");
}

#[test]
fn kernels_lost_with_a_process_are_told_exactly() {
    let mut run = step(100);
    run.ended = false;
    // Ten kernels are in the files that belong to no graph.
    run.live = Some([20, 1, 1, 0, 2, 1, 12, 13, 0, 0]);
    let dir = folder(&run);
    let text = stdout(dir.path(), &["report"]);
    let line = "✗ 7 kernels were launched whose records were lost with the process\n";
    assert!(text.contains(line), "{text}");
    let document: Value = serde_json::from_str(&stdout(dir.path(), &["report", "--json"])).unwrap();
    assert_eq!(document["gpu"]["lost_kernels"], 7);
    assert_eq!(document["processes"][0]["gpu"]["launched"]["lost"], 7);
    assert_eq!(document["processes"][0]["gpu"]["launched"]["kernels"], 20);
}

#[test]
fn names_of_kernels_cannot_drive_the_terminal() {
    let mut run = step(100);
    run.kernel(SpanId::new(1, 2), "\x1b]0;owned\x07 evil\u{202e}", 20 * MS, 45 * MS);
    let dir = folder(&run);
    for args in [&["report"][..], &["report", "--kernels"]] {
        let text = stdout(dir.path(), args);
        assert!(text.contains("evil") && !text.contains(['\x1b', '\x07', '\u{202e}']), "{text}");
    }
}
