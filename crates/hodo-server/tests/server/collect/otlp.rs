//! Spans by OTLP: durable, shown as a run of their service, each once.

use super::{Collected, json, store};
use crate::client::{Answer, Folder, TRAINING};
use hodo_trace::{ReadOptions, Run};
use serde_json::{Value, json as made};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

const PROTOBUF: (&str, &str) = ("Content-Type", "application/x-protobuf");
const JSON: (&str, &str) = ("Content-Type", "application/json");

fn post(collected: &Collected, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    collected.ask(("POST", "/v1/traces"), &collected.ingest, headers, body)
}

/// Waits for the run of a service with so many scopes.
fn wait_for(collected: &Collected, app: &str, scopes: u64) -> Value {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let runs = json(&collected.get("/api/runs"));
        let found = runs["runs"].as_array().unwrap().iter().find(|run| run["app"] == app).cloned();
        if let Some(run) = found.filter(|run| run["scopes"] == scopes) {
            return run;
        }
        assert!(Instant::now() < until, "{runs}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A service with a span, one inside it that failed, and an event.
fn spans(service: &str) -> Value {
    let span = |id: &str, parent: &str, name: &str| {
        made!({
            "traceId": "5b8efff798038103d269b633813fc60c", "spanId": id, "parentSpanId": parent,
            "name": name, "kind": 2, "startTimeUnixNano": "1700000000000000000",
            "endTimeUnixNano": "1700000000250000000",
            "attributes": [
                {"key": "variant", "value": {"stringValue": "beam"}},
                {"key": "tokens", "value": {"intValue": "42"}},
                {"key": "shape", "value": {"arrayValue": {"values": [{"intValue": 3}]}}},
            ],
            "events": [{"timeUnixNano": "1700000000100000000", "name": "first token",
                "attributes": [{"key": "value", "value": {"doubleValue": 0.5}}]}],
            "status": {"code": if parent.is_empty() { 0 } else { 2 }, "message": "out of memory"},
        })
    };
    let spans = [
        span("eee19b7ec3c1b174", "", "request"),
        span("eee19b7ec3c1b173", "eee19b7ec3c1b174", "decode"),
    ];
    let name = made!([{"key": "service.name", "value": {"stringValue": service}}]);
    made!({"resourceSpans": [{"resource": {"attributes": name}, "scopeSpans": [{"spans": spans}]}]})
}

#[test]
fn json_spans_are_a_run_of_their_service() {
    let (folder, collected) = store();
    let body = spans("llm api/<script>").to_string();
    let answer = post(&collected, &[JSON], body.as_bytes());
    assert_eq!((answer.status, answer.text().as_str()), (200, "{}"));
    let run = wait_for(&collected, "llm api/<script>", 2);
    let id = run["id"].as_str().unwrap();
    assert!(id.starts_with("otlp~llm_api__script_-20231114-"), "{id}");
    let report = json(&collected.get(&format!("/api/runs/{id}/report")));
    let nodes = report["nodes"].as_array().unwrap();
    let named: Vec<_> =
        nodes.iter().map(|n| (n["name"].as_str().unwrap(), n["depth"].as_u64().unwrap())).collect();
    assert_eq!(named, [("request", 0), ("decode", 1)]);
    assert_eq!(report["failed"]["scopes"][0]["error"], "out of memory");
    let marks = json(&collected.get(&format!("/api/runs/{id}/marks")));
    assert!(marks.to_string().contains("first token"), "{marks}");
    let kept =
        json(&collected.get(&format!("/api/runs/{id}/report?filter=variant%3Dbeam%20tokens%3E41")));
    assert_eq!(kept["nodes"].as_array().unwrap().len(), 2);
    // Sent again it counts once.
    assert_eq!(post(&collected, &[JSON], body.as_bytes()).status, 200);
    let mut more = spans("llm api/<script>");
    more["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["spanId"] = "00000000000000aa".into();
    assert_eq!(post(&collected, &[JSON], more.to_string().as_bytes()).status, 200);
    wait_for(&collected, "llm api/<script>", 3);
    assert!(collected.get("/metrics").text().contains("\nhodo_otlp_spans_total 6\n"));
    super::packing::assert_private(folder.path());
    let path = format!("/api/runs/{id}");
    assert_eq!(collected.ask(("DELETE", &path), &collected.admin, &[], b"").status, 200);
    assert_eq!(json(&collected.get("/api/runs"))["runs"], made!([]));
}

#[test]
fn what_hodo_exports_comes_back() {
    let folder = Folder::new();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hodo-cli/tests/data").join(TRAINING);
    let run = Run::open(&data, &ReadOptions::default()).unwrap();
    let scopes = run.span_count() as u64;
    {
        let collected = Collected::new(folder.path());
        let mut count = 0;
        let mut take = |batch: &[u8], _: u64| {
            count += 1;
            let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            gzip.write_all(batch).unwrap();
            let (body, packed) = (gzip.finish().unwrap(), ("Content-Encoding", "gzip"));
            // Each twice, as a client does that missed an answer.
            for _ in 0..2 {
                let answer = post(&collected, &[PROTOBUF, packed], &body);
                assert_eq!((answer.status, answer.body.len()), (200, 0), "{}", answer.text());
            }
            Ok::<(), hodo_convert::ConvertError>(())
        };
        hodo_convert::otlp::batches(&run, &mut take, &|_, _| {}).unwrap();
        assert!(count > 1);
    }
    // It ended before it could be shown, or was about to: what was answered is there.
    let again = Collected::new(folder.path());
    wait_for(&again, "dl", scopes);
}

#[test]
fn a_full_collector_asks_senders_of_spans_to_come_back() {
    let folder = Folder::new();
    let mut options = hodo_server::CollectorOptions::local(folder.path());
    options.max_bytes = Some(1000);
    let collected = Collected::with(&options);
    let full = post(&collected, &[JSON], spans("api").to_string().as_bytes());
    // By any other status but few, senders drop what they have.
    assert_eq!(full.status, 503, "{}", full.text());
    assert!(full.header("retry-after").is_some() && full.text().contains("--max-bytes"));
}

#[test]
fn what_is_no_request_is_refused() {
    let (_folder, collected) = store();
    assert_eq!(post(&collected, &[], b"x").status, 415);
    assert_eq!(post(&collected, &[("Content-Type", "text/plain")], b"x").status, 415);
    assert_eq!(post(&collected, &[JSON, ("Content-Encoding", "zstd")], b"{}").status, 415);
    for body in [
        "",
        "[]",
        "{",
        r#"{"resourceSpans":1}"#,
        r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"x"}]}]}]}"#,
    ] {
        let answer = post(&collected, &[JSON], body.as_bytes());
        assert_eq!(answer.status, 400, "{body}: {}", answer.text());
    }
    assert_eq!(post(&collected, &[PROTOBUF], b"\xff\xff\xff").status, 400);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(post(&collected, &[JSON], deep.as_bytes()).status, 400);
    assert_eq!(post(&collected, &[JSON], b"{}").status, 200, "nothing is a request too");
    assert_eq!(json(&collected.get("/api/runs"))["runs"], made!([]));
}
