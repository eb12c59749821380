//! Every route, by every method: nothing without the token, nothing for another page.

use crate::client::{Folder, NONE, Served, TRAINING};
use serde_json::Value;

const METHODS: [&str; 9] =
    ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"];

/// Every path that the description has, with a run's id in it, and those of the page.
fn paths(served: &Served) -> Vec<String> {
    let description = served.json("/api/openapi.json");
    let told = description["paths"].as_object().unwrap().keys();
    let filled = told.map(|path| {
        let path = path.replace("{run}", TRAINING).replace("{other}", TRAINING);
        path.replace("{span}", "1")
            .replace("{kernel}", "1")
            .replace("{mark}", "loss")
            .replace("{series}", "x")
    });
    let page = ["/", "/index.html", "/nothing", "/api/nothing", "/api/runs/x/y/z"];
    let all: Vec<String> = filled.chain(page.map(str::to_owned)).collect();
    assert!(all.len() > 20, "{all:?}");
    all
}

fn refused(headers: &[(&str, &str)], expected: u16) {
    let folder = Folder::with_training(&[TRAINING]);
    let served = Served::new(folder.path());
    for path in paths(&served) {
        for method in METHODS {
            let answer = served.ask(method, &path, headers, "");
            assert_eq!(answer.status, expected, "{method} {path} {headers:?}: {}", answer.head);
            assert!(answer.header("set-cookie").is_none(), "{method} {path}");
            assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{method} {path}");
            if method != "HEAD" {
                assert!(!answer.text().contains("epoch"), "{method} {path} tells of the run");
            }
        }
    }
}

#[test]
fn without_a_token() {
    refused(&[("Authorization", NONE)], 401);
}

#[test]
fn with_a_wrong_token() {
    refused(&[("Authorization", "Bearer 00000000000000000000000000000000")], 401);
}

#[test]
fn with_a_name_that_leads_here_but_is_not_ours() {
    refused(&[("Host", "evil.test")], 403);
}

#[test]
fn from_a_page_of_another_site() {
    refused(&[("Origin", "http://evil.test")], 403);
}

#[test]
fn from_another_server_on_this_machine() {
    refused(&[("Origin", "http://127.0.0.1:1")], 403);
}

#[test]
fn from_a_page_without_an_origin() {
    refused(&[("Origin", "null")], 403);
}

#[test]
fn when_the_browser_says_that_another_site_asks() {
    refused(&[("Sec-Fetch-Site", "cross-site")], 403);
}

#[test]
fn the_printed_address_gives_the_page_and_a_cookie() {
    let folder = Folder::with_training(&[TRAINING]);
    let served = Served::new(folder.path());
    let address = format!("/?token={}", served.token);
    let entered = served.ask("GET", &address, &[("Authorization", NONE)], "");
    // The page itself: what a redirect leads to would be asked by the page that had the link.
    assert_eq!(entered.status, 200);
    assert!(entered.text().contains("<!doctype html>"), "{}", entered.text());
    assert_eq!(entered.header("cache-control"), Some("no-store"));
    let cookie = entered.header("set-cookie").unwrap().to_owned();
    assert!(cookie.contains("httponly") && cookie.contains("samesite=strict"), "{cookie}");
    let name = format!("hodo_{}=", served.port);
    assert!(cookie.starts_with(&name), "{cookie}");
    let cookie = format!("other=1; {}", cookie.split(';').next().unwrap());
    let with_cookie = [("Authorization", NONE), ("Cookie", cookie.as_str())];
    assert_eq!(served.ask("GET", "/api/runs", &with_cookie, "").status, 200);
    assert_eq!(served.ask("GET", "/", &with_cookie, "").status, 200);
    // The token in an address is for the page's own address alone.
    let elsewhere = format!("/api/runs?token={}", served.token);
    assert_eq!(served.ask("GET", &elsewhere, &[("Authorization", NONE)], "").status, 401);
    let wrong = served.ask("GET", "/?token=0", &[("Authorization", NONE)], "");
    assert_eq!(wrong.status, 401);
    // A link to it may stand on any page, as that of a terminal in a browser.
    let linked = [("Authorization", NONE), ("Sec-Fetch-Site", "cross-site")];
    assert_eq!(served.ask("GET", &address, &linked, "").status, 200);
    // Nor may another page make a browser follow it by anything but a plain link.
    let posted = served.ask("POST", &address, &[("Authorization", NONE)], "");
    assert_eq!(posted.status, 401);
}

#[test]
fn our_own_page_may_ask() {
    let folder = Folder::with_training(&[TRAINING]);
    let served = Served::new(folder.path());
    let origin = format!("http://127.0.0.1:{}", served.port);
    let own = [("Origin", origin.as_str()), ("Sec-Fetch-Site", "same-origin")];
    assert_eq!(served.ask("GET", "/api/runs", &own, "").status, 200);
    // Through `ssh -L` the port is another one.
    let far = [("Host", "localhost:9000"), ("Origin", "http://localhost:9000")];
    assert_eq!(served.ask("GET", "/api/runs", &far, "").status, 200);
}

#[test]
fn nothing_is_loaded_from_elsewhere() {
    let folder = Folder::with_training(&[TRAINING]);
    let served = Served::new(folder.path());
    for path in ["/", "/api/runs", "/nothing"] {
        let answer = served.get(path);
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'"), "{policy}");
        for unsafe_word in ["unsafe", "http:", "https:", "*"] {
            assert!(!policy.contains(unsafe_word), "{policy}");
        }
        assert!(answer.header("access-control-allow-origin").is_none());
    }
}

#[test]
fn a_run_is_named_and_never_a_path() {
    let folder = Folder::with_training(&["in/inner", "secret-run"]);
    let served = Served::new(&folder.path().join("in"));
    assert_eq!(served.get("/api/runs/inner/tracks").status, 200);
    let names = [
        "..%2fsecret-run",
        "..%2f..%2fin%2finner",
        "%2e%2e%2fsecret-run",
        "..",
        "%2e",
        ".",
        "inner%2f..%2finner",
        "..%5csecret-run",
        "inner%00",
        "%2fetc",
        "",
    ];
    for name in names {
        let answer = served.get(&format!("/api/runs/{name}/tracks"));
        assert!(matches!(answer.status, 400 | 404), "{name}: {}", answer.text());
    }
    for file in
        ["..%2fCargo.toml", "..%2f..%2f..%2fetc%2fpasswd", "%2fetc%2fpasswd", "../Cargo.toml"]
    {
        let answer = served.get(&format!("/{file}"));
        assert!(matches!(answer.status, 400 | 404), "{file}: {}", answer.text());
    }
}

#[test]
fn a_request_for_two_hosts_or_none_is_refused() {
    let folder = Folder::with_training(&[TRAINING]);
    let served = Served::new(folder.path());
    let (port, token) = (served.port, &served.token);
    let bearer = format!("Authorization: Bearer {token}\r\nConnection: close\r\n");
    let two = format!(
        "GET /api/runs HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil.test\r\n{bearer}\r\n"
    );
    assert_eq!(served.raw(&two).status, 400);
    let none = format!("GET /api/runs HTTP/1.0\r\n{bearer}\r\n");
    assert_eq!(served.raw(&none).status, 400);
    let whole =
        format!("GET http://evil.test/api/runs HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{bearer}\r\n");
    assert_eq!(served.raw(&whole).status, 400);
}

#[test]
fn errors_say_what_to_do() {
    let folder = Folder::with_training(&[TRAINING]);
    let served = Served::new(folder.path());
    let asked = [
        ("/api/runs/none/report", 404, "/api/runs lists them"),
        ("/api/runs/h200-training/report?filter=x%3Ey", 400, "is no number"),
        ("/api/runs/h200-training/report?t0=5&t1=5", 400, "not before"),
        ("/api/runs/h200-training/tiles?track=99&t0=0&t1=10&res=1", 404, "/tracks lists them"),
        (
            "/api/runs/h200-training/tiles?track=1&t0=0&t1=9000000000000000000&res=1",
            400,
            "too fine",
        ),
        ("/api/runs/h200-training/spans/x", 400, "whole numbers"),
        ("/api/runs/h200-training/spans/18446744073709551615", 404, "no scope"),
        ("/api/runs/h200-training/search?q=", 400, "part of a name"),
        ("/api/runs/h200-training/mark?name=none", 404, "/marks lists them"),
    ];
    for (path, status, words) in asked {
        let answer = served.get(path);
        assert_eq!(answer.status, status, "{path}: {}", answer.text());
        let said: Value = serde_json::from_slice(&answer.body).unwrap();
        assert!(said["error"].as_str().unwrap().contains(words), "{path}: {said}");
    }
}
