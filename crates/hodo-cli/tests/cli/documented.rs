//! `docs/report-json.md` names every key the program prints, and no other.

use crate::compare;
use crate::made::{self, Folder, Made, Scope};
use crate::program::{ID, folder, hodo, stdout};
use crate::samples;
use hodo_format::gpu::Detail;
use hodo_format::record::SpanId;
use serde_json::Value;
use std::collections::BTreeSet;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/report-json.md");

/// Runs in which everything happens that has a key: children, failures, losses, damage, marks.
fn eventful() -> Folder {
    let dir = Folder::new();
    let (first, mut worker) = (samples::training(100), samples::crossing(200));
    worker.parent = Some((first.process(), SpanId::new(1, 1)));
    worker.lost[0].spans = 3;
    let mut outside = Made::new(300);
    outside.mark(SpanId::NONE, "outside", 1, 0.5);
    for tag in ["one", "another"] {
        let id = outside.span(Scope::new("after", SpanId::NONE, 0, 10));
        outside.text(id, "tag", tag);
    }
    let mut gpu = crate::gpu::sampled(400);
    let copy = Detail::Copy { bytes: 64, direction: 2, from: 3, to: 2 };
    let (forward, lost) = (SpanId::new(1, 2), SpanId::new(9, 9));
    for (span, flags) in [(forward, 1), (lost, 0), (SpanId::NONE, 2), (SpanId::NONE, 3)] {
        let work = gpu.work(span, copy, 160 * made::MS, 161 * made::MS);
        (work.flags, work.forward) = (flags, forward);
    }
    gpu.kernel(lost, "of a lost scope", 160 * made::MS, 161 * made::MS);
    gpu.live = Some([13, 1, 1, 0, 0, 0, 10, 14, 0, 0]);
    let folder = made::write(dir.path(), ID, &[&first, &worker, &outside, &gpu]);
    let spoilt = made::process_folder(&folder).join("spool-000001.hodo");
    let mut bytes = std::fs::read(&spoilt).unwrap();
    bytes.extend_from_slice(b"not a frame");
    std::fs::write(&spoilt, &bytes).unwrap();
    let readings = crate::made_machine::sample(&folder, 300);
    let mut bytes = std::fs::read(&readings).unwrap();
    bytes.extend_from_slice(b"not a frame");
    std::fs::write(&readings, bytes).unwrap();
    dir
}

/// Every key with the way to it: `nodes[].cpu.total_ns`.
fn keys(value: &Value, way: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let key = if way.is_empty() { key.clone() } else { format!("{way}.{key}") };
                found.insert(key.clone());
                keys(value, &key, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|i| keys(i, &format!("{way}[]"), found)),
        _ => {}
    }
}

/// The keys of a section: what stands in the first cell of its table, and where the second cell
/// says "as", the keys of that section too.
fn documented(page: &str, title: &str, way: &str, found: &mut BTreeSet<String>) {
    for (key, what) in rows(page, title) {
        let key = if way.is_empty() { key } else { format!("{way}.{key}") };
        found.insert(key.trim_end_matches("[]").to_owned());
        if let Some(other) = what.strip_prefix("as ") {
            documented(page, other, &key, found);
        }
    }
}

/// First and second cell of the rows of a section.
fn rows(page: &str, title: &str) -> Vec<(String, String)> {
    let begin = page.find(&format!("\n## `{title}`\n")).unwrap_or_else(|| panic!("no {title}"));
    let section = page[begin + 1..].split("\n## ").next().unwrap();
    let cells = section.lines().filter_map(|l| {
        let mut cells = l.strip_prefix("| `")?.splitn(3, '|');
        let key = cells.next()?.trim().trim_end_matches('`').to_owned();
        Some((key, cells.next()?.trim().replace('`', "")))
    });
    cells.collect()
}

/// Two programs that differ in all that a comparison tells.
fn unlike() -> Folder {
    let dir = Folder::new();
    for (side, load, noise, kernel) in [("base", 1.0, 0.0, "old"), ("head", 1.5, 0.4, "new")] {
        for at in 0..5 {
            let mut run = compare::steps(compare::Planted { load, ..Default::default() });
            let shaky = 1.0 + noise * (at as f64 - 1.0);
            for index in 0..30u64 {
                let start = 2000 * made::MS + index * 100 * made::MS;
                let took = (50.0 * shaky * made::MS as f64) as u64;
                run.span(Scope::new("shaky", SpanId::NONE, start, start + took));
                run.kernel(SpanId::NONE, kernel, start, start + made::MS);
                run.kernel(SpanId::NONE, "gemm", start + 2 * made::MS, start + 3 * made::MS);
            }
            run.gpu_state = r#"{"level":"trace"}"#.into();
            run.wall_ns += (2 * at + u64::from(side == "head")) * 1000 * made::MS;
            let folder = made::write(&dir.path().join(side), &format!("{at}"), &[&run]);
            let info = std::fs::read_to_string(folder.join("run.json")).unwrap();
            let elsewhere = info.replace(r#""host":"box""#, &format!(r#""host":"{side}""#));
            std::fs::write(folder.join("run.json"), elsewhere).unwrap();
        }
    }
    dir
}

/// The keys that the program prints and those that the page has.
#[track_caller]
fn compare_keys(schema: &str, documents: &[(&Folder, &[&str])]) {
    let page = std::fs::read_to_string(PAGE).unwrap_or_default();
    let mut printed = BTreeSet::new();
    for (dir, args) in documents {
        let output = hodo(dir.path(), args).current_dir(dir.path()).output().unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["schema"], schema);
        keys(&document, "", &mut printed);
    }
    let mut told = BTreeSet::new();
    documented(&page, schema, "", &mut told);
    let missing: Vec<_> = printed.difference(&told).collect();
    let stale: Vec<_> = told.difference(&printed).collect();
    assert!(missing.is_empty(), "{schema}: docs/report-json.md lacks {missing:#?}");
    assert!(stale.is_empty(), "{schema}: nothing prints {stale:#?}");
}

#[test]
fn every_key_is_documented_and_every_documented_key_is_there() {
    let (dir, unlike, alike) = (eventful(), unlike(), folder(&samples::training(100)));
    let asked = ["report", "--json", "--kernels", "--backward", "--samples", "--price", "0.3"];
    compare_keys("hodo.report/1", &[(&dir, &asked), (&alike, &["report", "--json"])]);
    compare_keys("hodo.machine/1", &[(&dir, &["machine", "--json"])]);
    let series = ["machine", "--series", "gpu.power", "--json"];
    compare_keys("hodo.series/1", &[(&dir, &series)]);
    compare_keys("hodo.ls/1", &[(&dir, &["ls", "--json"])]);
    compare_keys("hodo.verify/1", &[(&dir, &["verify", "--json"])]);
    compare_keys("hodo.doctor/1", &[(&dir, &["doctor", "--json"])]);
    let trace = dir.path().join("trace.json").display().to_string();
    std::fs::write(&trace, r#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":2}]"#).unwrap();
    compare_keys("hodo.import/1", &[(&dir, &["import", &trace, "--json"])]);
    let packed = dir.path().join("packed").display().to_string();
    compare_keys("hodo.pack/1", &[(&alike, &["pack", "--out", &packed, "--json"])]);
    compare_keys("hodo.diff/1", &[(&unlike, &["diff", "base", "head", "--json", "--force"])]);
    compare_keys("hodo.gate/1", &[(&unlike, &["gate", "base", "head", "--json", "--force"])]);
}

#[test]
fn the_state_of_a_run_and_its_failures_are_in_the_document() {
    let dir = eventful();
    let document: Value = serde_json::from_str(&stdout(dir.path(), &["report", "--json"])).unwrap();
    assert_eq!(document["state"], "finished");
    assert_eq!(document["failed"]["count"], 1);
    assert_eq!(document["failed"]["scopes"][0]["path"][0]["name"], "backward");
    assert_eq!(document["failed"]["scopes"][0]["error"], "loss is NaN");
    assert_eq!(document["open"]["count"], 1);
    assert_eq!(document["open"]["scopes"][0]["path"][0]["name"], "serve");
    assert_eq!(document["marks_outside_scopes"][0]["name"], "outside");
}
