//! One copy of an arena, in the reader's terms.

use super::collect::Collector;
use crate::account::possible;
use hodo_format::arena::read::{
    ArenaDamage, ArenaError, ArenaView, OpenScope, Parts, Source, Thread, open_parts,
};
use hodo_format::arena::{Counts, Loss};
use hodo_format::record::{Mark, Sink, Span, decode_one};
use hodo_format::spool::ThreadInfo;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// What an arena held when it was copied.
pub(crate) struct Snapshot {
    pub(crate) view: ArenaView,
    /// Scopes that were open; their end is not known.
    pub(crate) open: Vec<Span>,
}

/// A file that is read where it is needed: slabs that are not in use cost one small read.
struct FileSource<'a>(&'a File);

impl Source for FileSource<'_> {
    fn bytes(&self) -> usize {
        self.0.metadata().map_or(0, |m| usize::try_from(m.len()).unwrap_or(usize::MAX))
    }

    fn copy(&self, at: usize, into: &mut [u8]) -> bool {
        self.0.read_exact_at(into, at as u64).is_ok()
    }
}

impl Snapshot {
    /// Copies an arena; one that is being set up holds nothing.
    pub(super) fn read(file: &File) -> Result<Snapshot, String> {
        Self::read_parts(file, Parts { records: true, strings: true })
    }

    /// Copies some parts of an arena.
    pub(super) fn read_parts(file: &File, parts: Parts) -> Result<Snapshot, String> {
        let mut view = match open_parts(&FileSource(file), parts) {
            Err(ArenaError::NotReady) => ArenaView::default(),
            view => view.map_err(|error| error.to_string())?,
        };
        let open = view.open.drain(..).map(open_span).collect();
        Ok(Snapshot { view, open })
    }

    /// The latest moment anything in it speaks of.
    pub(super) fn last_tick(&self) -> u64 {
        let mut latest = Latest(0);
        for segment in &self.view.segments {
            let mut units = segment.units.as_slice();
            while let Some((taken, _)) = decode_one(units, &mut latest) {
                units = units.get(taken..).unwrap_or_default();
            }
        }
        let anchors = self.view.anchors.iter().map(|a| a.ticks);
        let opened = self.open.iter().map(|s| s.start);
        anchors.chain(opened).fold(latest.0, u64::max)
    }

    /// Gives names, threads and anchors to `collector`, to be used where the catalog, which has
    /// checksums, does not say.
    pub(super) fn describe(&mut self, collector: &mut Collector) {
        for strings in self.view.strings.drain(..) {
            for (id, text) in (strings.first..).zip(&strings.texts) {
                collector.names.insert(id, text);
            }
        }
        collector.arena_anchors = self.view.anchors.clone();
        collector.arena_threads = self.view.threads.iter().map(thread_info).collect();
    }

    /// Gives `collector` the records it does not have.
    ///
    /// Drained records are in the spool, so this mends what is damaged there; not so once spool
    /// files went away as a whole, whose records are counted as lost and stay it.
    pub(super) fn fill(&self, collector: &mut Collector) {
        let gone = [Loss::SpoolCap, Loss::SpoolGone, Loss::NotStored];
        let mend = gone.iter().all(|&reason| self.view.lost[reason as usize] == Counts::default());
        for segment in &self.view.segments {
            let skip = if mend { 0 } else { segment.drained };
            collector.segment(segment.thread, segment.first, skip, &segment.units);
        }
    }

    /// Records lost so far, by reason.
    pub(crate) fn lost(&self) -> [Counts; Loss::COUNT] {
        let view = &self.view;
        let mut lost: [Counts; Loss::COUNT] =
            std::array::from_fn(|reason| possible(view.lost[reason]));
        for (lost, ended) in lost.iter_mut().zip(view.ended_lost) {
            *lost += possible(ended);
        }
        for thread in &view.threads {
            lost[Loss::RingFull as usize] += possible(thread.lost);
        }
        lost
    }

    /// Records the spool should hold: those written, less those whose files went away.
    pub(super) fn should_be_stored(&self) -> Counts {
        let written = possible(self.view.stored);
        [Loss::SpoolCap, Loss::SpoolGone].iter().fold(written, |stored, &reason| {
            let gone = possible(self.view.lost[reason as usize]);
            Counts {
                spans: stored.spans.saturating_sub(gone.spans),
                marks: stored.marks.saturating_sub(gone.marks),
                attrs: stored.attrs.saturating_sub(gone.attrs),
            }
        })
    }

    /// Takes over the counters of a later copy.
    pub(super) fn take_losses(&mut self, later: Snapshot) {
        self.view.lost = later.view.lost;
        self.view.ended_lost = later.view.ended_lost;
        self.view.threads = later.view.threads;
    }

    /// What was wrong, in words; none when nothing was.
    pub(super) fn damage(&self) -> Option<String> {
        let ArenaDamage { missing_bytes, slabs, units, string_bytes, restless } = self.view.damage;
        let told = [
            (missing_bytes, "bytes missing at the end"),
            (slabs, "slabs that make no sense"),
            (units, "units that are no records"),
            (string_bytes, "bytes of strings that are none"),
            (restless, "slabs that changed while being read"),
        ];
        let told: Vec<String> =
            told.iter().filter(|t| t.0 > 0).map(|(n, what)| format!("{n} {what}")).collect();
        (!told.is_empty()).then(|| told.join(", "))
    }
}

fn open_span(scope: OpenScope) -> Span {
    let OpenScope { head, id, parent, start, index, overhead, .. } = scope;
    let (flags, name) = (head.flags, head.name);
    Span { flags, name, id, parent, start, end: start, cpu: 0, index, overhead }
}

fn thread_info(thread: &Thread) -> ThreadInfo {
    let mut lost = [Counts::default(); Loss::COUNT];
    lost[Loss::RingFull as usize] = thread.lost;
    ThreadInfo {
        number: thread.number,
        os_tid: thread.os_tid,
        name: thread.name.clone(),
        started: thread.started,
        ended: thread.ended,
        produced: Counts::default(),
        lost,
        depth_dropped: thread.depth_dropped,
        out_of_order: thread.out_of_order,
        double_closed: thread.double_closed,
        wrong_thread: thread.wrong_thread,
        cpu_syscalls: thread.cpu_syscalls,
    }
}

/// Keeps the latest tick of the records it is shown.
struct Latest(u64);

impl Sink for Latest {
    fn span(&mut self, span: &Span) {
        self.0 = self.0.max(span.end);
    }

    fn mark(&mut self, mark: &Mark<'_>) {
        self.0 = self.0.max(mark.at);
    }
}
