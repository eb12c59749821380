//! When the host waited for the GPU.

use crate::{SpanId, WorkRow, WorkRows};
use hodo_format::gpu::Detail;

/// CUPTI's code of a copy from the device to the host.
const TO_HOST: u8 = 2;
/// CUPTI's code of a stream that waits for an event: no thread does.
const STREAM_WAITS: u8 = 2;

/// A wait that was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Recorded {
    start: u64,
    end: u64,
    scope: SpanId,
}

/// The waits of a process.
pub(super) struct Waits<'a> {
    work: &'a WorkRows,
    /// In order of their end.
    recorded: Vec<Recorded>,
    /// Moments of all launches, in order.
    launches: Vec<u64>,
}

/// How long the host had waited when the GPU ran out of work, and in which scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waited {
    pub(super) ticks: u64,
    pub(super) scope: SpanId,
}

impl<'a> Waits<'a> {
    pub(super) fn new(work: &'a WorkRows) -> Waits<'a> {
        let wait = |row: WorkRow| match work.detail(row) {
            Detail::Sync { what } if what != STREAM_WAITS => {
                let (start, end) = work.interval(row)?;
                Some(Recorded { start, end, scope: work.span(row) })
            }
            _ => None,
        };
        let mut recorded: Vec<Recorded> = work.rows().filter_map(wait).collect();
        recorded.sort_by_key(|wait| wait.end);
        let busy = work.rows().filter(|&row| work.is_busy(row));
        let mut launches: Vec<u64> =
            busy.map(|row| work.launched(row)).filter(|&at| at != 0).collect();
        launches.sort_unstable();
        launches.dedup();
        Waits { work, recorded, launches }
    }

    pub(super) fn are_recorded(&self) -> bool {
        !self.recorded.is_empty()
    }

    /// The last launch before a moment.
    pub(super) fn launch_before(&self, moment: u64) -> Option<u64> {
        let at = self.launches.partition_point(|&launch| launch < moment);
        at.checked_sub(1).map(|at| self.launches[at])
    }

    /// The wait that ended when the GPU ran out of work at `idle_from`, after `last`, with nothing
    /// launched meanwhile.
    pub(super) fn at(&self, idle_from: u64, last: Option<WorkRow>) -> Option<Waited> {
        self.recorded_at(idle_from).or_else(|| self.read_at(idle_from, last?))
    }

    /// A recorded wait that was under way then.
    fn recorded_at(&self, idle_from: u64) -> Option<Waited> {
        let at = self.recorded.partition_point(|wait| wait.end < idle_from);
        let wait = self.recorded.get(at).filter(|wait| wait.start < idle_from)?;
        Some(Waited { ticks: wait.end - wait.start, scope: wait.scope })
    }

    /// The last work was a copy to the host, and the host launched nothing until it had come: it
    /// was waiting for it, as `.item()` does.
    fn read_at(&self, idle_from: u64, last: WorkRow) -> Option<Waited> {
        let Detail::Copy { direction: TO_HOST, .. } = self.work.detail(last) else { return None };
        let launched = self.work.launched(last);
        let waiting = launched != 0 && self.launch_before(idle_from) == Some(launched);
        let ticks = idle_from.saturating_sub(launched);
        waiting.then_some(Waited { ticks, scope: self.work.span(last) })
    }
}
