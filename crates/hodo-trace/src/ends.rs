//! Scopes that did not end well: left by a panic or an exception, or never closed.

use crate::links::Links;
use crate::select::select;
use crate::{Filter, Process, Row, Run, SpanView};
use serde::Serialize;
use std::collections::HashSet;

/// Scopes above one that are named; a damaged file may claim any number.
const MAX_PATH: usize = 64;

/// The key of the attribute that says why a scope failed.
pub(crate) const ERROR_KEY: &str = "error";

/// A scope that failed or was left open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ending {
    /// Itself first, then the scopes around it from the inside out.
    pub path: Vec<Step>,
    /// Its full id, 32 hex digits.
    pub id: String,
    /// Process it ran in.
    pub pid: u32,
    /// Thread that opened it.
    pub thread: String,
    /// Nanoseconds from the start of the run to its opening.
    pub after_ns: Option<u64>,
    /// Nanoseconds it was open, up to the last moment known.
    pub duration_ns: Option<u64>,
    /// What its attribute `error` says.
    pub error: Option<String>,
}

/// A scope of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Its name.
    pub name: String,
    /// Its index.
    pub index: Option<i64>,
}

impl Run {
    /// Scopes that fit `filter`, failed and hold none that did, in order of their start: a failure
    /// passes through all scopes around it.
    pub fn failed(&self, filter: &Filter) -> Vec<Ending> {
        self.innermost(filter, |process| Box::new(process.spans.failed_rows()))
    }

    /// Scopes that fit `filter`, are open, or were when the process ended, and hold no other such.
    pub fn open_scopes(&self, filter: &Filter) -> Vec<Ending> {
        self.innermost(filter, |process| Box::new(process.spans.open_rows()))
    }

    fn innermost<'a>(
        &'a self,
        filter: &Filter,
        rows: impl Fn(&'a Process) -> Box<dyn Iterator<Item = Row> + 'a>,
    ) -> Vec<Ending> {
        let mut found: Vec<SpanView<'a>> = Vec::new();
        let all: Vec<Vec<Row>> = self.processes.iter().map(|p| rows(p).collect()).collect();
        if all.iter().all(Vec::is_empty) {
            return Vec::new();
        }
        let kept = select(self, &Links::new(&self.processes), filter);
        for ((process, rows), kept) in self.processes.iter().zip(all).zip(kept) {
            let rows = rows.into_iter().filter(|&row| kept.keeps(row));
            let all: Vec<SpanView<'a>> = rows.map(|row| process.span(row)).collect();
            let above: HashSet<_> = all.iter().map(|s| process.spans.parent(s.row)).collect();
            found.extend(all.into_iter().filter(|s| !above.contains(&s.id())));
        }
        found.sort_by_key(SpanView::start_ns);
        let start = self.start_ns();
        found.iter().map(|span| ending(span, start)).collect()
    }
}

fn ending(span: &SpanView<'_>, run_start_ns: Option<i64>) -> Ending {
    let process = span.process;
    let timed = process.is_timed();
    let after = run_start_ns.and_then(|s| u64::try_from(span.start_ns().saturating_sub(s)).ok());
    Ending {
        path: path(process, span.row),
        id: span.full_id(),
        pid: process.info.pid,
        thread: process.thread_name(span.id().thread()).into_owned(),
        after_ns: after.filter(|_| timed),
        duration_ns: timed.then(|| span.duration_ns()),
        error: error(span),
    }
}

fn path(process: &Process, row: Row) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut next = Some(row);
    while let Some(row) = next.filter(|_| steps.len() < MAX_PATH) {
        let span = process.span(row);
        steps.push(Step { name: span.name().into_owned(), index: span.index() });
        next = process.spans.parent_row(row);
    }
    steps
}

fn error(span: &SpanView<'_>) -> Option<String> {
    let names = &span.process.names;
    let said = span.attrs().iter().rfind(|a| names.get(a.key) == Some(ERROR_KEY))?;
    Some(said.value.display(names))
}
