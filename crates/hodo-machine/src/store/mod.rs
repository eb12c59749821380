//! The folder of a host in a run: who may write it, its files, and what a kill leaves of them.

mod files;
mod fold;
#[cfg(test)]
mod full_disk;
mod glance;
mod growing;
mod live;
mod lock;
mod pending;
#[cfg(test)]
pub(crate) mod tests;

pub use lock::Holder;

use crate::host::{Root, boot_id};
use crate::sampler::Row;
use files::{Blocks, Files};
use hodo_format::machine::{
    FOLDER_PREFIX, LOCK_FILE, Readings, Series, readings_frame, series_frame, state_frame,
};
use hodo_format::spool::anchors_frame;
use hodo_record::ClockSource;
use hodo_record::binding::{clean, host, random, without_sigxfsz};
use live::Live;
use lock::{Lock, Taken};
use pending::Pending;
use std::io::Error;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often the disk is tried again after it refused.
const RETRY_NS: u64 = 1_000_000_000;
/// How often anchors and the state are written beside blocks.
const TELL_NS: u64 = 60_000_000_000;
/// How often it is looked whether the folder is still there.
const LOOK_NS: u64 = 1_000_000_000;

/// How large files get.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes at which a file is closed and the next one begun.
    pub file_bytes: u64,
    /// Most bytes of files to keep; the oldest go first.
    pub max_bytes: u64,
    /// Rows of a tier that make a block.
    pub block_rows: usize,
    /// How long a row may wait for its block.
    pub block_age: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            file_bytes: 8 << 20,
            max_bytes: 256 << 20,
            block_rows: 512,
            block_age: Duration::from_secs(60),
        }
    }
}

/// The folder of this host in a run.
pub fn folder(run: &Path) -> PathBuf {
    let boot = boot_id(&Root::default());
    run.join(format!("{FOLDER_PREFIX}{}-{}", clean(&host()), &boot[..8]))
}

/// Writes readings. Whatever the disk does, a row is kept or counted.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    limits: Limits,
    kind: &'static str,
    /// None while it was let go for a fork.
    lock: Option<Lock>,
    files: Files,
    live: Live,
    tiers: [Pending; 4],
    /// In order of their ids.
    series: Vec<Series>,
    /// The highest id of a series that the growing file has: it has all below it too.
    told_id: u32,
    sequence: u64,
    told_at: Option<u64>,
    looked_at: Option<u64>,
    retry_at: u64,
    /// The limit on a file's size was reached: rows go into a block now, for a shorter live file.
    is_cramped: bool,
    kept: Kept,
}

/// What became of rows and blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Blocks that were removed to stay under the cap.
    pub removed_blocks: u64,
    /// Moment of the oldest reading that is left; none while nothing was removed.
    pub oldest_kept_ns: Option<u64>,
    /// Rows that could not be kept.
    pub lost_rows: u64,
    /// Blocks of files that somebody deleted.
    pub gone_blocks: u64,
    /// Bytes of files.
    pub bytes: u64,
    /// What stands in the way of writing; empty while all is well.
    pub trouble: String,
}

/// Why a folder cannot be written now.
#[derive(Debug)]
pub enum Refused {
    /// Somebody else samples this host for this run.
    Held(Holder),
    /// It cannot be made or locked.
    Failed(Error),
}

impl Store {
    /// Takes the folder of this host in `run`, and what a sampler before left in it.
    pub fn open(run: &Path, kind: &'static str, limits: Limits) -> Result<Store, Refused> {
        without_sigxfsz(|| Store::take(&folder(run), kind, limits))
    }

    /// The other process that wrote this host's readings last, if it lives.
    pub fn let_go_by(run: &Path) -> Option<Holder> {
        let holder = lock::holder(std::fs::File::open(folder(run).join(LOCK_FILE)).ok()?);
        let is_other = holder.pid != 0 && holder.pid != u64::from(std::process::id());
        let pid = libc::pid_t::try_from(holder.pid).ok().filter(|_| is_other)?;
        // SAFETY: signal 0 is none, and only asks.
        (unsafe { libc::kill(pid, 0) } == 0).then_some(holder)
    }

    fn take(folder: &Path, kind: &'static str, limits: Limits) -> Result<Store, Refused> {
        let failed = Refused::Failed;
        std::fs::create_dir_all(folder).map_err(failed)?;
        let lock = match Lock::take(&folder.join(LOCK_FILE), kind).map_err(failed)? {
            Taken::Ours(lock) => lock,
            Taken::Theirs(holder) => return Err(Refused::Held(holder)),
        };
        let writer = random();
        let mut files = Files::open(folder, writer, &limits).map_err(failed)?;
        let before = fold::take_over(folder, &mut files).map_err(failed)?;
        files.removed_blocks = before.removed_blocks;
        Ok(Store {
            folder: folder.into(),
            limits,
            kind,
            lock: Some(lock),
            files,
            live: Live::new(folder, writer),
            tiers: Default::default(),
            series: Vec::new(),
            told_id: 0,
            sequence: 0,
            told_at: None,
            looked_at: None,
            retry_at: 0,
            is_cramped: false,
            kept: Kept { lost_rows: before.lost_rows, ..Kept::default() },
        })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The lock's descriptor, which a forked child must close; none while it is let go.
    pub fn lock_descriptor(&self) -> Option<RawFd> {
        self.lock.as_ref().map(Lock::descriptor)
    }

    /// Lets the lock go, for another to sample; everything else stays for [`Store::take_back`].
    pub fn let_go(&mut self) {
        self.lock = None;
    }

    /// Takes the lock back. False when another has written meanwhile: then this store is to be
    /// dropped, for what it held was taken over.
    pub fn take_back(&mut self) -> Result<bool, Refused> {
        let path = self.folder.join(LOCK_FILE);
        match Lock::take(&path, self.kind).map_err(Refused::Failed)? {
            Taken::Theirs(holder) => Err(Refused::Held(holder)),
            Taken::Ours(lock) => {
                let files = Files::open(&self.folder, 0, &self.limits).map_err(Refused::Failed)?;
                let same = files.next() == self.files.next() && !self.live.is_gone();
                self.lock = same.then_some(lock);
                Ok(same)
            }
        }
    }

    /// What became of what was given.
    pub fn kept(&self) -> &Kept {
        &self.kept
    }

    /// Keeps a row: on disk when this returns `true`, else in memory, to be tried again.
    pub fn keep(&mut self, row: &Row<'_>, series: &[Series]) -> bool {
        self.series.extend_from_slice(after(series, last_id(&self.series)));
        self.kept.lost_rows += self.tiers[row.tier as usize].add(row);
        without_sigxfsz(|| self.append_live(row))
    }

    fn append_live(&mut self, row: &Row<'_>) -> bool {
        let result = match self.live.is_begun() {
            true => self.live.append(row, &self.series),
            false if row.time_ns < self.retry_at => return false,
            // It has every row that waits, this one among them: nothing stands in the way any more.
            false => self.begin_live().inspect(|()| self.kept.trouble.clear()),
        };
        let well = result.is_ok();
        if let Err(error) = result {
            self.live.give_up();
            self.is_cramped = growing::is_too_big(&error);
            if !self.is_cramped {
                self.refused(row.time_ns, &error);
            }
        }
        well
    }

    fn begin_live(&mut self) -> Result<(), Error> {
        let rows = self.tiers.iter().flat_map(Pending::rows);
        self.live.begin(&self.series, rows)
    }

    fn refused(&mut self, now_ns: u64, error: &Error) {
        self.retry_at = now_ns + RETRY_NS;
        self.kept.trouble = format!("cannot write to {}: {error}", self.folder.display());
    }

    /// Whether the folder is still the one that was opened. One that was deleted or moved is to be
    /// opened anew, with [`Store::moved_to`].
    pub fn is_in_place(&mut self, now_ns: u64) -> bool {
        if self.looked_at.is_some_and(|at| now_ns.saturating_sub(at) < LOOK_NS) {
            return true;
        }
        self.looked_at = Some(now_ns);
        if self.live.is_gone() {
            self.live.give_up();
        }
        self.kept.gone_blocks += self.files.forget_gone();
        self.folder.exists() && self.lock.as_ref().is_some_and(Lock::is_in_place)
    }

    /// Gives the rows that are in no block to another store: those of a folder that is gone.
    pub fn moved_to(self, next: &mut Store) {
        next.tiers = self.tiers;
        next.series = self.series;
        next.kept.lost_rows += self.kept.lost_rows;
        next.kept.gone_blocks += self.kept.gone_blocks + self.files.blocks();
    }

    /// Rows that are in no block.
    pub fn waiting_rows(&self) -> u64 {
        self.tiers.iter().map(|tier| tier.len() as u64).sum()
    }

    /// Rows were lost before they came here.
    pub fn lost(&mut self, rows: u64) {
        self.kept.lost_rows += rows;
    }

    /// Writes the blocks that are due. `tell`: the state has changed. `state` makes its JSON. Says
    /// of which tiers no row waits any more that did: what of their series is gone can be forgotten.
    pub fn write(&mut self, now_ns: u64, tell: bool, state: &dyn Fn(&Kept) -> String) -> [bool; 4] {
        let is_cramped = std::mem::take(&mut self.is_cramped);
        let due = self.tiers.each_ref().map(|tier| is_cramped || self.is_due(tier, now_ns));
        let has_nothing = self.told_at.is_none();
        let mut written = false;
        if now_ns >= self.retry_at && (tell || has_nothing || due.contains(&true)) {
            written = self.write_tiers(now_ns, due, tell, state);
        }
        due.map(|due| due && written)
    }

    /// Forgets the series that are not in `live` and that no row names which waits.
    pub fn forget_series(&mut self, live: &[Series]) {
        let is_live = |id: u32| live.binary_search_by_key(&id, |one| one.id).is_ok();
        let Store { series, tiers, .. } = self;
        series.retain(|one| is_live(one.id) || tiers.iter().any(|tier| tier.names(one.id)));
    }

    fn is_due(&self, tier: &Pending, now_ns: u64) -> bool {
        let age =
            |first: u64| now_ns.saturating_sub(first) >= self.limits.block_age.as_nanos() as u64;
        tier.len() >= self.limits.block_rows || tier.is_large() || tier.first_ns().is_some_and(age)
    }

    /// Writes everything that is left, and the last state; another may sample from then on.
    pub fn finish(&mut self, now_ns: u64, state: &dyn Fn(&Kept) -> String) {
        let due = self.tiers.each_ref().map(|tier| tier.len() > 0);
        self.write_tiers(now_ns, due, true, state);
        if self.tiers.iter().all(|tier| tier.len() == 0) {
            self.live.remove();
        }
        self.let_go();
    }

    fn write_tiers(
        &mut self,
        now_ns: u64,
        due: [bool; 4],
        tell: bool,
        state: &dyn Fn(&Kept) -> String,
    ) -> bool {
        let written = without_sigxfsz(|| self.append_blocks(now_ns, due, tell, state));
        if let Err(error) = written {
            self.refused(now_ns, &error);
            return false;
        }
        self.kept.trouble.clear();
        if due.contains(&true) {
            let tiers = self.tiers.iter_mut().zip(due).filter(|(_, due)| *due);
            tiers.for_each(|(tier, _)| tier.clear());
            if let Err(error) = without_sigxfsz(|| self.begin_live()) {
                self.refused(now_ns, &error);
            }
        }
        true
    }

    fn append_blocks(
        &mut self,
        now_ns: u64,
        due: [bool; 4],
        tell: bool,
        state: &dyn Fn(&Kept) -> String,
    ) -> Result<(), Error> {
        let tell = tell || self.told_at.is_none_or(|at| now_ns.saturating_sub(at) >= TELL_NS);
        let due = self.tiers.iter().zip(due).filter(|(tier, due)| *due && tier.len() > 0);
        let blocks: Vec<Readings> = due.map(|(tier, _)| tier.block()).collect();
        let mut before = self.sequence;
        let mut frames = Vec::new();
        self.put(tell, self.told_id, state, &blocks, &mut frames);
        if self.files.wants_new(frames.len()) {
            self.sequence = before;
            self.begin_file(state)?;
            before = self.sequence;
            frames.clear();
            self.put(false, self.told_id, state, &blocks, &mut frames);
        }
        let first_ns = blocks.iter().filter_map(|block| block.times.first().copied()).min();
        let count = blocks.len() as u64;
        let mut written = self.files.append(&Blocks { frames: &frames, count, first_ns });
        if written.as_ref().is_err_and(growing::is_too_big) && self.files.has_blocks() {
            // The limit on a file's size is reached before our own: it goes on in a new file.
            self.sequence = before;
            self.begin_file(state)?;
            before = self.sequence;
            frames.clear();
            self.put(false, self.told_id, state, &blocks, &mut frames);
            written = self.files.append(&Blocks { frames: &frames, count, first_ns });
        }
        match written {
            Ok(()) => {
                self.told_id = last_id(&self.series);
                self.told_at = if tell { Some(now_ns) } else { self.told_at };
            }
            // What was not written leaves no gap in the numbers.
            Err(_) => self.sequence = before,
        }
        self.kept.bytes = self.files.bytes();
        self.kept.removed_blocks = self.files.removed_blocks;
        self.kept.oldest_kept_ns = self.files.oldest_kept_ns();
        written
    }

    /// Begins a file, which says by itself what its readings are.
    fn begin_file(&mut self, state: &dyn Fn(&Kept) -> String) -> Result<(), Error> {
        let before = self.sequence;
        let mut head = Vec::new();
        self.put(true, 0, state, &[], &mut head);
        let begun = self.files.begin(&head);
        match begun {
            Ok(()) => self.told_id = last_id(&self.series),
            Err(_) => self.sequence = before,
        }
        begun
    }

    /// Anchors and the state, series behind the given id, and blocks.
    fn put(
        &mut self,
        tell: bool,
        from_id: u32,
        state: &dyn Fn(&Kept) -> String,
        blocks: &[Readings],
        frames: &mut Vec<u8>,
    ) {
        let Store { sequence, series, kept, .. } = self;
        let mut number = || {
            *sequence += 1;
            *sequence - 1
        };
        if tell {
            anchors_frame(number(), &[ClockSource::Monotonic.anchor()], frames);
            state_frame(number(), &state(kept), frames);
        }
        put_series(&mut number, after(series, from_id), frames);
        for block in blocks {
            readings_frame(number(), block, frames);
        }
    }
}

/// The id of the newest series.
fn last_id(series: &[Series]) -> u32 {
    series.last().map_or(0, |newest| newest.id)
}

/// Those behind an id.
fn after(series: &[Series], id: u32) -> &[Series] {
    &series[series.partition_point(|one| one.id <= id)..]
}

/// Appends SERIES frames of all of `series`.
fn put_series(number: &mut dyn FnMut() -> u64, mut series: &[Series], out: &mut Vec<u8>) {
    while !series.is_empty() {
        let taken = series_frame(number(), series, out);
        series = &series[taken..];
    }
}
