//! Bodies that are too long, too slow, too many, or unfold to too much.

use super::{Collected, store};
use crate::client::{Answer, Folder};
use hodo_format::ship;
use hodo_server::CollectorOptions;
use std::io::{Read, Write};
use std::time::Duration;

const SPOOL: &str = "/api/ingest/runs/run/files/p1-a/spool-000001.hodo?offset=0";

fn put(collected: &Collected, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    collected.ask(("PUT", SPOOL), &collected.ingest, headers, body)
}

#[test]
fn what_is_sent_wrongly_is_refused_with_words() {
    let (_folder, collected) = store();
    let sum = ship::checksum(b"hello");
    let right = (ship::CHECKSUM_HEADER, sum.as_str());
    let refused = |answer: Answer, status: u16, words: &str| {
        assert_eq!(answer.status, status, "{}", answer.text());
        assert!(answer.text().contains(words), "{}", answer.text());
    };
    refused(put(&collected, &[], b"hello"), 400, "eight hex digits");
    refused(put(&collected, &[(ship::CHECKSUM_HEADER, "xyz")], b"hello"), 400, "eight hex digits");
    let signed = (ship::CHECKSUM_HEADER, "+0000000");
    refused(put(&collected, &[signed], b""), 400, "eight hex digits");
    let twice = "/api/ingest/runs/run/files/p1-a/spool-000001.hodo?offset=0&offset=1";
    let answer = collected.ask(("PUT", twice), &collected.ingest, &[right], b"hello");
    let words: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    assert!(answer.status == 400 && words["error"].is_string(), "{}", answer.text());
    refused(put(&collected, &[right], b"hellO"), 422, "checksum");
    refused(put(&collected, &[right, ("Content-Encoding", "br")], b"hello"), 415, "zstd");
    refused(put(&collected, &[right, ("Content-Encoding", "gzip")], b"hello"), 415, "zstd");
    refused(put(&collected, &[right, ("Content-Encoding", "zstd")], b"hello"), 422, "unfolded");
    refused(collected.replace("run/files/p1-a/spool-000001.hodo", b""), 400, "?offset=N");
    refused(collected.append("run/files/-/run.json", 0, b""), 400, "?whole=1");
    refused(collected.beat("run", "{}"), 400, "host");
    assert_eq!(collected.files("run"), [], "nothing of it was kept");
}

#[test]
fn bodies_that_are_too_long_are_refused() {
    let (_folder, collected) = store();
    let long = vec![7; ship::CHUNK_BYTES + 1];
    let sum = ship::checksum(&long);
    let headers = [(ship::CHECKSUM_HEADER, sum.as_str())];
    assert_eq!(put(&collected, &headers, &long).status, 413);
    let told = [headers[0], ("Content-Length", "16777217")];
    assert_eq!(put(&collected, &told, b"").status, 413, "before any of it is read");
    assert_eq!(put(&collected, &[headers[0], ("Content-Length", "x")], b"").status, 400);
    let most = &long[1..];
    let sum = ship::checksum(most);
    assert_eq!(put(&collected, &[(ship::CHECKSUM_HEADER, &sum)], most).status, 200);
}

#[test]
fn bombs_are_refused() {
    let (_folder, collected) = store();
    let zeros = std::io::repeat(0).take(1 << 30);
    let bomb = zstd::encode_all(zeros, 1).unwrap();
    let headers = [(ship::CHECKSUM_HEADER, "00000000"), ("Content-Encoding", "zstd")];
    assert_eq!(put(&collected, &headers, &bomb).status, 413);
    assert_eq!(collected.files("run"), []);
}

#[test]
fn a_slow_body_is_given_up() {
    let (_folder, collected) = store();
    let mut slow = collected.connect();
    let (port, token) = (collected.port, &collected.ingest);
    write!(
        slow,
        "PUT {SPOOL} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\
         hodo-crc32c: 00000000\r\nContent-Length: 1000\r\n\r\n12345"
    )
    .unwrap();
    slow.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    let mut first = [0; 12];
    slow.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 408");
    assert_eq!(collected.get("/healthz").status, 200);
}

#[test]
fn who_sends_a_question_slowly_keeps_nobody_from_reading() {
    let (_folder, collected) = store();
    let (port, token) = (collected.port, &collected.read);
    let slow = (0..12).map(|_| {
        let mut slow = collected.connect();
        write!(
            slow,
            "POST /api/sql HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{"
        )
        .unwrap();
        slow.set_nonblocking(true).unwrap();
        slow
    });
    let slow: Vec<_> = slow.collect();
    // They are heard before the one who asks next.
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(collected.get("/api/runs").status, 200);
    let waits = |stream: &std::net::TcpStream| stream.peek(&mut [0]).is_err();
    assert!(slow.iter().all(waits), "they are waited for, and not by the one who asked");
}

#[test]
fn a_full_store_says_so_and_takes_no_more() {
    let folder = Folder::new();
    let mut options = CollectorOptions::local(folder.path());
    // Two files and a folder, each with what it takes besides its bytes.
    options.max_bytes = Some(1000 + 3 * 4096);
    let collected = Collected::with(&options);
    let file = "run/files/p1-a/spool-000001.hodo";
    assert_eq!(collected.append(file, 0, &[1; 800]).status, 200);
    let full = collected.append(file, 800, &[1; 201]);
    assert_eq!(full.status, 507);
    assert!(full.header("retry-after").is_some() && full.text().contains("--max-bytes"));
    assert_eq!(collected.append(file, 0, &[1; 800]).status, 200, "what is there may be repeated");
    let there = std::fs::read(collected.folder("run").join("p1-a/spool-000001.hodo")).unwrap();
    assert_eq!(there.len(), 800);
}

#[test]
fn a_run_takes_as_much_of_the_room_as_it_takes_of_the_disk() {
    let folder = Folder::new();
    let mut options = CollectorOptions::local(folder.path());
    options.max_bytes = Some(1 << 20);
    let collected = Collected::with(&options);
    // What a program that ended without a shutdown leaves: a long file that is mostly holes.
    let mut chunk = vec![0; ship::CHUNK_BYTES];
    chunk[100] = 1;
    for run in ["a", "b", "c", "d", "e"] {
        for at in 0..4 {
            let offset = at * chunk.len() as u64;
            let taken = collected.append(&format!("{run}/files/p1-a/arena"), offset, &chunk);
            assert_eq!(taken.status, 200, "{run} at {offset}: {}", taken.text());
        }
    }
    let metrics = collected.get("/metrics").text();
    let counted = metrics.lines().find_map(|line| line.strip_prefix("hodo_store_bytes "));
    let counted: u64 = counted.unwrap().parse().unwrap();
    assert!(counted > 5 * 4 * 4096 && counted < 1 << 20, "{counted}");
}

#[test]
fn a_token_has_its_own_limits() {
    let folder = Folder::new();
    let collected = Collected::new(folder.path());
    let tokens = hodo_server::Tokens::new(folder.path());
    let limits = hodo_server::TokenLimits { max_bytes: Some(13_000), rate: Some(1) };
    let small = tokens.add("small", hodo_server::TokenKind::Ingest, limits).unwrap();
    let sum = ship::checksum(&[1; 1001]);
    let path = SPOOL.replace("/run/", "/small/");
    let headers = [(ship::CHECKSUM_HEADER, sum.as_str())];
    let full = collected.ask(("PUT", &path), &small, &headers, &[1; 1001]);
    assert_eq!(full.status, 507, "{}", full.text());
    let asked = (0..20).map(|_| collected.ask(("GET", "/healthz"), &small, &[], b""));
    let late: Vec<Answer> = asked.filter(|answer| answer.status == 429).collect();
    assert!(!late.is_empty() && late.iter().all(|answer| answer.header("retry-after").is_some()));
    // Others are not in its way.
    assert_eq!(collected.append("run/files/p1-a/spool-000001.hodo", 0, &[1; 101]).status, 200);
}
