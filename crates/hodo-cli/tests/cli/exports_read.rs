//! Exports as rows, stacks and spans, read back by other people's parsers.

use crate::exports::python;
use crate::gpu;
use crate::made::{self, Folder, Made, Scope};
use crate::program::{ID, folder, hodo, run, stdout};
use crate::samples;
use hodo_format::record::SpanId;
use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};

fn script(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name).display().to_string()
}

fn export(dir: &Folder, args: &[&str], file: &str) -> String {
    let path = dir.path().join(file).display().to_string();
    stdout(dir.path(), &[&["export"], args, &["-o", &path]].concat());
    path
}

fn report(dir: &Folder) -> String {
    let path = dir.path().join("report.json");
    std::fs::write(&path, stdout(dir.path(), &["report", "--json"])).unwrap();
    path.display().to_string()
}

/// Runs with everything in them: attributes, marks, failures, crossings, odd names, GPU work,
/// processes started in a scope of another.
fn runs() -> Vec<Folder> {
    let mut all: Vec<Folder> =
        [samples::training(100), samples::crossing(200), samples::hostile(300), gpu::step(400)]
            .iter()
            .map(folder)
            .collect();
    let dir = Folder::new();
    let first = samples::training(100);
    let mut worker = samples::crossing(200);
    worker.parent = Some((first.process(), SpanId::new(1, 1)));
    made::write(dir.path(), ID, &[&first, &worker]);
    all.push(dir);
    all
}

#[test]
fn rows_stacks_and_profiles_are_the_same_tree() {
    let Some(python) = python() else { return };
    for dir in runs() {
        let files = [
            report(&dir),
            export(&dir, &["--to", "csv"], "scopes.csv"),
            export(&dir, &["--to", "csv", "--table", "marks"], "marks.csv"),
            export(&dir, &["--to", "csv", "--table", "work"], "work.csv"),
            export(&dir, &["--to", "ndjson"], "run.ndjson"),
            export(&dir, &["--to", "speedscope"], "run.speedscope.json"),
            export(&dir, &["--to", "folded"], "run.folded"),
        ];
        let output =
            Command::new(&python).arg(script("export_readers.py")).args(files).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert!(String::from_utf8_lossy(&output.stdout).starts_with("the same: "));
    }
}

#[test]
fn a_real_receiver_gets_the_same_tree() {
    let Some(python) = python() else { return };
    for dir in runs() {
        let report = report(&dir);
        let mut receiver = Command::new(&python)
            .args([script("otlp_receiver.py"), report.clone()])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(receiver.stdout.take().unwrap());
        let mut port = String::new();
        lines.read_line(&mut port).unwrap();
        let endpoint = format!("http://127.0.0.1:{}", port.trim());
        let header = ["--header", "authorization=Bearer x"];
        let args = [&["export", "--to", "otlp", "--endpoint", &endpoint], &header[..]].concat();
        let output = plain(dir.path(), &args).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        assert!(said.contains("/v1/traces: ") && said.contains("batch"), "{said}");
        let mut bye = TcpStream::connect(endpoint.trim_start_matches("http://")).unwrap();
        std::io::Write::write_all(&mut bye, b"GET / HTTP/1.0\r\n\r\n").unwrap();
        let mut found = String::new();
        lines.read_to_string(&mut found).unwrap();
        let mut why = String::new();
        receiver.stderr.take().unwrap().read_to_string(&mut why).unwrap();
        assert!(receiver.wait().unwrap().success(), "{why}");
        assert!(found.starts_with("same tree: "), "{found}");
        let file = export(&dir, &["--to", "otlp"], "run.otlp");
        let status = Command::new(&python)
            .args([script("otlp_receiver.py"), report, file])
            .output()
            .unwrap();
        assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stderr));
    }
}

/// `hodo` without the way around that a proxy would be.
fn plain(dir: &Path, args: &[&str]) -> Command {
    let mut command = hodo(dir, args);
    for variable in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env_remove(variable);
    }
    command
}

/// A receiver that gives each post the next of these answers.
fn receiver(answers: Vec<&'static str>) -> (String, std::thread::JoinHandle<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answered = std::thread::spawn(move || {
        let mut posts = 0;
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            read_post(&mut stream);
            posts += 1;
            std::io::Write::write_all(&mut stream, answer.as_bytes()).unwrap();
        }
        posts
    });
    (url, answered)
}

fn read_post(stream: &mut TcpStream) {
    let mut bytes = Vec::new();
    let mut some = [0; 65536];
    loop {
        let n = stream.read(&mut some).unwrap();
        bytes.extend_from_slice(&some[..n]);
        let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
        let Some(end) = text.find("\r\n\r\n") else { continue };
        let length = text.split("content-length: ").nth(1).and_then(|t| t.lines().next());
        let body = bytes.windows(4).position(|w| w == b"\r\n\r\n").unwrap_or(end) + 4;
        if n == 0 || length.is_some_and(|l| bytes.len() - body >= l.parse::<usize>().unwrap()) {
            return;
        }
    }
}

#[test]
fn collectors_that_refuse_are_told_with_their_words() {
    const BUSY: &str =
        "HTTP/1.1 503 Busy\r\nretry-after: 0\r\ncontent-length: 4\r\nconnection: close\r\n\r\nbusy";
    const NO: &str =
        "HTTP/1.1 401 No\r\ncontent-length: 12\r\nconnection: close\r\n\r\nwho are you?";
    const SOME: &str = "HTTP/1.1 200 OK\r\ncontent-length: 8\r\nconnection: close\r\n\r\n\x0a\x06\x08\x03\x12\x02no";
    const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let dir = folder(&samples::training(100));
    for (answers, tries, words) in [
        (vec![NO], 1, "refuses: 401 (who are you?)"),
        (vec![BUSY; 5], 5, "cannot reach"),
        (vec![SOME], 1, "left out 3 spans (no)"),
        (vec![BUSY, BUSY, OK], 3, "42 spans and"),
    ] {
        let (url, answered) = receiver(answers);
        let args = ["export", "--to", "otlp", "--endpoint", &url];
        let output = plain(dir.path(), &args).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(words), "{said}");
        assert_eq!(answered.join().unwrap(), tries);
        assert_eq!(output.status.success(), words.starts_with("42"), "{said}");
    }
}

#[test]
fn what_cannot_be_sent_is_refused_before_anything_is() {
    let dir = folder(&samples::training(100));
    for (args, words) in [
        (vec!["--to", "otlp", "--endpoint", "https://example.com"], "https is not spoken here"),
        (vec!["--to", "otlp", "--endpoint", "localhost"], "not an address"),
        (vec!["--to", "otlp", "--endpoint", "http://a", "--header", "x"], "not a header"),
        (vec!["--to", "chrome", "--endpoint", "http://a"], "goes with --to otlp"),
        (vec!["--to", "otlp", "--endpoint", "http://a", "-o", "x"], "cannot be used with"),
    ] {
        let output = run(dir.path(), &[&["export"], &args[..]].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(words), "{said}");
    }
}

/// Marks without end in one scope are counted where they are too many.
#[test]
fn marks_past_the_limit_of_a_span_are_counted() {
    let Some(python) = python() else { return };
    let mut made = Made::new(100);
    let step = made.span(Scope::new("step", SpanId::NONE, 0, 100 * made::MS));
    for at in 0..1100 {
        made.mark(step, "loss", at, 0.5);
    }
    made.mark(SpanId::NONE, "outside", 1, 0.5);
    let dir = folder(&made);
    let file = dir.path().join("run.otlp").display().to_string();
    let output = run(dir.path(), &["export", "--to", "otlp", "-o", &file]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("76 marks past 1 024 of a scope"), "{said}");
    let args = [script("otlp_receiver.py"), report(&dir), file];
    let output = Command::new(&python).args(args).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
}
