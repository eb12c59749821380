//! The verdict in a report: what a run is bound by, as text and in the document.

use crate::compare::{Planted, steps};
use crate::made::{MS, Made, Scope, US};
use crate::program::{folder, same_as, stdout};
use hodo_format::gpu::Detail;
use hodo_format::record::SpanId;
use serde_json::Value;

const STATE: &str =
    r#"{"level":"trace","tier":"callbacks","devices":[{"device":0,"name":"NVIDIA H200"}]}"#;

fn gpu_run() -> Made {
    let mut run = Made::new(100);
    run.gpu_state = STATE.into();
    run
}

/// Batches that take 10 ms to come and 2 ms to compute.
fn input_wait() -> Made {
    let mut run = gpu_run();
    for index in 0..20 {
        let at = index * 12 * MS + MS;
        let batch = run.open(1);
        run.span(Scope::new("data_wait", batch, at, at + 10 * MS));
        let forward = run.span(Scope::new("forward", batch, at + 10 * MS, at + 11 * MS));
        run.kernel(forward, "gemm", at + 10 * MS + 10 * US, at + 12 * MS);
        run.close(batch, Scope::new("batch", SpanId::NONE, at, at + 12 * MS).index(index as i64));
    }
    run
}

/// A kernel of 2 µs every 10 µs.
fn launch_bound() -> Made {
    let mut run = gpu_run();
    let step = run.open(1);
    for at in (MS..5 * MS).step_by(10 * US as usize) {
        run.kernel(step, "add", at, at + 2 * US);
    }
    run.close(step, Scope::new("step", SpanId::NONE, MS - 20 * US, 5 * MS));
    run
}

/// A result that is read after every kernel.
fn sync_in_loop() -> Made {
    let mut run = gpu_run();
    for index in 0..20 {
        let at = MS + index * 200 * US;
        let step = run.open(1);
        run.kernel(step, "gemm", at + 10 * US, at + 100 * US);
        let log = run.span(Scope::new("log", step, at + 15 * US, at + 110 * US));
        let copy = Detail::Copy { bytes: 4, direction: 2, from: 3, to: 2 };
        let work = run.work(log, copy, at + 102 * US, at + 104 * US);
        work.launched = work.start - 80 * US;
        run.close(step, Scope::new("step", SpanId::NONE, at, at + 200 * US).index(index as i64));
    }
    run
}

/// One kernel after another.
fn gpu_bound() -> Made {
    let mut run = gpu_run();
    let step = run.span(Scope::new("step", SpanId::NONE, MS, 11 * MS));
    for at in 1..11 {
        run.kernel(step, "gemm", at * MS + 5 * US, (at + 1) * MS);
    }
    run
}

fn verdict(run: &Made) -> Value {
    let dir = folder(run);
    let document: Value = serde_json::from_str(&stdout(dir.path(), &["report", "--json"])).unwrap();
    document["verdict"].clone()
}

#[test]
fn planted_cases_are_called_what_they_are() {
    for (run, bound, cause, scope) in [
        (input_wait(), "input", "input", "data_wait"),
        (launch_bound(), "launch", "launch", "step"),
        (sync_in_loop(), "sync", "sync", "log"),
    ] {
        let verdict = verdict(&run);
        let gpu = &verdict["gpu"];
        assert_eq!(verdict["bound"], bound, "{verdict:#}");
        assert_eq!(gpu["causes"][0]["cause"], cause, "{verdict:#}");
        let path = verdict["scope"].as_array().unwrap();
        assert_eq!(path.last().unwrap(), scope, "{verdict:#}");
        let causes = gpu["causes"].as_array().unwrap();
        let sum: u64 = causes.iter().map(|row| row["ns"].as_u64().unwrap()).sum();
        assert_eq!(Some(sum), gpu["idle_ns"].as_u64());
        let unknown = causes.iter().find(|row| row["cause"] == "unknown").unwrap();
        assert!(unknown["share"].as_f64().unwrap() <= 0.1, "{verdict:#}");
    }
}

#[test]
fn the_first_lines_say_it_in_words() {
    let mut all = String::new();
    for (title, run) in [
        ("waits for input", input_wait()),
        ("launches small kernels", launch_bound()),
        ("reads every result", sync_in_loop()),
        ("computes", gpu_bound()),
        ("has no GPU", steps(Planted::default())),
    ] {
        let text = stdout(folder(&run).path(), &["report", "--width", "100"]);
        let section = text.split("\n\n").nth(1).unwrap();
        assert!(section.starts_with("Verdict"), "{text}");
        all += &format!("# {title}\n{section}\n\n");
    }
    same_as(&all, "verdict.txt");
}

#[test]
fn a_filter_leaves_the_verdict_out() {
    let dir = folder(&input_wait());
    let text = stdout(dir.path(), &["report", "--name", "forward"]);
    assert!(!text.contains("Verdict"), "{text}");
    let json = stdout(dir.path(), &["report", "--name", "forward", "--json"]);
    assert!(serde_json::from_str::<Value>(&json).unwrap()["verdict"].is_null());
}

#[test]
fn a_scope_can_say_that_it_waits_for_input() {
    let mut run = Made::new(100);
    let step = run.open(1);
    let fetch = run.span(Scope { cpu: 0, ..Scope::new("fetch", step, 0, 8 * MS) });
    run.close(step, Scope { cpu: MS, ..Scope::new("step", SpanId::NONE, 0, 10 * MS) });
    assert_eq!(verdict(&run)["bound"], "waiting");
    run.text(fetch, "waits_for", "input");
    let told = verdict(&run);
    assert_eq!(told["bound"], "input");
    assert_eq!(told["scope"], serde_json::json!(["step", "fetch"]));
}
