//! The requests of a shipper, and what an answer means for what comes next.

use crate::{ShipError, secrets, tls};
use hodo_format::ship::{CHECKSUM_HEADER, PATH, Part, checksum, is_run_id};
use serde::Deserialize;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;
use ureq::http::{Request, Response};
use ureq::{Agent, Body};

/// What is read of an answer; the list of a run's files is the longest.
const ANSWER_BYTES: u64 = 64 << 20;
/// How quick compression is; the network is seldom slower.
const ZSTD_LEVEL: i32 = 1;
/// What is shown of an answer that refuses: what to do about it stands at its end, behind ids of runs.
const SAID_CHARS: usize = 1000;
/// How long a connection may take to be there.
const CONNECT: Duration = Duration::from_secs(10);

/// What is said of an answer that is not one of TLS.
const NO_TLS: &str = "InvalidContentType";
/// What is said of a certificate that is not believed.
const STRANGER: &str = "invalid peer certificate";

/// Longest token that is read from a file; what is longer is no token.
const TOKEN_BYTES: u64 = 4096;

/// A secret that no log shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// The token in `text`, without the space around it.
    pub fn new(text: &str) -> Result<Token, ShipError> {
        let text = text.trim();
        let fits = !text.is_empty() && text.bytes().all(|c| c.is_ascii_graphic());
        if fits { Ok(Token(text.to_owned())) } else { Err(ShipError::Token) }
    }

    /// The token in a file.
    pub fn of_file(path: &Path) -> Result<Token, ShipError> {
        let mut text = String::new();
        let read =
            File::open(path).and_then(|file| file.take(TOKEN_BYTES).read_to_string(&mut text));
        read.map_err(|error| ShipError::TokenFile { path: path.to_owned(), error })?;
        Token::new(&text)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// Where to ship to.
#[derive(Clone, Debug)]
pub struct Server {
    /// Its address, `http://` or `https://`.
    pub url: String,
    /// The token to ship with.
    pub token: Token,
    /// The file it is from, which is looked at again when the collector does not know it any more.
    pub token_file: Option<PathBuf>,
    /// Certificates to believe instead of the system's.
    pub ca: Option<PathBuf>,
    /// How long one request may take.
    pub patience: Duration,
    /// Whether the token may go to another machine where everyone on the way can read it.
    pub plain_http: bool,
}

/// Why a request did not do what it was for.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The same may work later.
    Later { why: String, after: Option<Duration> },
    /// The collector holds another length than was thought.
    Length { length: u64, why: String },
    /// The chunk is too long for it.
    TooLong,
    /// What came is not what was sent.
    Garbled(String),
    /// It does not want this file.
    File(String),
    /// It does not want this run, or is no collector.
    Run(ShipError),
}

/// What a collector holds of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    pub length: u64,
    /// Of a file that was sent whole.
    pub checksum: Option<String>,
}

/// What a collector holds of a run, by part and name.
pub(crate) type AllHeld = HashMap<(Part, String), Held>;

/// A run at a collector.
pub(crate) struct Client {
    agent: Agent,
    base: String,
    /// As it is shown.
    url: String,
    token: RefCell<Token>,
    token_file: Option<PathBuf>,
    /// Whether it has answered as a collector does, this token too: then whatever else it says may pass.
    is_known: Cell<bool>,
    packed: Vec<u8>,
}

impl Client {
    /// The run `id` at `server`.
    pub(crate) fn new(server: &Server, id: &str) -> Result<Client, ShipError> {
        if !is_run_id(id) {
            return Err(ShipError::Id(id.to_owned()));
        }
        let (url, host) = address(&server.url)?;
        if url.starts_with("http:") && !is_loopback(&host) && !server.plain_http {
            return Err(ShipError::Plain(url));
        }
        let mut config = Agent::config_builder()
            .timeout_global(Some(server.patience))
            .timeout_connect(Some(CONNECT.min(server.patience)))
            .http_status_as_error(false)
            .user_agent(concat!("hodo/", env!("CARGO_PKG_VERSION")))
            // A token must not follow to where somebody else points.
            .max_redirects(0);
        if url.starts_with("https") {
            config = config.tls_config(tls::config(server.ca.as_deref())?);
        }
        if is_loopback(&host) {
            config = config.proxy(None);
        }
        let base = format!("{url}{PATH}/{id}");
        let (token, token_file) = (RefCell::new(server.token.clone()), server.token_file.clone());
        let (agent, is_known) = (config.build().into(), Cell::new(false));
        Ok(Client { agent, base, url, token, token_file, is_known, packed: Vec::new() })
    }

    /// Its address.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// What the collector holds.
    pub(crate) fn held(&self) -> Result<AllHeld, Refusal> {
        let request = self.request("GET", &self.base);
        let answer = self.taken(self.send(request, &[]))?;
        let told: Result<Files, _> = serde_json::from_value(answer);
        let told = told.map_err(|error| self.not_a_collector(&error.to_string()))?;
        let known = |file: HeldFile| {
            let part = Part::parse(&file.part)?;
            part.kind_of(&file.name)?;
            Some(((part, file.name), Held { length: file.length, checksum: file.crc32c }))
        };
        Ok(told.files.into_iter().filter_map(known).collect())
    }

    /// Appends `bytes` at `offset`; returns the length that is there for good.
    pub(crate) fn append(
        &mut self,
        at: (&Part, &str),
        offset: u64,
        bytes: &[u8],
        compress: bool,
    ) -> Result<u64, Refusal> {
        let url = format!("{}/files/{}/{}?offset={offset}", self.base, at.0, at.1);
        let answer = self.put(&url, bytes, compress)?;
        answer["length"].as_u64().ok_or_else(|| self.not_a_collector("no length in its answer"))
    }

    /// Replaces a file by `bytes`.
    pub(crate) fn replace(&mut self, at: (&Part, &str), bytes: &[u8]) -> Result<(), Refusal> {
        let url = format!("{}/files/{}/{}?whole=1", self.base, at.0, at.1);
        self.put(&url, bytes, true).map(drop)
    }

    /// Tells which processes live.
    pub(crate) fn beat(
        &self,
        host: &str,
        parts: &[(Part, bool)],
        done: bool,
    ) -> Result<(), Refusal> {
        let part = |(part, live): &(Part, bool)| json!({"part": part.to_string(), "live": live});
        let processes: Vec<Value> = parts.iter().map(part).collect();
        let body = json!({"host": host, "processes": processes, "done": done}).to_string();
        let request = self.request("POST", &format!("{}/beat", self.base));
        let request = request.header("content-type", "application/json");
        self.taken(self.send(request, body.as_bytes())).map(drop)
    }

    fn put(&mut self, url: &str, bytes: &[u8], compress: bool) -> Result<Value, Refusal> {
        let mut packed = std::mem::take(&mut self.packed);
        packed.clear();
        let smaller = compress && squeeze(bytes, &mut packed) && packed.len() < bytes.len();
        let mut request = self.request("PUT", url).header(CHECKSUM_HEADER, checksum(bytes));
        request = request.header("content-type", "application/octet-stream");
        if smaller {
            request = request.header("content-encoding", "zstd");
        }
        let answer = self.send(request, if smaller { &packed } else { bytes });
        self.packed = packed;
        self.taken(answer)
    }

    fn request(&self, method: &str, url: &str) -> ureq::http::request::Builder {
        let authorization = format!("Bearer {}", self.token.borrow().0);
        Request::builder().method(method).uri(url).header("authorization", authorization)
    }

    fn send(
        &self,
        request: ureq::http::request::Builder,
        body: &[u8],
    ) -> Result<Response<Body>, ureq::Error> {
        self.agent.run(request.body(body)?)
    }

    /// The body of an answer that says yes.
    fn taken(&self, answer: Result<Response<Body>, ureq::Error>) -> Result<Value, Refusal> {
        let later = |why: String| Refusal::Later { why, after: None };
        let mut answer = answer.map_err(|error| match is_stranger(&error) {
            true => self.of_run(ShipError::Stranger(self.in_words(&error))),
            false => later(self.in_words(&error)),
        })?;
        let status = answer.status().as_u16();
        let after = answer.headers().get("retry-after").and_then(|value| value.to_str().ok());
        let after = after.and_then(|text| text.parse().ok()).map(Duration::from_secs);
        let body = answer.body_mut().with_config().limit(ANSWER_BYTES).read_to_vec();
        let body = body.map_err(|error| later(self.in_words(&error)))?;
        let value: Value = serde_json::from_slice(&body).unwrap_or_default();
        match status {
            200..300 if value.is_null() && !body.is_empty() => {
                Err(self.not_a_collector("its answer is not JSON"))
            }
            200..300 => {
                self.is_known.set(true);
                Ok(value)
            }
            _ => Err(self.refused(status, &said(&value, &body), &value, after)),
        }
    }

    fn refused(&self, status: u16, said: &str, value: &Value, after: Option<Duration>) -> Refusal {
        let (url, why) = (self.url.clone(), format!("{status}{said}"));
        // Every refusal of a collector's own says why; a proxy's says something else.
        let is_its_own = value["error"].is_string();
        match (status, value["length"].as_u64()) {
            (401, _) if self.has_another_token() => {
                let after = Some(Duration::ZERO);
                Refusal::Later { why: format!("{url} has another token now"), after }
            }
            (401, _) => self.of_run(ShipError::Unauthorized { url, why }),
            (403, _) => self.of_run(ShipError::Forbidden { url, why }),
            (301..=308 | 404 | 405, _) => self.of_run(ShipError::NoCollector { url, why }),
            (409, Some(length)) => Refusal::Length { length, why },
            (413, _) => Refusal::TooLong,
            (422, _) if is_its_own => Refusal::Garbled(why),
            (408 | 425 | 429 | 500.., _) => Refusal::Later { why: format!("{url}: {why}"), after },
            _ if is_its_own => Refusal::File(why),
            _ => self.of_run(ShipError::NoCollector { url, why }),
        }
    }

    fn not_a_collector(&self, why: &str) -> Refusal {
        self.of_run(ShipError::NoCollector { url: self.url.clone(), why: why.to_owned() })
    }

    /// What ends shipping at once, unless it worked before: then a proxy that is set up anew, a token
    /// that is rotated or a disk that is not there yet may be behind it.
    fn of_run(&self, error: ShipError) -> Refusal {
        match self.is_known.get() {
            true => Refusal::Later { why: error.to_string(), after: None },
            false => Refusal::Run(error),
        }
    }

    /// Whether the file of the token has another one now, which is taken.
    fn has_another_token(&self) -> bool {
        let now = self.token_file.as_deref().and_then(|file| Token::of_file(file).ok());
        now.is_some_and(|now| self.token.replace(now.clone()) != now)
    }

    fn in_words(&self, error: &ureq::Error) -> String {
        let error = error.to_string();
        let hint = match &error {
            told if told.contains("CaUsedAsEndEntity") => {
                "; its certificate is that of an authority (CA:TRUE), a server's has CA:FALSE"
            }
            told if told.contains(STRANGER) => {
                "; --ca or HODO_CA names a file of certificates to believe"
            }
            told if told.contains("invalid HTTP version") => "; does it want https?",
            told if told.contains(NO_TLS) => "; does it want http?",
            _ => "",
        };
        format!("cannot reach {}: {error}{hint}", self.url)
    }
}

/// Whether whoever is there is not believed to be the collector.
fn is_stranger(error: &ureq::Error) -> bool {
    error.to_string().contains(STRANGER)
}

/// The answer to the question what is held.
#[derive(Deserialize)]
struct Files {
    files: Vec<HeldFile>,
}

#[derive(Deserialize)]
struct HeldFile {
    #[serde(default)]
    part: String,
    name: String,
    length: u64,
    crc32c: Option<String>,
}

/// What a refusal says, behind its number.
fn said(value: &Value, body: &[u8]) -> String {
    let text = match value["error"].as_str() {
        Some(error) => error.to_owned(),
        None => String::from_utf8_lossy(body).into_owned(),
    };
    let text: String = text.trim().chars().filter(|c| !c.is_control()).take(SAID_CHARS).collect();
    if text.is_empty() { text } else { format!(": {text}") }
}

fn squeeze(bytes: &[u8], packed: &mut Vec<u8>) -> bool {
    packed.reserve(zstd::zstd_safe::compress_bound(bytes.len()));
    zstd::zstd_safe::compress(packed, bytes, ZSTD_LEVEL).is_ok()
}

/// Whether a run in the folder `run` could be shipped to `server` as far as can be told without asking it.
pub fn check(server: &Server, run: &Path) -> Result<(), ShipError> {
    let id = run.file_name().unwrap_or_default().to_string_lossy();
    Client::new(server, &id).map(drop)
}

/// Whether `url` is an address that runs can be shipped to.
pub fn check_address(url: &str) -> Result<(), ShipError> {
    address(url).map(drop)
}

/// The address without a slash at its end, and the host in it.
pub(crate) fn address(url: &str) -> Result<(String, String), ShipError> {
    let wrong = || ShipError::Address(secrets::shown(url));
    let (scheme, rest) = url.trim().split_once("://").ok_or_else(wrong)?;
    let rest = rest.trim_end_matches('/');
    let authority = rest.split('/').next().unwrap_or_default();
    // Also behind what looks like a host: passwords have slashes in them.
    if rest.contains('@') {
        return Err(ShipError::Secret);
    }
    let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some(v6) => v6,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let is_port =
        |port: &str| port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
    let scheme = scheme.to_ascii_lowercase();
    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '?' | '#');
    let fits = matches!(scheme.as_str(), "http" | "https") && rest.chars().all(plain);
    if !fits || host.is_empty() || !(port.is_empty() || is_port(port)) {
        return Err(wrong());
    }
    Ok((format!("{scheme}://{rest}"), host.to_owned()))
}

fn is_loopback(host: &str) -> bool {
    let ip: Option<std::net::IpAddr> = host.parse().ok();
    host == "localhost" || ip.is_some_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_checked_before_anything_is_sent() {
        let good = |url: &str| address(url).unwrap();
        assert_eq!(good("http://a:1/"), ("http://a:1".into(), "a".into()));
        assert_eq!(good("HTTPS://a.b/hodo/"), ("https://a.b/hodo".into(), "a.b".into()));
        assert_eq!(good("http://[::1]:7").1, "::1");
        for bad in [
            "",
            "a",
            "ftp://a",
            "http://",
            "http:///x",
            "http://a b",
            "http://a/?x",
            "http://:1",
            "http://a:b",
            "http://a:70000",
            "me:hush@a:7430",
        ] {
            let error = address(bad).unwrap_err();
            assert!(matches!(error, ShipError::Address(_)), "{bad}");
            assert!(!error.to_string().contains("sh@"), "{error}");
        }
        for secret in ["https://u:secret@a", "http://me:hu/sh@a", "https://me:12/34@a"] {
            assert!(matches!(address(secret), Err(ShipError::Secret)), "{secret}");
        }
        assert!(is_loopback("localhost") && is_loopback("::1") && is_loopback("127.1.2.3"));
        assert!(!is_loopback("10.0.0.1") && !is_loopback("localhost.example"));
    }

    #[test]
    fn a_token_goes_to_other_machines_by_tls() {
        let client = |url: &str, plain_http| {
            let token = Token::new("secret").unwrap();
            let patience = Duration::from_secs(1);
            let (url, token_file, ca) = (url.into(), None, None);
            Client::new(&Server { url, token, token_file, ca, patience, plain_http }, "run")
        };
        for here in ["http://127.0.0.1:7430", "http://[::1]:1", "http://localhost/hodo"] {
            assert!(client(here, false).is_ok(), "{here}");
        }
        for there in ["http://10.0.0.7:7430", "HTTP://runs.example", "http://localhost.evil"] {
            let refused = client(there, false).err().map(|error| error.to_string());
            assert!(refused.is_some_and(|why| why.contains("--plain-http")), "{there}");
            assert!(client(there, true).is_ok(), "{there}");
        }
    }

    #[test]
    fn a_token_is_one_plain_word_and_is_never_shown() {
        assert_eq!(format!("{:?}", Token::new(" abc\n").unwrap()), "Token(..)");
        for bad in ["", " ", "a b", "a\nb", "ä"] {
            assert!(matches!(Token::new(bad), Err(ShipError::Token)), "{bad:?}");
        }
    }

    #[test]
    fn what_a_collector_says_is_one_short_line() {
        assert_eq!(said(&json!({"error": "a\nb\u{1b}[2J"}), b""), ": ab[2J");
        assert_eq!(said(&Value::Null, &[b'x'; 2000]).len(), SAID_CHARS + 2);
        assert_eq!(said(&Value::Null, b" "), "");
    }
}
