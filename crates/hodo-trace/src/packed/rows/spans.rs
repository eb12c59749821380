//! A row a scope, in the order the process holds them.

use super::{Of, Rows, hex, id, names};
use crate::clock::Backwards;
use crate::packed::span_bits::SpanBits;
use crate::packed::values::{NO_TEXT, Values};
use crate::spans::{Narrow, NarrowBuilder};
use crate::table::attributes;
use crate::tree::children::own_times;
use crate::tree::paths::ROOT;
use crate::{AttrRow, Cpu, GpuBySpan, Process, ProcessState, Row, SpanView};
use hodo_format::record::flag;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;

/// The scopes of a process.
pub(super) struct Spans<'a> {
    of: &'a Of<'a>,
    own: OwnTicks,
    gpu: GpuBySpan<'a>,
    /// Scopes that have attributes, in order of row.
    attributed: Vec<(Row, &'a [AttrRow])>,
}

const STATES: [&str; 4] = ["closed", "failed", "open", "left open"];
const KINDS: [(u16, &str); 3] =
    [(flag::BENCH, "bench"), (flag::ITERATION, "iteration"), (flag::WARMUP, "warm-up")];

/// Ticks of every scope that no child covers.
struct OwnTicks {
    in_order: Narrow,
    /// Of scopes whose children do not come before them in order.
    late: HashMap<Row, u64>,
}

impl OwnTicks {
    fn new(of: &Of<'_>) -> OwnTicks {
        let mut in_order = NarrowBuilder::default();
        let mut late = HashMap::new();
        let mut next = 0;
        own_times(of.tables.run, &of.tables.links, of.at, |row, times, _| {
            if row < next {
                late.insert(row, times.own);
                return;
            }
            (next..row).for_each(|_| in_order.push(0));
            in_order.push(times.own);
            next = row + 1;
        });
        (next..of.process.spans.len() as Row).for_each(|_| in_order.push(0));
        OwnTicks { in_order: in_order.finish(), late }
    }

    fn get(&self, row: Row) -> u64 {
        self.late.get(&row).copied().unwrap_or_else(|| self.in_order.get(row))
    }
}

fn attributed(process: &Process) -> Vec<(Row, &[AttrRow])> {
    let by_scope = process.attrs.all().chunk_by(|a, b| a.span == b.span);
    let row = |attrs: &[AttrRow]| process.spans.row_of(attrs.first()?.span);
    let mut found: Vec<_> = by_scope.filter_map(|attrs| Some((row(attrs)?, attrs))).collect();
    if !found.is_sorted_by_key(|of| of.0) {
        found.sort_unstable_by_key(|of| of.0);
    }
    found
}

impl<'a> Spans<'a> {
    pub(super) fn new(of: &'a Of<'a>) -> Spans<'a> {
        Spans {
            of,
            own: OwnTicks::new(of),
            gpu: of.process.gpu_by_span(),
            attributed: attributed(of.process),
        }
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
        let clock = &self.of.process.clock;
        self.timed(rows, |row| clock.duration_ns(self.own.get(row)) as i64)
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
        let spans = &self.of.process.spans;
        if rows.clone().all(|row| !spans.is_open(row) && !spans.is_failed(row)) {
            return Values::same_text(Some(STATES[0]), rows.len());
        }
        let code = |span: SpanView<'_>| match (span.is_open(), span.process.state) {
            (true, ProcessState::Live) => 2,
            (true, _) => 3,
            (false, _) => u32::from(span.is_failed()),
        };
        Values::Text(self.views(rows).map(code).collect(), STATES.map(str::to_owned).to_vec())
    }

    fn kinds(&self, rows: Range<Row>) -> Values {
        let spans = &self.of.process.spans;
        let any = KINDS.iter().fold(0, |any, kind| any | kind.0);
        if rows.clone().all(|row| spans.flags(row) & any == 0) {
            return Values::same_text(None, rows.len());
        }
        let code = |row| {
            let found = KINDS.iter().position(|kind| spans.flags(row) & kind.0 != 0);
            found.map_or(NO_TEXT, |at| at as u32)
        };
        Values::Text(rows.map(code).collect(), KINDS.map(|kind| kind.1.to_owned()).to_vec())
    }

    fn attributes(&self, rows: Range<Row>) -> Values {
        let names = &self.of.process.names;
        let first = self.attributed.partition_point(|of| of.0 < rows.start);
        let mut next = self.attributed[first..].iter().peekable();
        Values::texts(rows.map(|row| {
            let (_, attrs) = next.next_if(|of| of.0 == row)?;
            attributes(attrs, names)
        }))
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
                let is_there = |row| matches!(process.span(row).cpu_ns(), Cpu::Captured(_));
                if rows.clone().all(is_there) {
                    return Values::same_text(None, rows.len());
                }
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
pub(super) struct Ticks<'a> {
    of: &'a Of<'a>,
    /// Rows that were looked at last, and whether any of their rests is large.
    looked: RefCell<(Range<Row>, bool)>,
}

impl<'a> Ticks<'a> {
    pub(super) fn new(of: &'a Of<'a>) -> Ticks<'a> {
        Ticks { of, looked: RefCell::new((0..0, false)) }
    }

    fn words(&self, rows: Range<Row>) -> Values {
        let clock = self.of.process.clock.backwards();
        let mut any_large = false;
        let words = Values::whole(rows.clone().map(|row| {
            let word = self.bits(row, &clock).word();
            any_large |= SpanBits::has_large(word);
            word
        }));
        *self.looked.borrow_mut() = (rows, any_large);
        words
    }

    /// Rests are large only where times are not told, or damaged: what was looked at says.
    fn large(&self, lane: usize, rows: Range<Row>) -> Values {
        if *self.looked.borrow() == (rows.clone(), false) {
            return Values::same_whole(None, rows.len());
        }
        let clock = self.of.process.clock.backwards();
        Values::wholes(rows.map(|row| self.bits(row, &clock).large(lane)))
    }

    fn bits(&self, row: Row, clock: &Backwards) -> SpanBits {
        let (process, spans) = (self.of.process, &self.of.process.spans);
        let length = |ticks| clock.length_rest(self.of.length(ticks), ticks);
        let cpu = match spans.cpu(row) {
            Cpu::Captured(ticks) => length(ticks),
            Cpu::Missing(_) => 0,
        };
        let overhead = spans.overhead(row);
        let told = self.of.length(overhead).filter(|_| process.has_overhead());
        SpanBits {
            flags: spans.flags(row),
            rests: [
                clock.rest(self.of.moment(spans.start(row)), spans.start(row)),
                length(spans.duration(row)),
                cpu,
                clock.length_rest(told, overhead),
            ],
        }
    }
}

impl Rows for Ticks<'_> {
    fn len(&self) -> usize {
        self.of.process.spans.len()
    }

    fn column(&self, name: &'static str, rows: Range<usize>) -> Values {
        let rows = rows.start as Row..rows.end as Row;
        match SpanBits::LANES.iter().position(|lane| *lane == name) {
            None => self.words(rows),
            Some(lane) => self.large(lane, rows),
        }
    }
}
