//! As much of HTTP/1.1 as one page needs, and no more: a request that asks for anything else, is too
//! long or too slow gets its error and nothing of our time.

use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpStream};
use std::time::{Duration, Instant};

/// Most bytes of a request line and its headers.
const MOST_BYTES: usize = 8 << 10;
/// How long a request may take to come, and an answer to go.
const MOST_TIME: Duration = Duration::from_secs(5);

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// The path without its query.
    pub path: String,
    /// Only the headers are wanted.
    is_head: bool,
    host: Option<String>,
}

/// What is answered.
#[derive(Debug)]
pub struct Answer {
    status: &'static str,
    kind: &'static str,
    body: String,
}

const TEXT: &str = "text/plain; charset=utf-8";

impl Answer {
    /// Readings in Prometheus' text format.
    pub fn metrics(body: String) -> Answer {
        Answer { status: "200 OK", kind: "text/plain; version=0.0.4; charset=utf-8", body }
    }

    /// A page of text.
    pub fn page(text: &str) -> Answer {
        Answer { status: "200 OK", kind: TEXT, body: text.to_owned() }
    }

    /// No such page.
    pub fn not_found() -> Answer {
        refusal("404 Not Found", "there are / and /metrics")
    }
}

fn refusal(status: &'static str, why: &str) -> Answer {
    Answer { status, kind: TEXT, body: format!("{why}\n") }
}

/// Reads a request and answers it.
pub fn answer(connection: &TcpStream, is_loopback: bool, page: impl Fn(&Request) -> Answer) {
    let read = read(connection);
    let (answer, is_head) = match read.and_then(|bytes| parse(&bytes)) {
        Ok(request) if is_loopback && !is_local(request.host.as_deref()) => {
            (refusal("403 Forbidden", "this is for programs of this machine"), request.is_head)
        }
        Ok(request) => (page(&request), request.is_head),
        Err(Some(refused)) => (refused, false),
        // The other end is gone.
        Err(None) => return,
    };
    // Whoever asked may have left.
    let _ = write(connection, &answer, is_head);
}

/// Turns a connection away without reading it.
pub fn turn_away(connection: &TcpStream) {
    let answer = refusal("503 Service Unavailable", "too many ask at the same time");
    let _ = write(connection, &answer, false);
}

/// The bytes up to the empty line.
fn read(mut connection: &TcpStream) -> Result<Vec<u8>, Option<Answer>> {
    let until = Instant::now() + MOST_TIME;
    let mut bytes = Vec::new();
    let mut part = [0; 1024];
    while !ends(&bytes) {
        if bytes.len() >= MOST_BYTES {
            return Err(Some(refusal(
                "431 Request Header Fields Too Large",
                "the request is too long",
            )));
        }
        let left = until.saturating_duration_since(Instant::now());
        let late = || Some(refusal("408 Request Timeout", "the request took too long"));
        if left.is_zero() || connection.set_read_timeout(Some(left)).is_err() {
            return Err(late());
        }
        match connection.read(&mut part) {
            Ok(0) => return Err(None),
            Ok(count) => bytes.extend_from_slice(&part[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if is_timeout(&error) => return Err(late()),
            Err(_) => return Err(None),
        }
    }
    Ok(bytes)
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

fn ends(bytes: &[u8]) -> bool {
    bytes.windows(4).any(|four| four == b"\r\n\r\n")
}

fn parse(bytes: &[u8]) -> Result<Request, Option<Answer>> {
    let bad = |why: &str| Some(refusal("400 Bad Request", why));
    let text = std::str::from_utf8(bytes).map_err(|_| bad("the request is no text"))?;
    let mut lines = text.split("\r\n");
    let words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let [method, target, version] = words[..] else { return Err(bad("no request line")) };
    if !matches!(version, "HTTP/1.1" | "HTTP/1.0") {
        return Err(Some(refusal("505 HTTP Version Not Supported", "HTTP/1.1 is spoken here")));
    }
    if !matches!(method, "GET" | "HEAD") {
        return Err(Some(refusal("405 Method Not Allowed", "GET only")));
    }
    let mut hosts = Vec::new();
    for line in lines.take_while(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':').ok_or_else(|| bad("a header without a colon"))?;
        if name.eq_ignore_ascii_case("host") {
            hosts.push(value.trim().to_owned());
        }
    }
    if hosts.len() > 1 || (hosts.is_empty() && version == "HTTP/1.1") {
        return Err(bad("one Host header is needed"));
    }
    let path = target.split('?').next().unwrap_or_default();
    if !path.starts_with('/') {
        return Err(bad("no path"));
    }
    Ok(Request { path: path.to_owned(), is_head: method == "HEAD", host: hosts.pop() })
}

/// Whether a request names this machine as such. A page in a browser that had another name lead
/// here names that one.
fn is_local(host: Option<&str>) -> bool {
    let Some(host) = host else { return true };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn write(mut connection: &TcpStream, answer: &Answer, is_head: bool) -> io::Result<()> {
    connection.set_write_timeout(Some(MOST_TIME))?;
    let Answer { status, kind, body } = answer;
    let allow = if status.starts_with("405") { "Allow: GET, HEAD\r\n" } else { "" };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{allow}\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        body.len()
    );
    connection.write_all(head.as_bytes())?;
    if !is_head {
        connection.write_all(body.as_bytes())?;
    }
    connection.shutdown(std::net::Shutdown::Write)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// What is answered to `request`.
    fn asked(request: &[u8]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        client.write_all(request).unwrap();
        client.shutdown(std::net::Shutdown::Write).unwrap();
        let (connection, _) = listener.accept().unwrap();
        answer(&connection, true, |request| match request.path.as_str() {
            "/" => Answer::page("yes"),
            _ => Answer::not_found(),
        });
        drop(connection);
        let mut text = String::new();
        let _ = client.read_to_string(&mut text);
        text
    }

    fn status(request: &str) -> String {
        let text = asked(request.as_bytes());
        text.split(' ').nth(1).unwrap_or("nothing").to_owned()
    }

    #[test]
    fn one_question_is_answered() {
        let text = asked(b"GET /?a=b HTTP/1.1\r\nHost: localhost:9464\r\n\r\n");
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("\r\n\r\nyes"), "{text}");
        assert!(text.contains("Content-Length: 3\r\n") && text.contains("Connection: close\r\n"));
        let head = asked(b"HEAD / HTTP/1.1\r\nhost: [::1]:1\r\n\r\n");
        assert!(head.contains("Content-Length: 3\r\n") && head.ends_with("\r\n\r\n"), "{head}");
        assert_eq!(status("GET / HTTP/1.0\r\n\r\n"), "200");
    }

    #[test]
    fn everything_else_is_refused() {
        for (request, expected) in [
            ("GET /etc/passwd HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "404"),
            ("POST / HTTP/1.1\r\nHost: localhost\r\n\r\n", "405"),
            ("GET / HTTP/2\r\nHost: localhost\r\n\r\n", "505"),
            ("GET / HTTP/1.1\r\n\r\n", "400"),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400"),
            ("GET / HTTP/1.1\r\nHost localhost\r\n\r\n", "400"),
            ("GET http://x/ HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"),
            ("GET  / HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"),
            ("hello\r\n\r\n", "400"),
            ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "403"),
            ("GET / HTTP/1.1\r\nHost: 127.0.0.1.evil.example:9464\r\n\r\n", "403"),
            ("GET / HTTP/1.1\r\nHost: local", "nothing"),
            ("", "nothing"),
        ] {
            assert_eq!(status(request), expected, "{request:?}");
        }
        let long = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(MOST_BYTES));
        assert_eq!(status(&long), "431");
        assert!(asked(b"GET / HTTP/1.1\r\nHost: \xff\r\n\r\n").starts_with("HTTP/1.1 400"));
    }
}
