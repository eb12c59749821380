//! The shipper that `hodo run` and `hodo monitor` start beside what they do.

use super::words;
use crate::term::number;
use hodo_ship::{State, status_of};
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
}

impl Beside {
    /// Starts one for `run` where HODO_SERVER names a collector; what it says is in the run's folder.
    pub fn start(run: &Path) -> Option<Result<Beside, String>> {
        let server = std::env::var_os("HODO_SERVER").filter(|url| !url.is_empty())?;
        let run = std::path::absolute(run).unwrap_or_else(|_| run.to_owned());
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
        Some(started.map(|child| Beside { child, run }))
    }

    /// Nothing more will come: waits a little for the rest to be there, and says how it is.
    pub fn finish(mut self, wait: Duration) -> String {
        drop(self.child.stdin.take());
        let until = Instant::now() + wait;
        let ended = loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < until => std::thread::sleep(LOOK),
                Ok(ended) => break ended.is_some(),
                Err(_) => break true,
            }
        };
        told(&self.run, ended)
    }
}

/// How the shipping of a run is, at the end of the program.
fn told(run: &Path, ended: bool) -> String {
    let push = format!("`hodo push {}` sends it", run.display());
    let Some(status) = status_of(run) else {
        return format!("not shipped: see ship-*.log in {}; {push}", run.display());
    };
    match (status.state, ended) {
        (State::Done, _) => format!("shipped to {}", status.server),
        (_, true) => {
            let why = words::trouble(&status).unwrap_or_else(|| "not all of it is shipped".into());
            format!("{why}; {push}")
        }
        (_, false) => {
            let left = number::bytes(status.backlog_bytes);
            let why = status.error.map_or(String::new(), |why| format!(" ({why})"));
            format!(
                "{left} are still to be shipped{why}; that goes on in the background, or {push}"
            )
        }
    }
}
