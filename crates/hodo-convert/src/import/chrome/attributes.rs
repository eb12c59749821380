//! Arguments of events, as attributes.

use super::File;
use super::event::{Args, Event, text};
use super::work;
use crate::import::pool::Given;
use crate::import::rows::{Parent, Scope};
use hodo_format::record::flag;
use hodo_trace::OVERHEAD_MARK;
use serde_json::value::RawValue;

impl File<'_> {
    /// Puts the arguments into the set, but for what only the profiler needs.
    pub(super) fn attributes(&mut self, args: &Args<'_>) {
        self.set.clear();
        let is_hodo = args.get("hodo.scope_id").is_some();
        for (key, raw) in &args.0 {
            if is_bookkeeping(key) || is_hodo && is_own(key) {
                continue;
            }
            let key = self.builder.strings.number(key);
            given(raw, |value| self.set.push(key, &value));
        }
    }

    /// What hodo's own export says of a scope besides.
    pub(super) fn own(&mut self, event: &Event<'_>, args: &Args<'_>, scope: &mut Scope) {
        let id = |key: &str| args.get(key).map(text).and_then(|id| work::scope_id(&id));
        let Some(own) = id("hodo.scope_id") else { return };
        scope.id = Some(own);
        let row = self.ids(event);
        scope.thread = match self.lanes.get(&row) {
            Some(&lane) => lane,
            None => {
                let lane = self.builder.lane();
                self.lanes.insert(row, lane);
                let os_tid = row.1 as u64 & 0x7fff_ffff;
                self.builder.numbered_thread(scope.process, own.thread(), os_tid, "");
                lane
            }
        };
        if let Some(parent) = id("hodo.parent_id") {
            scope.parent = Parent::Is(parent);
        }
        scope.index = args.get("index").and_then(|index| index.get().parse().ok());
        scope.cpu_ns = args.number("cpu_ns");
        scope.overhead_ns = args.number(OVERHEAD_MARK);
        for (key, bit) in [("failed", flag::FAILED), ("open_at_end", flag::LEFT_OPEN)] {
            if args.get(key).is_some() {
                scope.flags |= bit;
            }
        }
    }
}

/// Numbers by which torch's profiler ties its own records together.
fn is_bookkeeping(key: &str) -> bool {
    const KEYS: [&str; 9] = [
        "External id",
        "Record function id",
        "Ev Idx",
        "Fwd thread id",
        "Python id",
        "Python parent id",
        "Python module id",
        "correlation",
        "cbid",
    ];
    KEYS.contains(&key)
}

/// What hodo's own export adds to the attributes of a scope.
pub fn is_own(key: &str) -> bool {
    matches!(key, "index" | "cpu_ns" | "failed" | "open_at_end") || key.starts_with("hodo.")
}

/// Gives a JSON value as one of an attribute; null is none.
pub fn given(raw: &RawValue, give: impl FnOnce(Given<'_>)) {
    let json = raw.get();
    match json.as_bytes().first() {
        Some(b'"') => give(Given::Text(&text(raw))),
        Some(b'{' | b'[') => give(Given::Json(json)),
        Some(b't') => give(Given::Bool(true)),
        Some(b'f') => give(Given::Bool(false)),
        Some(b'n') | None => {}
        Some(_) => {
            let whole = json.parse().map(Given::I64);
            let float = || json.parse().map(Given::F64);
            if let Ok(number) = whole.or_else(|_| float()) {
                give(number);
            }
        }
    }
}
