//! The collector from outside.

mod files;
mod guard;
mod limits;
#[cfg(feature = "object-store")]
mod objects;
mod otlp;
mod packing;
mod stored;
mod tls;

use crate::client::{Answer, Folder, NONE};
use hodo_format::ship;
use hodo_server::{Collector, CollectorOptions, TokenKind, TokenLimits};
use serde_json::Value;
use std::io::Write;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// A collector that ends with the test.
pub struct Collected {
    pub port: u16,
    pub ingest: String,
    pub read: String,
    pub admin: String,
    dir: PathBuf,
    stop: Option<Sender<()>>,
    thread: Option<std::thread::JoinHandle<std::io::Result<()>>>,
}

/// Binds a collector; one of the same folder that ends is waited for: what it was making when it was
/// told to end, it makes.
fn bind(options: &CollectorOptions) -> Collector {
    let until = Instant::now() + Duration::from_secs(180);
    loop {
        match Collector::bind(options) {
            Err(error) if error.to_string().contains("another `hodo serve`") => {
                assert!(Instant::now() < until, "{error}");
            }
            bound => return bound.unwrap(),
        }
    }
}

impl Collected {
    pub fn new(dir: &Path) -> Collected {
        Collected::with(&CollectorOptions::local(dir))
    }

    pub fn with(options: &CollectorOptions) -> Collected {
        let collector = bind(options);
        let made = TokenKind::ALL.map(|kind| {
            // Another server of the same store has one of that name.
            let name = format!("{}-{}", kind.word(), collector.tokens().all().unwrap().len());
            collector.tokens().add(&name, kind, TokenLimits::default()).unwrap()
        });
        let [ingest, read, admin] = made;
        let port = collector.url().trim_end_matches('/').rsplit(':').next().unwrap().to_owned();
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            collector.run(async move {
                let wait = tokio::task::spawn_blocking(move || stopped.recv());
                let _ = wait.await;
            })
        });
        let (stop, thread, dir) = (Some(stop), Some(thread), options.dir.clone());
        Collected { port: port.parse().unwrap(), ingest, read, admin, dir, stop, thread }
    }

    /// The folder of a run in the store.
    pub fn folder(&self, run: &str) -> PathBuf {
        self.dir.join("runs").join(run)
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(180))).unwrap();
        stream
    }

    /// A request; a header with the value [`NONE`] is left out.
    pub fn ask(
        &self,
        (method, path): (&str, &str),
        token: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let (bearer, length) = (format!("Bearer {token}"), body.len().to_string());
        let host = format!("127.0.0.1:{}", self.port);
        let usual = [
            ("Host", host.as_str()),
            ("Authorization", bearer.as_str()),
            ("Content-Length", length.as_str()),
        ];
        let is_given = |name: &str| headers.iter().any(|h| h.0.eq_ignore_ascii_case(name));
        let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        let usual = usual.iter().filter(|(name, _)| !is_given(name));
        for (name, value) in usual.chain(headers).filter(|(_, value)| *value != NONE) {
            request += &format!("{name}: {value}\r\n");
        }
        let mut stream = self.connect();
        stream.write_all(format!("{request}\r\n").as_bytes()).unwrap();
        // A server that has heard enough closes.
        let _ = stream.write_all(body);
        Answer::read(stream)
    }

    /// Sends a piece of a file.
    pub fn append(&self, file: &str, offset: u64, bytes: &[u8]) -> Answer {
        let path = format!("/api/ingest/runs/{file}?offset={offset}");
        let sum = ship::checksum(bytes);
        self.ask(("PUT", &path), &self.ingest, &[(ship::CHECKSUM_HEADER, &sum)], bytes)
    }

    /// Sends a whole file.
    pub fn replace(&self, file: &str, bytes: &[u8]) -> Answer {
        let path = format!("/api/ingest/runs/{file}?whole=1");
        let sum = ship::checksum(bytes);
        self.ask(("PUT", &path), &self.ingest, &[(ship::CHECKSUM_HEADER, &sum)], bytes)
    }

    pub fn beat(&self, run: &str, text: &str) -> Answer {
        let path = format!("/api/ingest/runs/{run}/beat");
        self.ask(("POST", &path), &self.ingest, &[], text.as_bytes())
    }

    /// What is told to be there: part, name and length of each file.
    pub fn files(&self, run: &str) -> Vec<(String, String, u64)> {
        let path = format!("/api/ingest/runs/{run}");
        let answer = json(&self.ask(("GET", &path), &self.ingest, &[], b""));
        let files = answer["files"].as_array().unwrap().iter();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        files.map(|f| (text(&f["part"]), text(&f["name"]), f["length"].as_u64().unwrap())).collect()
    }

    /// What a reader gets.
    pub fn get(&self, path: &str) -> Answer {
        self.ask(("GET", path), &self.read, &[], b"")
    }

    /// Ships a whole run as it lies in a folder.
    pub fn ship(&self, from: &Path, run: &str) {
        for (part, name, path) in files_of(from) {
            let (file, bytes) =
                (format!("{run}/files/{part}/{name}"), std::fs::read(path).unwrap());
            let kind = ship::Part::parse(&part).and_then(|part| part.kind_of(&name));
            let answer = match kind {
                Some(ship::Kind::Appended) => self.append(&file, 0, &bytes),
                Some(ship::Kind::Replaced) => self.replace(&file, &bytes),
                None => continue,
            };
            assert_eq!(answer.status, 200, "{file}: {}", answer.text());
        }
    }
}

/// The files of a run: part, name, path.
pub fn files_of(run: &Path) -> Vec<(String, String, PathBuf)> {
    let inside = |folder: &Path| {
        let mut all: Vec<PathBuf> =
            std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
        all.sort();
        all
    };
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let mut found = Vec::new();
    for path in inside(run) {
        match path.is_dir() {
            true => {
                found.extend(inside(&path).into_iter().map(|file| (name(&path), name(&file), file)))
            }
            false => found.push(("-".to_owned(), name(&path), path)),
        }
    }
    found
}

pub fn json(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.text());
    serde_json::from_slice(&answer.body).unwrap()
}

/// A store of its own.
pub fn store() -> (Folder, Collected) {
    let folder = Folder::new();
    let collected = Collected::new(folder.path());
    (folder, collected)
}

impl Drop for Collected {
    fn drop(&mut self) {
        drop(self.stop.take());
        let ended = self.thread.take().unwrap().join();
        if !std::thread::panicking() {
            ended.unwrap().unwrap();
        }
    }
}
