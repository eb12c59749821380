//! Reading one process: catalog, spool files and arena into its part of the model.

use super::account::{self, Known};
use super::collect::Collector;
use super::files::{self, SpoolReader};
use super::live::{ArenaRead, Owner};
use super::{Meter, json, plain, threads};
use crate::ends::ERROR_KEY;
use crate::shipped::{self, Told};
use crate::taken_back::TakenBack;
use crate::{AttrRow, Attrs, Clock, Gpu, Process, ProcessInfo, ProcessState, Spans};
use hodo_format::arena::{Anchor, Counts, Loss, clock_kind};
use hodo_format::gpu::Live;
use hodo_format::record::Span;
use hodo_format::ship::ARENA_FILE;
use std::path::{Path, PathBuf};

/// Reads the process in `folder`. Whatever is damaged is counted, never a reason to stop.
pub(super) fn read(folder: &Path, progress: &mut Meter<'_>) -> Process {
    let parts = gather(folder, false, progress);
    let ended_meanwhile = parts.collector.ended && parts.collector.until.is_some();
    finish(if ended_meanwhile { gather(folder, true, progress) } else { parts })
}

/// Reads all files; `has_ended` when the process is known to change nothing any more.
fn gather<'a>(folder: &'a Path, has_ended: bool, progress: &mut Meter<'_>) -> Parts<'a> {
    let mut files = SpoolReader::default();
    let info_path = folder.join("process.json");
    let told: Option<ProcessInfo> = json(&info_path);
    let is_told = told.is_some();
    let info = told.unwrap_or_default();
    let told = shipped::told(folder);
    let is_coming = told.is_some_and(Told::is_incomplete);
    let mut collector = Collector::default();
    let mut arena = read_arena(&arena_path(folder, &info), has_ended, is_coming, &mut files);
    if let Some(arena) = &mut arena {
        arena.snapshot.describe(&mut collector);
        collector.until = arena.until;
    }
    let reading = Reading { arena: arena.as_ref(), is_coming };
    let stored = read_spool(folder, reading, &mut files, &mut collector, progress);
    read_gpu(folder, is_coming, &mut files, &mut collector, progress);
    let in_ring = arena.as_mut().map_or(Counts::default(), |a| read_rings(a, &mut collector));
    // A process that has not recorded anything may not have come to write it yet.
    if !is_told && !collector.seen.is_empty() {
        files.damage.note(info_path, 0, "missing, or not readable as JSON");
    }
    if !collector.seen.is_empty() {
        let has_arena = arena.is_some() || (is_told && info.arena.is_none());
        note_missing(
            &folder.join(files::CATALOG),
            stored,
            collector.ended || has_arena || is_coming,
            &mut files,
        );
    }
    Parts { folder, info, collector, files, arena, stored, in_ring, told }
}

/// Notes a catalog that is gone, or whose end is: it says how the process ended, unless its arena
/// does.
fn note_missing(catalog: &Path, stored: Counts, has_end: bool, files: &mut SpoolReader) {
    let why = match catalog.exists() {
        false if stored.records() > 0 => "missing",
        _ if !has_end => "its end is missing, and there is no arena that would say how it ended",
        _ => return,
    };
    files.damage.note(catalog.to_owned(), 0, why);
}

/// Where the arena of a process lies. A run that was shipped has it in the folder of the process: a
/// path that another machine names means nothing here.
pub fn arena_path(folder: &Path, info: &ProcessInfo) -> PathBuf {
    let elsewhere = info.arena.as_deref().filter(|_| !shipped::is_shipped(folder));
    folder.join(elsewhere.unwrap_or(ARENA_FILE))
}

/// Reads the arena; of one that `is_coming`, what is not there yet is no damage.
fn read_arena(
    path: &Path,
    has_ended: bool,
    is_coming: bool,
    files: &mut SpoolReader,
) -> Option<ArenaRead> {
    let read = ArenaRead::new(path, has_ended)?;
    let why = match &read {
        _ if is_coming => None,
        Ok(arena) => arena.snapshot.damage(),
        Err(why) => Some(why.clone()),
    };
    if let Some(why) = why {
        files.damage.note(path.to_owned(), 0, why);
    }
    read.ok()
}

/// What stands for the torn end of a file.
#[derive(Clone, Copy)]
struct Reading<'a> {
    /// What it would hold is still in here.
    arena: Option<&'a ArenaRead>,
    /// It comes from a shipper, which goes on.
    is_coming: bool,
}

/// Reads catalog and spool files; returns what they held.
fn read_spool(
    folder: &Path,
    Reading { arena, is_coming }: Reading<'_>,
    files: &mut SpoolReader,
    collector: &mut Collector,
    progress: &mut Meter<'_>,
) -> Counts {
    let mends = arena.is_some();
    files.read(&folder.join(files::CATALOG), collector);
    if is_coming || (mends && !collector.ended) {
        files.forgive_torn_end();
    }
    let paths = files::spool_files(folder);
    for path in &paths {
        let bytes = files.read(path, collector);
        progress.add(bytes);
    }
    if is_coming || (mends && !collector.ended) {
        files.forgive_torn_end();
    }
    let first = paths.first().and_then(|path| files::file_number(path));
    let told = collector.losses.map(|losses| losses.lost);
    let counted = arena.map(|arena| arena.snapshot.lost());
    let was_removed = |lost: [Counts; Loss::COUNT]| account::removed(&lost).records() > 0;
    let is_cut = told.is_some_and(was_removed) || counted.is_some_and(was_removed);
    files.damage.frames = files.missing_frames(first, collector.ended && !is_coming, is_cut);
    collector.take_counts()
}

/// Reads the GPU files, which number their frames from 0 by themselves. Nothing but a running
/// process, or a shipper that goes on, mends their torn end.
fn read_gpu(
    folder: &Path,
    is_coming: bool,
    files: &mut SpoolReader,
    collector: &mut Collector,
    progress: &mut Meter<'_>,
) {
    let paths = files::gpu_files(folder);
    let live = plain::bytes(&folder.join(Live::FILE), plain::MOST_JSON_BYTES).ok();
    collector.gpu.live = live.and_then(|page| Live::parse(&page));
    let Some(first) = paths.first() else { return };
    let mut reader = SpoolReader::default();
    for path in &paths {
        let bytes = reader.read(path, collector);
        progress.add(bytes);
    }
    if collector.until.is_some() || is_coming {
        reader.forgive_torn_end();
    }
    let is_cut = collector.gpu.state.as_ref().is_some_and(|state| state.counts().lost > 0);
    let frames = reader.missing_of_all(files::file_number(first), is_cut);
    files.add_damage(reader, frames);
}

/// Reads what only the rings hold, after the spool: see [`super::live`] for the order.
fn read_rings(arena: &mut ArenaRead, collector: &mut Collector) -> Counts {
    arena.snapshot.fill(collector);
    let in_ring = collector.take_counts();
    arena.refresh_losses();
    in_ring
}

/// All that was read of a process.
struct Parts<'a> {
    folder: &'a Path,
    info: ProcessInfo,
    collector: Collector,
    files: SpoolReader,
    arena: Option<ArenaRead>,
    stored: Counts,
    in_ring: Counts,
    told: Option<Told>,
}

fn finish(mut parts: Parts<'_>) -> Process {
    if parts.collector.overlapped {
        parts.collector.drop_doubles(&mut parts.stored);
    }
    let state = parts.state();
    let last_tick = parts.last_tick();
    let open = parts.open_scopes(last_tick);
    let process = parts.process_id();
    let known = parts.known(state);
    let in_nanoseconds = parts.counts_nanoseconds();
    let Parts { folder, info, mut collector, files, .. } = parts;
    collector.name_threads();
    let (account, mut threads) = account::account(&collector, &known);
    threads::forget_inherited_names(&mut threads, &info);
    let clock = collector.clock();
    let taken_back = TakenBack::take(&mut collector.attrs, &collector.names);
    taken_back.move_marks(&mut collector.marks);
    collector.gpu.work.move_scopes(&taken_back);
    collector.spans.taken_back = taken_back;
    let mut spans = collector.spans.finish(&open);
    let clock = if in_nanoseconds { nanoseconds(clock, &spans, &info) } else { clock };
    // A scope left by a panic gets this text after it closed; a number of that name is the user's.
    let says_why =
        |a: &&AttrRow| collector.names.get(a.key) == Some(ERROR_KEY) && a.value.is_text();
    collector.attrs.iter().filter(says_why).for_each(|a| spans.fail(a.span));
    let gpu = Gpu::new(collector.gpu, &collector.names, &spans, &threads);
    Process {
        folder: folder.to_owned(),
        info,
        state,
        clock,
        gpu,
        names: collector.names,
        threads,
        spans,
        attrs: Attrs::new(collector.attrs),
        marks: collector.marks,
        mark_attrs: collector.mark_attrs.sorted(),
        account,
        damage: files.damage,
        process,
        last_tick,
    }
}

/// A clock whose ticks are nanoseconds. If even its anchors are lost, the first scope stands where
/// `process.json` says that the process started: durations are right, moments nearly.
fn nanoseconds(clock: Clock, spans: &Spans, info: &ProcessInfo) -> Clock {
    let clock = clock.in_nanoseconds();
    let first = spans.rows().map(|row| spans.start(row)).min();
    match first.filter(|_| !clock.is_calibrated() && info.start_ns > 0) {
        None => clock,
        Some(ticks) => {
            let anchor = Anchor { ticks, monotonic_ns: ticks, wall_ns: info.start_ns };
            Clock::new(vec![anchor]).in_nanoseconds()
        }
    }
}

/// What became of a process; `ended` when its spool says that it shut its recorder down.
pub(super) fn state(arena: Option<&ArenaRead>, ended: bool) -> ProcessState {
    match arena {
        Some(arena) if arena.snapshot.view.finished || ended => ProcessState::Finished,
        Some(arena) => match arena.owner {
            Owner::Running => ProcessState::Live,
            Owner::Gone => ProcessState::Ended,
            Owner::Unknown => ProcessState::Unknown,
        },
        None if ended => ProcessState::Finished,
        None => ProcessState::Unknown,
    }
}

impl Parts<'_> {
    fn state(&self) -> ProcessState {
        match (state(self.arena.as_ref(), self.collector.ended), self.told) {
            (ProcessState::Unknown, Some(told)) => told.state(),
            (state, _) => state,
        }
    }

    fn counts_nanoseconds(&self) -> bool {
        let clock = self.arena.as_ref().map(|arena| arena.snapshot.view.clock);
        self.info.clock == "monotonic" || clock == Some(clock_kind::MONOTONIC)
    }

    /// The last moment known: of a running process the moment shown, else the latest in any file.
    fn last_tick(&self) -> u64 {
        if let Some(until) = self.collector.until {
            return until;
        }
        let opened = self.slots().iter().map(|s| s.start).max().unwrap_or(0);
        self.collector.latest().max(opened)
    }

    fn slots(&self) -> &[Span] {
        self.arena.as_ref().map_or(&[], |arena| arena.snapshot.open.as_slice())
    }

    fn open_scopes(&self, until: u64) -> Vec<Span> {
        let open = self.collector.straddling.iter().chain(self.slots());
        open.map(|span| Span { end: until, ..*span }).collect()
    }

    fn process_id(&self) -> u64 {
        let told = u64::from_str_radix(&self.info.process, 16).ok();
        let arena = self.arena.as_ref().map(|arena| arena.snapshot.view.process);
        told.or(arena.filter(|&id| id != 0)).or(self.files.process).unwrap_or(0)
    }

    fn known(&self, state: ProcessState) -> Known {
        let arena = self.arena.as_ref().map(|arena| &arena.snapshot);
        let ended = self.collector.losses.filter(|_| self.collector.ended);
        let still = state != ProcessState::Live;
        Known {
            stored: self.stored,
            in_ring: self.in_ring,
            arena_lost: arena.map(|snapshot| snapshot.lost()),
            should_be_stored: ended
                .map(|end| end.stored)
                .or(arena.filter(|_| still).map(|snapshot| snapshot.should_be_stored())),
            is_coming: self.told.is_some_and(Told::is_incomplete),
        }
    }
}
