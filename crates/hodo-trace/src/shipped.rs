//! What shippers told a collector of a run's processes: `shipped.json` in the run's folder there.

use crate::ProcessState;
use hodo_format::ship::{BEAT_SECONDS, SHIPPED_FILE};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Beats that may be missed before a host counts as silent.
const MISSED_BEATS: u64 = 5;
/// A host that told nothing for so long is silent.
pub const SILENT_AFTER: Duration = Duration::from_secs(BEAT_SECONDS * MISSED_BEATS);

/// What was told of a run, by the host that told it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Shipped {
    /// Version of this file.
    pub format: u32,
    /// Nanoseconds since 1970 when the first of it came, by the collector's clock.
    pub begun_ns: u64,
    /// By the name of the host.
    pub hosts: BTreeMap<String, ShippedHost>,
}

/// What one host told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ShippedHost {
    /// Nanoseconds since 1970 when it was heard last, by the collector's clock.
    pub heard_ns: u64,
    /// Whether all that it had was shipped then.
    pub done: bool,
    /// By the name of its folder in the run: whether the process was running.
    pub processes: BTreeMap<String, bool>,
}

/// How a process of a shipped run is, as far as shippers say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// It runs, and its host was heard a moment ago.
    Live,
    /// It has ended, and more of its files may still come.
    Ended,
    /// It has ended and all that there was of it is here.
    Complete,
    /// It ran when its host was heard last, and that was then, in nanoseconds since 1970.
    Silent(u64),
}

impl Told {
    /// Whether more of its files may come.
    pub(crate) fn is_incomplete(self) -> bool {
        self != Told::Complete
    }

    /// The state of a process whose files do not say that it shut its recorder down.
    pub(crate) fn state(self) -> ProcessState {
        match self {
            Told::Live => ProcessState::Live,
            Told::Ended | Told::Complete => ProcessState::Ended,
            Told::Silent(_) => ProcessState::Silent,
        }
    }
}

/// How the process in `folder` is, if its run was shipped here.
pub(crate) fn told(folder: &Path) -> Option<Told> {
    let name = folder.file_name()?.to_str()?;
    Some(newest(folder.parent()?)?.told(name))
}

/// What was read last, and of which file: a run of many processes is asked about each of them.
static READ: Mutex<Option<(PathBuf, Stamp, Arc<Shipped>)>> = Mutex::new(None);

/// Tells one file from the one that takes its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

/// What was told of the run in `folder`, read again only when it is another.
fn newest(folder: &Path) -> Option<Arc<Shipped>> {
    let path = folder.join(SHIPPED_FILE);
    let about = path.metadata().ok()?;
    let changed = (about.ctime(), about.ctime_nsec());
    let stamp = Stamp { inode: about.ino(), bytes: about.len(), changed };
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((known, of, shipped)) = &*read
        && (known, of) == (&path, &stamp)
    {
        return Some(shipped.clone());
    }
    let shipped = Arc::new(Shipped::read(folder)?);
    *read = Some((path, stamp, shipped.clone()));
    Some(shipped)
}

/// Whether the run of the process in `folder` was shipped here. Whoever shipped it wrote its files,
/// so what they name elsewhere on this machine is not looked at.
pub(crate) fn is_shipped(folder: &Path) -> bool {
    folder.parent().is_some_and(|run| run.join(SHIPPED_FILE).exists())
}

/// The state of a process of which nothing but shippers tell.
pub(crate) fn state_of(folder: &Path) -> ProcessState {
    told(folder).map_or(ProcessState::Unknown, Told::state)
}

impl Shipped {
    /// Version of the file.
    pub const FORMAT: u32 = 1;

    /// What was told of the run in `folder`; none of a run that was not shipped here.
    pub fn read(folder: &Path) -> Option<Shipped> {
        crate::read::json(&folder.join(SHIPPED_FILE))
    }

    /// Of a run of which something came now.
    pub fn begun() -> Shipped {
        Shipped { format: Shipped::FORMAT, begun_ns: now_ns(), hosts: BTreeMap::new() }
    }

    /// Nanoseconds since 1970 when any host was heard last.
    pub fn heard_ns(&self) -> u64 {
        self.hosts.values().map(|host| host.heard_ns).max().unwrap_or(self.begun_ns)
    }

    /// Whether every host shipped all it had.
    pub fn is_done(&self) -> bool {
        !self.hosts.is_empty() && self.hosts.values().all(|host| host.done)
    }

    /// Whether a process runs on a host that was heard a moment ago.
    pub fn is_live(&self) -> bool {
        self.is_live_by(|_| None)
    }

    /// The same where `ago` knows how long ago a host was heard, by a clock that nobody sets.
    pub fn is_live_by(&self, ago: impl Fn(&str) -> Option<Duration>) -> bool {
        let now = now_ns();
        self.hosts.iter().any(|(name, host)| {
            let is_silent = || ago(name).map_or(host.is_silent(now), |ago| ago > SILENT_AFTER);
            host.processes.values().any(|live| *live) && !is_silent()
        })
    }

    /// How the process whose folder is `part` is. One that nobody told of yet counts by the host
    /// that was heard last, which is about to tell of it.
    pub(crate) fn told(&self, part: &str) -> Told {
        let now = now_ns();
        let mut of = self.hosts.values().filter(|host| host.processes.contains_key(part));
        let host = of.next().or_else(|| self.hosts.values().max_by_key(|host| host.heard_ns));
        let Some(host) = host else {
            let only_begun = is_silent(self.begun_ns, now);
            return if only_begun { Told::Silent(self.begun_ns) } else { Told::Live };
        };
        match host.processes.get(part) {
            _ if host.done => Told::Complete,
            Some(false) => Told::Ended,
            _ if host.is_silent(now) => Told::Silent(host.heard_ns),
            _ => Told::Live,
        }
    }
}

impl ShippedHost {
    fn is_silent(&self, now_ns: u64) -> bool {
        is_silent(self.heard_ns, now_ns)
    }
}

fn is_silent(heard_ns: u64, now_ns: u64) -> bool {
    // What was heard long after now was heard before the clock was set back.
    now_ns.abs_diff(heard_ns) > SILENT_AFTER.as_nanos() as u64
}

fn now_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(ago_s: u64, done: bool, processes: &[(&str, bool)]) -> ShippedHost {
        let heard_ns = now_ns() - ago_s * 1_000_000_000;
        let processes = processes.iter().map(|(part, live)| ((*part).to_owned(), *live)).collect();
        ShippedHost { heard_ns, done, processes }
    }

    fn shipped(hosts: &[ShippedHost]) -> Shipped {
        let hosts = hosts.iter().enumerate().map(|(n, host)| (format!("host{n}"), host.clone()));
        Shipped { hosts: hosts.collect(), ..Shipped::begun() }
    }

    #[test]
    fn a_process_is_live_as_long_as_its_host_is_heard() {
        let fresh = shipped(&[host(1, false, &[("p1-a", true), ("p2-b", false)])]);
        assert_eq!((fresh.told("p1-a"), fresh.told("p2-b")), (Told::Live, Told::Ended));
        assert_eq!(fresh.told("p3-c"), Told::Live, "its files came before its beat");
        assert!(fresh.is_live() && !fresh.is_done());
        let old = shipped(&[host(60, false, &[("p1-a", true), ("p2-b", false)])]);
        assert!(matches!(old.told("p1-a"), Told::Silent(heard) if heard > 0));
        assert_eq!(old.told("p2-b"), Told::Ended, "that it ended is known");
        assert!(!old.is_live());
    }

    #[test]
    fn another_host_says_nothing_of_a_process() {
        let both =
            shipped(&[host(60, false, &[("p1-a", true)]), host(1, true, &[("p2-b", false)])]);
        assert!(matches!(both.told("p1-a"), Told::Silent(_)));
        assert_eq!(both.told("p2-b"), Told::Complete);
        assert!(!both.is_done(), "one host has not said that it is done");
        assert!(!Shipped::default().is_done() && !Shipped::default().is_live());
    }

    #[test]
    fn a_host_is_live_by_the_clock_that_nobody_sets() {
        let old = shipped(&[host(3600, false, &[("p1-a", true)])]);
        let of_second = |name: &str| (name == "host1").then_some(Duration::ZERO);
        assert!(old.is_live_by(|_| Some(Duration::ZERO)) && !old.is_live_by(of_second));
        let mut ahead = shipped(&[host(1, false, &[("p1-a", true)])]);
        assert!(ahead.is_live() && !ahead.is_live_by(|_| Some(2 * SILENT_AFTER)));
        ahead.hosts.values_mut().for_each(|host| host.heard_ns += 3_600_000_000_000);
        assert!(!ahead.is_live(), "the clock was set back since");
        assert!(matches!(ahead.told("p1-a"), Told::Silent(_)));
    }

    #[test]
    fn what_was_told_is_read_once_for_all_processes_and_again_when_it_is_another() {
        let folder = std::env::temp_dir().join(format!("hodo-shipped-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let write = |shipped: &Shipped| {
            let part = folder.join("part");
            std::fs::write(&part, serde_json::to_vec(shipped).unwrap()).unwrap();
            std::fs::rename(part, folder.join(SHIPPED_FILE)).unwrap();
        };
        let (live, done) = (host(1, false, &[("p1-a", true)]), host(1, true, &[("p1-a", false)]));
        write(&shipped(std::slice::from_ref(&live)));
        let first = newest(&folder).unwrap();
        assert!(Arc::ptr_eq(&first, &newest(&folder).unwrap()));
        write(&shipped(&[live, done]));
        assert_eq!(newest(&folder).unwrap().hosts.len(), 2);
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(newest(&folder).is_none());
    }
}
