//! `docs/report-json.md` names every key the program prints, and no other.

use crate::made::{self, Folder, Made, Scope};
use crate::program::{ID, run, stdout};
use crate::samples;
use hodo_format::gpu::{self, Detail};
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
    let folder = made::write(dir.path(), ID, &[&first, &worker, &outside]);
    let spoilt = made::process_folder(&folder).join("spool-000001.hodo");
    let mut bytes = std::fs::read(&spoilt).unwrap();
    bytes.extend_from_slice(b"not a frame");
    std::fs::write(&spoilt, bytes).unwrap();
    let gpu = made::process_folder(&folder).join("gpu-000001.hodo");
    std::fs::write(gpu, gpu_file()).unwrap();
    dir
}

/// A kernel and a copy of every sort of launch, and all that a capture says of itself.
fn gpu_file() -> Vec<u8> {
    let mut file = hodo_format::spool::file_header(1, 1).to_vec();
    let state = r#"{"level":"trace","tier":"callbacks","library":"libcupti.so.13","version":"13.0",
        "driver":"580","devices":[{"device":0,"name":"H200"}],"kept":8,
        "gaps":[{"start":5,"end":9,"why":"torch.profiler"}]}"#;
    gpu::state_frame(0, state, &mut file);
    let mut encoder = gpu::Encoder::new(1);
    let kernel = Detail::Kernel(gpu::Kernel { name: 1, ..Default::default() });
    let copy = Detail::Copy { bytes: 64, direction: 1, from: 2, to: 3 };
    let lost = SpanId::new(9, 9);
    let owners = [(SpanId::new(1, 1), 0), (SpanId::NONE, 2), (SpanId::NONE, 3), (lost, 0)];
    for (at, (span, flags)) in owners.into_iter().enumerate() {
        for detail in [kernel, copy] {
            let start = 100 * (at as u64 + 1);
            let none = SpanId::NONE;
            encoder.push(&gpu::Work {
                flags,
                device: 0,
                context: 1,
                stream: 7,
                start,
                end: start + 50,
                correlation: 1,
                span,
                launched: start - 10,
                graph: 0,
                node: 0,
                captured: none,
                forward: none,
                detail,
            });
        }
    }
    encoder.finish(1, &mut file);
    file
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

#[test]
fn every_key_is_documented_and_every_documented_key_is_there() {
    let dir = eventful();
    let page = std::fs::read_to_string(PAGE).unwrap_or_default();
    for (verb, schema) in [
        ("report", "hodo.report/1"),
        ("ls", "hodo.ls/1"),
        ("verify", "hodo.verify/1"),
        ("doctor", "hodo.doctor/1"),
    ] {
        let output = run(dir.path(), &[verb, "--json"]);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["schema"], schema);
        let mut printed = BTreeSet::new();
        keys(&document, "", &mut printed);
        let mut told = BTreeSet::new();
        documented(&page, schema, "", &mut told);
        let missing: Vec<_> = printed.difference(&told).collect();
        let stale: Vec<_> = told.difference(&printed).collect();
        assert!(missing.is_empty(), "{schema}: docs/report-json.md lacks {missing:#?}");
        assert!(stale.is_empty(), "{schema}: nothing prints {stale:#?}");
    }
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
