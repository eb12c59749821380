//! A collector in memory that keeps the contract to the letter, and fails as it is told to.

use hodo_format::ship::{CHECKSUM_HEADER, Kind, Part, checksum};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// The token that it takes.
pub const TOKEN: &str = "secret-of-the-test";

/// What it does instead of what it is asked.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Answers this, with that header.
    Answer(u16, &'static str),
    /// Answers this, with a page as a proxy in front has it.
    Page(u16),
    /// Closes the connection before anything is done.
    Reset,
    /// Does it, and closes the connection before it says so.
    Silent,
    /// Keeps this much of the bytes and says so.
    Keep(u64),
    /// Loses all that it has, then does what it is asked.
    Amnesia,
}

/// What it has and what came.
#[derive(Default)]
pub struct Held {
    pub files: BTreeMap<String, Vec<u8>>,
    pub beats: Vec<Value>,
    /// Bytes that came although they were there.
    pub repeated: u64,
    pub requests: Vec<String>,
    pub faults: VecDeque<Fault>,
    /// What it says where it is told to refuse.
    pub words: Option<String>,
    /// It takes no more: it answers what it has, and 507 to whatever is sent.
    pub is_full: bool,
    /// So many files it takes after each question what is there, and then none: too many requests.
    pub most_files: Option<usize>,
    taken: usize,
    /// The most bytes of a body.
    pub most: Option<usize>,
    /// Lengths of appended files at every change, in order.
    pub lengths: Vec<(String, u64)>,
}

pub struct Collector {
    pub url: String,
    pub held: Arc<Mutex<Held>>,
}

impl Collector {
    pub fn start() -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let held = Arc::new(Mutex::new(Held::default()));
        let shared = held.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let held = shared.clone();
                std::thread::spawn(move || serve(stream, &held));
            }
        });
        Collector { url, held }
    }

    pub fn fail(&self, faults: &[Fault]) {
        self.held.lock().unwrap().faults.extend(faults.iter().cloned());
    }

    pub fn file(&self, name: &str) -> Option<Vec<u8>> {
        self.held.lock().unwrap().files.get(name).cloned()
    }
}

struct Request {
    method: String,
    path: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

fn serve(stream: TcpStream, held: &Mutex<Held>) {
    let mut out = stream.try_clone().unwrap();
    let mut reader = BufReader::new(stream);
    while let Some(request) = read(&mut reader) {
        let mut held = held.lock().unwrap();
        held.requests.push(format!("{} {}", request.method, request.path));
        let fault = held.faults.pop_front();
        let (status, header, body) = match fault {
            Some(Fault::Answer(status, header)) => {
                let words = held.words.as_deref().unwrap_or("as told");
                (status, header, json!({"error": words}).to_string())
            }
            Some(Fault::Page(status)) => (status, "", "<html>not now</html>".to_owned()),
            Some(Fault::Reset) => return,
            Some(Fault::Amnesia) => {
                held.files.clear();
                in_text(answer(&mut held, &request, None))
            }
            Some(Fault::Keep(bytes)) => in_text(answer(&mut held, &request, Some(bytes))),
            Some(Fault::Silent) => {
                answer(&mut held, &request, None);
                return;
            }
            None => in_text(answer(&mut held, &request, None)),
        };
        drop(held);
        let length = body.len();
        let head = format!("HTTP/1.1 {status} x\r\ncontent-length: {length}\r\n{header}\r\n{body}");
        if out.write_all(head.as_bytes()).is_err() {
            return;
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|&bytes| bytes > 0)?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let length = headers.get("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { method, path, headers, body })
}

type Answer = (u16, &'static str, Value);

fn in_text((status, header, body): Answer) -> (u16, &'static str, String) {
    (status, header, body.to_string())
}

fn refuse(status: u16, why: &str) -> Answer {
    (status, "", json!({"error": why}))
}

fn answer(held: &mut Held, request: &Request, keep: Option<u64>) -> Answer {
    if request.headers.get("authorization") != Some(&format!("Bearer {TOKEN}")) {
        return refuse(401, "no such token");
    }
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let words: Vec<&str> = path.split('/').skip(1).collect();
    match (request.method.as_str(), words.as_slice()) {
        ("GET", ["api", "ingest", "runs", run]) => {
            held.taken = 0;
            (200, "", list(held, run))
        }
        ("POST", ["api", "ingest", "runs", _, "beat"]) => {
            held.beats.push(serde_json::from_slice(&request.body).unwrap());
            (200, "", json!({}))
        }
        ("PUT", ["api", "ingest", "runs", _, "files", part, name]) => {
            put(held, request, (part, name), query, keep)
        }
        _ => refuse(404, "no such route"),
    }
}

fn list(held: &Held, run: &str) -> Value {
    let file = |(name, bytes): (&String, &Vec<u8>)| {
        let (part, name) = name.split_once('/').unwrap();
        let kind = Part::parse(part).unwrap().kind_of(name).unwrap();
        let sum = (kind == Kind::Replaced).then(|| checksum(bytes));
        json!({"part": part, "name": name, "length": bytes.len(), "crc32c": sum})
    };
    json!({"run": run, "files": held.files.iter().map(file).collect::<Vec<_>>()})
}

fn put(
    held: &mut Held,
    request: &Request,
    (part, name): (&str, &str),
    query: &str,
    keep: Option<u64>,
) -> Answer {
    if held.is_full {
        return refuse(507, "full");
    }
    if held.most_files.is_some_and(|most| held.taken >= most) {
        return refuse(429, "too many");
    }
    held.taken += 1;
    if held.most.is_some_and(|most| request.body.len() > most) {
        return refuse(413, "too long");
    }
    let Some(kind) = Part::parse(part).and_then(|part| part.kind_of(name)) else {
        return refuse(400, "no such file");
    };
    let bytes = match request.headers.get("content-encoding").map(String::as_str) {
        None => request.body.clone(),
        Some("zstd") => zstd::decode_all(request.body.as_slice()).unwrap(),
        Some(_) => return refuse(415, "unknown encoding"),
    };
    if request.headers.get(CHECKSUM_HEADER) != Some(&checksum(&bytes)) {
        return refuse(422, "checksum");
    }
    let key = format!("{part}/{name}");
    if kind == Kind::Replaced {
        assert_eq!(query, "whole=1");
        held.files.insert(key, bytes);
        return (200, "", json!({}));
    }
    let offset: usize = query.strip_prefix("offset=").unwrap().parse().unwrap();
    let file = held.files.entry(key.clone()).or_default();
    let length = file.len();
    if offset > length {
        return (409, "", json!({"error": "a hole", "length": length}));
    }
    let known = (length - offset).min(bytes.len());
    if file[offset..offset + known] != bytes[..known] {
        return (409, "", json!({"error": "other bytes", "length": length}));
    }
    held.repeated += known as u64;
    let new = &bytes[known..];
    let kept = keep.map_or(new.len(), |most| new.len().min(most as usize));
    file.extend_from_slice(&new[..kept]);
    let length = file.len() as u64;
    held.lengths.push((key, length));
    (200, "", json!({"length": length}))
}
