//! Files made to take all memory or disk: refused with words, in bounded memory. These are small
//! enough for every test run; `make import-limits` makes them as large as the words say.

use crate::support::{gzip, import, refused};
use std::io::Write;

/// Bytes of a bomb: enough to pass every limit.
const BOMB_BYTES: usize = 80 << 20;

fn bomb(begin: &str, filler: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(begin.as_bytes()).unwrap();
    let block = filler.repeat((1 << 20) / filler.len());
    for _ in 0..BOMB_BYTES / block.len() {
        encoder.write_all(block.as_bytes()).unwrap();
    }
    encoder.finish().unwrap()
}

#[test]
fn a_stream_that_unfolds_without_end_is_refused() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(br#"{"traceEvents":["#).unwrap();
    let block = " ".repeat(1 << 20);
    (0..80).for_each(|_| encoder.write_all(block.as_bytes()).unwrap());
    let error = refused("bomb.json.gz", encoder.finish().unwrap());
    assert!(error.contains("unfolds to more than 400 times its size"), "{error}");
}

#[test]
fn a_text_without_end_is_refused() {
    let error = refused("long.json.gz", bomb(r#"{"traceEvents":[{"name":""#, "pq8x-Zt0"));
    assert!(error.contains("longer than 32 MiB") && error.contains("at byte 16"), "{error}");
}

#[test]
fn nesting_without_end_is_refused() {
    for depth in [300, 10_000, 1_000_000] {
        let text = format!(r#"{{"traceEvents":[{{"args":{}"#, "[".repeat(depth));
        let error = refused("deep.json", text);
        assert!(error.contains("nested more than 256 levels"), "{error}");
    }
    let spool = format!(
        r#"{{"schema_version":1,"batch_id":"b","spans":[{{"attrs":{}"#,
        r#"{"a":"#.repeat(10_000)
    );
    assert!(refused("deep.json", spool).contains("nested more than 256 levels"));
    let log = format!(r#"{{"type":"job_start","session_id":"s","x":{}"#, "[".repeat(10_000));
    let error = refused("deep.log", log + "\n");
    assert!(error.contains("recursion limit"), "{error}");
}

#[test]
fn a_line_without_end_is_passed_over() {
    let line = bomb(r#"{"type":"job_start","session_id":""#, "pq8x-Zt0");
    let error = refused("long.log.gz", line);
    assert!(error.contains("longer than any record"), "{error}");
}

#[test]
fn a_packet_without_end_is_refused() {
    let mut bytes = vec![0x0A, 0x80, 0x80, 0x80, 0x80, 0x04, 0x42];
    bytes.resize(1000, 0);
    let error = refused("x.pftrace", bytes);
    assert!(error.contains("longer than 32 MiB"), "{error}");
}

#[test]
fn scopes_in_scopes_have_an_end() {
    let event = |i: u32| {
        let (ts, dur) = (i, 4 * 3000 - 2 * i);
        format!(r#"{{"ph":"X","name":"s","pid":1,"tid":1,"ts":{ts},"dur":{dur}}}"#)
    };
    let text = format!("[{}]", (0..3000).map(event).collect::<Vec<_>>().join(","));
    let (run, imported) = import("deep.json", gzip(text.as_bytes()));
    assert_eq!(run.span_count(), 3000);
    let depth = hodo_trace::tree(&run, &hodo_trace::Filter::default()).nodes.len();
    assert_eq!(depth, 513, "a level each");
    assert!(imported.notes.iter().any(|n| n.contains("deeper than 512 levels")));
}
