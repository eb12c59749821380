//! How far a shipper has come, for whoever asks: a small file in the run's folder.

use crate::lock;
use hodo_record::binding::{clean, host};
use hodo_trace::pid_space;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Names the layout of the file.
const SCHEMA: &str = "hodo.ship/1";
/// How often it is written while nothing changes but numbers.
const INTERVAL: Duration = Duration::from_secs(1);

/// Between letting go of its lock and its last word a shipper takes a moment.
const LAST_WORD: Duration = Duration::from_secs(2);
/// A shipper of another host or container that has not written for so long is gone: none waits longer for anything.
const SILENT: Duration = Duration::from_secs(600);

/// What a shipper does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The collector takes what there is.
    #[default]
    Shipping,
    /// It does not at the moment; it is asked again.
    Waiting,
    /// Everything is there, and the program has ended.
    Done,
    /// It ended before that: asked to, or for a reason that waiting does not mend.
    Stopped,
}

/// How far a shipper has come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// `hodo.ship/1`.
    pub schema: String,
    /// The collector's address.
    pub server: String,
    /// The host whose files are shipped.
    pub host: String,
    /// The shipper.
    pub pid: u32,
    /// Where its number means it.
    pub pid_space: String,
    /// Whether it ships what all hosts wrote.
    pub all_hosts: bool,
    /// What it does.
    pub state: State,
    /// Bytes that the collector holds for good.
    pub acknowledged_bytes: u64,
    /// Bytes that it does not hold yet.
    pub backlog_bytes: u64,
    /// Bytes that the recorder removed at its size cap before they were shipped.
    pub removed_bytes: u64,
    /// Files that the collector refuses.
    pub refused_files: usize,
    /// What went wrong last, if it still does.
    pub error: Option<String>,
    /// Since when, nanoseconds since 1970.
    pub since_ns: Option<u64>,
    /// When this was written, nanoseconds since 1970.
    pub updated_ns: u64,
}

/// What the shippers of a run say of themselves, one for each host.
pub fn statuses(run: &Path) -> Vec<Status> {
    let Ok(entries) = std::fs::read_dir(run) else { return Vec::new() };
    let is_status = |name: &str| name.starts_with("ship-") && name.ends_with(".json");
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok())
        .filter(|entry| entry.file_name().to_str().is_some_and(is_status))
        .map(|entry| entry.path())
        .collect();
    files.sort();
    let read = |path: PathBuf| serde_json::from_slice(&std::fs::read(path).ok()?).ok();
    files.into_iter().filter_map(read).filter(|status: &Status| status.schema == SCHEMA).collect()
}

/// Whether the shipper that wrote `status` ended without a last word: it was killed, or its machine was.
pub fn is_gone(run: &Path, status: &Status) -> bool {
    is_gone_at(status, now_ns(), || lock::is_held(run, &file_name("lock")))
}

fn is_gone_at(status: &Status, now_ns: u64, is_held: impl FnOnce() -> Option<bool>) -> bool {
    if !matches!(status.state, State::Shipping | State::Waiting) {
        return false;
    }
    // Locks of another container are none that can be seen.
    let is_ours = status.host == host() && status.pid_space == pid_space();
    match is_ours.then(is_held).flatten() {
        // A clock that was set back says no less than one that goes on.
        Some(is_held) => {
            let age = Duration::from_nanos(now_ns.abs_diff(status.updated_ns));
            age > LAST_WORD && !is_held
        }
        None => Duration::from_nanos(now_ns.saturating_sub(status.updated_ns)) > SILENT,
    }
}

/// What the shipper of this host says.
pub fn status_of(run: &Path) -> Option<Status> {
    let host = host();
    statuses(run).into_iter().find(|status| status.host == host)
}

/// The log of this host's shipper, where it has no terminal.
pub fn log_file() -> String {
    file_name("log")
}

/// The name of a file of this host's shipper: `ship-HOST.json`, `ship-HOST.lock`.
pub(crate) fn file_name(ending: &str) -> String {
    format!("ship-{}.{ending}", clean(&host()))
}

/// Now, as the file has it.
pub(crate) fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// The file, written when there is news.
#[derive(Debug)]
pub(crate) struct StatusFile {
    path: PathBuf,
    part: PathBuf,
    written: Option<(Instant, State, bool)>,
}

impl StatusFile {
    pub(crate) fn new(run: &Path) -> StatusFile {
        let own = format!("json.{}.part", std::process::id());
        StatusFile {
            path: run.join(file_name("json")),
            part: run.join(file_name(&own)),
            written: None,
        }
    }

    /// Writes `status` if it is news. Where it cannot be written, shipping goes on.
    pub(crate) fn tell(&mut self, status: &mut Status) {
        let (state, trouble) = (status.state, status.error.is_some());
        let fresh = |&(at, was, had): &(Instant, State, bool)| {
            (was, had) == (state, trouble) && at.elapsed() < INTERVAL
        };
        if self.written.as_ref().is_some_and(fresh) {
            return;
        }
        self.written = Some((Instant::now(), state, trouble));
        status.schema = SCHEMA.to_owned();
        status.updated_ns = now_ns();
        let Ok(text) = serde_json::to_string_pretty(status) else { return };
        let written = std::fs::write(&self.part, text);
        if written.and_then(|()| std::fs::rename(&self.part, &self.path)).is_err() {
            let _ = std::fs::remove_file(&self.part);
        }
    }

    /// Writes it in any case.
    pub(crate) fn tell_now(&mut self, status: &mut Status) {
        self.written = None;
        self.tell(status);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shipper_without_a_last_word_is_gone_when_nobody_has_its_lock() {
        let run = tempfile::tempdir().unwrap();
        let long_ago = now_ns() - 3600 * 1_000_000_000;
        let now = now_ns();
        let one = |host: &str, pid_space: &str, state, updated_ns| {
            let (host, pid_space) = (host.into(), pid_space.into());
            Status { host, pid_space, state, updated_ns, ..Status::default() }
        };
        let here = host();
        let held = || lock::is_held(run.path(), &file_name("lock"));
        let of = |host: &str, state, updated_ns| {
            is_gone_at(&one(host, &pid_space(), state, updated_ns), now, held)
        };
        for state in [State::Shipping, State::Waiting] {
            assert!(of(&here, state, long_ago));
            assert!(of(&here, state, now + 3600 * 1_000_000_000), "the clock was set back");
            assert!(!of(&here, state, now), "it may be about to say its last");
            for strange in
                [one("elsewhere", &pid_space(), state, 0), one(&here, "pid:[1]", state, 0)]
            {
                let at =
                    |updated_ns| is_gone_at(&Status { updated_ns, ..strange.clone() }, now, held);
                assert!(at(long_ago));
                assert!(!at(now - 60 * 1_000_000_000), "it may wait");
            }
            let unknown =
                |updated_ns| is_gone_at(&one(&here, &pid_space(), state, updated_ns), now, || None);
            assert!(unknown(long_ago));
            assert!(!unknown(now - 60 * 1_000_000_000), "who has the lock is not told here");
        }
        assert!(!of(&here, State::Done, long_ago) && !of("elsewhere", State::Stopped, long_ago));
        let lock = lock::take(run.path(), &file_name("lock")).unwrap();
        assert!(!of(&here, State::Waiting, long_ago), "whoever has the lock is at work");
        drop(lock);
        assert!(of(&here, State::Waiting, long_ago));
    }

    #[test]
    fn what_is_written_is_read_and_other_files_are_not() {
        let run = tempfile::tempdir().unwrap();
        std::fs::write(run.path().join("ship-x.json"), "{}").unwrap();
        std::fs::write(run.path().join("ship-y.json"), "not json").unwrap();
        let mut file = StatusFile::new(run.path());
        let mut status = Status { host: host(), backlog_bytes: 7, ..Status::default() };
        file.tell(&mut status);
        assert_eq!(status_of(run.path()), Some(status.clone()));
        assert_eq!(statuses(run.path()).len(), 1);
        status.backlog_bytes = 8;
        file.tell(&mut status);
        assert_eq!(status_of(run.path()).unwrap().backlog_bytes, 7, "numbers alone can wait");
        status.state = State::Waiting;
        file.tell(&mut status);
        assert_eq!(status_of(run.path()).unwrap().state, State::Waiting);
        let left = std::fs::read_dir(run.path()).unwrap().count();
        assert_eq!(left, 3, "nothing unfinished stays");
    }
}
