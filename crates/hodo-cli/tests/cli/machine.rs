//! The machine in reports, exports and `hodo machine`.

use crate::gpu;
use crate::made::{self, Folder, Made, Scope};
use crate::made_machine::sample;
use crate::program::{ID, run, same_as, stdout};
use crate::samples;
use hodo_format::record::SpanId;
use serde_json::Value;

/// A folder with a run whose machine was sampled for so many milliseconds.
pub fn sampled(made: &Made, for_ms: u64) -> Folder {
    let dir = Folder::new();
    sample(&made::write(dir.path(), ID, &[made]), for_ms);
    dir
}

fn json(dir: &Folder, args: &[&str]) -> Value {
    serde_json::from_str(&stdout(dir.path(), args)).unwrap()
}

fn refusal(dir: &Folder, args: &[&str]) -> (Option<i32>, String) {
    let output = run(dir.path(), args);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_report_has_energy_and_the_machine() {
    let by_kernels = sampled(&gpu::step(100), 300);
    let args = ["report", "--width", "150", "--price", "0.30", "--currency", "EUR"];
    same_as(&stdout(by_kernels.path(), &args), "machine-gpu.txt");
    let by_time = sampled(&samples::training(100), 150);
    same_as(&stdout(by_time.path(), &["report", "--width", "120"]), "machine-wall.txt");
}

#[test]
fn a_report_without_readings_says_nothing_of_the_machine() {
    let dir = crate::program::folder(&gpu::step(100));
    let text = stdout(dir.path(), &["report", "--price", "0.30"]);
    assert!(!text.contains("energy") && !text.contains("Machine") && !text.contains("cost"));
}

#[test]
fn energy_in_json_adds_up_and_has_its_price() {
    let dir = sampled(&gpu::step(100), 300);
    let document = json(&dir, &["report", "--json", "--price", "0.30"]);
    let energy = &document["energy"];
    let number = |value: &Value| value.as_f64().unwrap();
    let own: f64 = document["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|node| node["energy"].is_object())
        .map(|node| number(&node["energy"]["self_j"]))
        .sum();
    let total = number(&energy["total_j"]);
    // 400 W from 10 ms, the first reading, to 200 ms, the end of the run.
    assert!((total - 76.0).abs() < 1e-6, "{total}");
    assert!((own + number(&energy["outside_j"]) - total).abs() < 1e-9);
    assert_eq!(number(&energy["total_cost"]), total / 3.6e6 * 0.30);
    assert_eq!(energy["gpus"][0]["unsampled_ns"], 10_000_000);
    assert_eq!(
        (&energy["gpus"][0]["method"], &energy["gpus"][0]["from"]),
        (&"kernels".into(), &"counter".into())
    );
    assert_eq!(document["price"]["kwh"], 0.30);
}

#[test]
fn the_machine_over_a_run_a_scope_and_a_range() {
    let dir = sampled(&gpu::step(100), 300);
    same_as(&stdout(dir.path(), &["machine", "--width", "100"]), "machine.txt");
    let of = |args: &[&str], metric: &str| {
        let document = json(&dir, &[&["machine", "--json"], args].concat());
        let series = document["machines"][0]["series"].as_array().unwrap().clone();
        let found = |s: &&Value| s["metric"] == metric && s["source"] != "core:0";
        series.iter().find(found).unwrap().clone()
    };
    let power = of(&["--from", "50ms", "--to", "150ms"], "gpu.power");
    assert!((power["mean"].as_f64().unwrap() - 410.0).abs() < 1e-9, "{power}");
    assert_eq!((&power["covered"], &power["unit"]), (&1.0.into(), &"W".into()));
    // From 5 to 50 ms; before 10 ms nothing was read.
    let forward = of(&["--scope", "step/forward_pass"], "gpu.power");
    assert!((forward["mean"].as_f64().unwrap() - 403.0).abs() < 1e-9, "{forward}");
    assert!((forward["covered"].as_f64().unwrap() - 40.0 / 45.0).abs() < 1e-9, "{forward}");
    let cpu = of(&[], "cpu.time");
    assert!((cpu["mean"].as_f64().unwrap() - 0.5).abs() < 1e-9, "half of four cores: {cpu}");
}

#[test]
fn series_are_printed_reading_by_reading() {
    let dir = sampled(&gpu::step(100), 300);
    let csv = stdout(dir.path(), &["machine", "--series", "gpu.energy", "--to", "40ms"]);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "time_ns,host,source,metric,unit,value");
    assert_eq!(lines[1], "1794773700010000000,box,gpu:GPU-7f2a,gpu.energy,W,");
    assert_eq!(lines[2], "1794773700020000000,box,gpu:GPU-7f2a,gpu.energy,W,400");
    assert_eq!(lines.len(), 5);
    let document = json(&dir, &["machine", "--series", "gpu.*", "--json"]);
    assert_eq!(
        (&document["schema"], document["series"].as_array().unwrap().len()),
        (&"hodo.series/1".into(), 7)
    );
    let table = stdout(dir.path(), &["machine", "--csv"]);
    assert_eq!(table.lines().count(), 18);
    assert!(
        table.contains("box,gpu:GPU-7f2a,gpu.utilization,1,0.99,0.99,0.99,0.99,0.95,20"),
        "{table}"
    );
}

#[test]
fn what_cannot_be_told_is_refused_with_a_reason() {
    let dir = sampled(&gpu::step(100), 300);
    let (code, words) = refusal(&dir, &["machine", "--scope", "nowhere"]);
    assert!(
        code == Some(1) && words.contains("no scope of this run has the path nowhere"),
        "{words}"
    );
    let (code, words) = refusal(&dir, &["machine", "--series", "gpu.sm.active"]);
    assert!(code == Some(1) && words.contains("the driver has no GPM"), "{words}");
    let (code, words) = refusal(&dir, &["machine", "--from", "2s", "--to", "1s"]);
    assert!(code == Some(2) && words.contains("--to must be later"), "{words}");
    let (code, words) = refusal(&dir, &["machine", "--from", "ten"]);
    assert!(code == Some(2) && words.contains("no time with its unit"), "{words}");
    let (code, words) = refusal(&dir, &["report", "--price", "cheap"]);
    assert!(code == Some(2) && words.contains("a number such as 0.30"), "{words}");
    let alone = crate::program::folder(&gpu::step(100));
    let (code, words) = refusal(&alone, &["machine"]);
    assert!(code == Some(1) && words.contains("nobody sampled the machine"), "{words}");
}

#[test]
fn damaged_readings_are_told() {
    let dir = Folder::new();
    let file = sample(&made::write(dir.path(), ID, &[&gpu::step(100)]), 300);
    let mut bytes = std::fs::read(&file).unwrap();
    let last = bytes.len() - 20;
    bytes[last] ^= 0xff;
    std::fs::write(&file, bytes).unwrap();
    assert!(stdout(dir.path(), &["report"]).contains("damaged: "));
    let output = run(dir.path(), &["verify"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("readings of box"), "{text}");
}

#[test]
fn exports_have_counters_of_the_machine() {
    let dir = sampled(&gpu::step(100), 300);
    let trace = json(&dir, &["export", "--to", "chrome"]);
    let events = trace["traceEvents"].as_array().unwrap();
    let counters: Vec<&Value> = events.iter().filter(|e| e["cat"] == "machine").collect();
    let power = |e: &&&Value| e["name"] == "GPU 0 gpu.power";
    let power: Vec<&&Value> = counters.iter().filter(power).collect();
    assert_eq!((power.len(), &power[0]["args"]["W"]), (20, &401.0.into()));
    let titles = events.iter().filter(|e| e["name"] == "process_name");
    assert!(titles.clone().any(|e| e["args"]["name"] == "machine box"));
    // Scopes stand where they stood, and readings beside them.
    let step = events.iter().find(|e| e["name"] == "step").unwrap();
    let apart = power[0]["ts"].as_f64().unwrap() - step["ts"].as_f64().unwrap();
    assert!((apart - 10_000.0).abs() < 1e-6, "{apart}");
    crate::exports::same_tree(&dir);
}

#[test]
fn a_sidecars_run_is_shown_and_exported() {
    let dir = Folder::new();
    sample(&made::write(dir.path(), ID, &[]), 300);
    let text = stdout(dir.path(), &["machine"]);
    assert!(text.contains("gpu.power") && text.contains("100%"), "{text}");
    let trace = json(&dir, &["export", "--to", "chrome"]);
    assert!(trace["traceEvents"].as_array().unwrap().len() > 300);
    let report = stdout(dir.path(), &["report"]);
    assert!(report.contains("readings only") && report.contains("Machine"), "{report}");
    assert!(stdout(dir.path(), &["ls"]).contains("readings only"));
}

/// A sidecar's run, begun after every other, with readings for so many milliseconds.
fn sidecar(dir: &Folder, for_ms: u64) -> &'static str {
    const LATER: &str = "20261115-201900-hodo-monitor-000009";
    let run = made::write(dir.path(), LATER, &[]);
    let json = r#"{"format":1,"app":"hodo monitor","start_ns":1794773940000000000}"#;
    std::fs::write(run.join("run.json"), json).unwrap();
    sample(&run, for_ms);
    LATER
}

#[test]
fn the_newest_run_is_a_programs_where_there_is_one() {
    let dir = Folder::new();
    let later = sidecar(&dir, 300);
    assert!(stdout(dir.path(), &["report"]).contains(later), "there is no other");
    made::write(dir.path(), ID, &[&samples::training(100)]);
    let report = stdout(dir.path(), &["report"]);
    assert!(report.contains(ID) && !report.contains("No scopes recorded"), "{report}");
    for args in [["report", "--json"], ["verify", "--json"]] {
        let document = json(&dir, &args).to_string();
        assert!(document.contains(ID), "{args:?}: {document}");
    }
    let trace = json(&dir, &["export", "--to", "chrome"]).to_string();
    assert!(trace.contains("forward"), "{trace}");
    assert_eq!(json(&dir, &["machine", "--json"])["run"], later, "it is after readings");
    let frame = stdout(dir.path(), &["top", "--replay", "--once"]);
    assert!(frame.contains("box"), "{frame}");
}

#[test]
fn a_list_says_how_long_a_machine_was_sampled() {
    let dir = Folder::new();
    sidecar(&dir, 200);
    let runs = json(&dir, &["ls", "--json"]);
    assert_eq!(runs["runs"][0]["wall_ns"], 190_000_000, "from the first reading to the last");
    let text = stdout(dir.path(), &["ls"]);
    assert!(text.contains("190 ms"), "{text}");
}

#[test]
fn a_report_has_the_limits_of_the_container() {
    let dir = Folder::new();
    let run = made::write(dir.path(), ID, &[&samples::training(100)]);
    crate::made_machine::sample_in_container(&run, 150);
    let text = stdout(dir.path(), &["report", "--width", "120"]);
    let memory = "the container's memory 192 MiB of 256 MiB (max 192 MiB)";
    assert!(text.contains(memory), "{text}");
    assert!(text.contains("its CPU limit 1.50, stopped for it 20% of the time"), "{text}");
}

#[test]
fn scopes_shorter_than_the_time_between_readings_say_so() {
    let mut run = Made::new(100);
    for at in 0..20 {
        run.span(Scope::new(
            "short",
            SpanId::NONE,
            (20 + 5 * at) * made::MS,
            (22 + 5 * at) * made::MS,
        ));
    }
    let text = stdout(sampled(&run, 300).path(), &["report"]);
    assert!(text.contains("~ 16.0 J") && text.contains("in proportion"), "{text}");
}

#[test]
fn the_page_about_the_machine_names_every_series() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/machine.md");
    let page = std::fs::read_to_string(page).unwrap();
    for metric in hodo_format::machine::metric::ALL {
        let row = format!("| `{}` |", metric.name);
        let told = page.lines().any(|line| line.starts_with(&row) && line.contains(metric.help));
        assert!(told, "docs/machine.md lacks {}: {}", metric.name, metric.help);
    }
}
