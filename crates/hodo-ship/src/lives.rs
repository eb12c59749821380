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
    /// When processes began that were seen to run, in ticks since the system did.
    began: HashMap<Part, u64>,
}

impl Lives {
    /// Of processes as `host` sees them.
    pub(crate) fn new(host: String, others_ended: bool) -> Lives {
        Lives { host, others_ended, gone: HashMap::new(), began: HashMap::new() }
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
            if !self.is_running(part, info) {
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

    /// Whether the process of `part` runs. One that was seen to is known by when it began, which does not
    /// change with the time of day.
    fn is_running(&mut self, part: &Part, info: &ProcessInfo) -> bool {
        let Some(ticks) = running_since(info.pid) else { return false };
        match self.began.get(part) {
            Some(known) => *known == ticks,
            None if is_of(ticks, info.start_ns) => {
                self.began.insert(part.clone(), ticks);
                true
            }
            None => false,
        }
    }

    /// The number of a process means something on its own host; elsewhere only its arena tells.
    fn life_elsewhere(&self, info: &ProcessInfo, recorder: Recorder) -> Life {
        let is_told = recorder == Recorder::Gone || self.others_ended || info.host.is_empty();
        if is_told { Life::Ended } else { Life::Unknown }
    }
}

/// When the process `pid` of this host began, in ticks since the system did; none where it does not run.
fn running_since(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in brackets, may have anything in it.
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut words = rest.split_ascii_whitespace();
    let is_dead = matches!(words.next(), Some("Z" | "X" | "x"));
    let ticks = words.nth(18).and_then(|ticks| ticks.parse().ok()).unwrap_or(0);
    (!is_dead).then_some(ticks)
}

/// Whether a process that began then is the one that was there at `start_ns`.
fn is_of(ticks: u64, start_ns: u64) -> bool {
    wall_ns(ticks).is_none_or(|started| started <= start_ns.saturating_add(REUSED_NS))
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
        let is_running =
            |pid, start_ns| running_since(pid).is_some_and(|ticks| is_of(ticks, start_ns));
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
    fn a_process_that_was_seen_to_run_does_so_whatever_the_clock_says() {
        let folder = tempfile::tempdir().unwrap();
        let part = Part::parse("p1-0").unwrap();
        let mut lives = Lives::new("here".into(), false);
        let mut life = |pid, start_ns| {
            lives.life(&part, folder.path(), Some(&info(pid, start_ns, None)), false)
        };
        assert_eq!(life(std::process::id(), now_ns()), Life::Live);
        // As if the clock had been set forward since: by it the process began later than it recorded.
        let long_ago = now_ns() - 3600 * 1_000_000_000;
        assert_eq!(life(std::process::id(), long_ago), Life::Live);
        assert_eq!(life(1, u64::MAX), Life::Ended, "another has its number now");
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
