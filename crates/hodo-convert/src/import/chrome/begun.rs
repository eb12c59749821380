//! Scopes that have begun and not ended, as events of their own begin and end them.

use crate::import::pool::Set;
use hodo_format::record::SpanId;
use std::collections::HashMap;

/// Scopes that may be open at once.
const MOST_OPEN: usize = 1 << 18;
/// What the row of scopes that are bound to no thread is called among the system's numbers.
pub const ASYNC_TID: u64 = u64::MAX;

/// A scope that has begun.
#[derive(Debug)]
pub struct Begun {
    /// String id of its name.
    pub name: u32,
    /// When.
    pub start_ns: i64,
    /// Its attributes.
    pub attrs: Set,
    /// Its id, where it needs one before it ends.
    pub id: SpanId,
}

/// All that have begun: by thread, and by what ties their ends.
#[derive(Debug, Default)]
pub struct Stacks {
    threads: HashMap<(u32, u32), Vec<Begun>>,
    others: HashMap<String, Vec<Begun>>,
    ids: HashMap<u32, u64>,
    open: usize,
}

impl Stacks {
    /// Takes the begin of a scope; `false` when too many are open.
    pub fn push(&mut self, thread: (u32, u32), begun: Begun) -> bool {
        if self.open == MOST_OPEN {
            return false;
        }
        self.open += 1;
        self.threads.entry(thread).or_default().push(begun);
        true
    }

    /// The innermost scope of a thread, which ends.
    pub fn pop(&mut self, thread: (u32, u32)) -> Option<Begun> {
        let begun = self.threads.get_mut(&thread)?.pop()?;
        self.open -= 1;
        Some(begun)
    }

    /// The number of the next scope of a process that is bound to no thread.
    pub fn next_async(&mut self, process: u32) -> u64 {
        let id = self.ids.entry(process).or_default();
        *id += 1;
        *id
    }

    /// Takes the begin of a scope that is bound to no thread.
    pub fn push_async(&mut self, key: String, begun: Begun) -> bool {
        if self.open == MOST_OPEN {
            return false;
        }
        self.open += 1;
        self.others.entry(key).or_default().push(begun);
        true
    }

    /// The innermost of a key, and the one around it.
    pub fn pop_async(&mut self, key: &str) -> Option<(Begun, SpanId)> {
        let stack = self.others.get_mut(key)?;
        let begun = stack.pop()?;
        let parent = stack.last().map_or(SpanId::NONE, |around| around.id);
        if stack.is_empty() {
            self.others.remove(key);
        }
        self.open -= 1;
        Some((begun, parent))
    }

    /// All scopes of threads that did not end, in the order of threads.
    pub fn take(&mut self) -> Vec<((u32, u32), Begun)> {
        let mut all: Vec<_> = self.threads.drain().collect();
        all.sort_by_key(|(thread, _)| *thread);
        all.into_iter().flat_map(|(thread, b)| b.into_iter().map(move |b| (thread, b))).collect()
    }

    /// All other scopes that did not end, with their process and the scope around them.
    pub fn take_async(&mut self, processes: &HashMap<i64, u32>) -> Vec<(u32, Begun, SpanId)> {
        let mut all: Vec<_> = self.others.drain().collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        let mut open = Vec::new();
        for (key, stack) in all {
            let pid = key.split('\0').next().and_then(|pid| pid.parse::<i64>().ok());
            let process = pid.and_then(|pid| processes.get(&pid)).copied().unwrap_or(0);
            let mut parent = SpanId::NONE;
            for begun in stack {
                let id = begun.id;
                open.push((process, begun, std::mem::replace(&mut parent, id)));
            }
        }
        open
    }
}
