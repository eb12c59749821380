//! What the pump does in a round.

use crate::calibrate;
use crate::drain::{Source, add, load};
use crate::process::Process;
use crate::store::Store;
use hodo_format::arena::{Anchor, Counts, Loss};
use hodo_format::record::UNIT_BYTES;
use hodo_format::spool::{
    Encoder, FRAME_RECORDS, Losses, anchors_frame, end_frame, losses_frame, strings_frame,
    thread_frame,
};
use std::io::Error;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The fastest level; higher ones cost more time than they save space.
const ZSTD_LEVEL: i32 = 1;
/// Frames gather to about this many bytes before they are written, or to a part of what a limit
/// on the size of a file allows.
const WRITE_BYTES: usize = 1 << 20;
const LIMIT_PART: u64 = 8;
const ANCHOR_EVERY: Duration = Duration::from_secs(1);
const CALIBRATE_EVERY: Duration = Duration::from_secs(10);
const STRINGS_IN_FRAME: usize = 4096;

/// The pump's belongings.
#[derive(Debug)]
pub struct Work {
    store: Store,
    encoder: EncoderBox,
    sources: Vec<Source>,
    frames: Vec<u8>,
    catalog: Vec<u8>,
    write_bytes: usize,
    sequence: u64,
    strings_kept: usize,
    losses_kept: Losses,
    last_write: Instant,
    last_anchor: Option<Instant>,
    newest_anchor: Option<Anchor>,
    last_calibration: Instant,
}

/// An encoder, which has nothing to show when debugging.
struct EncoderBox(Encoder);

impl std::fmt::Debug for EncoderBox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Encoder({} records)", self.0.len())
    }
}

impl Work {
    /// Nothing done yet.
    pub fn new(process: &Process) -> Work {
        Work {
            store: Store::new(process),
            encoder: EncoderBox(Encoder::new(ZSTD_LEVEL)),
            sources: Vec::new(),
            frames: Vec::new(),
            catalog: Vec::new(),
            write_bytes: write_bytes(),
            sequence: 0,
            strings_kept: 0,
            losses_kept: Losses::default(),
            last_write: Instant::now(),
            last_anchor: None,
            newest_anchor: None,
            last_calibration: Instant::now(),
        }
    }

    /// Bytes on disk.
    pub fn spool_bytes(&self) -> u64 {
        self.store.bytes()
    }

    /// Whether a full frame waits, or records have waited long enough.
    pub fn is_due(&mut self, process: &Process) -> bool {
        self.welcome(process);
        let backlog: u64 = self.sources.iter().map(|s| s.backlog(&process.arena)).sum();
        let ended = || self.sources.iter().any(|source| source.has_ended(&process.arena));
        let waited = self.last_write.elapsed() >= process.config.flush_interval;
        backlog >= FRAME_RECORDS as u64 || (waited && (backlog > 0 || ended() || self.is_idle()))
    }

    /// Now and then even a silent process writes its clocks, and sees that its folder is there.
    fn is_idle(&self) -> bool {
        self.last_anchor.is_none_or(|at| at.elapsed() >= ANCHOR_EVERY)
    }

    fn welcome(&mut self, process: &Process) {
        let arrivals = std::mem::take(&mut *crate::lock(&process.arrivals));
        self.sources.extend(arrivals.into_iter().map(Source::new));
    }

    /// Writes what there is, in writes of bounded size: until nothing waits, as much was written as
    /// the arena holds, or a fork wants the pump to stop.
    pub fn write_all(&mut self, process: &Process) -> Result<(), Error> {
        let enough = process.arena.bytes() as u64 / UNIT_BYTES as u64;
        let mut written = 0;
        loop {
            self.welcome(process);
            self.sources.iter_mut().for_each(|source| source.note_end(&process.arena));
            let before = load(&process.arena.header().stored).records();
            let more = self.write_some(process).inspect_err(|_| {
                self.sources.iter_mut().for_each(Source::forget);
            })?;
            written += load(&process.arena.header().stored).records() - before;
            if !more || written >= enough || process.pump.is_pausing() {
                self.last_write = Instant::now();
                return self.see_off(process);
            }
        }
    }

    /// One write of bounded size; true when more is waiting.
    fn write_some(&mut self, process: &Process) -> Result<bool, Error> {
        let mut lost = |reason, counts| process.lose(reason, counts);
        if self.store.open(&mut lost)? {
            self.strings_kept = 0;
            self.losses_kept = Losses::default();
            self.last_anchor = None;
        }
        self.catalog.clear();
        let first_sequence = self.sequence;
        self.begin_frames(process);
        let begun = self.frames.len();
        let (counts, more) = self.gather(process);
        if self.frames.len() == begun {
            self.sequence = first_sequence;
        } else {
            if let Err(error) = self.store.append(&self.frames, counts) {
                self.sequence = first_sequence;
                return Err(error);
            }
            failpoint();
        }
        add(&process.arena.header().stored, counts);
        self.sources.iter_mut().for_each(|source| source.keep(&process.arena));
        self.store.keep_cap(&mut lost);
        self.write_catalog(process)?;
        self.maybe_calibrate(process);
        Ok(more)
    }

    /// Writes new strings and a reading of the clocks. After the records, so that frames lie in
    /// the order of their numbers; until then the arena has the strings that they use.
    fn write_catalog(&mut self, process: &Process) -> Result<(), Error> {
        let first_sequence = self.sequence;
        let strings = self.add_strings();
        self.add_clock(process);
        if let Err(error) = self.store.append_catalog(&self.catalog) {
            self.sequence = first_sequence;
            self.last_anchor = None;
            return Err(error);
        }
        self.strings_kept = strings;
        Ok(())
    }

    /// Every write of records begins with readings of the clocks, so every spool file does: its
    /// times can be told even when the catalog is lost.
    fn begin_frames(&mut self, process: &Process) {
        self.frames.clear();
        let now = *self.newest_anchor.get_or_insert_with(|| process.clock.anchor());
        anchors_frame(self.sequence, &[process.first_anchor, now], &mut self.frames);
        self.sequence += 1;
    }

    /// Reads rings into frames; what was read, and whether more is there.
    fn gather(&mut self, process: &Process) -> (Counts, bool) {
        let encoder = &mut self.encoder.0;
        let mut counts = Counts::default();
        for (i, source) in self.sources.iter_mut().enumerate() {
            while source.read_into(&process.arena, encoder) {
                counts += encoder.counts();
                encoder.finish(self.sequence, &mut self.frames);
                self.sequence += 1;
                if self.frames.len() >= self.write_bytes {
                    // The next write begins behind it, so that one busy thread starves no other.
                    self.sources.rotate_left(i + 1);
                    return (counts, true);
                }
            }
        }
        if !encoder.is_empty() {
            counts += encoder.counts();
            encoder.finish(self.sequence, &mut self.frames);
            self.sequence += 1;
        }
        (counts, false)
    }

    /// Adds the strings that the catalog does not have; returns how many there are then.
    fn add_strings(&mut self) -> usize {
        let new: Vec<&'static str> = crate::names::lock().texts()[self.strings_kept..].to_vec();
        for (i, strings) in new.chunks(STRINGS_IN_FRAME).enumerate() {
            let first = (self.strings_kept + i * STRINGS_IN_FRAME) as u32;
            strings_frame(self.sequence, first, strings, &mut self.catalog);
            self.sequence += 1;
        }
        self.strings_kept + new.len()
    }

    fn add_clock(&mut self, process: &Process) {
        if !self.is_idle() {
            return;
        }
        let now = process.clock.anchor();
        self.newest_anchor = Some(now);
        process.arena.keep(now);
        let anchors = [process.first_anchor, now];
        let new = if self.last_anchor.is_none() { &anchors[..] } else { &anchors[1..] };
        anchors_frame(self.sequence, new, &mut self.catalog);
        self.sequence += 1;
        self.last_anchor = Some(Instant::now());
    }

    /// Writes the counters of threads that ended, gives their slabs back, and writes the totals.
    fn see_off(&mut self, process: &Process) -> Result<(), Error> {
        let arena = &process.arena;
        self.catalog.clear();
        let first_sequence = self.sequence;
        for source in self.sources.iter().filter(|source| source.is_over(arena)) {
            thread_frame(self.sequence, &source.info(arena), &mut self.catalog);
            self.sequence += 1;
        }
        let losses = self.losses(process);
        if losses != self.losses_kept {
            losses_frame(self.sequence, &losses, &mut self.catalog);
            self.sequence += 1;
        }
        if let Err(error) = self.store.append_catalog(&self.catalog) {
            self.sequence = first_sequence;
            return Err(error);
        }
        self.losses_kept = losses;
        if self.sources.iter().any(|source| source.is_over(arena)) {
            process.be_read_until_now();
        }
        self.sources.retain(|source| {
            let over = source.is_over(arena);
            if over {
                process.bury(&source.info(arena));
                source.give_back(arena);
            }
            !over
        });
        Ok(())
    }

    fn losses(&self, process: &Process) -> Losses {
        let header = process.arena.header();
        let stored = load(&header.stored);
        let mut lost = [Counts::default(); Loss::COUNT];
        for (reason, lost) in lost.iter_mut().enumerate() {
            *lost = load(&header.lost[reason]);
            *lost += load(&header.ended_lost[reason]);
        }
        for source in &self.sources {
            lost[Loss::RingFull as usize] +=
                source.info(&process.arena).lost[Loss::RingFull as usize];
        }
        // What was stored first and lost later counts once, as lost.
        let mut kept = stored;
        for reason in [Loss::SpoolCap, Loss::SpoolGone] {
            let gone = lost[reason as usize];
            kept.spans = kept.spans.saturating_sub(gone.spans);
            kept.marks = kept.marks.saturating_sub(gone.marks);
            kept.attrs = kept.attrs.saturating_sub(gone.attrs);
        }
        let mut produced = kept;
        lost.iter().for_each(|lost| produced += *lost);
        Losses { produced, stored: kept, lost }
    }

    fn maybe_calibrate(&mut self, process: &Process) {
        if self.last_calibration.elapsed() >= CALIBRATE_EVERY {
            process.set_scope_cost(calibrate::scope_cost());
            process.readings_cost.store(calibrate::readings_cost(), Ordering::Relaxed);
            self.last_calibration = Instant::now();
        }
    }

    /// The last round: open scopes, every thread, the totals, the end.
    pub fn finish(&mut self, process: &'static Process) {
        // A thread that was inside its fast path when recording stopped is given time to leave it.
        std::thread::sleep(Duration::from_millis(1));
        if self.write_all(process).and_then(|()| self.write_end(process)).is_ok() {
            process.arena.set_finished();
        }
    }

    fn write_end(&mut self, process: &Process) -> Result<(), Error> {
        let mut left = crate::left_open::Left::find(process);
        // Some may have closed since: then their records are in the rings by now.
        self.write_all(process)?;
        let left = left.still_open();
        for (i, spans) in left.chunks(FRAME_RECORDS).enumerate() {
            let counts = self.encoder.0.push(0, (i * FRAME_RECORDS) as u64, spans);
            self.begin_frames(process);
            self.encoder.0.finish(self.sequence, &mut self.frames);
            self.sequence += 1;
            self.store.append(&self.frames, counts)?;
            add(&process.arena.header().stored, counts);
        }
        self.catalog.clear();
        self.last_anchor = None;
        self.add_clock(process);
        for source in &self.sources {
            thread_frame(self.sequence, &source.info(&process.arena), &mut self.catalog);
            self.sequence += 1;
        }
        let losses = self.losses(process);
        end_frame(self.sequence, &losses, &mut self.catalog);
        self.sequence += 1;
        self.store.append_catalog(&self.catalog)
    }
}

fn write_bytes() -> usize {
    let limit = crate::arena::file_size_limit().map_or(u64::MAX, |limit| limit / LIMIT_PART);
    WRITE_BYTES.min(usize::try_from(limit).unwrap_or(usize::MAX))
}

/// Dies where a test asks it to: between writing frames and releasing what they hold.
#[cfg(feature = "failpoints")]
fn failpoint() {
    use std::sync::atomic::AtomicU64;
    static WRITES: AtomicU64 = AtomicU64::new(0);
    let Ok(word) = std::env::var("HODO_TEST_PUMP") else { return };
    let Some(at) = word.strip_prefix("abort-after-write:").and_then(|n| n.parse().ok()) else {
        return;
    };
    if WRITES.fetch_add(1, Ordering::Relaxed) + 1 == at {
        // SAFETY: ends this process, as the test wants.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    }
}

#[cfg(not(feature = "failpoints"))]
fn failpoint() {}
