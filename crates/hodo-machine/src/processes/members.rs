//! The processes that are summed up, and what is left of those that have ended.

use super::stat::{Stat, io, stat};
use super::tally::Tally;
use crate::procfile::ProcFile;
use hodo_record::binding::nanoseconds;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// A process that was started later than its recorder by more than this is another one.
const START_SLACK_NS: u64 = 2_000_000_000;

/// Processes whose files are kept open. Descriptors are the program's, and it may have few.
const KEPT_OPEN: usize = 16;

/// All of them.
#[derive(Debug)]
pub struct Members {
    proc: PathBuf,
    /// Parents stand before their children.
    alive: Vec<Member>,
    pids: HashSet<u32>,
    next: u64,
    ended: [u64; 3],
    io_refused: Option<String>,
    has_read: bool,
}

#[derive(Debug)]
struct Member {
    pid: u32,
    number: u64,
    parent: Option<u64>,
    stat: ProcFile,
    io: ProcFile,
    last: Stat,
    /// CPU ticks, bytes read, bytes written.
    tallies: [Tally; 3],
}

/// What they are together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Processes that live.
    pub count: u64,
    /// Their threads.
    pub threads: u64,
    /// Their pages in memory.
    pub resident_pages: u64,
    /// CPU time, also of those that have ended.
    pub cpu_ticks: u64,
    /// Bytes read and written, also of those that have ended; none where it may not be known.
    pub io: Option<(u64, u64)>,
}

impl Members {
    pub fn new(proc: &Path) -> Members {
        Members {
            proc: proc.into(),
            alive: Vec::new(),
            pids: HashSet::new(),
            next: 0,
            ended: [0; 3],
            io_refused: None,
            has_read: false,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.alive.is_empty()
    }

    pub fn has(&self, pid: u32) -> bool {
        self.pids.contains(&pid)
    }

    /// Why bytes read and written are not known of all.
    pub fn io_refused(&self) -> Option<String> {
        self.io_refused.clone()
    }

    /// Adds a process that was started before the given wall time. False if it is gone, is another,
    /// or is there already.
    pub fn add_root(&mut self, pid: u32, before_ns: Option<u64>) -> bool {
        if self.has(pid) {
            return false;
        }
        let Some(mut member) = self.open(pid, None) else { return false };
        if before_ns
            .is_some_and(|before| started_ns(&member.last) > before.saturating_add(START_SLACK_NS))
        {
            return false;
        }
        if self.has_read {
            // What it did before it was known would look like a burst of work now.
            let io = member.io.read().and_then(|text| io(&text)).unwrap_or_default();
            member.tallies = [member.last.cpu_ticks, io.0, io.1].map(Tally::from_now);
        }
        self.push(member);
        true
    }

    /// Adds those of `pids` that are children of members, or of such children.
    pub fn add_children(&mut self, pids: &mut Vec<u32>) {
        let mut added = true;
        while added && !pids.is_empty() {
            added = false;
            pids.retain(|&pid| match self.open_child(pid) {
                Looked::Ours(member) => {
                    self.push(*member);
                    added = true;
                    false
                }
                Looked::Gone => false,
                Looked::Other => true,
            });
        }
    }

    fn open_child(&self, pid: u32) -> Looked {
        let path = self.proc.join(format!("{pid}/stat"));
        let Some(stat) = std::fs::read_to_string(path).ok().and_then(|text| stat(&text)) else {
            return Looked::Gone;
        };
        if !self.has(stat.parent) {
            return Looked::Other;
        }
        let parent = self.alive.iter().find(|member| member.pid == stat.parent);
        match self.open(pid, parent.map(|parent| parent.number)) {
            Some(member) => Looked::Ours(Box::new(member)),
            None => Looked::Gone,
        }
    }

    fn open(&self, pid: u32, parent: Option<u64>) -> Option<Member> {
        let folder = self.proc.join(pid.to_string());
        let open = |name: &str| {
            let file = ProcFile::new(folder.join(name));
            if self.alive.len() < KEPT_OPEN { file } else { file.reopened() }
        };
        let (mut file, io) = (open("stat"), open("io"));
        let last = stat(&file.read()?)?;
        Some(Member { pid, number: 0, parent, stat: file, io, last, tallies: Default::default() })
    }

    fn push(&mut self, mut member: Member) {
        member.number = self.next;
        self.next += 1;
        self.pids.insert(member.pid);
        self.alive.push(member);
    }

    /// Reads them all.
    pub fn read(&mut self) -> Sums {
        self.has_read = true;
        self.io_refused = None;
        let mut gone = HashSet::new();
        for member in &mut self.alive {
            if !member.read(&mut self.io_refused) {
                gone.insert(member.number);
            }
        }
        if !gone.is_empty() {
            self.bury(&gone);
        }
        self.sums()
    }

    /// Moves those that are gone to the ended ones; the nearest member above that lives has
    /// inherited from them.
    fn bury(&mut self, gone: &HashSet<u64>) {
        for at in 0..self.alive.len() {
            let Member { number, parent, tallies, pid, .. } = self.alive[at];
            if !gone.contains(&number) {
                // An orphan is somebody else's child from now on.
                self.alive[at].parent = parent.filter(|parent| !gone.contains(parent));
                continue;
            }
            self.pids.remove(&pid);
            for (sum, tally) in self.ended.iter_mut().zip(&tallies) {
                *sum += tally.own();
            }
            if let Some(heir) = self.heir(parent, gone) {
                heir.iter_mut().zip(&tallies).for_each(|(tally, child)| tally.inherit(child));
            }
        }
        self.alive.retain(|member| !gone.contains(&member.number));
    }

    fn heir(&mut self, mut parent: Option<u64>, gone: &HashSet<u64>) -> Option<&mut [Tally; 3]> {
        while let Some(number) = parent.filter(|number| gone.contains(number)) {
            parent = self.alive.iter().find(|member| member.number == number)?.parent;
        }
        let number = parent?;
        let heir = self.alive.iter_mut().find(|member| member.number == number)?;
        Some(&mut heir.tallies)
    }

    fn sums(&self) -> Sums {
        let mut sums = Sums { count: self.alive.len() as u64, ..Sums::default() };
        let mut used = self.ended;
        for member in &self.alive {
            sums.threads += member.last.threads;
            sums.resident_pages += member.last.resident_pages;
            for (sum, tally) in used.iter_mut().zip(&member.tallies) {
                *sum += tally.own();
            }
        }
        sums.cpu_ticks = used[0];
        sums.io = self.io_refused.is_none().then_some((used[1], used[2]));
        sums
    }
}

enum Looked {
    Ours(Box<Member>),
    Gone,
    Other,
}

impl Member {
    /// False when it is gone.
    fn read(&mut self, io_refused: &mut Option<String>) -> bool {
        let Some(now) = self.stat.read().and_then(|text| stat(&text)) else { return false };
        if now.start_ticks != self.last.start_ticks {
            return false;
        }
        self.last = now;
        self.tallies[0].read(now.cpu_ticks);
        match self.io.read().and_then(|text| io(&text)) {
            Some((read, written)) => {
                self.tallies[1].read(read);
                self.tallies[2].read(written);
            }
            // One that just went has none either, and that is no reason.
            None if self
                .io
                .error()
                .is_some_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied) =>
            {
                // Not which process: each would be another reason.
                *io_refused = Some("/proc/PID/io of another user's process may not be read".into());
            }
            None => {}
        }
        true
    }
}

/// When a process was started, by the wall clock as it is now.
fn started_ns(stat: &Stat) -> u64 {
    // SAFETY: sysconf has no failure for this name on Linux.
    let a_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as u64;
    let since_boot = u128::from(stat.start_ticks) * 1_000_000_000 / u128::from(a_second);
    let boot_ns =
        nanoseconds(libc::CLOCK_REALTIME).saturating_sub(nanoseconds(libc::CLOCK_BOOTTIME));
    boot_ns.saturating_add(u64::try_from(since_boot).unwrap_or(u64::MAX))
}
