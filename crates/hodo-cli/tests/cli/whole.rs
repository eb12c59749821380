//! `hodo verify`, `hodo ls` and `hodo doctor`.

use crate::made::Folder;
use crate::program::{ID, folder, hodo, run, same_as, stdout};
use crate::samples;
use serde_json::Value;

#[test]
fn a_whole_run_verifies() {
    let dir = folder(&samples::training(100));
    same_as(&stdout(dir.path(), &["verify"]), "verify.txt");
}

#[test]
fn counted_losses_verify_because_they_are_explained() {
    let mut made = samples::training(100);
    made.lost[0].spans = 7;
    let dir = folder(&made);
    let text = stdout(dir.path(), &["verify"]);
    assert!(text.contains("72 produced = 65 stored + 7 lost"), "{text}");
    let verdict =
        "whole, but 7 spans were lost while recording: ring full: disk or pump too slow\n";
    assert!(text.ends_with(verdict), "{text}");
}

#[test]
fn damage_fails_verification_and_is_located() {
    let dir = folder(&samples::training(100));
    let process = std::fs::read_dir(dir.path().join(ID)).unwrap().flatten();
    let process = process.map(|e| e.path()).find(|p| p.is_dir()).unwrap();
    let spool = process.join("spool-000001.hodo");
    let mut bytes = std::fs::read(&spool).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    std::fs::write(&spool, bytes).unwrap();
    let output = run(dir.path(), &["verify"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("spool-000001.hodo at byte"), "{text}");
    let report = stdout(dir.path(), &["report"]);
    assert!(report.contains("✗ damaged:"), "{report}");
    let document: Value =
        serde_json::from_slice(&run(dir.path(), &["verify", "--json"]).stdout).unwrap();
    assert_eq!(document["whole"], false);
}

#[test]
fn ls_lists_the_runs_newest_first() {
    let dir = folder(&samples::training(100));
    crate::made::write(dir.path(), "20261115-201501-train-bbbbbb", &[&samples::crossing(200)]);
    let text = stdout(dir.path(), &["ls"]);
    // The size depends on the compressor's version.
    let rows: Vec<String> = text
        .lines()
        .map(|l| l.rsplit_once("  ").map_or(l, |(rest, _)| rest).trim_end().to_owned())
        .collect();
    same_as(&(rows.join("\n") + "\n"), "ls.txt");
    let empty = Folder::new();
    let output = run(empty.path(), &["ls"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stderr).contains("hodo demo"));
}

#[test]
fn a_run_without_run_json_is_dated_by_its_processes_or_not_at_all() {
    let dir = folder(&samples::training(100));
    std::fs::remove_file(dir.path().join(ID).join("run.json")).unwrap();
    let date = "2026-11-15 20:15:00";
    assert!(stdout(dir.path(), &["ls"]).contains(date));
    assert!(stdout(dir.path(), &["report"]).contains(date));
    let mut undated = samples::training(100);
    undated.has_anchors = false;
    let dir = folder(&undated);
    std::fs::remove_file(dir.path().join(ID).join("run.json")).unwrap();
    let process = crate::made::process_folder(&dir.path().join(ID)).join("process.json");
    std::fs::write(process, "{}").unwrap();
    let (listed, report) = (stdout(dir.path(), &["ls"]), stdout(dir.path(), &["report"]));
    assert!(listed.contains("unknown") && report.contains("start unknown"), "{listed}{report}");
    assert!(!listed.contains("1970") && !report.contains("1970"), "{listed}{report}");
}

#[test]
fn report_and_ls_agree_on_how_long_a_run_was() {
    let mut made = crate::made::Made::new(100);
    made.span(crate::made::Scope::new("late", hodo_format::record::SpanId::NONE, 40, 90));
    let dir = folder(&made);
    let document =
        |verb| -> Value { serde_json::from_str(&stdout(dir.path(), &[verb, "--json"])).unwrap() };
    let (report, listed) = (document("report"), document("ls")["runs"][0].clone());
    assert_eq!(report["wall_ns"], 90, "from the start of the recorder");
    for key in ["wall_ns", "start_ns", "state", "spans"] {
        assert_eq!(report[key], listed[key], "{key}");
    }
}

#[test]
fn doctor_names_every_check_and_fails_on_a_bad_one() {
    let dir = Folder::new();
    let document: Value = serde_json::from_str(&stdout(dir.path(), &["doctor", "--json"])).unwrap();
    let names: Vec<&str> = document["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["name"].as_str().unwrap())
        // Said only where there is a GPU, or a tool in the way.
        .filter(|name| !["CUPTI", "GPU sampling", "injection"].contains(name))
        .collect();
    let expected = "recording, clock, cpu time, rseq, perf events, folder, filesystem, free space, file size, memory, \
                    GPU, environment, library, runs";
    assert_eq!(names.join(", "), expected);
    let file = dir.path().join("file");
    std::fs::write(&file, "in the way").unwrap();
    let output = run(dir.path(), &["doctor", "--dir", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("✗ folder"));
}

#[test]
fn doctor_says_why_nothing_would_be_shipped() {
    let dir = Folder::new();
    let empty = dir.path().join("empty.pem");
    std::fs::write(&empty, "").unwrap();
    let doctor = |settings: &[(&str, &str)]| {
        let mut command = without_variables(dir.path(), &["doctor"]);
        command.env("HODO_SERVER", "https://runs.example").env("COLUMNS", "400");
        let output = command.envs(settings.iter().copied()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let token = ("HODO_TOKEN", "0123456789");
    for (settings, why) in [
        ([("HODO_SERVER", "http://collector:7430"), token], "--plain-http"),
        ([("HODO_CA", ""), ("HODO_TOKEN", "")], "no token: set HODO_TOKEN"),
        ([("HODO_CA", empty.to_str().unwrap()), token], "empty.pem"),
        ([("HODO_TOKEN_FILE", dir.path().to_str().unwrap()), ("HODO_CA", "")], "cannot read"),
    ] {
        let said = doctor(&settings);
        assert!(said.contains(why) && said.contains("nothing is shipped"), "{why}: {said}");
    }
    for settings in [[token, ("HODO_CA", "")], [token, ("HODO_PLAIN_HTTP", "")]] {
        let said = doctor(&settings);
        assert!(!said.contains("nothing is shipped"), "{said}");
    }
    let said = doctor(&[("HODO_FOO", "1"), ("HODO_TOKEN", "")]);
    assert!(said.contains("nothing reads HODO_FOO") && said.contains("no token"), "{said}");
    let said = doctor(&[("HODO_SERVER", "runs.example:7430"), token]);
    assert_eq!(said.matches("not an address").count(), 1, "{said}");
}

/// `hodo` with none of its variables: some are of the tests themselves.
fn without_variables(dir: &std::path::Path, args: &[&str]) -> std::process::Command {
    let mut command = hodo(dir, args);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("HODO") {
            command.env_remove(name);
        }
    }
    command.env("HODO_DIR", dir);
    command
}

#[test]
fn doctor_says_when_runs_would_stay_in_memory_or_nothing_is_recorded() {
    let dir = Folder::new();
    let output = run(dir.path(), &["doctor", "--dir", "/proc/no-such-folder"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("✗ folder") && text.contains("in memory"), "{text}");
    let off = hodo(dir.path(), &["doctor"]).env("HODO", "0").output().unwrap();
    let text = String::from_utf8(off.stdout).unwrap();
    assert!(text.contains("! recording     not tried: HODO=0"), "{text}");
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().collect();
    assert!(left.is_empty(), "the trial left {left:?}");
}

#[test]
fn doctor_names_variables_that_make_no_sense_as_the_recorder_does() {
    let dir = Folder::new();
    let mut command = hodo(dir.path(), &["doctor", "--json"]);
    let bad = [("HODO_MAX_DEPTH", "abc"), ("HODO_MEMORY", "lots"), ("HODO_CPU", "fast")];
    let output = command.envs(bad).env("HODO_FOO", "1").output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let checks = document["checks"].as_array().unwrap();
    let check = checks.iter().find(|c| c["name"] == "environment").unwrap();
    let (todo, recorder) =
        (check["todo"].as_str().unwrap(), String::from_utf8_lossy(&output.stderr));
    for (name, value) in bad {
        let ignored = format!("{name}={value} is ignored");
        assert!(todo.contains(&ignored) && recorder.contains(&ignored), "{todo}\n{recorder}");
    }
    assert!(todo.contains("nothing reads HODO_FOO; the variables are HODO, HODO_APP"), "{todo}");
}

#[test]
fn doctor_shows_no_token_and_knows_what_shipping_reads() {
    let dir = Folder::new();
    let token = "hodo_fcea0123456789abcdef0123456789abcdef";
    for args in [&["doctor"][..], &["doctor", "--json"]] {
        let mut command = without_variables(dir.path(), args);
        command.env("HODO_SERVER", "https://runs.example:7430").env("HODO_TOKEN", token);
        command.env("HODO_TOKEN_FILE", "/dev/null").env("HODO_PLAIN_HTTP", "1");
        let output = command.env("HODO_TELEMETRY", "1s").env("COLUMNS", "400").output().unwrap();
        let said =
            [output.stdout, output.stderr].map(|said| String::from_utf8(said).unwrap()).concat();
        assert!(said.contains("HODO_TOKEN=hodo_fcea…"), "{said}");
        assert!(!said.contains("0123456789") && !said.contains("nothing reads"), "{said}");
    }
}
