//! Tables that are made of a recorded run are kept with it, as long as it stays the same.

use crate::made::{self, Folder};
use crate::program::{ID, folder, hodo_sql, value};
use crate::samples;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const COUNT: &str = "select count(*) from spans";

/// The kept tables of the run: one folder named by what the run was.
fn kept(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir.join(ID).join(".tables")).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

#[test]
fn the_second_query_reads_what_the_first_made() {
    let dir = folder(&samples::training(100));
    assert_eq!(value(dir.path(), &[COUNT]), 42);
    let [first] = &kept(dir.path())[..] else { panic!("{:?}", kept(dir.path())) };
    let made = fs::metadata(first).unwrap().modified().unwrap();
    assert_eq!(value(dir.path(), &[COUNT]), 42);
    assert_eq!(fs::metadata(first).unwrap().modified().unwrap(), made);
}

#[test]
fn tables_that_lost_a_file_are_made_again() {
    let dir = folder(&samples::training(100));
    assert_eq!(value(dir.path(), &[COUNT]), 42);
    let [first] = &kept(dir.path())[..] else { panic!("{:?}", kept(dir.path())) };
    fs::remove_dir_all(first.join("tables/spans")).unwrap();
    assert_eq!(value(dir.path(), &[COUNT]), 42);
}

#[test]
fn a_run_that_changed_is_read_anew() {
    let dir = folder(&samples::training(100));
    assert_eq!(value(dir.path(), &[COUNT]), 42);
    let before = kept(dir.path());
    made::write(dir.path(), ID, &[&samples::training(100), &samples::many_names(200)]);
    assert_eq!(value(dir.path(), &[COUNT]), 1042);
    let after = kept(dir.path());
    assert_eq!(after.len(), 1);
    assert_ne!(after, before);
}

#[test]
fn what_a_killed_program_left_is_cleared() {
    let dir = folder(&samples::training(100));
    let left = dir.path().join(ID).join(".tables/part/tables");
    fs::create_dir_all(&left).unwrap();
    assert_eq!(value(dir.path(), &[COUNT]), 42);
    assert!(!left.exists());
}

#[test]
fn many_at_once_agree() {
    let dir = folder(&samples::training(100));
    let children: Vec<_> = (0..4)
        .map(|_| {
            let mut command = hodo_sql(dir.path(), &[COUNT, "--format", "csv"]);
            command.stdout(std::process::Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "count(*)\r\n42\r\n");
    }
    assert_eq!(kept(dir.path()).len(), 1);
}

/// A run whose folder cannot be written. Root writes anywhere, so a file stands where the folder of
/// the tables would.
#[test]
fn a_run_that_cannot_be_written_is_asked_all_the_same() {
    let dir = folder(&samples::training(100));
    let run = dir.path().join(ID);
    fs::write(run.join(".tables"), "").unwrap();
    fs::set_permissions(&run, fs::Permissions::from_mode(0o555)).unwrap();
    let scratch = Folder::new();
    let mut command = hodo_sql(dir.path(), &[COUNT, "--format", "csv"]);
    let output = command.env("TMPDIR", scratch.path()).output().unwrap();
    fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "count(*)\r\n42\r\n");
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0, "something was left behind");
}
