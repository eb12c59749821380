//! Requests that are too long, too slow, too many.

use crate::client::{Folder, Served, TRAINING};
use std::io::{Read, Write};
use std::time::Duration;

#[test]
fn a_body_that_is_too_long_is_refused() {
    let folder = Folder::with_training(&[TRAINING]);
    let served = Served::new(folder.path());
    let json = [("Content-Type", "application/json")];
    let long = format!("{{\"query\": \"{}\"}}", "x".repeat(1 << 20));
    assert_eq!(served.ask("POST", "/api/sql", &json, &long).status, 413);
    let answer = served.ask("POST", "/api/sql", &json, "{\"query\": \"select 1\", \"more\": 1}");
    assert!(matches!(answer.status, 422 | 501), "{}", answer.text());
    let plain = [("Content-Type", "text/plain")];
    assert_eq!(served.ask("POST", "/api/sql", &plain, "{\"query\": \"select 1\"}").status, 415);
}

#[test]
fn a_head_that_is_too_long_is_refused() {
    let folder = Folder::with_training(&[TRAINING]);
    let served = Served::new(folder.path());
    let mut stream = served.connect();
    let filler = "x".repeat(1 << 20);
    // The server may close before it has heard all of it.
    let _ = write!(stream, "GET /{filler} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    assert_eq!(served.get("/healthz").status, 200);
}

#[test]
fn a_slow_head_and_a_slow_body_are_given_up() {
    let folder = Folder::with_training(&[TRAINING]);
    let served = Served::new(folder.path());
    let (port, token) = (served.port, &served.token);
    let mut slow_head = served.connect();
    write!(slow_head, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n").unwrap();
    let mut slow_body = served.connect();
    let head = "Content-Type: application/json\r\nContent-Length: 1000\r\n";
    write!(slow_body, "POST /api/sql HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n{head}\r\n{{").unwrap();
    let patience = Some(Duration::from_secs(120));
    let mut said = String::new();
    slow_body.set_read_timeout(patience).unwrap();
    let mut first = [0; 12];
    slow_body.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 408");
    slow_head.set_read_timeout(patience).unwrap();
    slow_head.read_to_string(&mut said).unwrap();
    assert!(said.is_empty() || said.starts_with("HTTP/1.1 408"), "{said}");
    assert_eq!(served.get("/healthz").status, 200);
}

#[test]
fn many_silent_connections_do_not_shut_others_out_for_good() {
    let folder = Folder::with_training(&[TRAINING]);
    let served = Served::new(folder.path());
    let silent: Vec<_> = (0..300).map(|_| served.connect()).collect();
    drop(silent);
    let patience = std::time::Instant::now() + Duration::from_secs(60);
    while std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| served.get("/healthz").status))
        .ok()
        != Some(200)
    {
        assert!(std::time::Instant::now() < patience, "the server answers no more");
    }
}
