//! What `hodo ship` and `hodo push` refuse, and what views say of a run that is not shipped.

use crate::made::Folder;
use crate::program::{ID, PROGRAM, folder, hodo, stdout};
use crate::run::{recorder, wait_until};
use crate::samples;
use crate::serve::Served;
use std::path::Path;
use std::process::{Child, Command};

/// The exit code and the words of a command that fails.
fn refused(dir: &Path, args: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let output = hodo(dir, args).envs(variables.iter().copied()).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Arguments, variables, the exit code, and words that are said.
type Case<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)], i32, &'a str);

#[test]
fn what_cannot_be_sent_is_refused_with_what_to_do() {
    let dir = folder(&samples::training(100));
    let secret = dir.path().join("token");
    std::fs::write(&secret, "not a token\n").unwrap();
    let secret = secret.to_str().unwrap();
    let token = [("HODO_TOKEN", "abc")];
    let to = ["--to", "http://127.0.0.1:9"];
    let cases: [Case<'_>; 8] = [
        (&[], &token, 2, "name one with --to"),
        (&to, &[], 2, "no token: set HODO_TOKEN"),
        (&to, &[("HODO_TOKEN_FILE", "/nowhere/token")], 1, "cannot read /nowhere/token"),
        (
            &["--to", "http://127.0.0.1:9", "--token-file", secret],
            &[],
            2,
            "the token is empty or has",
        ),
        (&["--to", "ftp://x"], &token, 2, "not an address like"),
        (&["--to", "https://u:hush@x"], &token, 2, "must not have a password in it"),
        (&["--to", "https://x", "--ca", "/nowhere/ca.pem"], &token, 1, "/nowhere/ca.pem"),
        (
            &["--to", "http://127.0.0.1:9", "--give-up-after", "soon"],
            &token,
            2,
            "write --give-up-after",
        ),
    ];
    for verb in ["ship", "push"] {
        for (args, variables, code, words) in cases {
            let args: Vec<&str> = [verb, ID].iter().chain(args).copied().collect();
            let (found, said) = refused(dir.path(), &args, variables);
            assert!(found == Some(code) && said.contains(words), "{args:?}: {found:?} {said}");
            assert!(!said.contains("hush") && !said.contains("abc"), "a secret is shown: {said}");
        }
    }
}

#[test]
fn a_run_that_cannot_be_pushed_keeps_no_other_from_it() {
    let dir = folder(&samples::training(100));
    let args = ["push", ID, ID, "--to", "http://127.0.0.1:9", "--give-up-after", "300ms"];
    let (code, said) = refused(dir.path(), &args, &[("HODO_TOKEN", "abc")]);
    assert_eq!((code, said.matches("gave up").count()), (Some(1), 2), "{said}");
    let failures = said.lines().filter(|line| line.starts_with("error: ")).count();
    assert!(failures == 2 && !said.contains("\\n"), "each has a line: {said}");
}

#[test]
fn a_collector_that_is_away_is_told_and_given_up() {
    let dir = folder(&samples::training(100));
    let args = ["push", ID, "--to", "http://127.0.0.1:9", "--give-up-after", "300ms"];
    let (code, said) = refused(dir.path(), &args, &[("HODO_TOKEN", "abc")]);
    assert_eq!(code, Some(1));
    assert!(said.contains("cannot reach http://127.0.0.1:9") && said.contains("gave up"), "{said}");
    assert!(stdout(dir.path(), &["ls"]).contains("not all shipped"));
    let report = stdout(dir.path(), &["report", ID]);
    assert!(report.contains("not shipped: gave up"), "{report}");
    let listed: serde_json::Value =
        serde_json::from_str(&stdout(dir.path(), &["ls", "--json"])).unwrap();
    assert_eq!(listed["runs"][0]["shipping"][0]["state"], "stopped");
    let told = std::fs::read_dir(dir.path().join(ID)).unwrap().flatten();
    let told = told.filter(|e| e.file_name().to_string_lossy().starts_with("ship-"));
    for file in told {
        assert!(!std::fs::read_to_string(file.path()).unwrap().contains("abc"), "{file:?}");
    }
}

/// Settings that no shipper can begin with, and what is said of them.
const HINDRANCES: [(&[(&str, &str)], &str); 7] = [
    (&[("HODO_SERVER", "runs.example:7430")], "not an address like https://"),
    (&[("HODO_SERVER", "notaurl")], "notaurl: not an address like"),
    (&[("HODO_SERVER", "http://me:hush@127.0.0.1:9")], "must not have a password in it"),
    (&[("HODO_SERVER", "http://collector:7430")], "--plain-http"),
    (&[("HODO_TOKEN", "")], "no token: set HODO_TOKEN"),
    (&[("HODO_TOKEN", ""), ("HODO_TOKEN_FILE", "/nowhere/token")], "cannot read /nowhere/token"),
    (&[("HODO_PLAIN_HTTP", "maybe")], "invalid value 'maybe' for '--plain-http'"),
];
const SECRET: &str = "hodo_fcea0123456789abcdef0123456789abcdef";

/// A command whose runs are to be shipped to where nobody is, with `settings` besides.
fn shipped<'a>(command: &'a mut Command, settings: &[(&str, &str)]) -> &'a mut Command {
    command.env("HODO_SERVER", "http://127.0.0.1:9").env("HODO_TOKEN", SECRET);
    command.env("HODO_LIBRARY", PROGRAM).envs(settings.iter().copied())
}

/// The one run in a folder, and that every view says why it is not shipped; without a secret.
fn assert_told(dir: &Path, why: &str) {
    let listed = stdout(dir, &["ls"]);
    assert!(listed.contains("not all shipped"), "{listed}");
    let report = stdout(dir, &["report"]);
    assert!(report.contains("not shipped: ") && report.contains(why), "{why}: {report}");
    let run = std::fs::read_dir(dir).unwrap().next().unwrap().unwrap().path();
    for file in std::fs::read_dir(run).unwrap().flatten().filter(|entry| entry.path().is_file()) {
        let text = String::from_utf8_lossy(&std::fs::read(file.path()).unwrap()).into_owned();
        assert!(!text.contains("hush") && !text.contains("0123456789"), "{file:?}: {text}");
    }
}

#[test]
fn settings_that_cannot_ship_are_told_before_the_program_and_in_every_view() {
    for (settings, why) in HINDRANCES {
        let dir = Folder::new();
        let script = format!("echo began >&2; {}; exit 7", recorder());
        let mut command = hodo(dir.path(), &["run", "--", "sh", "-c", &script]);
        let output = shipped(&mut command, settings).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(7), "the program runs: {said}");
        let (before, after) = said.split_once("began").expect(&said);
        assert!(before.contains("will not be shipped") && before.contains(why), "{said}");
        assert!(after.contains("not shipped: ") && after.contains(why), "{said}");
        assert!(after.contains("hodo push") && !said.contains("hush"), "{said}");
        assert_told(dir.path(), why);
        let mut quiet = hodo(dir.path(), &["run", "--quiet", "--", "true"]);
        assert!(shipped(&mut quiet, settings).output().unwrap().stderr.is_empty());
    }
}

#[test]
fn settings_that_cannot_ship_are_told_by_a_monitor() {
    let dir = Folder::new();
    let (settings, why) = HINDRANCES[0];
    let mut command = hodo(dir.path(), &["monitor", "--interval", "50ms", "--for", "300ms"]);
    let output = shipped(&mut command, settings).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let told = format!("will not be shipped: runs.example:7430: {why}");
    assert!(output.status.success() && said.contains(&told), "{said}");
    assert!(said.contains("monitor: not shipped: runs.example:7430"), "{said}");
    assert_told(dir.path(), why);
}

#[test]
fn settings_that_cannot_ship_are_told_by_what_a_recorder_starts() {
    for (settings, why) in HINDRANCES {
        let dir = Folder::new();
        let mut command = Command::new("sh");
        command.args(["-c", &recorder()]).env("HODO_DIR", dir.path()).env("HODO_BIN", PROGRAM);
        for unset in ["HODO", "HODO_RUN", "HODO_SHIPPER", "HODO_PLAIN_HTTP", "HODO_TOKEN_FILE"] {
            command.env_remove(unset);
        }
        assert!(shipped(&mut command, settings).status().unwrap().success());
        let run = std::fs::read_dir(dir.path()).unwrap().next().unwrap().unwrap().path();
        wait_until("the shipper has told", || hodo_ship::status_of(&run).is_some());
        assert_told(dir.path(), why);
    }
}

/// A shipper that is ended with the test, or before.
struct Waits(Child);

impl Drop for Waits {
    fn drop(&mut self) {
        // SAFETY: the child was not waited for, so the number is its own.
        unsafe { libc::kill(self.0.id() as i32, libc::SIGTERM) };
        let _ = self.0.wait();
    }
}

#[test]
fn a_push_beside_a_shipper_that_waits_says_which_and_how_to_end_it() {
    let dir = folder(&samples::training(100));
    let run = dir.path().join(ID);
    let args = ["ship", "--detached", run.to_str().unwrap()];
    let waits = Waits(shipped(&mut hodo(dir.path(), &args), &[]).spawn().unwrap());
    let is_waiting = || {
        let status = hodo_ship::status_of(&run);
        status.is_some_and(|status| status.state == hodo_ship::State::Waiting)
    };
    wait_until("it waits for its collector", is_waiting);
    let store = Folder::new();
    let collector = Served::first(store.path());
    let token = collector.token("ingest");
    let push = ["push", ID, "--to", &collector.url()];
    let (code, said) = refused(dir.path(), &push, &[("HODO_TOKEN", &token)]);
    assert_eq!(code, Some(1), "{said}");
    for words in ["to http://127.0.0.1:9 by pid", "which waits: cannot reach"] {
        assert!(said.contains(words), "{said}");
    }
    assert!(said.contains(&format!("`kill {}` ends it", waits.0.id())), "{said}");
    drop(waits);
    let (code, said) = refused(dir.path(), &push, &[("HODO_TOKEN", &token)]);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn a_refused_push_of_a_run_that_is_there_marks_nothing() {
    let dir = folder(&samples::training(100));
    let store = Folder::new();
    let collector = Served::first(store.path());
    let push = |token: &str| {
        let args = ["push", ID, "--ended", "--to", &collector.url()];
        refused(dir.path(), &args, &[("HODO_TOKEN", token)])
    };
    let is_listed = || stdout(dir.path(), &["ls"]).contains("not all shipped");
    let (code, said) = push(&collector.token("ingest"));
    assert!(code == Some(0) && !is_listed(), "{said}");
    let (code, said) = push("no-token-of-its");
    assert!(code == Some(1) && said.contains("does not know this token"), "{said}");
    assert!(!is_listed(), "it is there all the same");
}

#[test]
fn what_joins_a_run_that_was_shipped_is_not_taken_for_shipped() {
    let (dir, store) = (Folder::new(), Folder::new());
    let collector = Served::first(store.path());
    let (url, good) = (collector.url(), collector.token("ingest"));
    let record = |token: &str| {
        let mut command = hodo(dir.path(), &["run", "--", "sh", "-c", &recorder()]);
        shipped(&mut command, &[("HODO_SERVER", &url), ("HODO_TOKEN", token)]);
        let run = std::fs::read_dir(dir.path()).unwrap().next();
        command.envs(run.map(|run| ("HODO_RUN", run.unwrap().path())));
        String::from_utf8_lossy(&command.output().unwrap().stderr).into_owned()
    };
    // A launcher waits a little for the last of it, which on a slow machine comes later.
    let ships = || {
        let said = record(&good);
        assert!(said.contains("shipped to http") || said.contains("still to be"), "{said}");
        let run = std::fs::read_dir(dir.path()).unwrap().next().unwrap().unwrap().path();
        let is_done = |status: hodo_ship::Status| status.state == hodo_ship::State::Done;
        wait_until("all of it is there", || hodo_ship::status_of(&run).is_some_and(is_done));
        assert!(!stdout(dir.path(), &["ls"]).contains("not all shipped"));
    };
    let does_not = |token: &str, why: &str| {
        let said = record(token);
        assert!(!said.contains("shipped to http"), "{said}");
        let report = || stdout(dir.path(), &["report"]);
        wait_until("it is told", || report().contains("not shipped: ") && report().contains(why));
        assert!(stdout(dir.path(), &["ls"]).contains("not all shipped"));
        said
    };
    ships();
    for (token, why) in [("", "no token"), ("no-token-of-its", "does not know this token")] {
        does_not(token, why);
        ships();
    }
    drop(collector);
    let said = does_not(&good, "cannot reach");
    let pid = said.split_once("`kill ").and_then(|(_, rest)| rest.split_once('`'));
    let pid: i32 = pid.and_then(|(pid, _)| pid.parse().ok()).expect(&said);
    // SAFETY: the shipper waits for its collector, as its launcher has just said.
    unsafe { libc::kill(pid, libc::SIGTERM) };
}

#[test]
fn tls_to_a_collector_without_it_is_told_with_what_to_do() {
    let dir = folder(&samples::training(100));
    let store = Folder::new();
    let collector = Served::first(store.path());
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let ca = dir.path().join("ca.pem");
    std::fs::write(&ca, made.cert.pem()).unwrap();
    let url = collector.url().replace("http://", "https://");
    let args = ["push", ID, "--to", &url, "--ca", ca.to_str().unwrap(), "--give-up-after", "0s"];
    let (code, said) = refused(dir.path(), &args, &[("HODO_TOKEN", "abc")]);
    assert!(code == Some(1) && said.contains("does it want http?"), "{said}");
}

#[test]
fn a_shipper_that_was_killed_is_told_of() {
    let dir = folder(&samples::training(100));
    let run = dir.path().join(ID);
    let status = |state: &str, host: &str, updated_ns: u64| {
        let status = serde_json::json!({
            "schema": "hodo.ship/1", "host": host, "state": state, "updated_ns": updated_ns,
        });
        std::fs::write(run.join("ship-any.json"), status.to_string()).unwrap();
        let report = stdout(dir.path(), &["report", ID]);
        let is_told = report.contains("the shipper is gone; `hodo push` sends the rest");
        let is_listed = stdout(dir.path(), &["ls"]).contains("not all shipped");
        let listed: serde_json::Value =
            serde_json::from_str(&stdout(dir.path(), &["ls", "--json"])).unwrap();
        let is_gone = listed["runs"][0]["shipping"][0]["is_gone"].as_bool();
        assert_eq!((is_told, Some(is_told)), (is_listed, is_gone), "{report}");
        is_told
    };
    let here = hodo_ship::host();
    assert!(status("shipping", &here, 1) && status("waiting", &here, 1));
    assert!(status("shipping", "elsewhere", 1));
    assert!(!status("done", &here, 1));
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    assert!(!status("shipping", "elsewhere", now.as_nanos() as u64), "it tells of itself");
}

#[test]
fn what_a_host_left_behind_is_there_when_all_was_pushed_from_another() {
    let dir = folder(&samples::training(100));
    let run = dir.path().join(ID);
    let write = |host: &str, state: &str, server: &str, all_hosts: bool, updated_ns: u64| {
        let status = serde_json::json!({
            "schema": "hodo.ship/1", "host": host, "state": state, "server": server,
            "all_hosts": all_hosts, "updated_ns": updated_ns,
        });
        std::fs::write(run.join(format!("ship-{host}.json")), status.to_string()).unwrap();
    };
    let is_listed = || stdout(dir.path(), &["ls"]).contains("not all shipped");
    write("dead", "shipping", "https://a", false, 5);
    assert!(is_listed());
    write("login", "done", "https://a", true, 9);
    assert!(!is_listed() && !stdout(dir.path(), &["report", ID]).contains("not shipped"));
    write("login", "done", "https://a", false, 9);
    assert!(is_listed(), "it shipped its own");
    write("login", "done", "https://b", true, 9);
    assert!(is_listed(), "it is at another collector");
    write("login", "done", "https://a", true, 3);
    assert!(is_listed(), "more was recorded since");
    write("login", "stopped", "https://a", true, 9);
    assert!(is_listed(), "it did not come to an end");
}
