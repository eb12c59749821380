use crate::check::assert_accounted;
use crate::harness::{Scratch, Victim, read};
use hodo_tests::acks::get;
use hodo_trace::{Counts, Process, SpanView};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the plugin as a library of its own, so that its copy of hodo is one too.
fn plugin() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let mut build = Command::new(env!("CARGO"));
    build
        .args(["build", "--quiet", "--locked", "-p", "hodo-test-plugin", "--target-dir"])
        .arg(target);
    if !cfg!(debug_assertions) {
        build.arg("--release");
    }
    assert!(build.current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap().success());
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    target.join(profile).join("libhodo_test_plugin.so")
}

#[test]
fn the_hosts_copy_first_makes_one_tree() {
    one_tree("host", false);
}

#[test]
fn the_plugins_copy_first_makes_one_tree() {
    one_tree("plugin", false);
}

#[test]
fn a_plugin_that_is_unloaded_takes_nothing_with_it() {
    one_tree("plugin", true);
}

fn one_tree(first: &str, unload: bool) {
    let scratch = Scratch::new("rendezvous");
    let running = Victim::new(&scratch, "plugin", 1)
        .arg("library", plugin().display())
        .arg("first", first)
        .arg("unload", u8::from(unload))
        .run();
    let started = if first == "host" { 1 } else { 4 };
    assert_eq!(get(&running.acks.lane(0).values[0]), started, "{first} first");
    let run = read(&scratch.runs());
    assert_eq!(run.processes.len(), 1, "two copies record apart");
    let process = &run.processes[0];
    let spans = 3_000 + u64::from(unload);
    assert_accounted(&run, Counts { spans, marks: 1_000, attrs: 0 }, 0);
    for span in process.span_views() {
        let parent = parent(process, &span);
        match span.name().as_ref() {
            "host" => assert!(parent.is_none()),
            "plugin" => assert_eq!(parent, Some(("host".to_owned(), span.index()))),
            "called" => assert_eq!(parent, Some(("plugin".to_owned(), span.index()))),
            other => panic!("a scope nobody opened: {other}"),
        }
    }
}

/// Name and index of the scope it was opened in.
fn parent(process: &Process, span: &SpanView<'_>) -> Option<(String, Option<i64>)> {
    let up = process.span(process.spans.parent_row(span.row)?);
    Some((up.name().into_owned(), up.index()))
}
