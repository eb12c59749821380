//! What `hodo ship` and `hodo push` refuse, and what views say of a run that is not shipped.

use crate::program::{ID, folder, hodo, stdout};
use crate::samples;
use std::path::Path;

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
