//! Which processes belong to a run: as their folders in it say.

use crate::json;
use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// How often a folder without its description is looked at again.
const TRIES: u32 = 60;

/// Which processes are summed up with their children.
#[derive(Clone, Debug)]
pub struct Roots {
    own: bool,
    pid: Option<u32>,
    run: Option<PathBuf>,
}

impl Roots {
    /// None.
    pub fn none() -> Roots {
        Roots { own: false, pid: None, run: None }
    }

    /// This process.
    pub fn own() -> Roots {
        Roots { own: true, pid: None, run: None }
    }

    /// The processes of a run that live on this host.
    pub fn of_run(run: &Path) -> Roots {
        Roots { own: false, pid: None, run: Some(run.into()) }
    }

    /// And this process.
    pub fn and_own(mut self) -> Roots {
        self.own = true;
        self
    }

    /// And another process, by its number.
    pub fn and_pid(mut self, pid: u32) -> Roots {
        self.pid = Some(pid);
        self
    }
}

/// Looks for them.
#[derive(Debug)]
pub struct Found {
    roots: Roots,
    host: String,
    changed: Option<SystemTime>,
    seen: HashSet<OsString>,
    /// Folders that have no description yet, and how often they were looked at.
    waiting: Vec<(PathBuf, u32)>,
}

impl Found {
    pub fn new(roots: Roots) -> Found {
        let host = hodo_record::binding::host();
        Found { roots, host, changed: None, seen: HashSet::new(), waiting: Vec::new() }
    }

    /// Processes that were not known before: their number, and a wall time by which each of them
    /// had been started; none for this process itself.
    pub fn look(&mut self) -> Vec<(u32, Option<u64>)> {
        let mut found = Vec::new();
        if std::mem::take(&mut self.roots.own) {
            found.push((std::process::id(), None));
        }
        found.extend(self.roots.pid.take().map(|pid| (pid, None)));
        self.list();
        let host = &self.host;
        self.waiting.retain_mut(|(folder, tries)| {
            let Ok(text) = std::fs::read_to_string(folder.join("process.json")) else {
                *tries += 1;
                return *tries < TRIES;
            };
            found.extend(process(&text, host));
            false
        });
        found
    }

    /// Lists the folders of the run, if it has changed.
    fn list(&mut self) {
        let Some(run) = &self.roots.run else { return };
        let changed = std::fs::metadata(run).and_then(|about| about.modified()).ok();
        if changed.is_none() || changed == self.changed {
            return;
        }
        let Ok(entries) = std::fs::read_dir(run) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let is_process =
                name.to_str().is_some_and(|name| name.starts_with('p') && name.contains('-'));
            if is_process && self.seen.insert(name) {
                self.waiting.push((entry.path(), 0));
            }
        }
        // A folder made in the same tick of the clock would go unseen: that look does not count.
        let settled = |at: &SystemTime| at.elapsed().is_ok_and(|age| age.as_secs() >= 1);
        self.changed = changed.filter(settled);
    }
}

fn process(text: &str, host: &str) -> Option<(u32, Option<u64>)> {
    let pid = u32::try_from(json::number(text, "pid")?).ok()?;
    let start_ns = json::number(text, "start_ns")?;
    (json::text(text, "host")? == host).then_some((pid, Some(start_ns)))
}
