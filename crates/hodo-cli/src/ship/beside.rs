//! The shipper that `hodo run` and `hodo monitor` start beside what they do.

use super::{hindrance, words};
use crate::term::number;
use hodo_ship::{Status, status_of};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long the end of a program may wait for the last of it to be shipped.
pub const WAIT: Duration = Duration::from_secs(5);
/// How often is looked whether it is.
const LOOK: Duration = Duration::from_millis(20);

/// A shipper at work. It ends by itself, whatever becomes of this.
pub struct Beside {
    child: Child,
    run: PathBuf,
    hindrance: Option<String>,
}

impl Beside {
    /// Starts one for `run` where HODO_SERVER names a collector; what it says is in the run's folder.
    pub fn start(run: &Path) -> Option<Result<Beside, String>> {
        let server = std::env::var_os("HODO_SERVER").filter(|url| !url.is_empty())?;
        let run = std::path::absolute(run).unwrap_or_else(|_| run.to_owned());
        let hindrance = hindrance(&run);
        let started = std::env::current_exe().and_then(|program| {
            Command::new(program)
                .args(["ship", "--detached", "--while-open"])
                .arg(&run)
                .env("HODO_SERVER", server)
                // Read by its standard input: open as long as this process has its other end.
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
        });
        let started = started.map_err(|error| format!("cannot start `hodo ship`: {error}"));
        Some(started.map(|child| Beside { child, run, hindrance }))
    }

    /// Why nothing will be shipped, where that is known from the start.
    pub fn hindrance(&self) -> Option<String> {
        let why = self.hindrance.as_ref()?;
        Some(format!("this run will not be shipped: {why}"))
    }

    /// Nothing more will come: waits a little for the rest to be there, and says how it is; nothing where
    /// there is no run.
    pub fn finish(mut self, wait: Duration) -> Option<String> {
        drop(self.child.stdin.take());
        let until = Instant::now() + wait;
        let ended = loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < until => std::thread::sleep(LOOK),
                Ok(ended) => break ended.is_some(),
                Err(_) => break true,
            }
        };
        if let (true, Some(why)) = (ended, &self.hindrance) {
            let server = std::env::var("HODO_SERVER").unwrap_or_default();
            hodo_ship::refuse(&self.run, &server, why);
        }
        let pid = (!ended).then(|| self.child.id());
        self.run.is_dir().then(|| told(&self.run, pid, self.hindrance.as_deref()))
    }
}

/// How the shipping of a run is, at the end of the program; `pid` is the shipper's that is still at work.
fn told(run: &Path, pid: Option<u32>, hindrance: Option<&str>) -> String {
    let push = format!("`hodo push {}` sends it", run.display());
    match (status_of(run), pid) {
        (Some(status), _) if hodo_ship::is_all_there(run, &status.server) => {
            format!("shipped to {}", status.server)
        }
        (Some(status), None) => {
            let why = words::trouble(&status).unwrap_or_else(|| "not all of it is shipped".into());
            format!("{why}; {push}")
        }
        (None, None) => {
            let log = || format!("see ship-*.log in {}", run.display());
            format!("not shipped: {}; {push}", hindrance.map_or_else(log, str::to_owned))
        }
        (status, Some(pid)) => {
            format!(
                "{}; that goes on in the background; `kill {pid}` ends it, and then {push}",
                left(status)
            )
        }
    }
}

/// What a shipper that is at work has still to do.
fn left(status: Option<Status>) -> String {
    let Status { backlog_bytes, error, .. } = status.unwrap_or_default();
    let why = error.map_or(String::new(), |why| format!(" ({why})"));
    match backlog_bytes {
        // How much is not looked at yet, or only the last word is missing.
        0 => format!("the last of it is still to be shipped{why}"),
        bytes => format!("{} are still to be shipped{why}", number::bytes(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_never_no_bytes() {
        let status = |backlog_bytes, error: Option<&str>| {
            let error = error.map(str::to_owned);
            Some(Status { backlog_bytes, error, ..Status::default() })
        };
        assert_eq!(left(None), "the last of it is still to be shipped");
        let words = left(status(0, Some("cannot reach http://a")));
        assert_eq!(words, "the last of it is still to be shipped (cannot reach http://a)");
        assert!(left(status(2048, None)).ends_with("B are still to be shipped"));
    }
}
