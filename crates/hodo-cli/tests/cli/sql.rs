//! `hodo sql` finds `hodo-sql` and becomes it; what that does is tested where it is built.

use crate::made::Folder;
use crate::program::hodo;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

/// A stand-in that prints its arguments and ends with 42.
fn stand_in(file: &Path) {
    std::fs::write(file, "#!/bin/sh\nprintf '%s\\n' \"$@\"\nexit 42\n").unwrap();
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn run(dir: &Folder, path: &Path, told: Option<&Path>, args: &[&str]) -> Output {
    let mut command = hodo(dir.path(), args);
    command.env("PATH", path);
    if let Some(told) = told {
        command.env("HODO_SQL", told);
    }
    command.output().unwrap()
}

#[test]
fn arguments_and_exit_code_are_passed_on() {
    let dir = Folder::new();
    stand_in(&dir.path().join("hodo-sql"));
    let args = ["--dir", "sql", "sql", "a run", "select 1", "--format", "csv"];
    let output = run(&dir, dir.path(), None, &args);
    assert_eq!(output.status.code(), Some(42));
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(printed, "--dir\nsql\na run\nselect 1\n--format\ncsv\n");
}

#[test]
fn the_variable_names_one_that_is_elsewhere() {
    let dir = Folder::new();
    let elsewhere = dir.path().join("another");
    stand_in(&elsewhere);
    let output = run(&dir, Path::new("/nowhere"), Some(&elsewhere), &["sql", "select 1"]);
    assert_eq!(output.status.code(), Some(42));
}

#[test]
fn without_it_there_is_advice() {
    let dir = Folder::new();
    // Neither a folder nor a file that cannot be run is a program.
    std::fs::create_dir(dir.path().join("hodo-sql")).unwrap();
    let output = run(&dir, dir.path(), Some(Path::new("/etc/passwd")), &["sql", "select 1"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("make install-sql") && said.contains("HODO_SQL"), "{said}");
}

#[test]
fn a_wrong_flag_is_told_before_the_program_is_looked_for() {
    let dir = Folder::new();
    let output = run(&dir, Path::new("/nowhere"), None, &["sql", "--fromat", "csv", "select 1"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("--format"));
}
