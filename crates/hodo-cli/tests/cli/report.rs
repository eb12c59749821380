//! The report as text and as JSON.

use crate::made::{self, Folder};
use crate::program::{ID, folder, same_as, stdout};
use crate::samples;
use serde_json::Value;

#[test]
fn a_training_run_in_a_pipe() {
    let dir = folder(&samples::training(100));
    same_as(&stdout(dir.path(), &["report"]), "training.txt");
}

#[test]
fn narrow_and_wide() {
    let dir = folder(&samples::training(100));
    for width in ["40", "60", "100"] {
        let text = stdout(dir.path(), &["report", "--width", width]);
        same_as(&text, &format!("training-{width}.txt"));
    }
}

#[test]
fn scopes_that_cross_or_never_closed() {
    let dir = folder(&samples::crossing(200));
    same_as(&stdout(dir.path(), &["report"]), "crossing.txt");
}

#[test]
fn names_cannot_drive_the_terminal() {
    let dir = folder(&samples::hostile(300));
    let text = stdout(dir.path(), &["report"]);
    same_as(&text, "hostile.txt");
    for args in [&["report", "--color", "always"][..], &["ls"], &["verify"]] {
        let text = stdout(dir.path(), args);
        let bare = text.replace("\x1b[0m", "");
        let colours = bare.split('\x1b').skip(1);
        let is_style =
            |rest: &str| rest.starts_with('[') && rest[1..].find('m').is_some_and(|at| at < 6);
        assert!(colours.clone().all(is_style), "{args:?}: {:?}", colours.collect::<Vec<_>>());
        assert!(!text.contains(['\x07', '\u{202e}', '\0', '\r']), "{args:?}");
    }
}

#[test]
fn filters_sorting_and_limits() {
    let dir = folder(&samples::training(100));
    let tree = |args: &[&str]| {
        let text = stdout(dir.path(), &[&["report", "--top", "0"], args].concat());
        let mut sections = text.split("\n\n").skip(1);
        sections.find(|s| !s.starts_with("Verdict")).unwrap().to_owned()
    };
    let mut all = String::new();
    for args in [
        &["--depth", "2"][..],
        &["--min", "50ms"],
        &["--min", "30%"],
        &["--name", "forward"],
        &["--name", "for*"],
        &["--where", "variant=beam"],
        &["--where", "variant!=beam"],
        &["--where", "size>=35", "--where", "variant=greedy"],
        &["--where", "size<34"],
        &["--where", "index=4", "--name", "batch"],
        &["--name", "nothing"],
        &["--sort", "name"],
        &["--sort", "start"],
        &["--sort", "count", "--depth", "1"],
    ] {
        all += &format!("$ hodo report {}\n{}\n\n", args.join(" "), tree(args).trim_end());
    }
    same_as(&all, "filters.txt");
}

#[test]
fn a_tree_nobody_would_read_is_cut_to_its_largest_paths() {
    let dir = folder(&samples::many_names(100));
    let text = stdout(dir.path(), &["report"]);
    assert!(text.contains("600 paths not shown (the smallest; --min 0 shows all)"), "{text}");
    assert!(text.contains("\nrequest 1000 ") && !text.contains("\nrequest 600 "));
    assert!(stdout(dir.path(), &["report", "--min", "0"]).contains("\nrequest 1 "));
    let document: Value = serde_json::from_str(&stdout(dir.path(), &["report", "--json"])).unwrap();
    assert_eq!(document["nodes"].as_array().unwrap().len(), 1000);
}

#[test]
fn losses_are_always_said() {
    let mut run = samples::training(100);
    run.lost[0].spans = 40;
    run.lost[1].marks = 5;
    let dir = folder(&run);
    let text = stdout(dir.path(), &["report"]);
    let section = text.split("Recording\n").nth(1).unwrap();
    let lost = "  ✗ 45 records lost: 110 produced = 65 stored + 40 lost (ring full: disk or pump too slow) \
                + 5 lost (oldest removed to stay under the size cap)\n";
    assert!(section.starts_with(lost), "{section}");
}

#[test]
fn ranks_and_processes() {
    let dir = Folder::new();
    let (mut first, mut second) = (samples::training(100), samples::training(200));
    (first.rank, second.rank) = (Some(0), Some(1));
    second.ended = false;
    made::write(dir.path(), ID, &[&first, &second]);
    let text = stdout(dir.path(), &["report"]);
    assert!(text.contains("2 processes · ranks 0-1 · 4 threads · 84 scopes"), "{text}");
    assert!(!text.starts_with("train  finished"), "{text}");
    let one = stdout(dir.path(), &["report", "--rank", "1"]);
    assert!(one.contains("84 scopes · 42 of them shown"), "{one}");
}

#[test]
fn json_has_a_schema_sorted_keys_and_whole_numbers() {
    let dir = folder(&samples::training(100));
    let text = stdout(dir.path(), &["report", "--json"]);
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["schema"], "hodo.report/1");
    // serde_json keeps objects sorted, so printing again shows whether the program sorted them.
    assert_eq!(serde_json::to_string_pretty(&document).unwrap() + "\n", text);
    let node = |path: &[&str]| {
        let nodes = document["nodes"].as_array().unwrap();
        nodes.iter().find(|n| n["path"] == serde_json::json!(path)).unwrap().clone()
    };
    let backward = node(&["train", "epoch", "batch", "backward"]);
    assert_eq!(backward["count"], 6);
    assert_eq!(backward["failed"], 1);
    assert_eq!(backward["total_ns"], 78_000_000);
    assert_eq!(backward["durations"]["p95_ns"], 13_000_000);
    assert_eq!(node(&["matmul"])["bench"]["iterations"], 5);
    assert_eq!(document["records"]["produced_records"], 65);
    let keys = |v: &Value| v.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    same_as(&format!("{}\n\n{}\n", keys(&document), keys(&backward)), "report-keys.txt");
}

#[test]
fn json_of_every_reading_verb_is_one_document() {
    let dir = folder(&samples::hostile(300));
    for (verb, schema) in [
        ("report", "hodo.report/1"),
        ("ls", "hodo.ls/1"),
        ("verify", "hodo.verify/1"),
        ("doctor", "hodo.doctor/1"),
    ] {
        let document: Value = serde_json::from_str(&stdout(dir.path(), &[verb, "--json"])).unwrap();
        assert_eq!(document["schema"], schema);
    }
}
