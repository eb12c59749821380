//! A server on a port of its own, and a client that says exactly what it is told to.

use hodo_server::Server;
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::time::Duration;

/// A run that was recorded on an H200.
pub const TRAINING: &str = "h200-training";

/// A folder that is removed when the test ends.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Folder {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("hodo-server-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// With the recorded run in it, as often as there are names.
    pub fn with_training(names: &[&str]) -> Folder {
        let folder = Folder::new();
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hodo-cli/tests/data");
        for name in names {
            copy(&data.join(TRAINING), &folder.path().join(name));
        }
        folder
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Copies a folder with all that is in it.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// A server that ends with the test.
pub struct Served {
    pub port: u16,
    pub token: String,
    stop: Option<Sender<()>>,
    thread: Option<std::thread::JoinHandle<std::io::Result<()>>>,
}

impl Served {
    pub fn new(dir: &Path) -> Served {
        let server = Server::bind(dir, 0).unwrap();
        let token = server.url(None).split("token=").nth(1).unwrap().to_owned();
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let port = server.port();
        let thread = std::thread::spawn(move || {
            server.run(async move {
                // Ends when the sender is gone.
                let wait = tokio::task::spawn_blocking(move || stopped.recv());
                let _ = wait.await;
            })
        });
        Served { port, token, stop: Some(stop), thread: Some(thread) }
    }

    /// Sends these bytes and reads until the server closes.
    pub fn raw(&self, request: &str) -> Answer {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        Answer::read(stream)
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(180))).unwrap();
        stream
    }

    /// A request as a program with the token makes it.
    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], "")
    }

    /// The same, of which the answer has to be good JSON.
    pub fn json(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        serde_json::from_slice(&answer.body).unwrap()
    }

    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let bearer = format!("Bearer {}", self.token);
        let host = format!("127.0.0.1:{}", self.port);
        let usual = [("Host", host.as_str()), ("Authorization", bearer.as_str())];
        let is_given = |name: &str| headers.iter().any(|h| h.0.eq_ignore_ascii_case(name));
        let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        let usual = usual.iter().filter(|(name, _)| !is_given(name));
        for (name, value) in usual.chain(headers).filter(|(_, value)| *value != NONE) {
            request += &format!("{name}: {value}\r\n");
        }
        if !body.is_empty() && !is_given("Content-Length") {
            request += &format!("Content-Length: {}\r\n", body.len());
        }
        self.raw(&format!("{request}\r\n{body}"))
    }
}

/// A header with this value is left out.
pub const NONE: &str = "(none)";

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.stop.take());
        let ended = self.thread.take().unwrap().join();
        if !std::thread::panicking() {
            ended.unwrap().unwrap();
        }
    }
}

/// What the server said.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn read(mut stream: TcpStream) -> Answer {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        let end = all.windows(4).position(|w| w == b"\r\n\r\n").unwrap_or(all.len());
        let head = String::from_utf8_lossy(&all[..end]).to_lowercase();
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        let body = all.get(end + 4..).unwrap_or_default().to_vec();
        let body =
            if head.contains("transfer-encoding: chunked") { unchunked(&body) } else { body };
        Answer { status, head, body }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(end) = body.windows(2).position(|w| w == b"\r\n") {
        let length = usize::from_str_radix(&String::from_utf8_lossy(&body[..end]), 16).unwrap_or(0);
        let from = end + 2;
        if length == 0 || body.len() < from + length {
            break;
        }
        whole.extend(&body[from..from + length]);
        body = &body[(from + length + 2).min(body.len())..];
    }
    whole
}
