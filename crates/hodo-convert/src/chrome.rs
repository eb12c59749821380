//! Chrome trace JSON: one event a line, valid for strict parsers.

mod machine;
mod work;

use crate::lanes::{Item, Lanes, Place};
use crate::machine::readings;
use crate::timeline::{self, Group, NOT_CALIBRATED, Timeline};
use crate::{ConvertError, OnProgress};
use hodo_trace::{Cpu, MarkRow, OVERHEAD_MARK, Process, Row, Run, SpanView, Value};
use serde_json::{Map, Value as Json, json};
use std::io::Write;

/// Thread ids of rows that are no thread begin here, above any the system gives out.
const LANE_TIDS: u64 = 1 << 31;

/// Writes `run` event by event. Times are microseconds since the run's first record.
pub fn write(
    run: &Run,
    out: &mut impl Write,
    progress: OnProgress<'_>,
) -> Result<(), ConvertError> {
    let recorded = run.processes.iter().map(|p| Timeline::new(p).first_ns());
    let sampled = readings(run).filter_map(|of| of.first_ns());
    let start_ns = recorded.chain(sampled).min().unwrap_or(0);
    let mut about = json!({"app": run.info.app, "run": run.info.id, "host": run.info.host,
        "hodo": run.info.hodo, "start_ns": start_ns.to_string()});
    if run.uncalibrated().next().is_some() {
        about["warning"] = json!(NOT_CALIBRATED);
    }
    write!(out, "{{\"displayTimeUnit\":\"ns\",\"otherData\":{about},\"traceEvents\":[")?;
    let mut page = Page {
        out,
        start_ns,
        pid: 0,
        first: true,
        done: 0,
        total: timeline::record_count(run),
        flow: 0,
        progress,
    };
    for (process, pid) in run.processes.iter().zip(timeline::pids(run)) {
        page.pid = pid;
        page.process(run, process)?;
    }
    page.machines(run)?;
    Ok(page.out.write_all(b"\n]}\n")?)
}

struct Page<'a, W> {
    out: &'a mut W,
    start_ns: u64,
    pid: u32,
    first: bool,
    done: u64,
    total: u64,
    progress: OnProgress<'a>,
    /// Arrows drawn so far.
    flow: u64,
}

impl<W: Write> Page<'_, W> {
    fn process(&mut self, run: &Run, process: &Process) -> Result<(), ConvertError> {
        self.title("process_name", 0, &timeline::process_name(run, process))?;
        let timeline = Timeline::new(process);
        for (group, rows) in timeline::groups(process) {
            self.group(process, &timeline, group, &rows)?;
        }
        self.gpu(process, &timeline)?;
        let marks = process.marks.iter().enumerate();
        marks.into_iter().try_for_each(|(place, mark)| {
            self.mark(process, &timeline, mark, process.mark_attrs.of(place))
        })
    }

    fn group(
        &mut self,
        process: &Process,
        timeline: &Timeline<'_>,
        group: Group,
        rows: &[Row],
    ) -> Result<(), ConvertError> {
        if let Group::Thread(number) = group {
            let tid = u64::from(timeline::thread_id(process, number));
            self.title("thread_name", tid, &process.thread_name(number))?;
        }
        let mut lanes = Lanes::default();
        let mut titled = 1;
        for &row in rows {
            let item = timeline.item(row);
            let place = lanes.place(&item, |_| ());
            match group {
                Group::Async => self.async_span(process, &item)?,
                Group::Thread(number) => {
                    if place.lane >= titled {
                        titled = place.lane + 1;
                        let name =
                            format!("{} overlap {}", process.thread_name(number), place.lane);
                        self.title("thread_name", tid(process, number, place.lane), &name)?;
                    }
                    self.span(process, number, &item, place)?;
                }
            }
            self.count();
        }
        Ok(())
    }

    fn span(
        &mut self,
        process: &Process,
        number: u32,
        item: &Item,
        place: Place,
    ) -> Result<(), ConvertError> {
        let span = process.span(item.row);
        let fields = json!({"ph": "X", "name": span.name(), "cat": category(&span),
            "pid": self.pid, "tid": tid(process, number, place.lane),
            "args": args(&span, (!place.under_parent).then_some(item.parent))});
        let times = [("ts", item.start_ns - self.start_ns), ("dur", item.end_ns - item.start_ns)];
        self.event(fields, &times)
    }

    /// Begin and end tied together by the scope's id, on a row that belongs to no thread.
    fn async_span(&mut self, process: &Process, item: &Item) -> Result<(), ConvertError> {
        let span = process.span(item.row);
        let tid = timeline::thread_id(process, span.id().thread());
        for (phase, at_ns) in [("b", item.start_ns), ("e", item.end_ns)] {
            let mut fields = json!({"ph": phase, "name": span.name(), "cat": category(&span),
                "id": format!("0x{:x}", item.id), "pid": self.pid, "tid": tid});
            if phase == "b" {
                fields["args"] = Json::Object(args(&span, Some(item.parent)));
            }
            self.event(fields, &[("ts", at_ns - self.start_ns)])?;
        }
        Ok(())
    }

    fn mark(
        &mut self,
        process: &Process,
        timeline: &Timeline<'_>,
        mark: &MarkRow,
        attrs: Option<&Value>,
    ) -> Result<(), ConvertError> {
        let name = process.names.text(mark.name);
        let thread = timeline::mark_thread(process, mark);
        let tid = thread.map_or(0, |t| timeline::thread_id(process, t));
        let value = plain(&mark.value, process);
        let counts = !mark.summary && value.is_number();
        let times = [("ts", timeline.ns(mark.at) - self.start_ns)];
        if counts {
            let fields = json!({"ph": "C", "name": name, "cat": "mark", "pid": self.pid, "tid": tid,
                "args": {"value": value}});
            self.event(fields, &times)?;
        }
        // Whatever else a counter's event carries would be drawn as a number.
        if counts && attrs.is_none() {
            return Ok(());
        }
        let mut args = json!({"value": value});
        if let Some(attrs) = attrs {
            args["attributes"] = plain(attrs, process);
        }
        let scope = if thread.is_some() { "t" } else { "p" };
        let fields = json!({"ph": "i", "s": scope, "name": name, "cat": "mark", "pid": self.pid,
            "tid": tid, "args": args});
        self.event(fields, &times)
    }

    fn title(&mut self, what: &str, tid: u64, name: &str) -> Result<(), ConvertError> {
        let fields =
            json!({"ph": "M", "name": what, "pid": self.pid, "tid": tid, "args": {"name": name}});
        self.event(fields, &[])
    }

    /// Writes an event; times are put in as decimal microseconds, which a float would round.
    fn event(&mut self, fields: Json, times: &[(&str, u64)]) -> Result<(), ConvertError> {
        let body = serde_json::to_string(&fields)?;
        self.write(body.strip_suffix('}').unwrap_or(&body), times)
    }

    /// Writes an event whose fields are JSON but for the closing brace.
    fn write(&mut self, fields: &str, times: &[(&str, u64)]) -> Result<(), ConvertError> {
        self.out.write_all(if self.first { b"\n" } else { b",\n" })?;
        self.first = false;
        self.out.write_all(fields.as_bytes())?;
        for (key, ns) in times {
            write!(self.out, ",\"{key}\":{}.{:03}", ns / 1000, ns % 1000)?;
        }
        Ok(self.out.write_all(b"}")?)
    }

    fn count(&mut self) {
        self.done += 1;
        if self.done.is_multiple_of(65_536) {
            (self.progress)(self.done, self.total);
        }
    }
}

/// The row of a lane: the thread's own, or a stand-in id for a further one.
fn tid(process: &Process, number: u32, lane: usize) -> u64 {
    let own = u64::from(timeline::thread_id(process, number));
    if lane == 0 { own } else { LANE_TIDS * lane as u64 + own }
}

fn category(span: &SpanView<'_>) -> &'static str {
    match (span.is_failed(), span.is_open()) {
        (true, _) => "scope,failed",
        (_, true) => "scope,open",
        _ => "scope",
    }
}

fn args(span: &SpanView<'_>, parent: Option<u64>) -> Map<String, Json> {
    let mut args = Map::new();
    for attr in span.attrs() {
        let key = span.process.names.text(attr.key).into_owned();
        args.insert(key, plain(&attr.value, span.process));
    }
    args.insert("hodo.scope_id".into(), json!(span.full_id()));
    let started_in = || timeline::started_in(span.process);
    let above = match parent {
        Some(0) => started_in(),
        Some(parent) => Some((span.process.process, parent)),
        None => None,
    };
    if let Some((process, scope)) = above {
        args.insert("hodo.parent_id".into(), json!(format!("{process:016x}{scope:016x}")));
    }
    if let Some(index) = span.index() {
        args.insert("index".into(), json!(index));
    }
    if let Cpu::Captured(ns) = span.cpu_ns() {
        args.insert("cpu_ns".into(), json!(ns));
    }
    if span.process.has_overhead() {
        args.insert(OVERHEAD_MARK.into(), json!(span.overhead_ns()));
    }
    for (key, holds) in [("failed", span.is_failed()), ("open_at_end", span.is_open())] {
        if holds {
            args.insert(key.into(), json!(true));
        }
    }
    args
}

/// A value as JSON; NaN and the infinities become text, which JSON can hold.
fn plain(value: &Value, process: &Process) -> Json {
    serde_json::to_value(value.resolved(&process.names)).unwrap_or(Json::Null)
}
