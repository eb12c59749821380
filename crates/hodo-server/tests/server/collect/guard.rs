//! Every route, by every method: nothing without a token, with one of the wrong kind, or for another
//! page.

use super::{Collected, store};
use crate::client::{Folder, NONE};
use hodo_server::CollectorOptions;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Read, Write};

const METHODS: [&str; 9] =
    ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"];

/// Every path of the description, filled in, and those of the page.
fn paths(collected: &Collected) -> Vec<String> {
    let answer = collected.get("/api/openapi.json");
    let description: Value = serde_json::from_slice(&answer.body).unwrap();
    let told = description["paths"].as_object().unwrap().keys();
    let filled = told.map(|path| {
        ["run", "other", "span", "kernel", "mark", "series", "part", "name"]
            .iter()
            .fold(path.clone(), |path, key| path.replace(&format!("{{{key}}}"), "1"))
    });
    let page = ["/", "/index.html", "/nothing", "/api/nothing", "/api/ingest", "/v1/nothing"];
    let all: Vec<String> = filled.chain(page.map(str::to_owned)).collect();
    assert!(all.len() > 25 && all.iter().any(|path| path.starts_with("/api/ingest")), "{all:?}");
    all
}

fn refused(token: Option<&str>, headers: &[(&str, &str)], expected: u16) {
    let (_folder, collected) = store();
    for path in paths(&collected) {
        for method in METHODS {
            let token = token.unwrap_or(&collected.admin);
            let answer = collected.ask((method, &path), token, headers, b"");
            assert_eq!(answer.status, expected, "{method} {path} {headers:?}: {}", answer.head);
            assert!(answer.header("set-cookie").is_none(), "{method} {path}");
            assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{method} {path}");
        }
    }
    assert_eq!(std::fs::read_dir(collected.folder("")).unwrap().count(), 0, "nothing was begun");
}

#[test]
fn without_a_token() {
    refused(None, &[("Authorization", NONE)], 401);
}

#[test]
fn with_a_token_that_is_none() {
    refused(
        Some("hodo_0000000000000000000000000000000000000000000000000000000000000000"),
        &[],
        401,
    );
}

#[test]
fn with_a_name_that_leads_here_but_is_not_ours() {
    refused(None, &[("Host", "evil.test")], 403);
}

#[test]
fn from_pages_of_others() {
    refused(None, &[("Origin", "http://evil.test")], 403);
    refused(None, &[("Origin", "null")], 403);
    refused(None, &[("Sec-Fetch-Site", "cross-site")], 403);
}

/// Which kinds may ask a path, as the kinds' words say.
fn allowed(path: &str, method: &str) -> BTreeMap<&'static str, bool> {
    let is_ingest = path.starts_with("/api/ingest") || path.starts_with("/v1/");
    let ingest = is_ingest || path == "/healthz";
    let read = !is_ingest && method != "DELETE";
    BTreeMap::from([("ingest", ingest), ("read", read), ("admin", true)])
}

#[test]
fn with_a_token_of_the_wrong_kind() {
    let (_folder, collected) = store();
    let mut refused = 0;
    for path in paths(&collected).iter().filter(|path| *path != "/api/events") {
        for method in METHODS {
            for (kind, may) in allowed(path, method) {
                let token = match kind {
                    "ingest" => &collected.ingest,
                    "read" => &collected.read,
                    _ => &collected.admin,
                };
                let status = collected.ask((method, path), token, &[], b"").status;
                assert_eq!(status == 403, !may, "{method} {path} with an {kind} token: {status}");
                assert_ne!(status, 401, "{method} {path} with an {kind} token");
                refused += usize::from(!may);
            }
        }
    }
    assert!(refused > 100, "{refused}");
}

#[test]
fn the_address_with_a_read_token_gives_a_cookie_that_reads() {
    let (_folder, collected) = store();
    let enter = |token: &str| {
        let path = format!("/?token={token}");
        collected.ask(("GET", &path), "", &[("Authorization", NONE)], b"")
    };
    let entered = enter(&collected.read);
    // The page itself: what a redirect leads to would be asked by the page that had the link.
    assert_eq!(entered.status, 200);
    assert!(entered.text().contains("<!doctype html>"), "{}", entered.text());
    assert_eq!(entered.header("cache-control"), Some("no-store"));
    let cookie = entered.header("set-cookie").unwrap().to_owned();
    assert!(cookie.contains("httponly") && cookie.contains("samesite=strict"), "{cookie}");
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let with = [("Authorization", NONE), ("Cookie", cookie.as_str())];
    assert_eq!(collected.ask(("GET", "/api/runs"), "", &with, b"").status, 200);
    assert_eq!(collected.ask(("GET", "/api/ingest/runs/x"), "", &with, b"").status, 403);
    // Tokens that may do more are not for addresses and cookies.
    for token in [&collected.ingest, &collected.admin] {
        let refused = enter(token);
        assert_eq!(refused.status, 403);
        assert!(refused.text().contains("a read token"), "{}", refused.text());
        assert!(refused.header("set-cookie").is_none(), "{}", refused.head);
        let cookie = format!("hodo_{}={token}", collected.port);
        let with = [("Authorization", NONE), ("Cookie", cookie.as_str())];
        assert_eq!(collected.ask(("GET", "/api/runs"), "", &with, b"").status, 401);
    }
}

#[test]
fn names_that_were_told_are_ours() {
    let folder = Folder::new();
    let mut options = CollectorOptions::local(folder.path());
    options.hosts = vec!["runs.example".into()];
    let collected = Collected::with(&options);
    let ask = |headers: &[(&str, &str)]| {
        collected.ask(("GET", "/api/runs"), &collected.read, headers, b"").status
    };
    assert_eq!(ask(&[("Host", "runs.example:7430")]), 200);
    assert_eq!(ask(&[("Host", "runs.example"), ("Origin", "http://runs.example")]), 200);
    assert_eq!(ask(&[("Host", "runs.example"), ("Origin", "https://runs.example")]), 403);
    assert_eq!(ask(&[("Host", "other.example")]), 403);
}

#[test]
fn behind_a_proxy_pages_come_by_https() {
    let folder = Folder::new();
    let mut options = CollectorOptions::local(folder.path());
    (options.behind_proxy, options.hosts) = (true, vec!["runs.example".into()]);
    let collected = Collected::with(&options);
    let ask = |origin: &str| {
        let headers = [("Host", "runs.example"), ("Origin", origin)];
        collected.ask(("GET", "/api/runs"), &collected.read, &headers, b"").status
    };
    assert_eq!((ask("https://runs.example"), ask("http://runs.example")), (200, 403));
    let path = format!("/?token={}", collected.read);
    let entered = collected.ask(("GET", &path), "", &[("Authorization", NONE)], b"");
    assert!(entered.header("set-cookie").unwrap().contains("secure"));
}

#[test]
fn beyond_this_machine_only_with_tls() {
    let folder = Folder::new();
    let mut options = CollectorOptions::local(folder.path());
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        options.bind = address.parse().unwrap();
        let refused = hodo_server::Collector::bind(&options).err().unwrap().to_string();
        assert!(refused.contains("--tls-cert") && refused.contains("127.0.0.1"), "{refused}");
    }
    assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "nothing was made");
}

#[test]
fn ids_and_names_are_never_paths() {
    let (folder, collected) = store();
    let hostile = [
        "..",
        ".",
        "..%2fx",
        "%2e%2e",
        "%2e%2e%2fx",
        "%252e%252e",
        "a%2fb",
        "a%5cb",
        "%00",
        "a%00",
        "%0a",
        "a%20b",
        "-a",
        ".a",
        "%c3%a4",
        "%ff",
        "a%e2%80%ae",
        "C:",
        "~",
        "%1b%5b2J",
    ];
    let long = "a".repeat(129);
    for id in hostile.iter().copied().chain([long.as_str()]) {
        let targets = [
            format!("{id}/files/-/run.json"),
            format!("run/files/{id}/run.json"),
            format!("run/files/-/{id}"),
            format!("run/files/p1-a/{id}"),
        ];
        for target in targets {
            let answer = collected.replace(&target, b"{}");
            assert!(matches!(answer.status, 400 | 404 | 405), "{target}: {}", answer.text());
            let answer = collected.append(&target, 0, b"{}");
            assert!(matches!(answer.status, 400 | 404 | 405), "{target}: {}", answer.text());
        }
        let answer = collected.beat(id, r#"{"host":"a"}"#);
        assert!(matches!(answer.status, 400 | 404 | 405), "{id}: {}", answer.text());
    }
    assert_eq!(std::fs::read_dir(collected.folder("")).unwrap().count(), 0);
    let mut there: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    there.sort();
    assert_eq!(there, ["aside", "lock", "notes", "packing", "runs", "tokens.json", "tokens.lock"]);
}

#[test]
fn tokens_that_cannot_be_read_are_no_wrong_tokens() {
    let (folder, collected) = store();
    let (file, away) = (folder.path().join("tokens.json"), folder.path().join("away"));
    let status = || collected.get("/api/runs").status;
    assert_eq!(status(), 200);
    std::fs::rename(&file, &away).unwrap();
    assert_eq!(status(), 503, "a shipper that is told 401 stops for good");
    std::fs::write(&file, "{").unwrap();
    assert_eq!(status(), 503);
    std::fs::rename(&away, &file).unwrap();
    assert_eq!(status(), 200);
    assert_eq!(collected.ask(("GET", "/api/runs"), "hodo_wrong", &[], b"").status, 401);
}

#[test]
fn what_goes_on_ends_with_its_token() {
    let (folder, collected) = store();
    let mut page = collected.connect();
    let (port, token) = (collected.port, &collected.read);
    let head = format!("Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n");
    write!(page, "GET /api/events HTTP/1.1\r\n{head}Connection: close\r\n\r\n").unwrap();
    let mut answered = [0; 12];
    page.read_exact(&mut answered).unwrap();
    assert_eq!(&answered, b"HTTP/1.1 200");
    assert!(hodo_server::Tokens::new(folder.path()).remove("read-1").unwrap());
    // It ends with the next sign of life; one that goes on is never read to its end.
    page.read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn the_folder_of_a_token_that_is_made_before_the_first_start_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let dir = folder.path().join("store");
    let limits = hodo_server::TokenLimits::default();
    hodo_server::Tokens::new(&dir).add("a", hodo_server::TokenKind::Ingest, limits).unwrap();
    assert_eq!(dir.metadata().unwrap().permissions().mode() & 0o777, 0o700);
}
