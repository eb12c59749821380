//! A row a scope, in the order the process holds them.

use super::{Of, Rows, hex, id};
use crate::clock::Backwards;
use crate::packed::span_bits::SpanBits;
use crate::packed::values::{NO_TEXT, Values};
use crate::spans::{Narrow, NarrowBuilder, SpanScan};
use crate::table::attributes;
use crate::tree::children::own_times;
use crate::tree::paths::ROOT;
use crate::{AttrRow, Cpu, CpuMissing, GpuBySpan, Process, ProcessState, Row};
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

    fn scan(&self) -> impl FnMut(Row) -> u64 {
        let mut in_order = self.in_order.scan();
        move |row| self.late.get(&row).copied().unwrap_or_else(|| in_order.get(row))
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

    /// Numbers that are known only where times are.
    fn timed(&self, rows: Range<Row>, value: impl FnMut(Row) -> i64) -> Values {
        match self.of.process.is_timed() {
            true => Values::whole(rows.map(value)),
            false => Values::same_whole(None, rows.len()),
        }
    }

    fn parents(&self, rows: Range<Row>) -> Values {
        let mut scan = self.of.process.spans.scan();
        let outside = self.started_in().map(|(_, scope)| scope);
        Values::wholes(rows.map(|row| id(scan.parent(row)).or(outside)))
    }

    /// The scope of another process that started this one.
    fn started_in(&self) -> Option<(String, i64)> {
        let (at, row) = self.of.tables.links.started_in[self.of.at]?;
        let process = &self.of.tables.run.processes[at];
        Some((hex(process), process.spans.id(row).0 as i64))
    }

    fn parent_processes(&self, rows: Range<Row>) -> Values {
        let spans = &self.of.process.spans;
        let mut scan = spans.scan();
        let outside = self.started_in().map(|(process, _)| process);
        let mut texts = vec![hex(self.of.process)];
        let outer = if outside.is_some() { 1 } else { NO_TEXT };
        texts.extend(outside);
        let mut is_inner = |row| scan.parent_row(row).is_some() || spans.lost_parent(row).is_some();
        let code = |row| if is_inner(row) { 0 } else { outer };
        Values::Text(rows.map(code).collect(), texts)
    }

    fn depths(&self, rows: Range<Row>) -> Values {
        let paths = &self.of.tables.paths;
        let node = |row| paths.node(self.of.at, row).unwrap_or(ROOT);
        Values::whole(rows.map(|row| paths.depth(node(row)).into()))
    }

    fn own_times(&self, rows: Range<Row>) -> Values {
        let (clock, mut own) = (&self.of.process.clock, self.own.scan());
        self.timed(rows, |row| clock.duration_ns(own(row)) as i64)
    }

    fn cpu_times(&self, rows: Range<Row>) -> Values {
        let clock = &self.of.process.clock;
        let mut cpu = self.cpu();
        Values::wholes(rows.map(|row| match cpu(row) {
            Cpu::Captured(ticks) => Some(clock.duration_ns(ticks) as i64),
            Cpu::Missing(_) => None,
        }))
    }

    fn cpu_not_captured(&self, rows: Range<Row>) -> Values {
        let process = self.of.process;
        if process.is_timed() && process.spans.has_none_of(flag::CPU_MASK | flag::LEFT_OPEN) {
            return Values::same_text(None, rows.len());
        }
        let mut cpu = self.cpu();
        let missing = |row| match cpu(row) {
            Cpu::Captured(_) => None,
            Cpu::Missing(why) => Some(why as u32),
        };
        let why = |number| CpuMissing::ALL.iter().find(|why| **why as u32 == number);
        Values::by_key(rows.map(missing), |number| Some(why(number)?.text()))
    }

    /// Ticks of CPU time, which tell no time where the clock is not known.
    fn cpu(&self) -> impl FnMut(Row) -> Cpu {
        let is_timed = self.of.process.is_timed();
        let mut scan = self.of.process.spans.scan();
        move |row| {
            let flags = scan.flags(row);
            let is_open = scan.is_open_by(row, flags);
            match scan.cpu(row, flags, is_open) {
                Cpu::Captured(_) if !is_timed => Cpu::Missing(CpuMissing::Uncalibrated),
                known => known,
            }
        }
    }

    fn overheads(&self, rows: Range<Row>) -> Values {
        let (process, mut scan) = (self.of.process, self.of.process.spans.scan());
        let overhead = |row| process.clock.duration_ns(scan.overhead(row)) as i64;
        match process.has_overhead() {
            true => Values::whole(rows.map(overhead)),
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
        let process = self.of.process;
        if process.spans.has_none_of(flag::LEFT_OPEN | flag::FAILED) {
            return Values::same_text(Some(STATES[0]), rows.len());
        }
        let mut scan = process.spans.scan();
        let code = |row| match (scan.is_open(row), process.state) {
            (true, ProcessState::Live) => 2,
            (true, _) => 3,
            (false, _) => u32::from(scan.flags(row) & flag::FAILED != 0),
        };
        Values::Text(rows.map(code).collect(), STATES.map(str::to_owned).to_vec())
    }

    fn kinds(&self, rows: Range<Row>) -> Values {
        let spans = &self.of.process.spans;
        if spans.has_none_of(KINDS.iter().fold(0, |any, kind| any | kind.0)) {
            return Values::same_text(None, rows.len());
        }
        let mut scan = spans.scan();
        let code = |row| {
            let flags = scan.flags(row);
            let found = KINDS.iter().position(|kind| flags & kind.0 != 0);
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
        let (process, mut scan) = (self.of.process, self.of.process.spans.scan());
        let clock = &process.clock;
        match name {
            "thread" => Values::whole(rows.map(|row| scan.thread(row).into())),
            "thread_name" => Values::by_key(rows.map(|row| Some(scan.thread(row))), |thread| {
                Some(process.thread_name(thread))
            }),
            "id" => Values::whole(rows.map(|row| scan.id(row).0 as i64)),
            "parent" => self.parents(rows),
            "parent_process" => self.parent_processes(rows),
            "name" => Values::by_key(rows.map(|row| Some(scan.name(row))), |name| {
                Some(process.names.text(name))
            }),
            "path" => self.of.paths(rows.map(Some)),
            "depth" => self.depths(rows),
            "index" if process.spans.has_none_of(flag::HAS_INDEX) => {
                Values::same_whole(None, rows.len())
            }
            "index" => Values::wholes(rows.map(|row| scan.index(row))),
            "start_ns" => self.timed(rows, |row| clock.steady_ns(scan.times(row).0)),
            "duration_ns" => self.timed(rows, |row| clock.duration_ns(scan.duration(row)) as i64),
            "self_ns" => self.own_times(rows),
            "cpu_ns" => self.cpu_times(rows),
            "cpu_not_captured" => self.cpu_not_captured(rows),
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
        let mut scan = self.of.process.spans.scan();
        let mut any_large = false;
        let words = Values::whole(rows.clone().map(|row| {
            let word = self.bits(row, &clock, &mut scan).word();
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
        let mut scan = self.of.process.spans.scan();
        Values::wholes(rows.map(|row| self.bits(row, &clock, &mut scan).large(lane)))
    }

    #[inline]
    fn bits(&self, row: Row, clock: &Backwards, scan: &mut SpanScan<'_>) -> SpanBits {
        let length = |ticks| clock.length_rest(self.of.length(ticks), ticks);
        let (flags, (start, end)) = (scan.flags(row), scan.times(row));
        let is_open = scan.is_open_by(row, flags);
        let cpu = match scan.cpu(row, flags, is_open) {
            Cpu::Captured(ticks) => length(ticks),
            Cpu::Missing(_) => 0,
        };
        let overhead = scan.overhead(row);
        let told = self.of.length(overhead).filter(|_| self.of.process.has_overhead());
        SpanBits {
            flags,
            rests: [
                clock.rest(self.of.moment(start), start),
                length(end - start),
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
