//! `hodo serve` from outside: tokens, what it refuses, and kills at any instant.

use crate::made::Folder;
use crate::program::{hodo, run, stdout};
use hodo_format::ship;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A collector that is ended with the test.
pub struct Served {
    child: Child,
    port: u16,
    /// What it printed after its address.
    pub tokens: Vec<(String, String)>,
}

impl Served {
    /// Starts `command` and reads its address, and `tokens` of what it made.
    pub fn start(command: &mut Command, tokens: usize) -> Served {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines.next().expect("an address").unwrap();
        let port = address.trim_end_matches('/').rsplit(':').next().unwrap().parse().unwrap();
        let token = |line: std::io::Result<String>| {
            let line = line.unwrap();
            let (kind, text) = line.split_once(" token: ").expect("a token");
            (kind.to_owned(), text.to_owned())
        };
        let tokens = lines.by_ref().take(tokens).map(token).collect();
        // What else is said has to go somewhere.
        drop(std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop)));
        Served { child, port, tokens }
    }

    /// One that makes its tokens.
    pub fn first(store: &Path) -> Served {
        Served::start(&mut serve(store, &[]), 3)
    }

    pub fn token(&self, kind: &str) -> String {
        self.tokens.iter().find(|token| token.0 == kind).unwrap().1.clone()
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Status and body of an answer; 0 where none came.
    fn ask(
        &self,
        method: &str,
        path: &str,
        token: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> (u16, String) {
        let answered = || -> std::io::Result<String> {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
            stream.set_read_timeout(Some(Duration::from_secs(120)))?;
            let more: String =
                headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
            write!(
                stream,
                "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {token}\r\n\
                 Content-Length: {}\r\nConnection: close\r\n{more}\r\n",
                self.port,
                body.len()
            )?;
            stream.write_all(body)?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer)
        };
        let answer = answered().unwrap_or_default();
        let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        (status, answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
    }

    fn put(&self, path: &str, token: &str, bytes: &[u8]) -> (u16, String) {
        let sum = ship::checksum(bytes);
        self.ask("PUT", path, token, &[(ship::CHECKSUM_HEADER, &sum)], bytes)
    }

    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ends it as Ctrl-C does.
    pub fn interrupt(mut self) -> ExitStatus {
        // Whoever answers can be interrupted.
        while self.ask("GET", "/healthz", "none", &[], b"").0 == 0 {
            std::thread::sleep(Duration::from_millis(20));
        }
        loop {
            // SAFETY: the child was not waited for, so the number is its own.
            unsafe { libc::kill(self.child.id() as i32, libc::SIGINT) };
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve(store: &Path, more: &[&str]) -> Command {
    let store = store.to_str().unwrap();
    let args = [&["serve", "--dir", store, "--bind", "127.0.0.1:0"], more].concat();
    hodo(Path::new("/nonexistent"), &args)
}

fn again(store: &Path, tokens: &[(String, String)]) -> Served {
    let mut served = Served::start(&mut serve(store, &[]), 0);
    served.tokens = tokens.to_vec();
    served
}

#[test]
fn tokens_are_made_listed_and_removed() {
    let folder = Folder::new();
    let served = Served::first(folder.path());
    let store = folder.path().to_str().unwrap();
    let (ingest, read) = (served.token("ingest"), served.token("read"));
    assert_eq!(served.ask("GET", "/api/runs", &read, &[], b"").0, 200);
    let add = [
        "serve",
        "--dir",
        store,
        "token",
        "add",
        "node-1",
        "--kind",
        "ingest",
        "--max-bytes",
        "1GiB",
    ];
    let added = stdout(folder.path(), &add).trim().to_owned();
    assert_eq!(served.ask("GET", "/api/ingest/runs/x", &added, &[], b"").0, 200, "known at once");
    let listed = stdout(folder.path(), &["serve", "--dir", store, "token", "list"]);
    for name in ["ingest", "read", "admin", "node-1"] {
        assert!(listed.contains(name), "{listed}");
    }
    assert!(!listed.contains(&ingest) && !listed.contains(&added));
    let list = ["serve", "--dir", store, "token", "list", "--json"];
    let document: Value = serde_json::from_str(&stdout(folder.path(), &list)).unwrap();
    assert_eq!(document["tokens"][3]["max_bytes"], 1_u64 << 30);
    stdout(folder.path(), &["serve", "--dir", store, "token", "remove", "node-1"]);
    assert_eq!(served.ask("GET", "/api/ingest/runs/x", &added, &[], b"").0, 401);
    let gone = run(folder.path(), &["serve", "--dir", store, "token", "remove", "node-1"]);
    assert_eq!(gone.status.code(), Some(1));
    let bad =
        run(folder.path(), &["serve", "--dir", store, "token", "add", "a b", "--kind", "read"]);
    assert_eq!(bad.status.code(), Some(2));
    assert!(served.interrupt().success());
    // Another start has the same tokens and tells none.
    let mut second =
        serve(folder.path(), &[]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut said = String::new();
    let mut out = BufReader::new(second.stdout.take().unwrap());
    out.read_line(&mut said).unwrap();
    second.kill().unwrap();
    second.wait().unwrap();
    out.read_to_string(&mut said).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn it_does_not_open_itself_to_others_without_tls() {
    let folder = Folder::new();
    let refused = hodo(
        folder.path(),
        &["serve", "--dir", folder.path().to_str().unwrap(), "--bind", "0.0.0.0:0"],
    )
    .output()
    .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(words.contains("--tls-cert") && words.contains("--behind-proxy"), "{words}");
    let alone = run(folder.path(), &["serve", "--tls-cert", "x"]);
    assert_eq!(alone.status.code(), Some(2));
    let wrong = run(folder.path(), &["serve", "--max-bytes", "many"]);
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn an_address_that_is_taken_is_told_with_what_to_do() {
    let (folder, other) = (Folder::new(), Folder::new());
    let served = Served::first(folder.path());
    let address = served.url().replace("http://", "");
    let args = ["serve", "--dir", other.path().to_str().unwrap(), "--bind", &address];
    let refused = run(other.path(), &args);
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(1) && words.contains(&address), "{words}");
    assert!(words.contains("--bind ADDR:PORT names another, with port 0 any"), "{words}");
}

/// The recorded run's files: request path, bytes, whether it is sent whole.
fn recorded(run: &str) -> Vec<(String, Vec<u8>, bool)> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/h200-training");
    let mut files = Vec::new();
    let mut folders = vec![("-".to_owned(), data.clone())];
    let inside = |folder: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    folders.extend(inside(&data).into_iter().filter(|p| p.is_dir()).map(|p| (name(&p), p)));
    for (part, folder) in folders {
        for file in inside(&folder).into_iter().filter(|path| path.is_file()) {
            let kind = ship::Part::parse(&part).unwrap().kind_of(&name(&file));
            let Some(kind) = kind else { continue };
            let path = format!("/api/ingest/runs/{run}/files/{part}/{}", name(&file));
            files.push((path, std::fs::read(file).unwrap(), kind == ship::Kind::Replaced));
        }
    }
    files
}

/// Sends a file in small pieces, from where the server says that it is; false when it does not answer.
fn send(served: &Served, path: &str, bytes: &[u8], is_whole: bool) -> bool {
    let token = served.token("ingest");
    if is_whole {
        return served.put(&format!("{path}?whole=1"), &token, bytes).0 == 200;
    }
    let mut at = 0;
    while at < bytes.len() {
        let end = (at + 3000).min(bytes.len());
        let (status, said) = served.put(&format!("{path}?offset={at}"), &token, &bytes[at..end]);
        if !matches!(status, 200 | 409) {
            return false;
        }
        let said: Value = serde_json::from_str(&said).unwrap();
        at = said["length"].as_u64().unwrap() as usize;
    }
    true
}

#[test]
fn kills_at_any_instant_lose_nothing_and_double_nothing() {
    let folder = Folder::new();
    let mut served = Served::first(folder.path());
    let tokens = served.tokens.clone();
    let files = recorded("run");
    let mut kills = 0;
    // While it is shipped.
    for (path, bytes, is_whole) in &files {
        loop {
            let pid = served.child.id() as i32;
            let killer = (kills < 12).then(|| {
                let wait = Duration::from_millis(3 + 7 * kills);
                std::thread::spawn(move || {
                    std::thread::sleep(wait);
                    // SAFETY: the child is waited for after this thread.
                    unsafe { libc::kill(pid, libc::SIGKILL) };
                })
            });
            let is_sent = send(&served, path, bytes, *is_whole);
            if let Some(killer) = killer {
                kills += 1;
                killer.join().unwrap();
                served.kill();
                served = again(folder.path(), &tokens);
            }
            if is_sent {
                break;
            }
        }
    }
    assert!(kills >= files.len() as u64, "{kills}");
    for (path, bytes, _) in &files {
        let inside = path.strip_prefix("/api/ingest/runs/run/files/").unwrap().replace("-/", "");
        let there = std::fs::read(folder.path().join("runs/run").join(&inside)).unwrap();
        assert!(there == *bytes, "{path}: {} of {} bytes", there.len(), bytes.len());
    }
    let report = |run: &Path| -> Value {
        let run = run.to_str().unwrap();
        serde_json::from_str(&stdout(folder.path(), &["report", run, "--json"])).unwrap()
    };
    let before = report(&folder.path().join("runs/run"));
    // While it is packed.
    let ingest = served.token("ingest");
    let done = br#"{"host":"a","done":true}"#;
    assert_eq!(served.ask("POST", "/api/ingest/runs/run/beat", &ingest, &[], done).0, 200);
    for kill in 0..16_u64 {
        std::thread::sleep(Duration::from_millis(900 + 100 * kill));
        served.kill();
        let now = report(&folder.path().join("runs/run"));
        for part in ["nodes", "records"] {
            assert_eq!(now[part], before[part], "after kill {kill}");
        }
        served = again(folder.path(), &tokens);
        let (_, said) = served.ask("GET", "/api/ingest/runs/run", &ingest, &[], b"");
        if said.contains("\"packed\":true") && kill > 3 {
            break;
        }
    }
    // It may have been killed before it was done, every time, and waits longer for each of them.
    let until = Instant::now() + Duration::from_secs(180);
    loop {
        let (_, said) = served.ask("GET", "/api/ingest/runs/run", &ingest, &[], b"");
        if said.contains("\"packed\":true") {
            break;
        }
        assert!(Instant::now() < until, "{said}");
        std::thread::sleep(Duration::from_millis(100));
    }
    for (path, bytes, is_whole) in &files {
        assert!(send(&served, path, bytes, *is_whole), "a late repeat of {path}");
    }
    let verified =
        run(folder.path(), &["verify", folder.path().join("runs/run").to_str().unwrap()]);
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
    for left in ["packing", "aside"] {
        assert_eq!(std::fs::read_dir(folder.path().join(left)).unwrap().count(), 0, "{left}");
    }
}
