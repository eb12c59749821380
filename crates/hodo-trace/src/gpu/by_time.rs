//! The scopes of work whose launch is known by thread and time alone, since another tool held the
//! callbacks.

use super::{WorkRow, WorkRows};
use crate::{Row, Spans, Thread};
use hodo_format::gpu::flag;
use hodo_format::record::{self, SpanId};
use std::collections::HashMap;

/// Gives every piece of work with [`flag::BY_TIME`] its scope: the innermost of its thread when it
/// was launched, else that of the thread that last launched inside one.
pub(crate) fn resolve(work: &mut WorkRows, spans: &Spans, threads: &[Thread]) {
    let launches = launches(work);
    if !launches.iter().any(|&row| is_by_time(work, row)) {
        return;
    }
    let mut open = open_scopes(work, &launches, spans, threads);
    let mut innermost =
        |thread: u32, at: u64| open.get_mut(&thread).and_then(|open| open.at(at, spans));
    let mut ambient = None;
    for row in launches {
        let (thread, at) = (work.thread(row), work.launched(row));
        if !is_by_time(work, row) {
            ambient = Some(thread);
            continue;
        }
        let own = innermost(thread, at);
        let (scope, how) = match own {
            Some(scope) => (Some(scope), flag::BY_LAUNCH),
            None => match ambient.and_then(|thread| innermost(thread, at)) {
                Some(scope) => (Some(scope), flag::INHERITED),
                None => (None, flag::NO_SCOPE),
            },
        };
        ambient = if own.is_some() { Some(thread) } else { ambient };
        work.set_scope(row, scope.map_or(SpanId::NONE, |scope| spans.id(scope)), how);
    }
}

fn is_by_time(work: &WorkRows, row: WorkRow) -> bool {
    work.flags(row) & flag::BY_TIME != 0
}

/// Work whose scope is to be found, and work that says which thread launched inside a scope, in the
/// order it was launched.
fn launches(work: &WorkRows) -> Vec<WorkRow> {
    let tells = |row: WorkRow| {
        let in_scope =
            work.flags(row) & flag::SCOPE == flag::BY_LAUNCH && !work.span(row).is_none();
        let is_known = work.thread(row) != 0 && work.launched(row) != 0;
        is_known && (is_by_time(work, row) || in_scope)
    };
    let mut launches: Vec<WorkRow> = work.rows().filter(|&row| tells(row)).collect();
    launches.sort_by_key(|&row| work.launched(row));
    launches
}

/// The scopes of every thread that launched, by the operating system's number of the thread.
fn open_scopes(
    work: &WorkRows,
    launches: &[WorkRow],
    spans: &Spans,
    threads: &[Thread],
) -> HashMap<u32, OpenScopes> {
    let mut open: HashMap<u32, OpenScopes> =
        launches.iter().map(|&row| (work.thread(row), OpenScopes::default())).collect();
    let os_tid: HashMap<u32, u32> = threads.iter().map(|t| (t.number, t.os_tid)).collect();
    for row in spans.rows().filter(|&row| is_current(spans, row)) {
        let thread = os_tid.get(&spans.thread(row)).and_then(|tid| open.get_mut(tid));
        thread.into_iter().for_each(|open| open.scopes.push(row));
    }
    for open in open.values_mut() {
        open.scopes.sort_unstable_by_key(|&row| (spans.start(row), spans.id(row)));
    }
    open
}

/// Whether a scope was its thread's innermost at some time; one with a handle never is.
fn is_current(spans: &Spans, row: Row) -> bool {
    let flags = spans.flags(row);
    flags & record::flag::CPU_MASK != record::flag::CPU_OTHER_THREAD || spans.is_open(row)
}

/// The scopes of a thread, asked for moments that come in order.
#[derive(Default)]
struct OpenScopes {
    /// In order of their start.
    scopes: Vec<Row>,
    /// Of those, the ones that began by the moment last asked for.
    begun: usize,
    /// Those that may still be open: the one that began last on top.
    stack: Vec<Row>,
}

impl OpenScopes {
    /// The scope open at a moment that began last.
    fn at(&mut self, moment: u64, spans: &Spans) -> Option<Row> {
        while let Some(&next) = self.scopes.get(self.begun).filter(|&&s| spans.start(s) <= moment) {
            self.begun += 1;
            self.stack.push(next);
        }
        let is_over = |row: &mut Row| !spans.is_open(*row) && spans.end(*row) <= moment;
        while self.stack.pop_if(|row| is_over(row)).is_some() {}
        self.stack.last().copied()
    }
}
