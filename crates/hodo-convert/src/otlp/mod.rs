//! OTLP: scopes as spans of one trace, attributes and marks with them, in batches that a collector
//! takes over HTTP or that stand one after another in a file.

mod json;
pub mod proto;
mod send;

pub use json::{request as request_of_json, value_json};
pub use send::{Collector, SendError};

use crate::timeline::{self, Timeline};
use crate::{ConvertError, OnProgress};
use hodo_trace::{Cpu, OVERHEAD_MARK, Process, Run, SpanView, Value};
use prost::Message;
use proto::{
    Any, AnyValue, ERROR, Event, INTERNAL, KeyValue, Library, List, Object, Request, Resource,
    ResourceSpans, ScopeSpans, Span, Status,
};
use serde_json::Value as Json;

/// Spans of a batch.
const BATCH_SPANS: usize = 512;
/// Bytes from which a batch is full although it has fewer; collectors take 4 MiB and more.
const BATCH_BYTES: usize = 1 << 20;
/// Marks that go with one span; those past it are counted there.
const MOST_EVENTS: usize = 1024;

/// What became of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Spans handed over.
    pub spans: u64,
    /// Batches they were in.
    pub batches: u64,
    /// Marks handed over.
    pub events: u64,
    /// Marks that were too many for their span.
    pub dropped_events: u64,
}

/// Takes a batch and the spans in it.
pub type Take<'a, E> = &'a mut dyn FnMut(&[u8], u64) -> Result<(), E>;

/// Hands `run` to `take`, batch by batch: each is an `ExportTraceServiceRequest`.
pub fn batches<E: From<ConvertError>>(
    run: &Run,
    take: Take<'_, E>,
    progress: OnProgress<'_>,
) -> Result<Sent, E> {
    let mut sent = Sent::default();
    let (total, trace) = (run.span_count() as u64, trace_id(run));
    for process in &run.processes {
        let mut batch = Batch { resource: resource(run, process), spans: Vec::new(), bytes: 0 };
        let page = Page::new(process, trace);
        for row in process.spans.rows() {
            let (span, dropped) = page.span(process.span(row));
            sent.dropped_events += dropped;
            batch.push(span, &mut sent, take)?;
            if sent.spans.is_multiple_of(65_536) {
                progress(sent.spans, total);
            }
        }
        if let Some((span, dropped)) = page.outside() {
            sent.dropped_events += dropped;
            batch.push(span, &mut sent, take)?;
        }
        batch.finish(&mut sent, take)?;
    }
    Ok(sent)
}

/// Spans of one process that go together.
struct Batch {
    resource: Resource,
    spans: Vec<Span>,
    bytes: usize,
}

impl Batch {
    fn push<E>(&mut self, span: Span, sent: &mut Sent, take: Take<'_, E>) -> Result<(), E> {
        sent.events += span.events.len() as u64;
        self.bytes += span.encoded_len();
        self.spans.push(span);
        if self.spans.len() < BATCH_SPANS && self.bytes < BATCH_BYTES {
            return Ok(());
        }
        self.finish(sent, take)
    }

    fn finish<E>(&mut self, sent: &mut Sent, take: Take<'_, E>) -> Result<(), E> {
        if self.spans.is_empty() {
            return Ok(());
        }
        let spans = std::mem::take(&mut self.spans);
        self.bytes = 0;
        let count = spans.len() as u64;
        let (name, version) = ("hodo".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
        let request = Request {
            resource_spans: vec![ResourceSpans {
                resource: Some(self.resource.clone()),
                scope_spans: vec![ScopeSpans { scope: Some(Library { name, version }), spans }],
            }],
        };
        take(&request.encode_to_vec(), count)?;
        sent.spans += count;
        sent.batches += 1;
        Ok(())
    }
}

/// What the spans of one process are made with.
struct Page<'a> {
    process: &'a Process,
    timeline: Timeline<'a>,
    trace: [u8; 16],
    gpu: hodo_trace::GpuBySpan<'a>,
    /// Places of marks in order of their scope.
    marks: Vec<u32>,
}

impl<'a> Page<'a> {
    fn new(process: &'a Process, trace: [u8; 16]) -> Page<'a> {
        let mut marks: Vec<u32> = (0..process.marks.len() as u32).collect();
        marks.sort_by_key(|&place| process.marks[place as usize].span);
        let (timeline, gpu) = (Timeline::new(process), process.gpu_by_span());
        Page { process, timeline, trace, gpu, marks }
    }

    /// A scope as a span, and the marks that were too many for it.
    fn span(&self, view: SpanView<'a>) -> (Span, u64) {
        let item = self.timeline.item(view.row);
        let parent = match item.parent {
            0 => timeline::started_in(self.process).map(|(process, id)| span_id(process, id)),
            id => Some(span_id(self.process.process, id)),
        };
        let (events, dropped) = self.events(item.id);
        let status = view.is_failed().then(|| Status { message: error(&view), code: ERROR });
        let span = Span {
            trace_id: self.trace.to_vec(),
            span_id: span_id(self.process.process, item.id).to_vec(),
            parent_span_id: parent.map(|id| id.to_vec()).unwrap_or_default(),
            name: view.name().into_owned(),
            kind: INTERNAL,
            start_time_unix_nano: item.start_ns,
            end_time_unix_nano: item.end_ns,
            attributes: self.attributes(&view),
            events,
            dropped_events_count: u32::try_from(dropped).unwrap_or(u32::MAX),
            status,
        };
        (span, dropped)
    }

    fn attributes(&self, view: &SpanView<'_>) -> Vec<KeyValue> {
        let names = &self.process.names;
        let user = view.attrs().iter();
        let mut all: Vec<KeyValue> = user
            .map(|attr| pair(&names.text(attr.key), value(&attr.value, self.process)))
            .collect();
        let thread = view.id().thread();
        all.push(pair("hodo.scope_id", Any::Text(view.full_id())));
        let os_tid = timeline::thread_id(self.process, thread);
        all.push(pair("thread.id", Any::Int(os_tid.into())));
        all.push(pair("thread.name", Any::Text(self.process.thread_name(thread).into_owned())));
        all.extend(view.index().map(|index| pair("hodo.index", Any::Int(index))));
        all.push(match view.cpu_ns() {
            Cpu::Captured(ns) => pair("hodo.cpu_ns", Any::Int(ns as i64)),
            Cpu::Missing(why) => pair("hodo.cpu_not_captured", Any::Text(why.text().into())),
        });
        if self.process.has_overhead() {
            all.push(pair(OVERHEAD_MARK, Any::Int(view.overhead_ns() as i64)));
        }
        if view.is_open() {
            all.push(pair("hodo.open_at_end", Any::Bool(true)));
        }
        if let Ok(work) = self.gpu.of(view.row)
            && work.all.kernels > 0
        {
            all.push(pair("hodo.kernels", Any::Int(work.all.kernels as i64)));
            all.push(pair("hodo.gpu_busy_ns", Any::Int(work.all.busy_ns as i64)));
        }
        all
    }

    /// The marks of a scope, and how many were too many.
    fn events(&self, scope: u64) -> (Vec<Event>, u64) {
        let of = |place: &u32| self.process.marks[*place as usize].span.0;
        let from = self.marks.partition_point(|place| of(place) < scope);
        let len = self.marks[from..].partition_point(|place| of(place) == scope);
        let places = &self.marks[from..from + len];
        let events = places.iter().take(MOST_EVENTS).map(|&place| self.event(place as usize));
        (events.collect(), len.saturating_sub(MOST_EVENTS) as u64)
    }

    fn event(&self, place: usize) -> Event {
        let mark = &self.process.marks[place];
        let mut attributes = vec![pair("value", value(&mark.value, self.process))];
        if mark.summary {
            attributes.push(pair("kind", Any::Text("summary".into())));
        }
        if let Some(attrs) = self.process.mark_attrs.of(place) {
            match value(attrs, self.process) {
                Any::Object(object) => attributes.extend(object.values),
                other => attributes.push(pair("attributes", other)),
            }
        }
        let name = self.process.names.text(mark.name).into_owned();
        Event { time_unix_nano: self.timeline.ns(mark.at), name, attributes }
    }

    /// A span for marks that were made outside any scope; none where there are none.
    fn outside(&self) -> Option<(Span, u64)> {
        let (events, dropped) = self.events(0);
        let first = events.iter().map(|event| event.time_unix_nano).min()?;
        let last = events.iter().map(|event| event.time_unix_nano).max()?;
        let span = Span {
            trace_id: self.trace.to_vec(),
            span_id: span_id(self.process.process, u64::MAX).to_vec(),
            name: "(marks outside any scope)".into(),
            kind: INTERNAL,
            start_time_unix_nano: first,
            end_time_unix_nano: last,
            events,
            dropped_events_count: u32::try_from(dropped).unwrap_or(u32::MAX),
            ..Span::default()
        };
        Some((span, dropped))
    }
}

/// What a failed scope says of its failure.
fn error(view: &SpanView<'_>) -> String {
    let names = &view.process.names;
    let error = view.attrs().iter().find(|attr| names.text(attr.key) == "error");
    error.map(|attr| attr.value.display(names)).unwrap_or_default()
}

fn resource(run: &Run, process: &Process) -> Resource {
    let app = if run.info.app.is_empty() { "hodo run" } else { &run.info.app };
    let text = |key: &str, text: &str| pair(key, Any::Text(text.to_owned()));
    let mut attributes = vec![
        text("service.name", app),
        text("telemetry.sdk.name", "hodo"),
        text("telemetry.sdk.version", env!("CARGO_PKG_VERSION")),
        text("hodo.run", &run.info.id),
        text("service.instance.id", &format!("{:016x}", process.process)),
        pair("process.pid", Any::Int(process.info.pid.into())),
    ];
    if !process.info.host.is_empty() {
        attributes.push(text("host.name", &process.info.host));
    }
    if !process.info.argv.is_empty() {
        let values = process.info.argv.iter().map(|arg| any(Any::Text(arg.clone()))).collect();
        attributes.push(pair("process.command_args", Any::List(List { values })));
    }
    attributes.extend(process.info.rank.map(|rank| pair("hodo.rank", Any::Int(rank.into()))));
    Resource { attributes }
}

fn any(value: Any) -> AnyValue {
    AnyValue { value: Some(value) }
}

fn pair(key: &str, value: Any) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(any(value)) }
}

fn value(value: &Value, process: &Process) -> Any {
    match value {
        Value::I64(v) => Any::Int(*v),
        Value::F64(v) => Any::Double(*v),
        Value::Bool(v) => Any::Bool(*v),
        Value::Name(id) => Any::Text(process.names.text(*id).into_owned()),
        Value::Json { text, cut: false } => match serde_json::from_str::<Json>(text) {
            Ok(document) => structured(&document),
            Err(_) => Any::Text(text.to_string()),
        },
        Value::Text { text, .. } | Value::Json { text, .. } => Any::Text(text.to_string()),
    }
}

fn structured(json: &Json) -> Any {
    match json {
        Json::Null => Any::Text("null".into()),
        Json::Bool(v) => Any::Bool(*v),
        Json::Number(n) => match n.as_i64() {
            Some(n) => Any::Int(n),
            None => Any::Double(n.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Any::Text(text.clone()),
        Json::Array(values) => {
            Any::List(List { values: values.iter().map(|v| any(structured(v))).collect() })
        }
        Json::Object(fields) => {
            let field = |(key, value): (&String, &Json)| pair(key, structured(value));
            Any::Object(Object { values: fields.iter().map(field).collect() })
        }
    }
}

/// The id of a run's trace, the same however often it is sent.
fn trace_id(run: &Run) -> [u8; 16] {
    let mut words = [0xcbf2_9ce4_8422_2325u64, 0x8422_2325_cbf2_9ce4];
    for byte in run.info.id.bytes() {
        for (at, word) in words.iter_mut().enumerate() {
            *word = (*word ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3).rotate_left(at as u32);
        }
    }
    let mut id = [0; 16];
    id[..8].copy_from_slice(&mixed(words[0]).to_be_bytes());
    id[8..].copy_from_slice(&mixed(words[1]).to_be_bytes());
    id
}

/// The id of a span: ids of scopes are unique in their process only, and never make 0.
fn span_id(process: u64, scope: u64) -> [u8; 8] {
    (mixed(scope) ^ process).max(1).to_be_bytes()
}

/// Different numbers for different numbers (the finisher of splitmix64).
fn mixed(n: u64) -> u64 {
    let n = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ n >> 31
}
