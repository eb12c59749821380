//! A record and what is known of its launch become a piece of work.

use crate::cupti::Activity;
use crate::graphs::Graphs;
use crate::launches::{Launch, Launches};
use hodo_format::gpu::{Detail, Work, flag};
use hodo_format::record::SpanId;

/// What the callbacks remembered: the same for a live capture and for one that is replayed.
#[derive(Debug, Default)]
pub struct Memory {
    /// Scopes by call.
    pub launches: Launches,
    /// Scopes by graph node.
    pub graphs: Graphs,
}

impl Memory {
    /// Forgets all calls and nodes: they belong to scopes that another recorder kept.
    pub fn forget(&self) {
        self.launches.forget();
        self.graphs.forget();
    }

    /// The work that `activity` describes; `name` is the string id of a kernel's name.
    pub fn work(&self, activity: &Activity, name: u32) -> Work {
        let launch = self.launches.find(activity.correlation, activity.start);
        self.work_of(activity, name, launch)
    }

    /// The same for a launch that is known otherwise.
    pub fn work_of(&self, activity: &Activity, name: u32, launch: Launch) -> Work {
        let mut detail = activity.detail;
        if let Detail::Kernel(kernel) = &mut detail {
            kernel.name = name;
        }
        let in_graph = activity.node != 0;
        let Launch { span, how, launched, forward, thread } = launch;
        Work {
            flags: how | flags(activity, in_graph),
            device: activity.device,
            context: activity.context,
            stream: activity.stream,
            start: activity.start,
            end: activity.end,
            correlation: activity.correlation,
            span,
            launched,
            thread,
            graph: if in_graph { activity.graph } else { 0 },
            node: activity.node,
            captured: if in_graph { self.graphs.scope(activity.node) } else { SpanId::NONE },
            forward,
            detail,
        }
    }
}

fn flags(activity: &Activity, in_graph: bool) -> u16 {
    let bit = |is: bool, bit: u16| if is { bit } else { 0 };
    let unstamped = activity.start == 0;
    bit(unstamped, flag::UNSTAMPED)
        | bit(!unstamped && activity.end == 0, flag::UNFINISHED)
        | bit(in_graph, flag::GRAPH)
        | bit(activity.is_async, flag::ASYNC)
}
