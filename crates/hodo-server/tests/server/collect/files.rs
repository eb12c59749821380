//! Files come in pieces, again, out of order, and are there once.

use super::{Collected, json, store};
use crate::client::{Folder, TRAINING};
use hodo_format::ship;
use serde_json::Value;
use std::os::unix::fs::FileExt;
use std::path::Path;

const SPOOL: &str = "run/files/p1-a/spool-000001.hodo";

fn length(answer: &crate::client::Answer) -> (u16, u64) {
    let said: Value = serde_json::from_slice(&answer.body).unwrap();
    (answer.status, said["length"].as_u64().unwrap_or(u64::MAX))
}

#[test]
fn pieces_are_appended_and_repeated_ones_are_skipped() {
    let (_folder, collected) = store();
    assert_eq!(collected.files("run"), []);
    assert_eq!(length(&collected.append(SPOOL, 0, b"hello ")), (200, 6));
    assert_eq!(length(&collected.append(SPOOL, 0, b"hello ")), (200, 6), "the same again");
    assert_eq!(length(&collected.append(SPOOL, 3, b"lo world")), (200, 11), "more than is there");
    assert_eq!(length(&collected.append(SPOOL, 2, b"llo")), (200, 11), "a piece of the middle");
    assert_eq!(length(&collected.append(SPOOL, 11, b"")), (200, 11), "nothing");
    assert_eq!(length(&collected.append(SPOOL, 12, b"!")), (409, 11), "a gap");
    assert_eq!(length(&collected.append(SPOOL, u64::MAX, b"")), (409, 11), "a large gap");
    let beyond = collected.append(SPOOL, u64::MAX, b"!");
    assert_eq!(beyond.status, 400, "no file is so long: {}", beyond.text());
    assert_eq!(length(&collected.append(SPOOL, 3, b"XX")), (409, 11), "other bytes");
    assert_eq!(length(&collected.append(SPOOL, 9, b"lX more")), (409, 11), "other bytes, and more");
    let there = std::fs::read(collected.folder("run").join("p1-a/spool-000001.hodo")).unwrap();
    assert_eq!(there, b"hello world");
    assert_eq!(collected.files("run"), [("p1-a".into(), "spool-000001.hodo".into(), 11)]);
}

#[test]
fn whole_files_are_replaced() {
    let (_folder, collected) = store();
    for text in ["{\"a\":1}", "{}", "{}"] {
        let answer = collected.replace("run/files/-/run.json", text.as_bytes());
        assert_eq!(length(&answer), (200, text.len() as u64));
        assert_eq!(
            std::fs::read_to_string(collected.folder("run").join("run.json")).unwrap(),
            text
        );
    }
    let listed = json(&collected.ask(("GET", "/api/ingest/runs/run"), &collected.ingest, &[], b""));
    assert_eq!(listed["files"][0]["crc32c"], ship::checksum(b"{}"));
    assert_eq!(
        (listed["run"].as_str(), listed["files"][0]["part"].as_str()),
        (Some("run"), Some(""))
    );
}

#[test]
fn compressed_pieces_are_checked_as_they_were() {
    let (_folder, collected) = store();
    let bytes: Vec<u8> = (0..100_000_u32).flat_map(|n| (n / 7).to_le_bytes()).collect();
    let (packed, sum) = (zstd::encode_all(&*bytes, 1).unwrap(), ship::checksum(&bytes));
    let headers = [(ship::CHECKSUM_HEADER, sum.as_str()), ("Content-Encoding", "zstd")];
    let path = format!("/api/ingest/runs/{SPOOL}?offset=0");
    let answer = collected.ask(("PUT", &path), &collected.ingest, &headers, &packed);
    assert_eq!(length(&answer), (200, bytes.len() as u64));
    let there = std::fs::read(collected.folder("run").join("p1-a/spool-000001.hodo")).unwrap();
    assert_eq!(there, bytes);
    // A checksum of the body as it is sent is that of other bytes.
    let sum = ship::checksum(&packed);
    let headers = [(ship::CHECKSUM_HEADER, sum.as_str()), ("Content-Encoding", "zstd")];
    let answer = collected.ask(("PUT", &path), &collected.ingest, &headers, &packed);
    assert_eq!(answer.status, 422);
}

#[test]
fn what_was_told_is_there_after_a_restart() {
    let folder = Folder::new();
    {
        let first = Collected::new(folder.path());
        assert_eq!(first.append(SPOOL, 0, b"hello").status, 200);
        assert_eq!(first.replace("run/files/p1-a/process.json", b"{}").status, 200);
    }
    // What a write that nobody acknowledged left.
    let file = folder.path().join("runs/run/p1-a/spool-000001.hodo");
    std::fs::write(&file, b"hello wo").unwrap();
    std::fs::write(folder.path().join("runs/run/p1-a/.process.json.part"), b"{half of").unwrap();
    let again = Collected::new(folder.path());
    let (spool, process) = ("spool-000001.hodo".to_owned(), "process.json".to_owned());
    let answer = again.ask(("GET", "/api/ingest/runs/run"), &again.admin, &[], b"");
    let files = json(&answer)["files"].clone();
    assert_eq!((&files[0]["name"], &files[0]["length"]), (&process.into(), &2.into()));
    let last = "of the last piece nobody knows how much is on disk";
    assert_eq!((&files[1]["name"], &files[1]["length"]), (&spool.into(), &0.into()), "{last}");
    assert_eq!(files.as_array().unwrap().len(), 2, "{files}");
    let sum = ship::checksum(b"hello world");
    let path = format!("/api/ingest/runs/{SPOOL}?offset=0");
    let headers = [(ship::CHECKSUM_HEADER, sum.as_str())];
    let answer = again.ask(("PUT", &path), &again.admin, &headers, b"hello world");
    assert_eq!(length(&answer), (200, 11));
    assert_eq!(std::fs::read(file).unwrap(), b"hello world");
}

#[test]
fn zeros_that_a_power_failure_left_are_written_over() {
    let folder = Folder::new();
    let piece: Vec<u8> = (0..ship::CHUNK_BYTES as u32).map(|n| (n % 251) as u8 + 1).collect();
    let ship_again = |offset: u64, bytes: &[u8]| {
        let again = Collected::new(folder.path());
        let told = json(&again.ask(("GET", "/api/ingest/runs/run"), &again.admin, &[], b""));
        let (sum, path) =
            (ship::checksum(bytes), format!("/api/ingest/runs/{SPOOL}?offset={offset}"));
        let headers = [(ship::CHECKSUM_HEADER, sum.as_str())];
        let answer = again.ask(("PUT", &path), &again.admin, &headers, bytes);
        (told["files"][0]["length"].as_u64(), answer.status)
    };
    let length = piece.len() as u64;
    assert_eq!(ship_again(0, &piece), (None, 200));
    let file = folder.path().join("runs/run/p1-a/spool-000001.hodo");
    let torn = std::fs::OpenOptions::new().write(true).open(&file).unwrap();
    // The length of the second piece came to the disk, and only some of its bytes.
    torn.set_len(2 * length).unwrap();
    torn.write_all_at(&piece[..5000], length).unwrap();
    assert_eq!(ship_again(length, &piece), (Some(length), 200));
    assert!(std::fs::read(&file).unwrap() == [piece.clone(), piece.clone()].concat());
    // Other bytes are another file.
    let mut other = piece.clone();
    other[4999] ^= 1;
    assert_eq!(ship_again(length, &other), (Some(length), 409));
    assert_eq!(ship_again(length - 1, &piece).1, 409);
}

#[test]
fn many_at_once_leave_every_byte_once() {
    let (_folder, collected) = store();
    let bytes: Vec<u8> = (0..400_000_u32).map(|n| (n * 31 / 7) as u8).collect();
    let whole = &bytes;
    std::thread::scope(|scope| {
        for sender in 0..4_usize {
            let collected = &collected;
            scope.spawn(move || {
                let mut at = 0;
                while at < whole.len() {
                    // Each in pieces of its own, from where the server says it is.
                    let end = (at + 7000 + 1000 * sender).min(whole.len());
                    let (status, length) =
                        length(&collected.append(SPOOL, at as u64, &whole[at..end]));
                    assert!(matches!(status, 200 | 409), "{status}");
                    at = length as usize;
                }
            });
        }
    });
    let there = std::fs::read(collected.folder("run").join("p1-a/spool-000001.hodo")).unwrap();
    assert_eq!(&there, whole);
}

#[test]
fn a_shipped_run_is_shown() {
    let (_folder, collected) = store();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hodo-cli/tests/data").join(TRAINING);
    collected.ship(&data, "training");
    assert_eq!(collected.beat("training", r#"{"host":"gpu1","done":true}"#).status, 200);
    let runs = json(&collected.get("/api/runs"));
    assert_eq!(runs["runs"][0]["id"], "training");
    let own = crate::client::Served::new(data.parent().unwrap());
    let path = |run: &str| format!("/api/runs/{run}/report");
    let (there, here) = (json(&collected.get(&path("training"))), own.json(&path(TRAINING)));
    assert_eq!((&there["nodes"], &there["records"]), (&here["nodes"], &here["records"]));
    assert!(there["nodes"].as_array().is_some_and(|nodes| !nodes.is_empty()));
}

#[test]
fn a_run_belongs_to_the_token_that_began_it() {
    let (folder, collected) = store();
    assert_eq!(collected.append(SPOOL, 0, b"mine").status, 200);
    let tokens = hodo_server::Tokens::new(folder.path());
    let other = tokens
        .add("other", hodo_server::TokenKind::Ingest, hodo_server::TokenLimits::default())
        .unwrap();
    let sum = ship::checksum(b"yours");
    let headers = [(ship::CHECKSUM_HEADER, sum.as_str())];
    let path = format!("/api/ingest/runs/{SPOOL}?offset=4");
    for (method, path, body) in [
        ("PUT", path.as_str(), b"yours".as_slice()),
        ("GET", "/api/ingest/runs/run", b""),
        ("POST", "/api/ingest/runs/run/beat", br#"{"host":"evil","done":true}"#),
    ] {
        let answer = collected.ask((method, path), &other, &headers, body);
        assert_eq!(answer.status, 403, "{method} {path}");
        assert!(answer.text().contains("another ingest token"), "{}", answer.text());
        assert!(answer.text().contains("all hosts of a run"), "what to do: {}", answer.text());
    }
    let there = std::fs::read(collected.folder("run").join("p1-a/spool-000001.hodo")).unwrap();
    assert_eq!(there, b"mine");
    // Its own run it may write.
    let own = path.replace("/run/", "/own/").replace("offset=4", "offset=0");
    assert_eq!(collected.ask(("PUT", &own), &other, &headers, b"yours").status, 200);
}

#[test]
fn a_run_that_is_named_like_a_file_half_written_is_its_owners() {
    let folder = Folder::new();
    let other = {
        let first = Collected::new(folder.path());
        let tokens = hodo_server::Tokens::new(folder.path());
        let limits = hodo_server::TokenLimits::default();
        let other = tokens.add("other", hodo_server::TokenKind::Ingest, limits).unwrap();
        assert_eq!(first.append("job.part/files/p1-a/spool-000001.hodo", 0, b"mine").status, 200);
        let own = ("POST", "/api/ingest/runs/job/beat");
        let beat = br#"{"host":"other","processes":[],"done":false}"#;
        assert_eq!(first.ask(own, &other, &[], beat).status, 200);
        other
    };
    let again = Collected::new(folder.path());
    let answer = again.ask(("GET", "/api/ingest/runs/job.part"), &other, &[], b"");
    assert_eq!(answer.status, 403, "{}", answer.text());
    // The administrator sees every run, and its owner is another token than those made anew.
    let answer = again.ask(("GET", "/api/ingest/runs/job.part"), &again.admin, &[], b"");
    assert_eq!(json(&answer)["files"].as_array().map(Vec::len), Some(1), "{}", answer.text());
}

#[test]
fn files_that_name_others_of_this_machine_get_nothing_of_them() {
    let (folder, collected) = store();
    let secret = folder.path().join("secret-arena");
    std::fs::write(&secret, "secret").unwrap();
    let process = format!(r#"{{"pid":1,"process":"0a","arena":"{}"}}"#, secret.display());
    assert_eq!(collected.replace("run/files/p1-a/process.json", process.as_bytes()).status, 200);
    let answer = collected.get("/api/runs/run/report");
    assert!(
        !answer.text().contains("secret-arena") || answer.text().contains("\"argv\""),
        "{}",
        answer.text()
    );
    let report = json(&answer);
    assert_eq!(report["processes"][0]["damage"]["places"], Value::Array(Vec::new()), "{report}");
    let side = r#"{"schema":1,"hodo":"0","processes":[],"machines":[],
        "files":[{"path":"../../tokens.json","bytes":1,"crc32c":1}]}"#;
    assert_eq!(collected.replace("packed/files/pack/side.json", side.as_bytes()).status, 200);
    let answer = collected.get("/api/runs/packed/report");
    assert_ne!(answer.status, 200, "{}", answer.text());
}
