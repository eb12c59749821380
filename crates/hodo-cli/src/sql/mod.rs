//! `hodo sql`: finds the program `hodo-sql` and becomes it. It is built on its own, because the
//! query engine takes longer to build than all the rest.

#[allow(dead_code, reason = "hodo-sql reads them; here they are parsed and explained")]
use crate::output::{Failure, Outcome};
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = "hodo-sql";
const VARIABLE: &str = "HODO_SQL";

/// Runs `hodo-sql` in place of this process, so that signals and its exit code are its own.
pub fn run() -> Outcome {
    let program = find().ok_or_else(|| Failure::Failed(advice()))?;
    let error = Command::new(&program).args(without_verb(std::env::args_os().skip(1))).exec();
    Err(Failure::Failed(format!("cannot run {}: {error}", program.display())))
}

fn advice() -> String {
    format!(
        "{PROGRAM} is not installed: it is built on its own, since its query engine takes minutes. \
         In hodo's sources, `make install-sql` or `cargo install --path sql` installs it; \
         {VARIABLE} names one that lies elsewhere"
    )
}

/// Beside this program, then on the path, then where the variable says.
fn find() -> Option<PathBuf> {
    let beside = std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.join(PROGRAM)));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join(PROGRAM));
    let told = std::env::var_os(VARIABLE).map(PathBuf::from);
    beside.into_iter().chain(on_path).chain(told).find(|program| is_program(program))
}

fn is_program(file: &Path) -> bool {
    file.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// The arguments with the verb taken out; flags of every verb may stand before it.
fn without_verb(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut kept = Vec::new();
    let (mut is_value, mut found) = (false, false);
    for arg in args {
        if !found && !is_value && arg == "sql" {
            found = true;
            continue;
        }
        is_value = arg == "--dir" || arg == "--color";
        kept.push(arg);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(args: &[&str]) -> Vec<OsString> {
        without_verb(args.iter().map(OsString::from))
    }

    #[test]
    fn only_the_verb_is_taken_out() {
        assert_eq!(passed(&["sql", "select 1"]), ["select 1"]);
        assert_eq!(passed(&["--dir", "sql", "sql", "sql", "-"]), ["--dir", "sql", "sql", "-"]);
        assert_eq!(passed(&["--dir=x", "sql", "--dir", "y"]), ["--dir=x", "--dir", "y"]);
    }
}
