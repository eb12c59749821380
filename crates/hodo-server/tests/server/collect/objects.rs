//! Packed runs in a real store of objects, which `make test-store` starts: `HODO_TEST_STORE` is its
//! address, `AWS_*` say how it is reached.

use super::packing::{is_packed, report, training, wait_for};
use super::{Collected, json};
use crate::client::Folder;
use hodo_server::CollectorOptions;
use std::path::Path;

/// A place of its own in the store.
fn place(name: &str) -> String {
    let url = std::env::var("HODO_TEST_STORE").expect("HODO_TEST_STORE is the store's address");
    format!("{url}/{name}-{}", std::process::id())
}

fn collected(dir: &Path, store: &str, max_bytes: Option<u64>) -> Collected {
    let mut options = CollectorOptions::local(dir);
    (options.store, options.max_bytes) = (Some(store.to_owned()), max_bytes);
    Collected::with(&options)
}

fn is_stored(dir: &Path, run: &str) -> bool {
    let note = std::fs::read_to_string(dir.join("notes").join(run)).unwrap_or_default();
    note.contains(r#""is_stored":true"#)
}

fn runs(collected: &Collected) -> usize {
    json(&collected.get("/api/runs"))["runs"].as_array().unwrap().len()
}

#[test]
#[ignore = "takes a store of objects: make test-store"]
fn a_run_goes_to_objects_makes_room_comes_back_and_is_found_by_others() {
    let (folder, store) = (Folder::new(), place("whole"));
    let before = {
        let collected = collected(folder.path(), &store, Some(450_000));
        collected.ship(&training(), "run");
        let before = report(&collected, "run");
        collected.beat("run", r#"{"host":"a","done":true}"#);
        wait_for("storing", || is_stored(folder.path(), "run"));
        assert!(is_packed(&collected, "run"));
        let file = "other/files/p1-a/spool-000001.hodo";
        wait_for("room", || collected.append(file, 0, &vec![7; 390_000]).status == 200);
        assert!(!collected.folder("run").join("tables/spans").exists());
        assert_eq!(report(&collected, "run"), before, "it comes back");
        before
    };
    let other = Folder::new();
    {
        let collected = collected(other.path(), &store, None);
        assert_eq!(runs(&collected), 1);
        assert_eq!(report(&collected, "run"), before);
        let removed = collected.ask(("DELETE", "/api/runs/run"), &collected.admin, &[], b"");
        assert_eq!(removed.status, 200, "{}", removed.text());
        assert!(!other.path().join("notes/run").exists(), "it is gone there too");
    }
    assert_eq!(runs(&collected(Folder::new().path(), &store, None)), 0);
}

#[test]
#[ignore = "takes a store of objects: make test-store"]
fn objects_that_are_not_reached_keep_no_collector_from_starting() {
    let folder = Folder::new();
    let collected = collected(folder.path(), "s3://no-such-bucket/runs", None);
    assert_eq!(runs(&collected), 0);
    collected.ship(&training(), "run");
    assert_eq!(runs(&collected), 1);
}
