//! GPU work and the calls that launched it, joined by correlation.

use super::Totals;
use crate::import::rows::{By, Joint, NewWork, What, ticks};
use hodo_format::gpu::{Detail, Work, flag};
use hodo_format::record::SpanId;

pub(super) fn joint(work: &NewWork) -> Joint {
    let (start, end) = (ticks(work.start_ns), ticks(work.end_ns));
    let (flags, span) = match work.by {
        By::Correlation => (Joint::BY_CORRELATION, SpanId::NONE),
        By::Source(how, span) => (u32::from(how), span),
    };
    Joint {
        process: work.process,
        correlation: work.correlation,
        what: What::Work,
        span,
        launched: work.launched_ns.map_or(0, ticks),
        thread: 0,
        flags: flags | u32::from(work.flags),
        start,
        end: end.max(start),
        device: work.device,
        context: work.context,
        stream: work.stream,
        graph: work.graph,
        node: work.node,
        detail: work.detail,
    }
}

/// What is known of the correlation at hand.
#[derive(Default)]
pub(super) struct Group {
    correlation: Option<u32>,
    call: Option<Joint>,
    has_wait: bool,
}

impl Group {
    /// Takes a call, or makes work of what belongs to one.
    pub(super) fn join(&mut self, joint: &Joint) -> Option<Work> {
        if self.correlation != Some(joint.correlation) || joint.correlation == 0 {
            *self = Group { correlation: Some(joint.correlation), ..Group::default() };
        }
        match joint.what {
            What::Launch => {
                // Of a call inside a call the outer one counts: it came first.
                self.call = self.call.or(Some(*joint));
                return None;
            }
            What::Wait if self.has_wait => return None,
            _ => self.has_wait |= matches!(joint.detail, Detail::Sync { .. }),
        }
        let own = joint.flags as u16;
        let (how, span, launched, thread) = match self.call {
            _ if joint.flags & Joint::BY_CORRELATION == 0 => {
                (own & flag::SCOPE, joint.span, joint.launched, joint.thread)
            }
            None => (flag::UNKNOWN, SpanId::NONE, joint.launched, 0),
            Some(call) if call.span.is_none() => {
                (flag::NO_SCOPE, SpanId::NONE, call.launched, call.thread)
            }
            Some(call) => (flag::BY_LAUNCH, call.span, call.launched, call.thread),
        };
        Some(Work {
            flags: own & !flag::SCOPE | how,
            device: joint.device,
            context: joint.context,
            stream: joint.stream,
            start: joint.start,
            end: joint.end,
            correlation: joint.correlation,
            span,
            launched,
            thread,
            graph: joint.graph,
            node: joint.node,
            captured: SpanId::NONE,
            forward: SpanId::NONE,
            detail: joint.detail,
        })
    }
}

pub(super) fn count(totals: &mut Totals, work: &Work) {
    let counter = match work.detail {
        Detail::Kernel(_) => &mut totals.kernels,
        Detail::Copy { .. } => &mut totals.copies,
        Detail::Set { .. } => &mut totals.sets,
        Detail::Sync { .. } | Detail::Memory { .. } => &mut totals.waits,
    };
    *counter += 1;
    totals.without_launch += u64::from(work.flags & flag::SCOPE == flag::UNKNOWN);
}
