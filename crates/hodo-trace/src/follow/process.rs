//! One process that records, looked at again and again.

use super::tail::{Growing, Numbered, Taken};
use super::window::{Ended, SECOND};
use super::{paths::PathId, resolve::Resolver};
use crate::account::possible;
use crate::read::{ArenaLook, CATALOG, GPU, Owner, SPOOL, json};
use crate::shipped;
use crate::{Clock, GpuState, Names, ProcessInfo, ProcessState, Value};
use hodo_format::arena::{Anchor, Counts, Loss, clock_kind};
use hodo_format::gpu::{Detail, Work};
use hodo_format::record::{Mark, Sink, Span};
use hodo_format::spool::{FrameSink, Losses};
use std::path::{Path, PathBuf};

/// Anchors that are kept: the first ones and the newest.
const ANCHORS: usize = 64;

/// A process and where its files were left.
pub(super) struct Followed {
    pub(super) folder: PathBuf,
    pub(super) info: ProcessInfo,
    pub(super) state: ProcessState,
    pub(super) resolver: Resolver,
    /// Where its outermost scopes hang, once that is known.
    pub(super) root: Option<PathId>,
    pub(super) heard: Heard,
    pub(super) lost: [Counts; Loss::COUNT],
    pub(super) depth_dropped: u64,
    pub(super) clock: Clock,
    /// How many scopes and marks each of those just read stands for, and the same of GPU work.
    pub(super) weight: u64,
    gpu_weight: u64,
    catalog: Growing,
    spool: Numbered,
    gpu: Numbered,
    arena: Option<ArenaLook>,
    is_shipped: bool,
}

/// What the files said since the last look, and what stays of it.
#[derive(Default)]
pub(super) struct Heard {
    pub(super) spans: Vec<Span>,
    pub(super) marks: Vec<Told>,
    pub(super) work: Vec<Work>,
    pub(super) names: Names,
    pub(super) gpu: Option<GpuState>,
    anchors: Vec<Anchor>,
    losses: Option<Losses>,
    ended: bool,
}

/// A mark.
pub(super) struct Told {
    pub(super) name: u32,
    pub(super) at: u64,
    pub(super) value: Value,
}

impl Followed {
    pub(super) fn new(folder: &Path) -> Followed {
        Followed {
            folder: folder.to_owned(),
            info: ProcessInfo::default(),
            state: ProcessState::Unknown,
            resolver: Resolver::default(),
            root: None,
            heard: Heard::default(),
            lost: Default::default(),
            depth_dropped: 0,
            clock: Clock::default(),
            weight: 1,
            gpu_weight: 1,
            catalog: Growing::new(folder.join(CATALOG)),
            spool: Numbered::new(folder, SPOOL),
            gpu: Numbered::new(folder, GPU),
            arena: None,
            is_shipped: shipped::is_shipped(folder),
        }
    }

    /// Whether nothing more will come.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, ProcessState::Finished | ProcessState::Ended)
    }

    /// Reads what is new, and which scopes are open: the arena first, so that what leaves it
    /// meanwhile is in the files.
    pub(super) fn look(&mut self, most_records: u64) -> (Taken, Vec<Span>) {
        if self.info.pid == 0 {
            self.info = json(&self.folder.join("process.json")).unwrap_or_default();
        }
        let (owner, open) = self.look_at_arena();
        let mut taken = self.catalog.read(u64::MAX, &mut self.heard);
        let spool = self.spool.read(most_records, &mut self.heard);
        self.spool.learn(spool, (self.heard.spans.len() + self.heard.marks.len()) as u64);
        let gpu = self.gpu.read(most_records, &mut self.heard);
        self.gpu.learn(gpu, self.heard.work.len() as u64);
        (self.weight, self.gpu_weight) = (spool.weight(), gpu.weight());
        taken.join(spool);
        taken.join(gpu);
        self.name_what_is_open(&open);
        self.settle(owner);
        if self.is_over() {
            self.arena = None;
        }
        (taken, open)
    }

    fn look_at_arena(&mut self) -> (Option<Owner>, Vec<Span>) {
        if self.arena.is_none() {
            self.arena = ArenaLook::open(&self.folder, &self.info);
        }
        let Some(arena) = &self.arena else { return (None, Vec::new()) };
        let owner = arena.owner();
        let Ok(snapshot) = arena.open_scopes() else { return (Some(owner), Vec::new()) };
        self.lost = snapshot.lost();
        self.depth_dropped = snapshot.view.threads.iter().map(|t| t.depth_dropped).sum();
        self.heard.anchors(&snapshot.view.anchors);
        self.clock = Clock::new(self.heard.anchors.clone());
        if self.info.clock == "monotonic" || snapshot.view.clock == clock_kind::MONOTONIC {
            self.clock = std::mem::take(&mut self.clock).in_nanoseconds();
        }
        (Some(owner), snapshot.open)
    }

    /// A name that is new reaches the files with the next flush; the arena has it.
    fn name_what_is_open(&mut self, open: &[Span]) {
        let unnamed = open.iter().any(|span| self.heard.names.get(span.name).is_none());
        let Some(arena) = self.arena.as_ref().filter(|_| unnamed) else { return };
        for strings in arena.strings() {
            for (id, text) in (strings.first..).zip(&strings.texts) {
                self.heard.names.insert(id, text);
            }
        }
    }

    fn settle(&mut self, owner: Option<Owner>) {
        if let Some(losses) = self.heard.losses.filter(|_| owner.is_none()) {
            self.lost = losses.lost.map(possible);
        }
        self.state = match owner {
            _ if self.heard.ended => ProcessState::Finished,
            Some(Owner::Running) => ProcessState::Live,
            Some(Owner::Gone) => ProcessState::Ended,
            None if self.is_shipped => shipped::state_of(&self.folder),
            Some(Owner::Unknown) | None => ProcessState::Unknown,
        };
    }

    /// Gives up what only further looks would need: a long run has many processes that ended.
    pub(super) fn wind_up(&mut self) {
        self.heard = Heard { gpu: self.heard.gpu.take(), ..Heard::default() };
        self.resolver = Resolver::default();
        self.catalog = Growing::new(PathBuf::new());
        self.spool = Numbered::new(&self.folder, SPOOL);
        self.gpu = Numbered::new(&self.folder, GPU);
    }

    /// A moment of this process on the host's clock; 0 while its own is not calibrated.
    pub(super) fn moment_ns(&self, ticks: u64) -> u64 {
        self.clock.monotonic_ns(ticks).map_or(0, |ns| ns.max(0) as u64)
    }

    /// A closed scope in the host's time.
    pub(super) fn ended(&self, span: &Span) -> Ended {
        let index = (span.flags & hodo_format::record::flag::HAS_INDEX != 0).then_some(span.index);
        Ended { index, weight: self.weight, ..self.took(span.start, span.end, 0) }
    }

    /// A piece of GPU work in the host's time; none for what has no times.
    pub(super) fn worked(&self, work: &Work) -> Option<Ended> {
        let bytes = match work.detail {
            Detail::Copy { bytes, .. } | Detail::Set { bytes, .. } => bytes,
            _ => 0,
        };
        let took = || self.took(work.start, work.end, bytes);
        let is_timed = work.end > work.start && work.start > 0;
        is_timed.then(|| Ended { weight: self.gpu_weight, ..took() })
    }

    fn took(&self, start: u64, end: u64, bytes: u64) -> Ended {
        let duration_ns = self.clock.duration_ns(end.saturating_sub(start));
        Ended { end_ns: self.moment_ns(end), duration_ns, index: None, bytes, weight: 1 }
    }
}

impl Sink for Heard {
    fn span(&mut self, span: &Span) {
        self.spans.push(*span);
    }

    fn mark(&mut self, mark: &Mark<'_>) {
        let value = Value::from_record(&mark.value);
        self.marks.push(Told { name: mark.name, at: mark.at, value });
    }
}

impl FrameSink for Heard {
    fn run(&mut self, thread: u32, _: u64, _: u64) -> bool {
        // Number 0 stands for scopes that nobody closed, written when all is over.
        thread != 0
    }

    fn strings(&mut self, first_id: u32, strings: &[&str]) {
        for (id, text) in (first_id..).zip(strings) {
            self.names.insert(id, text);
        }
    }

    fn anchors(&mut self, anchors: &[Anchor]) {
        for anchor in anchors {
            // One a second is plenty to go by.
            let near = |known: &&Anchor| known.monotonic_ns.abs_diff(anchor.monotonic_ns) < SECOND;
            if self.anchors.iter().rev().find(near).is_none() || self.anchors.len() < 2 {
                self.anchors.push(*anchor);
            }
        }
        if self.anchors.len() > ANCHORS {
            self.anchors.drain(ANCHORS / 2..self.anchors.len() - ANCHORS / 4);
        }
    }

    fn losses(&mut self, losses: Losses) {
        self.losses = Some(losses);
    }

    fn end(&mut self, losses: Losses) {
        self.losses = Some(losses);
        self.ended = true;
    }

    fn work(&mut self, work: &Work) {
        self.work.push(*work);
    }

    fn gpu_state(&mut self, json: &str) {
        self.gpu = GpuState::parse(json).or(self.gpu.take());
    }
}
