//! The logs that are open: few, those that were written to last.

use super::log::{Log, Requests, Whole, path};
use super::{Refusal, clear, lock};
use crate::collect::durable;
use crate::collect::janitor::tell;
use axum::http::StatusCode;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

/// Logs that are kept open.
pub(super) const MOST_OPEN: usize = 64;
/// Whose a log is, in its folder.
const OWNER: &str = "owner";
/// The name of its service.
const APP: &str = "app";

/// Logs by their run.
#[derive(Default)]
pub(super) struct OpenLogs(Mutex<Inside>);

#[derive(Default)]
struct Inside {
    logs: HashMap<String, Place>,
    /// What is whole of logs that were open and are not: they need not be read again.
    closed: HashMap<String, Whole>,
    /// Counts uses.
    clock: u64,
}

/// The place of a log, which is opened by whoever locks it first: only those who add to it wait for that.
struct Place {
    log: Arc<Mutex<Option<Opened>>>,
    used: u64,
}

pub(super) struct Opened {
    owner: String,
    log: Log,
}

/// The place of a log, and what is known of it where it is not open.
pub(super) type Found = (Arc<Mutex<Option<Opened>>>, Option<Whole>);

/// Logs that one request adds to, and nobody else meanwhile.
#[derive(Default)]
pub(super) struct Held<'a>(Vec<HeldLog<'a>>);

struct HeldLog<'a> {
    run: String,
    folder: PathBuf,
    opened: MutexGuard<'a, Option<Opened>>,
    /// What it was.
    before: Whole,
}

impl<'a> Held<'a> {
    /// Waits for a log and opens it, or begins one; refused where it is another's.
    pub(super) fn open(
        &mut self,
        (place, known): &'a Found,
        begins: &Begins<'_>,
        folder: &Path,
    ) -> Result<(), Refusal> {
        let mut place = lock(place);
        let opened = match &mut *place {
            Some(opened) => opened,
            closed => closed.insert(open(begins, folder, *known)?),
        };
        forbid(begins.run, &opened.owner, begins.owner)?;
        let before = opened.log.whole();
        let (run, folder) = (begins.run.to_owned(), folder.to_owned());
        self.0.push(HeldLog { run, folder, opened: place, before });
        Ok(())
    }

    /// The logs in the order in which they were opened.
    pub(super) fn logs(&mut self) -> impl Iterator<Item = &mut Log> {
        self.0.iter_mut().filter_map(|held| held.opened.as_mut()).map(|opened| &mut opened.log)
    }

    /// What each was, and what it is.
    pub(super) fn changes(&self) -> impl Iterator<Item = (Whole, Whole)> {
        self.0.iter().map(|held| {
            let now = held.opened.as_ref().map_or(held.before, |opened| opened.log.whole());
            (held.before, now)
        })
    }

    /// Makes all of them what they were; one that was begun is gone.
    pub(super) fn undo(self, logs: &OpenLogs) {
        for mut held in self.0 {
            let undone = match &mut *held.opened {
                _ if held.before.length == 0 => {
                    *held.opened = None;
                    lock(&logs.0).closed.remove(&held.run);
                    clear(&held.folder)
                }
                Some(opened) => opened.log.cut(held.before),
                None => Ok(()),
            };
            if let Err(error) = undone {
                let run = &held.run;
                tell(&format!("{run} may have spans of a request that was refused: {error}"));
            }
        }
    }
}

/// Who begins a log, or adds to it.
pub(super) struct Begins<'a> {
    pub(super) run: &'a str,
    pub(super) owner: &'a str,
    /// The name of the service.
    pub(super) app: &'a str,
}

impl OpenLogs {
    /// The places of the logs of runs, which are in order.
    pub(super) fn places<'a>(&self, runs: impl Iterator<Item = &'a str>) -> Vec<Found> {
        runs.map(|run| self.place(run)).collect()
    }

    /// What is whole of the log of a run in `folder`.
    pub(super) fn whole(&self, run: &str, folder: &Path) -> io::Result<Whole> {
        let (place, known) = self.place(run);
        let place = lock(&place);
        if let Some(opened) = &*place {
            return Ok(opened.log.whole());
        }
        let there = path(folder).metadata()?.len();
        if let Some(known) = known.filter(|known| known.length == there) {
            return Ok(known);
        }
        let whole = Requests::open(folder)?.whole()?;
        // What a kill left behind is cut off by whoever opens it: then this is not all, and read again.
        lock(&self.0).closed.insert(run.to_owned(), whole);
        Ok(whole)
    }

    /// Does `work`, which removes the log of a run: nobody has it open then, or opens it meanwhile.
    pub(super) fn remove<T>(&self, run: &str, work: impl FnOnce() -> T) -> T {
        let (place, _) = self.place(run);
        let mut place = lock(&place);
        *place = None;
        lock(&self.0).closed.remove(run);
        work()
    }

    /// Closes what is open beyond what stays open: a request may be of more runs than that.
    pub(super) fn trim(&self) {
        lock(&self.0).keep_open(MOST_OPEN);
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        lock(&self.0).logs.len()
    }

    fn place(&self, run: &str) -> Found {
        let mut inside = lock(&self.0);
        inside.clock += 1;
        let used = inside.clock;
        let known = inside.closed.get(run).copied();
        if let Some(place) = inside.logs.get_mut(run) {
            place.used = used;
            return (place.log.clone(), known);
        }
        inside.keep_open(MOST_OPEN - 1);
        let log = Arc::new(Mutex::default());
        inside.logs.insert(run.to_owned(), Place { log: log.clone(), used });
        (log, known)
    }
}

impl Inside {
    /// Closes all but so many, if nobody writes to them.
    fn keep_open(&mut self, most: usize) {
        while self.logs.len() > most && self.close_oldest() {}
    }

    /// Closes the one that was used longest ago of those that nobody writes to; it is opened again when
    /// spans come for it. Tells whether there was one.
    fn close_oldest(&mut self) -> bool {
        let idle = self.logs.iter().filter(|(_, place)| Arc::strong_count(&place.log) == 1);
        let oldest = idle.min_by_key(|(_, place)| place.used).map(|(run, _)| run.clone());
        let Some((run, place)) = oldest.and_then(|run| self.logs.remove_entry(&run)) else {
            return false;
        };
        if let Some(opened) = lock(&place.log).take() {
            self.closed.insert(run, opened.log.whole());
        }
        true
    }
}

/// The name of the service whose spans the log in `folder` has; none of a log that is older than this.
pub(super) fn app(folder: &Path) -> Option<String> {
    std::fs::read_to_string(folder.join(APP)).ok()
}

/// Whose the log in `folder` is; nobody's where that was not written before a kill.
pub(super) fn owner(folder: &Path) -> Option<String> {
    std::fs::read_to_string(folder.join(OWNER)).ok()
}

fn open(begins: &Begins<'_>, folder: &Path, known: Option<Whole>) -> Result<Opened, Refusal> {
    let owner = owner(folder);
    if let Some(owner) = &owner {
        forbid(begins.run, owner, begins.owner)?;
    }
    let log = begin(begins, folder, known).inspect_err(|_| {
        // Nobody has a log that has no spans.
        if has_no_spans(folder) {
            let _ = clear(folder);
        }
    })?;
    Ok(Opened { owner: begins.owner.to_owned(), log })
}

fn begin(begins: &Begins<'_>, folder: &Path, known: Option<Whole>) -> io::Result<Log> {
    make(folder)?;
    if app(folder).is_none() {
        durable::replace(&folder.join(APP), begins.app.as_bytes())?;
    }
    if owner(folder).is_none() {
        durable::replace(&folder.join(OWNER), begins.owner.as_bytes())?;
    }
    Log::open(folder, known)
}

fn has_no_spans(folder: &Path) -> bool {
    match path(folder).metadata() {
        Ok(log) => log.len() == 0,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

fn make(folder: &Path) -> io::Result<()> {
    if let Some(parent) = folder.parent() {
        durable::make_folder(parent)?;
    }
    durable::make_folder(folder)
}

fn forbid(run: &str, owner: &str, own: &str) -> Result<(), Refusal> {
    match owner == own {
        true => Ok(()),
        false => Err(Refusal::new(
            StatusCode::FORBIDDEN,
            format!("{run} was begun with another token, which owns it"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::testing::Folder;

    fn is_open(logs: &OpenLogs, run: &str) -> bool {
        lock(&logs.0).logs.contains_key(run)
    }

    fn add(logs: &OpenLogs, top: &Path, run: &str, owner: &str) -> Result<Whole, Refusal> {
        let begins = Begins { run, owner, app: "api" };
        let (places, mut held) = (logs.places([run].into_iter()), Held::default());
        held.open(&places[0], &begins, &top.join("otlp").join(run))?;
        held.logs().try_for_each(|log| log.append(b"spans", 1))?;
        Ok(held.changes().map(|(_, now)| now).next().unwrap_or_default())
    }

    #[test]
    fn those_that_were_used_longest_ago_are_closed_and_open_again() -> Result<(), Refusal> {
        let (folder, logs) = (Folder::new(), OpenLogs::default());
        let add = |run: &str| add(&logs, folder.path(), run, "owner");
        let held = logs.place("held");
        add("old")?;
        for number in 0..MOST_OPEN - 2 {
            add(&format!("r{number}"))?;
        }
        add("old")?;
        add("one more")?;
        assert!(is_open(&logs, "held"), "somebody writes to it");
        assert!(is_open(&logs, "old") && !is_open(&logs, "r0"), "r0 was used longest ago");
        add("another")?;
        assert!(!is_open(&logs, "r1") && is_open(&logs, "r2"));
        assert_eq!(lock(&logs.0).logs.len(), MOST_OPEN);
        drop(held);
        let twice = add("r0")?;
        assert_eq!((twice.length, twice.spans), (26, 2), "what was in it is there");
        Ok(())
    }

    #[test]
    fn a_log_that_was_open_is_not_read_again_unless_it_is_another() -> Result<(), Refusal> {
        let (folder, logs) = (Folder::new(), OpenLogs::default());
        let at = folder.path().join("otlp/run");
        add(&logs, folder.path(), "run", "owner")?;
        lock(&logs.0).close_oldest();
        let whole = |length, spans| Whole { length, spans, spoilt: 0 };
        assert_eq!(lock(&logs.0).closed["run"], whole(13, 1));
        // As if there were more spans in those bytes than reading them tells.
        lock(&logs.0).closed.insert("run".to_owned(), whole(13, 7));
        assert_eq!(logs.whole("run", &at)?.spans, 7);
        assert_eq!(add(&logs, folder.path(), "run", "owner")?, whole(26, 8));
        logs.remove("run", || std::fs::remove_dir_all(&at))?;
        let anew = add(&logs, folder.path(), "run", "owner")?;
        assert_eq!(anew, whole(13, 1), "it begins anew");
        Ok(())
    }

    #[test]
    fn spans_that_come_while_a_log_is_removed_are_not_lost() -> Result<(), Refusal> {
        let (folder, logs) = (Folder::new(), OpenLogs::default());
        let at = folder.path().join("otlp/run");
        add(&logs, folder.path(), "run", "owner")?;
        std::thread::scope(|scope| {
            let (logs, top) = (&logs, folder.path());
            let adding = logs.remove("run", || {
                let adding = scope.spawn(move || add(logs, top, "run", "owner").is_ok());
                // It has the log's place, and waits for it.
                while Arc::strong_count(&lock(&logs.0).logs["run"].log) < 3 {
                    std::thread::yield_now();
                }
                std::fs::remove_dir_all(&at).map(|()| adding)
            })?;
            assert!(adding.join().unwrap_or(false));
            assert_eq!(path(&at).metadata()?.len(), 13, "what was answered is there");
            Ok::<(), Refusal>(())
        })
    }

    #[test]
    fn a_log_that_could_not_be_begun_is_not_there() -> io::Result<()> {
        let (folder, logs) = (Folder::new(), OpenLogs::default());
        let at = folder.path().join("otlp/run");
        // In the way of the owner's name.
        std::fs::create_dir_all(at.join(OWNER).join("x"))?;
        assert!(add(&logs, folder.path(), "run", "owner").is_err());
        assert!(!at.exists());
        assert!(add(&logs, folder.path(), "run", "owner").is_ok());
        // What is in the way of one that has spans costs none of them.
        logs.remove("run", || std::fs::remove_file(at.join(OWNER)))?;
        std::fs::create_dir_all(at.join(OWNER).join("x"))?;
        assert!(add(&logs, folder.path(), "run", "owner").is_err());
        assert_eq!(path(&at).metadata()?.len(), 13);
        Ok(())
    }

    #[test]
    fn a_log_is_its_owners_open_or_not() -> Result<(), Refusal> {
        let folder = Folder::new();
        let logs = OpenLogs::default();
        add(&logs, folder.path(), "run", "one")?;
        for logs in [logs, OpenLogs::default()] {
            let refused = add(&logs, folder.path(), "run", "two").err();
            assert_eq!(refused.map(|refusal| refusal.status), Some(StatusCode::FORBIDDEN));
            add(&logs, folder.path(), "run", "one")?;
        }
        Ok(())
    }
}
