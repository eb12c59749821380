//! Calls of the API as CUPTI's records tell them, for when another tool holds the callbacks.

use crate::cupti::ApiCall;
use crate::launches::Launch;
use hodo_format::gpu::flag;
use hodo_format::record::SpanId;
use std::collections::HashMap;

/// Calls that are kept until their work has come.
const MOST_CALLS: usize = 1 << 20;

/// Calls by their number, in two generations: the older one goes when the newer is full.
#[derive(Debug, Default)]
pub struct Calls {
    newer: HashMap<u32, ApiCall>,
    older: HashMap<u32, ApiCall>,
}

impl Calls {
    /// Keeps a call. A driver call inside a runtime call has its number: the first counts.
    pub fn add(&mut self, call: ApiCall) {
        if self.newer.len() >= MOST_CALLS / 2 {
            self.older = std::mem::take(&mut self.newer);
        }
        let known = self.newer.entry(call.correlation).or_insert(call);
        if call.start < known.start {
            *known = call;
        }
    }

    /// What is known of a call: its thread and time, from which a reader finds its scope.
    pub fn launch(&self, correlation: u32) -> Launch {
        let call = self.newer.get(&correlation).or_else(|| self.older.get(&correlation));
        call.map_or(Launch::UNKNOWN, |call| Launch {
            span: SpanId::NONE,
            how: flag::UNKNOWN,
            launched: call.start,
            forward: SpanId::NONE,
            thread: call.thread,
        })
    }
}
