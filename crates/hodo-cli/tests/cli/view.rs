//! `hodo view`, `hodo run --open` and `hodo share` from outside.

use crate::made::{self, Folder, Made, Scope};
use crate::program::{ID, folder, hodo, run, stdout};
use crate::samples;
use hodo_format::record::SpanId;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};

/// A page that is being served by a command, which is ended with the test.
pub struct Viewed {
    child: Child,
    /// What was said up to the address, which is the last of it.
    pub said: Vec<String>,
}

impl Viewed {
    /// Starts `command` and waits for the address, which it says on either output.
    pub fn start(command: &mut Command) -> Viewed {
        Viewed::start_until(command, "token=")
    }

    /// The same of `hodo run --open`, and waits for its program's end: until then Ctrl-C is for that.
    pub fn start_and_end(command: &mut Command) -> Viewed {
        Viewed::start_until(command, "stays until Ctrl-C")
    }

    fn start_until(command: &mut Command, words: &str) -> Viewed {
        let (reader, writer) = std::io::pipe().unwrap();
        command.stdout(writer.try_clone().unwrap()).stderr(writer).process_group(0);
        let child = command.spawn().unwrap();
        // The command keeps the other end until it is dropped.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut lines = BufReader::new(reader).lines();
        let mut said = Vec::new();
        while said.last().is_none_or(|line: &String| !line.contains(words)) {
            said.push(lines.next().expect(words).unwrap());
        }
        let mut viewed = Viewed { child, said };
        // Whoever is answered once can be interrupted.
        assert!(viewed.get("/healthz").contains("ok"));
        // What else is said has to go somewhere.
        let rest = std::thread::spawn(move || lines.map_while(Result::ok).collect::<Vec<String>>());
        drop(rest);
        viewed.said.shrink_to_fit();
        viewed
    }

    fn address(&self) -> (u16, String) {
        let line = self.said.last().unwrap();
        let port = line.split("127.0.0.1:").nth(1).unwrap().split('/').next().unwrap();
        let token = line.split("token=").nth(1).unwrap().split('#').next().unwrap();
        (port.parse().unwrap(), token.to_owned())
    }

    /// What is answered at a path.
    pub fn get(&self, path: &str) -> String {
        let (port, token) = self.address();
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let head =
            format!("Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\nConnection: close");
        write!(stream, "GET {path} HTTP/1.1\r\n{head}\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn json(&self, path: &str) -> Value {
        let answer = self.get(path);
        serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap()
    }

    /// Ends it as Ctrl-C does, as often as it takes.
    pub fn interrupt(mut self) -> ExitStatus {
        loop {
            // SAFETY: the child was not waited for, so the number is its own.
            unsafe { libc::kill(self.child.id() as i32, libc::SIGINT) };
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }
}

impl Drop for Viewed {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn view(dir: &Folder, args: &[&str]) -> Command {
    let mut command = hodo(dir.path(), &["view", "--no-open"]);
    command.args(args).env_remove("SSH_CONNECTION");
    command
}

#[test]
fn the_page_of_a_folder_is_served_until_ctrl_c() {
    let dir = folder(&samples::training(100));
    let viewed = Viewed::start(&mut view(&dir, &[]));
    assert_eq!(viewed.said.len(), 1, "the address comes first: {:?}", viewed.said);
    assert!(!viewed.said[0].contains('#'), "{:?}", viewed.said);
    assert_eq!(viewed.json("/api/runs")["runs"][0]["id"], ID);
    assert!(viewed.interrupt().success());
}

#[test]
fn a_run_is_named_by_its_id_or_its_folder_and_so_is_a_folder_of_runs() {
    let dir = folder(&samples::training(100));
    let path = dir.path().join(ID);
    for name in [&ID[..12], path.to_str().unwrap()] {
        let viewed = Viewed::start(&mut view(&dir, &[name]));
        assert!(viewed.said[0].ends_with(&format!("#/run/{ID}/overview")), "{:?}", viewed.said);
        assert!(viewed.interrupt().success());
    }
    let elsewhere = Folder::new();
    let viewed = Viewed::start(&mut view(&elsewhere, &[dir.path().to_str().unwrap()]));
    assert_eq!(viewed.json("/api/runs")["runs"][0]["id"], ID);
    let unknown = run(dir.path(), &["view", "--no-open", "nothing-like-it"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("hodo ls"));
}

#[test]
fn a_port_that_is_taken_is_said_to_be() {
    let dir = folder(&samples::training(100));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let output = run(dir.path(), &["view", "--no-open", "--port", &port]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("leave --port out"));
}

#[test]
fn the_report_of_the_page_is_that_of_the_command_line() {
    let dir = folder(&samples::training(100));
    let viewed = Viewed::start(&mut view(&dir, &[ID]));
    let report: Value =
        serde_json::from_str(&stdout(dir.path(), &["report", "--json", "--kernels"])).unwrap();
    let mut served = viewed.json(&format!("/api/runs/{ID}/report"));
    // One is asked from here, the other from where the runs are.
    served["folder"] = report["folder"].clone();
    assert_eq!(served, report);
}

#[test]
fn a_run_is_looked_at_while_it_is_recorded_and_afterwards() {
    let dir = Folder::new();
    let mut command = hodo(dir.path(), &["run", "--open", "--", "sh", "-c", "exit 3"]);
    command.env("HODO_LIBRARY", env!("CARGO_BIN_EXE_hodo")).env_remove("SSH_CONNECTION");
    command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").env_remove("BROWSER");
    let viewed = Viewed::start_and_end(&mut command);
    assert!(viewed.get("/api/runs").starts_with("HTTP/1.1 200"));
    assert_eq!(viewed.interrupt().code(), Some(3), "the program's own code");
}

#[test]
fn a_ctrl_c_between_the_programs_end_and_the_page_ends_the_page() {
    let dir = Folder::new();
    // Not from the program, whose own signals are not for hodo, and when it has ended for sure.
    let late = "pid=$PPID; (while kill -0 $$ 2>/dev/null; do :; done; kill -INT $pid) & exit 3";
    for _ in 0..20 {
        let mut command = hodo(dir.path(), &["run", "--open", "--", "sh", "-c", late]);
        command.env("HODO_LIBRARY", env!("CARGO_BIN_EXE_hodo")).env_remove("SSH_CONNECTION");
        command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").env_remove("BROWSER");
        assert_eq!(command.output().unwrap().status.code(), Some(3));
    }
}

/// The answers in a shared file.
fn inlined(html: &str) -> Value {
    let begin = "<script type=\"application/json\" id=\"hodo-inline\">";
    let text = html.split(begin).nth(1).unwrap().split("</script>").next().unwrap();
    serde_json::from_str(text).unwrap()
}

/// The bytes of an answer in a shared file, unpacked.
fn unpacked(answer: &Value) -> Vec<u8> {
    let Some(text) = answer["packed"].as_str() else { return answer["json"].to_string().into() };
    let value = |sign: u8| match sign {
        b'A'..=b'Z' => u32::from(sign - b'A'),
        b'a'..=b'z' => u32::from(sign - b'a') + 26,
        b'0'..=b'9' => u32::from(sign - b'0') + 52,
        b'+' => 62,
        b'/' => 63,
        _ => 0,
    };
    let groups = text
        .as_bytes()
        .chunks(4)
        .map(|four| four.iter().fold(0, |word, &sign| word << 6 | value(sign)));
    let bytes: Vec<u8> = groups.flat_map(|word| word.to_be_bytes()[1..].to_vec()).collect();
    let mut unpacked = Vec::new();
    flate2::read::DeflateDecoder::new(&*bytes).read_to_end(&mut unpacked).unwrap();
    unpacked
}

#[test]
fn a_shared_file_holds_its_answers_and_asks_nobody() {
    let dir = folder(&samples::training(100));
    let file = dir.path().join("out.html");
    stdout(dir.path(), &["share", "-o", file.to_str().unwrap()]);
    let html = std::fs::read_to_string(&file).unwrap();
    assert!(html.len() < 2_000_000);
    let answers = inlined(&html);
    for route in ["report", "tracks", "steps", "flame?by=wall", "marks", "series"] {
        let answer = unpacked(&answers[format!("api/runs/{ID}/{route}")]);
        assert!(serde_json::from_slice::<Value>(&answer).unwrap().is_object(), "{route}");
    }
    assert_eq!(answers["api/runs"]["json"]["runs"][0]["id"], ID);
    let fields = answers.as_object().unwrap();
    let tiles = fields.iter().filter(|(key, _)| key.contains("/tiles?track="));
    assert_eq!(tiles.clone().count(), 2, "a small run needs one for each thread");
    for (_, tile) in tiles {
        assert!(unpacked(tile).starts_with(b"HTL1"));
    }
    let all = fields.values().map(|answer| String::from_utf8_lossy(&unpacked(answer)).into_owned());
    let place = dir.path().to_str().unwrap();
    assert!(
        !html.contains(place) && all.into_iter().all(|text| !text.contains(place)),
        "where the run was is nobody's business"
    );
    let left: Vec<_> =
        std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn a_shared_file_of_more_than_fits_has_the_largest_and_counts_the_rest() {
    let (threads, names) = (2000, 30_000_u64);
    let mut made = Made::new(100);
    for thread in 2..threads + 2 {
        made.thread(thread, &format!("worker {thread}"));
        made.span(Scope::new("work", SpanId::NONE, 0, 500).on(thread));
    }
    for name in 0..names {
        made.span(Scope::new(&format!("request {name}"), SpanId::NONE, name, name + 1));
    }
    let dir = Folder::new();
    made::write(dir.path(), ID, &[&made]);
    let file = dir.path().join("out.html");
    stdout(dir.path(), &["share", "-o", file.to_str().unwrap()]);
    let html = std::fs::read_to_string(&file).unwrap();
    assert!(html.len() < 2_000_000, "{}", html.len());
    let answers = inlined(&html);
    let answer = |route: &str| -> Value {
        serde_json::from_slice(&unpacked(&answers[format!("api/runs/{ID}/{route}")])).unwrap()
    };
    let report = answer("report");
    let nodes = report["nodes"].as_array().unwrap();
    assert!(nodes.len() > 100, "{}", nodes.len());
    assert_eq!(nodes[0]["name"], "work");
    assert_eq!(nodes.len() as u64 + report["nodes_left_out"].as_u64().unwrap(), names + 1);
    let listed = report["processes"][0]["threads"].as_array().unwrap().len() as u64;
    assert_eq!(listed + report["threads_left_out"].as_u64().unwrap(), u64::from(threads) + 1);
    let tracks = answer("tracks");
    assert!(!tracks["tracks"].as_array().unwrap().is_empty(), "{}", tracks["tracks_left_out"]);
}

#[test]
fn hostile_names_stay_text_in_a_shared_file() {
    let mut made = Made::new(100);
    let hostile = "</script><script>alert(1)</script><!--";
    made.span(Scope::new(hostile, SpanId::NONE, 0, 1000));
    let dir = Folder::new();
    made::write(dir.path(), ID, &[&made]);
    let file = dir.path().join("out.html");
    stdout(dir.path(), &["share", "-o", file.to_str().unwrap()]);
    let html = std::fs::read_to_string(&file).unwrap();
    assert!(!html.contains("<script>alert"), "a name became code");
    let tracks = unpacked(&inlined(&html)[format!("api/runs/{ID}/tracks")]);
    let tracks: Value = serde_json::from_slice(&tracks).unwrap();
    assert_eq!(tracks["names"][0], hostile);
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let dir = folder(&samples::training(100));
    let output = run(dir.path(), &["share", "-o", "/nowhere/at/all.html"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("/nowhere/at/all.html"));
}
