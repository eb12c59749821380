//! Which processes of a run still record.

use hodo_format::ship::Part;
use hodo_trace::{ProcessInfo, Recorder};
use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// A recorder that starts has its arena some milliseconds before the lock on it: an arena nobody
/// holds is given so long while its process is there.
const STARTING: Duration = Duration::from_secs(2);
/// A process that started so much later than the recorder was made has only got its number.
const REUSED_NS: u64 = 10_000_000_000;

/// Whether a process may write more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    /// It records.
    Live,
    /// It does not any more.
    Ended,
    /// It is another host's, and nothing that is seen from here says that it has ended.
    Unknown,
}

/// Remembers since when a recorder seems to be gone.
#[derive(Debug)]
pub(crate) struct Lives {
    host: String,
    /// Whether what may run elsewhere is known to have ended.
    others_ended: bool,
    gone: HashMap<Part, Instant>,
}

impl Lives {
    /// Of processes as `host` sees them.
    pub(crate) fn new(host: String, others_ended: bool) -> Lives {
        Lives { host, others_ended, gone: HashMap::new() }
    }

    /// Whether the process in `folder` may write more; `has_ended` when its catalog says it does not.
    pub(crate) fn life(
        &mut self,
        part: &Part,
        folder: &Path,
        info: Option<&ProcessInfo>,
        has_ended: bool,
    ) -> Life {
        let unknown = ProcessInfo::default();
        let recorder = hodo_trace::recorder(folder, info.unwrap_or(&unknown));
        if recorder == Recorder::Running {
            self.gone.remove(part);
            return Life::Live;
        }
        if has_ended {
            return Life::Ended;
        }
        if let Some(info) = info {
            if info.host != self.host {
                return self.life_elsewhere(info, recorder);
            }
            if !is_running(info.pid, info.start_ns) {
                return Life::Ended;
            }
            // In memory, or in a folder that somebody deleted.
            if recorder == Recorder::NoArena {
                return Life::Live;
            }
        }
        let gone = self.gone.entry(part.clone()).or_insert_with(Instant::now);
        if gone.elapsed() < STARTING { Life::Live } else { Life::Ended }
    }

    /// The number of a process means something on its own host; elsewhere only its arena tells.
    fn life_elsewhere(&self, info: &ProcessInfo, recorder: Recorder) -> Life {
        let is_told = recorder == Recorder::Gone || self.others_ended || info.host.is_empty();
        if is_told { Life::Ended } else { Life::Unknown }
    }
}

/// Whether the process `pid` of this host runs, and is the one that was there at `start_ns`.
fn is_running(pid: u32, start_ns: u64) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    // The name, in brackets, may have anything in it.
    let Some((_, rest)) = stat.rsplit_once(") ") else { return false };
    let mut words = rest.split_ascii_whitespace();
    let is_dead = matches!(words.next(), Some("Z" | "X" | "x"));
    let started = words.nth(18).and_then(|ticks| ticks.parse().ok()).and_then(wall_ns);
    !is_dead && started.is_none_or(|started| started <= start_ns.saturating_add(REUSED_NS))
}

/// When a process began that began so many ticks after the system.
fn wall_ns(ticks: u64) -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    let line = stat.lines().find_map(|line| line.strip_prefix("btime "))?;
    let booted: u64 = line.trim().parse().ok()?;
    // SAFETY: sysconf has no preconditions.
    let per_second = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok()?;
    let since = ticks.checked_mul(1_000_000_000 / per_second.max(1))?;
    booted.checked_mul(1_000_000_000)?.checked_add(since)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::now_ns;
    use std::process::Command;

    fn info(pid: u32, start_ns: u64, arena: Option<&str>) -> ProcessInfo {
        let (host, arena) = ("here".to_owned(), arena.map(str::to_owned));
        ProcessInfo { pid, host, start_ns, arena, ..ProcessInfo::default() }
    }

    #[test]
    fn a_process_is_known_by_its_number_and_its_start() {
        let own = std::process::id();
        assert!(is_running(own, now_ns()));
        assert!(!is_running(own, now_ns() - 3600 * 1_000_000_000), "another had this number");
        let mut child = Command::new("true").spawn().unwrap();
        while std::fs::read_to_string(format!("/proc/{}/stat", child.id()))
            .is_ok_and(|s| !s.contains(") Z"))
        {
            std::thread::yield_now();
        }
        assert!(!is_running(child.id(), now_ns()), "one that waits to be buried has ended");
        child.wait().unwrap();
        assert!(!is_running(child.id(), now_ns()));
    }

    #[test]
    fn without_an_arena_the_catalog_and_the_process_tell() {
        let folder = tempfile::tempdir().unwrap();
        let part = Part::parse("p1-0").unwrap();
        let mut lives = Lives::new("here".into(), false);
        let mut live = |info: &ProcessInfo, ended| {
            lives.life(&part, folder.path(), Some(info), ended) == Life::Live
        };
        assert!(live(&info(std::process::id(), now_ns(), None), false), "records in memory");
        assert!(!live(&info(std::process::id(), now_ns(), Some("arena")), true), "shut down");
        assert!(!live(&info(0, now_ns(), Some("arena")), false), "killed");
        std::fs::write(folder.path().join("arena"), [0; 64]).unwrap();
        assert!(live(&info(std::process::id(), now_ns(), Some("arena")), false), "just starting");
        assert!(!live(&info(0, now_ns(), Some("arena")), false), "killed, its arena left behind");
    }

    #[test]
    fn a_process_of_another_host_has_ended_when_something_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let part = Part::parse("p1-0").unwrap();
        let own = info(std::process::id(), now_ns(), Some("arena"));
        let info = ProcessInfo { host: "there".into(), ..own };
        let life = |others_ended, has_ended| {
            let mut lives = Lives::new("here".into(), others_ended);
            lives.life(&part, folder.path(), Some(&info), has_ended)
        };
        assert_eq!(life(false, false), Life::Unknown, "its number is another's here");
        assert_eq!(life(false, true), Life::Ended, "its catalog says so");
        assert_eq!(life(true, false), Life::Ended, "who ships it says so");
        std::fs::write(folder.path().join("arena"), [0; 64]).unwrap();
        assert_eq!(life(false, false), Life::Ended, "nobody holds what it left behind");
    }
}
