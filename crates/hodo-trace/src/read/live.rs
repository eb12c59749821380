//! The arena of a process that may be running.
//!
//! # Reading a run while it is written
//!
//! The pump moves a record in this order: write it to the spool, advance `drained`, free the slab.
//! So a record that left the arena is in the spool, and reading *the arena first, the spool after*
//! may meet a record twice (its number tells) but never miss it. The arena itself is not read in
//! one moment either, so it is copied three times:
//!
//! 1. The first copy only says which moment to show: *until*, the latest tick found in it.
//! 2. The second gives the open scopes. One that had opened by *until* is in its slot now, or it has
//!    closed since, and then its record was published before its slot was freed, so before
//! 3. the third copy, which gives the rings (and the slots' words once more: a scope that is open
//!    in both copies was not being opened or closed while it was copied).
//!
//! Records after *until* are left out and counted as newer; a scope that closed after it shows as
//! open. Whatever ended by *until* is therefore complete, on all threads: a child shows under its
//! parent, and self times have all their children.
//!
//! A process that is dead is copied once.

use super::plain;
use super::snapshot::Snapshot;
use crate::ProcessInfo;
use hodo_format::arena::read::{Parts, Strings};
use hodo_format::record::Span;
use std::collections::HashMap;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

/// What the arena of a process says.
pub(super) struct ArenaRead {
    pub(super) snapshot: Snapshot,
    pub(super) owner: Owner,
    /// The moment to show, for a process that is running.
    pub(super) until: Option<u64>,
    file: Arc<File>,
}

/// Whether the process that wrote an arena still runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    Running,
    Gone,
    /// The file system cannot say.
    Unknown,
}

impl ArenaRead {
    /// Reads the arena at `path`; none when there is no such file.
    pub(super) fn new(path: &Path, has_ended: bool) -> Option<Result<ArenaRead, String>> {
        let file = open(path)?;
        let owner = if has_ended { Owner::Gone } else { owner(path, &file) };
        Some(match owner {
            Owner::Running => Self::running(file),
            _ => Snapshot::read(&file).map(|snapshot| ArenaRead {
                snapshot,
                owner,
                until: None,
                file,
            }),
        })
    }

    fn running(file: Arc<File>) -> Result<ArenaRead, String> {
        let until = Snapshot::read(&file)?.last_tick();
        let slots = Snapshot::read(&file)?.open;
        let mut snapshot = Snapshot::read(&file)?;
        snapshot.open = settled(&slots, &snapshot.open, until);
        Ok(ArenaRead { snapshot, owner: Owner::Running, until: Some(until), file })
    }

    /// The counters of losses as they are now: read last, they explain every gap met before.
    pub(super) fn refresh_losses(&mut self) {
        if self.owner == Owner::Running
            && let Ok(now) = Snapshot::read(&self.file)
        {
            self.snapshot.take_losses(now);
        }
    }
}

/// What the arena of a process says of its recorder, without being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorder {
    /// It records.
    Running,
    /// It left an arena behind.
    Gone,
    /// There is an arena, and the file system cannot say whose.
    Unknown,
    /// There is no arena: it shut down, or has none on disk.
    NoArena,
}

/// Whether the process in `folder` records.
pub fn recorder(folder: &Path, info: &ProcessInfo) -> Recorder {
    let path = super::process::arena_path(folder, info);
    match open(&path).map(|file| owner(&path, &file)) {
        Some(Owner::Running) => Recorder::Running,
        Some(Owner::Gone) => Recorder::Gone,
        Some(Owner::Unknown) => Recorder::Unknown,
        None => Recorder::NoArena,
    }
}

/// The arena of a process that is looked at again and again, for what is open in it.
pub(crate) struct ArenaLook {
    file: Arc<File>,
    is_own: bool,
}

impl ArenaLook {
    /// Opens the arena of the process in `folder`; none when there is none.
    pub(crate) fn open(folder: &Path, info: &ProcessInfo) -> Option<ArenaLook> {
        let path = super::process::arena_path(folder, info);
        Some(ArenaLook { file: open(&path)?, is_own: is_mapped_here(&path) })
    }

    /// Whether its process runs.
    pub(crate) fn owner(&self) -> Owner {
        if self.is_own { Owner::Running } else { lock_owner(&self.file) }
    }

    /// Its counters and the scopes that are open; no records and no strings.
    pub(crate) fn open_scopes(&self) -> Result<Snapshot, String> {
        Snapshot::read_parts(&self.file, Parts::default())
    }

    /// Its interned strings.
    pub(crate) fn strings(&self) -> Vec<Strings> {
        let strings = Parts { strings: true, ..Parts::default() };
        Snapshot::read_parts(&self.file, strings).map_or_else(|_| Vec::new(), |s| s.view.strings)
    }
}

/// Open scopes of the earlier copy, in the words of the later one where both have them.
fn settled(earlier: &[Span], later: &[Span], until: u64) -> Vec<Span> {
    let later: HashMap<_, _> = later.iter().map(|span| (span.id, span)).collect();
    let open = earlier.iter().map(|span| **later.get(&span.id).unwrap_or(&span));
    open.filter(|span| span.start <= until).collect()
}

/// Opens an arena. One of this very process is opened once and never closed: closing it would
/// give up the lock by which other readers see that the process lives.
fn open(path: &Path) -> Option<Arc<File>> {
    static OWN: OnceLock<Mutex<HashMap<PathBuf, Arc<File>>>> = OnceLock::new();
    if !is_mapped_here(path) {
        return plain::open(path).ok().map(Arc::new);
    }
    let mut own = OWN.get_or_init(Mutex::default).lock().ok()?;
    if let Some(file) = own.get(path) {
        return Some(file.clone());
    }
    let file = Arc::new(plain::open(path).ok()?);
    own.insert(path.to_owned(), file.clone());
    Some(file)
}

fn is_mapped_here(path: &Path) -> bool {
    let Ok(path) = path.canonicalize() else { return false };
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    maps.lines().any(|line| line.ends_with(&*path.to_string_lossy()))
}

/// A running process holds a lock on the first byte; a process does not see its own.
fn owner(path: &Path, file: &File) -> Owner {
    if is_mapped_here(path) { Owner::Running } else { lock_owner(file) }
}

fn lock_owner(file: &File) -> Owner {
    // SAFETY: a zeroed flock is valid, and the call fills it.
    let (failed, lock) = unsafe {
        let mut lock: libc::flock = std::mem::zeroed();
        lock.l_type = libc::F_WRLCK as libc::c_short;
        lock.l_whence = libc::SEEK_SET as libc::c_short;
        lock.l_len = 1;
        let result = libc::fcntl(file.as_raw_fd(), libc::F_GETLK, &mut lock);
        (result != 0, lock)
    };
    match failed {
        true => Owner::Unknown,
        false if lock.l_type == libc::F_UNLCK as libc::c_short => Owner::Gone,
        false => Owner::Running,
    }
}
