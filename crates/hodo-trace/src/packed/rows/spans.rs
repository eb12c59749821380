//! A row a scope, in the order the process holds them.

use super::{Of, Rows, hex, id, names};
use crate::packed::values::{NO_TEXT, Values};
use crate::table::attributes;
use crate::tree::children::Children;
use crate::tree::paths::ROOT;
use crate::{Cpu, GpuBySpan, ProcessState, Row, SpanView};
use hodo_format::record::flag;
use std::cell::RefCell;
use std::ops::Range;

/// The scopes of a process.
pub(super) struct Spans<'a> {
    of: &'a Of<'a>,
    children: RefCell<Children>,
    gpu: GpuBySpan<'a>,
}

const STATES: [&str; 4] = ["closed", "failed", "open", "left open"];
const KINDS: [(u16, &str); 3] =
    [(flag::BENCH, "bench"), (flag::ITERATION, "iteration"), (flag::WARMUP, "warm-up")];

impl<'a> Spans<'a> {
    pub(super) fn new(of: &'a Of<'a>) -> Spans<'a> {
        let children = Children::new(of.tables.run, &of.tables.links, of.at);
        Spans { of, children: RefCell::new(children), gpu: of.process.gpu_by_span() }
    }

    fn views(&self, rows: Range<Row>) -> impl Iterator<Item = SpanView<'a>> + use<'a> {
        let process = self.of.process;
        rows.map(move |row| process.span(row))
    }

    /// Numbers that are known only where times are.
    fn timed(&self, rows: Range<Row>, value: impl Fn(Row) -> i64) -> Values {
        match self.of.process.is_timed() {
            true => Values::whole(rows.map(value)),
            false => Values::same_whole(None, rows.len()),
        }
    }

    fn parents(&self, rows: Range<Row>) -> Values {
        let spans = &self.of.process.spans;
        let outside = self.started_in().map(|(_, scope)| scope);
        Values::wholes(rows.map(|row| id(spans.parent(row)).or(outside)))
    }

    /// The scope of another process that started this one.
    fn started_in(&self) -> Option<(String, i64)> {
        let (at, row) = self.of.tables.links.started_in[self.of.at]?;
        let process = &self.of.tables.run.processes[at];
        Some((hex(process), process.spans.id(row).0 as i64))
    }

    fn parent_processes(&self, rows: Range<Row>) -> Values {
        let spans = &self.of.process.spans;
        let outside = self.started_in().map(|(process, _)| process);
        let mut texts = vec![hex(self.of.process)];
        let outer = if outside.is_some() { 1 } else { NO_TEXT };
        texts.extend(outside);
        let code = |row| if spans.parent(row).is_none() { outer } else { 0 };
        Values::Text(rows.map(code).collect(), texts)
    }

    fn depths(&self, rows: Range<Row>) -> Values {
        let paths = &self.of.tables.paths;
        let mut known: Vec<i64> = vec![-1; paths.nodes.len()];
        Values::whole(rows.map(|row| {
            let node = paths.node(self.of.at, row).unwrap_or(ROOT);
            let depth = &mut known[node as usize];
            if *depth < 0 {
                *depth = names(paths, node).len().saturating_sub(1) as i64;
            }
            *depth
        }))
    }

    fn own_times(&self, rows: Range<Row>) -> Values {
        let (process, mut children) = (self.of.process, self.children.borrow_mut());
        if !process.is_timed() {
            return Values::same_whole(None, rows.len());
        }
        let own = rows.map(|row| children.own_time(&process.spans, row));
        Values::whole(own.map(|ticks| process.clock.duration_ns(ticks) as i64))
    }

    fn overheads(&self, rows: Range<Row>) -> Values {
        match self.of.process.has_overhead() {
            true => Values::whole(self.views(rows).map(|span| span.overhead_ns() as i64)),
            false => Values::same_whole(None, rows.len()),
        }
    }

    fn gpu(&self, rows: Range<Row>, number: fn(&crate::GpuTotals) -> u64) -> Values {
        if self.of.process.gpu.missing_times(&self.of.process.clock).is_some() {
            return Values::same_whole(None, rows.len());
        }
        Values::wholes(rows.map(|row| Some(number(&self.gpu.of(row).ok()?.all) as i64)))
    }

    fn states(&self, rows: Range<Row>) -> Values {
        let code = |span: SpanView<'_>| match (span.is_open(), span.process.state) {
            (true, ProcessState::Live) => 2,
            (true, _) => 3,
            (false, _) => u32::from(span.is_failed()),
        };
        Values::Text(self.views(rows).map(code).collect(), STATES.map(str::to_owned).to_vec())
    }

    fn kinds(&self, rows: Range<Row>) -> Values {
        let spans = &self.of.process.spans;
        let code = |row| {
            let found = KINDS.iter().position(|kind| spans.flags(row) & kind.0 != 0);
            found.map_or(NO_TEXT, |at| at as u32)
        };
        Values::Text(rows.map(code).collect(), KINDS.map(|kind| kind.1.to_owned()).to_vec())
    }

    fn attributes(&self, rows: Range<Row>) -> Values {
        let process = self.of.process;
        if process.attrs.all().is_empty() {
            return Values::same_text(None, rows.len());
        }
        Values::texts(self.views(rows).map(|span| attributes(span.attrs(), &process.names)))
    }
}

impl Rows for Spans<'_> {
    fn len(&self) -> usize {
        self.of.process.spans.len()
    }

    fn column(&self, name: &'static str, rows: Range<usize>) -> Values {
        let rows = rows.start as Row..rows.end as Row;
        let (process, spans) = (self.of.process, &self.of.process.spans);
        match name {
            "thread" => Values::whole(rows.map(|row| spans.thread(row).into())),
            "thread_name" => Values::by_key(rows.map(|row| Some(spans.thread(row))), |thread| {
                Some(process.thread_name(thread))
            }),
            "id" => Values::whole(rows.map(|row| spans.id(row).0 as i64)),
            "parent" => self.parents(rows),
            "parent_process" => self.parent_processes(rows),
            "name" => Values::by_key(rows.map(|row| Some(spans.name(row))), |name| {
                Some(process.names.text(name))
            }),
            "path" => self.of.paths(rows.map(Some)),
            "depth" => self.depths(rows),
            "index" => Values::wholes(rows.map(|row| spans.index(row))),
            "start_ns" => self.timed(rows, |row| process.span(row).start_ns()),
            "duration_ns" => self.timed(rows, |row| process.span(row).duration_ns() as i64),
            "self_ns" => self.own_times(rows),
            "cpu_ns" => Values::wholes(self.views(rows).map(|span| match span.cpu_ns() {
                Cpu::Captured(ns) => Some(ns as i64),
                Cpu::Missing(_) => None,
            })),
            "cpu_not_captured" => {
                let missing = |span: SpanView<'_>| match span.cpu_ns() {
                    Cpu::Captured(_) => None,
                    Cpu::Missing(why) => Some(why as u32),
                };
                let why = |number| crate::CpuMissing::ALL.iter().find(|why| **why as u32 == number);
                Values::by_key(self.views(rows).map(missing), |number| Some(why(number)?.text()))
            }
            "overhead_ns" => self.overheads(rows),
            "gpu_busy_ns" => self.gpu(rows, |work| work.busy_ns),
            "kernels" => self.gpu(rows, |work| work.kernels),
            "state" => self.states(rows),
            "kind" => self.kinds(rows),
            "attributes" => self.attributes(rows),
            _ => self.of.common(name, rows.len()),
        }
    }
}

/// What [`Spans`] rounds away: flags, and the ticks between a time and the nanosecond it is told
/// in. A time that is not told is here in full.
pub(super) struct Ticks<'a>(pub(super) &'a Of<'a>);

impl Rows for Ticks<'_> {
    fn len(&self) -> usize {
        self.0.process.spans.len()
    }

    fn column(&self, name: &'static str, rows: Range<usize>) -> Values {
        let rows = rows.start as Row..rows.end as Row;
        let (process, spans) = (self.0.process, &self.0.process.spans);
        let clock = &process.clock;
        match name {
            "flags" => Values::whole(rows.map(|row| spans.flags(row).into())),
            "start" => Values::whole(
                rows.map(|row| clock.rest(self.0.moment(spans.start(row)), spans.start(row))),
            ),
            "duration" => Values::whole(rows.map(|row| {
                let ticks = spans.duration(row);
                clock.length_rest(self.0.length(ticks), ticks)
            })),
            "cpu" => Values::whole(rows.map(|row| match spans.cpu(row) {
                Cpu::Captured(ticks) => clock.length_rest(self.0.length(ticks), ticks),
                Cpu::Missing(_) => 0,
            })),
            "overhead" => {
                let told = process.has_overhead();
                Values::whole(rows.map(|row| {
                    let ticks = spans.overhead(row);
                    clock.length_rest(self.0.length(ticks).filter(|_| told), ticks)
                }))
            }
            _ => self.0.common(name, rows.len()),
        }
    }
}
