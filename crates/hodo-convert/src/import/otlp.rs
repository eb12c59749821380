//! Spans that came by OTLP, as a run of the service that sent them.
//!
//! Requests are read twice: the first time gives every span its id, so that the second can tie it to
//! its parent wherever that comes. A span that was sent again is taken once.

use super::ImportError;
use super::build::{Builder, Process, Totals};
use super::pool::{Given, Set};
use super::rows::{NewMark, Parent, Scope};
use crate::otlp::proto::{Any, AnyValue, ERROR, Event, KeyValue, Request, Resource, Span};
use crate::otlp::value_json;
use hodo_format::record::{SpanId, flag};
use prost::Message;
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Spans of one run that are told apart.
pub const MOST_SPANS: usize = 1 << 23;
/// Words for [`Span::kind`], but for those inside a program.
const KINDS: [(i32, &str); 4] = [(2, "server"), (3, "client"), (4, "producer"), (5, "consumer")];

/// What a run of spans is called.
pub struct OtlpRun<'a> {
    /// The run's id.
    pub id: &'a str,
    /// The service.
    pub app: &'a str,
    /// Spans that it may have; the rest is left out.
    pub most_spans: usize,
    /// Spans, at the least, that were lost where the requests were kept; they count as left out.
    pub spoilt: u64,
}

/// What was made of requests.
pub struct OtlpMade {
    /// What is in the run.
    pub totals: Totals,
    /// Spans that are not, since they have no id, are too many or were lost before.
    pub left_out: u64,
    /// What there is to say besides, a line each; `run.json` has it too.
    pub notes: Vec<String>,
}

/// Makes a run of OTLP requests in `folder`, which is there and empty. `requests` gives them from the
/// first on, each time it is called.
pub fn otlp_run<I: Iterator<Item = std::io::Result<Vec<u8>>>>(
    requests: impl Fn() -> std::io::Result<I>,
    folder: &Path,
    run: &OtlpRun<'_>,
) -> Result<OtlpMade, ImportError> {
    let mut builder = Builder::new(folder);
    let (most_spans, left_out) = (run.most_spans, run.spoilt);
    let mut known = Known { most_spans, left_out, ..Known::default() };
    builder.notes.add("spans or more whose requests a disk has spoilt, left out", run.spoilt);
    for request in requests()? {
        known.meet(&decoded(&request?)?, &mut builder);
    }
    let mut written = HashSet::new();
    for request in requests()? {
        known.write(&decoded(&request?)?, &mut written, &mut builder)?;
    }
    let first = builder.first_process().cloned().unwrap_or_default();
    let start_ns = builder.start_ns();
    let (totals, notes) = builder.finish().map_err(ImportError::Write)?;
    let (left_out, notes) = (known.left_out, notes.lines());
    let about = json!({
        "format": 1, "id": run.id, "app": run.app, "argv": [], "cwd": "", "host": first.host,
        "pid": first.pid, "hodo": env!("CARGO_PKG_VERSION"), "start_ns": start_ns,
        "imported": ["OTLP"], "left_out": left_out, "notes": notes,
    });
    std::fs::write(folder.join("run.json"), about.to_string()).map_err(ImportError::Write)?;
    Ok(OtlpMade { totals, left_out, notes })
}

fn decoded(bytes: &[u8]) -> Result<Request, ImportError> {
    Request::decode(bytes).map_err(|error| ImportError::Damaged(error.to_string()))
}

/// A span among all of the world.
type Id = (u128, u64);

/// What the first reading found.
#[derive(Default)]
struct Known {
    processes: HashMap<Vec<u8>, u32>,
    spans: HashMap<Id, (u32, SpanId)>,
    counts: HashMap<(u32, u32), u64>,
    most_spans: usize,
    left_out: u64,
}

impl Known {
    fn meet(&mut self, request: &Request, builder: &mut Builder) {
        for (resource, span) in spans(request) {
            let Some(id) = id_of(&span.trace_id, &span.span_id) else {
                self.leave_out("spans without an id, left out", builder);
                continue;
            };
            if self.spans.contains_key(&id) {
                continue;
            }
            if self.spans.len() >= self.most_spans {
                self.leave_out("spans past the limit, left out", builder);
                continue;
            }
            let process = self.process(resource, builder);
            let thread = thread(span, process, builder);
            let count = self.counts.entry((process, thread)).or_default();
            *count += 1;
            self.spans.insert(id, (process, SpanId::new(thread, *count)));
        }
    }

    fn leave_out(&mut self, what: &str, builder: &mut Builder) {
        self.left_out += 1;
        builder.notes.count(what);
    }

    fn process(&mut self, resource: Option<&Resource>, builder: &mut Builder) -> u32 {
        let key = resource.map(Message::encode_to_vec).unwrap_or_default();
        if let Some(&known) = self.processes.get(&key) {
            return known;
        }
        let attributes = resource.map_or(&[][..], |resource| &resource.attributes);
        let mut process = Process::default();
        process.pid = whole(attributes, "process.pid").and_then(|n| n.try_into().ok()).unwrap_or(0);
        process.name = text(attributes, "service.name").unwrap_or_default().to_owned();
        process.host = text(attributes, "host.name").unwrap_or_default().to_owned();
        process.wall_offset_ns = Some(0);
        process.gpu.insert("missing".into(), "not_in_source".into());
        let number = builder.process(process);
        self.processes.insert(key, number);
        number
    }

    fn write(
        &self,
        request: &Request,
        written: &mut HashSet<Id>,
        builder: &mut Builder,
    ) -> Result<(), ImportError> {
        for (_, span) in spans(request) {
            let Some(id) = id_of(&span.trace_id, &span.span_id) else { continue };
            let Some(&(process, own)) = self.spans.get(&id) else { continue };
            if written.insert(id) {
                self.span(span, process, own, builder)?;
            }
        }
        Ok(())
    }

    fn span(
        &self,
        span: &Span,
        process: u32,
        id: SpanId,
        builder: &mut Builder,
    ) -> Result<(), ImportError> {
        let above = id_of(&span.trace_id, &span.parent_span_id);
        // A parent of another process, or another service, is in another tree.
        let parent = above.and_then(|above| self.spans.get(&above));
        let parent = parent.filter(|(of, _)| *of == process).map_or(SpanId::NONE, |(_, id)| *id);
        let mut set = Set::default();
        if parent == SpanId::NONE {
            push(&mut set, builder, "trace_id", &Given::Text(&hex(&span.trace_id)));
        }
        if let Some((_, kind)) = KINDS.iter().find(|(number, _)| *number == span.kind) {
            push(&mut set, builder, "kind", &Given::Text(kind));
        }
        for KeyValue { key, value } in &span.attributes {
            attribute(&mut set, builder, key, value.as_ref());
        }
        let status = span.status.as_ref().filter(|status| status.code == ERROR);
        if let Some(status) = status.filter(|status| !status.message.is_empty()) {
            push(&mut set, builder, "error", &Given::Text(&status.message));
        }
        let (start_ns, end_ns) =
            (moment(span.start_time_unix_nano), moment(span.end_time_unix_nano));
        let scope = Scope {
            process,
            thread: id.thread(),
            name: builder.strings.number(&span.name),
            start_ns,
            end_ns: end_ns.max(start_ns),
            flags: if status.is_some() { flag::FAILED } else { 0 },
            id: Some(id),
            parent: Parent::Is(parent),
            ..Scope::default()
        };
        builder.scope(&scope, &set)?;
        span.events.iter().try_for_each(|event| mark(event, process, id, builder))
    }
}

/// An event is a mark; its value is the one it has, else what it says.
fn mark(
    event: &Event,
    process: u32,
    span: SpanId,
    builder: &mut Builder,
) -> Result<(), ImportError> {
    let mut set = Set::default();
    let said = ["value", "exception.message", "message"].iter().find_map(|key| {
        event.attributes.iter().find(|one| one.key == **key).and_then(|one| one.value.as_ref())
    });
    match said {
        Some(value) => given(value, |value| set.push(0, value)),
        None => set.push(0, &Given::Text("")),
    }
    if !event.attributes.is_empty() {
        let all = event.attributes.iter().map(|KeyValue { key, value }| {
            (key.clone(), value.as_ref().map_or(serde_json::Value::Null, value_json))
        });
        let all: serde_json::Map<_, _> = all.collect();
        set.push(0, &Given::Json(&serde_json::Value::Object(all).to_string()));
    }
    let mark = NewMark {
        process,
        thread: span.thread(),
        name: builder.strings.number(&event.name),
        at_ns: moment(event.time_unix_nano),
        summary: false,
        span: Some(span),
    };
    builder.mark(&mark, &set)
}

fn spans(request: &Request) -> impl Iterator<Item = (Option<&Resource>, &Span)> {
    request.resource_spans.iter().flat_map(|of| {
        let spans = of.scope_spans.iter().flat_map(|library| &library.spans);
        spans.map(|span| (of.resource.as_ref(), span))
    })
}

/// A span's id; none of bytes that are none.
fn id_of(trace: &[u8], span: &[u8]) -> Option<Id> {
    let trace = u128::from_be_bytes(trace.try_into().ok()?);
    let span = u64::from_be_bytes(span.try_into().ok()?);
    (trace != 0 && span != 0).then_some((trace, span))
}

/// The thread a span says it was on, else one for all.
fn thread(span: &Span, process: u32, builder: &mut Builder) -> u32 {
    let os_tid = whole(&span.attributes, "thread.id").and_then(|id| u64::try_from(id).ok());
    let thread = builder.thread(process, os_tid.unwrap_or(0));
    if let Some(name) = text(&span.attributes, "thread.name") {
        builder.name_thread(process, thread, name);
    }
    thread
}

fn find<'a>(attributes: &'a [KeyValue], key: &str) -> Option<&'a Any> {
    let found = attributes.iter().find(|attribute| attribute.key == key)?;
    found.value.as_ref()?.value.as_ref()
}

/// The text of an attribute.
pub fn text<'a>(attributes: &'a [KeyValue], key: &str) -> Option<&'a str> {
    match find(attributes, key)? {
        Any::Text(text) => Some(text),
        _ => None,
    }
}

fn whole(attributes: &[KeyValue], key: &str) -> Option<i64> {
    match find(attributes, key)? {
        Any::Int(number) => Some(*number),
        _ => None,
    }
}

fn push(set: &mut Set, builder: &mut Builder, key: &str, value: &Given<'_>) {
    set.push(builder.strings.number(key), value);
}

fn attribute(set: &mut Set, builder: &mut Builder, key: &str, value: Option<&AnyValue>) {
    if let Some(value) = value {
        let key = builder.strings.number(key);
        given(value, |value| set.push(key, value));
    }
}

fn given(value: &AnyValue, take: impl FnOnce(&Given<'_>)) {
    match &value.value {
        None => {}
        Some(Any::Text(text)) => take(&Given::Text(text)),
        Some(Any::Bool(value)) => take(&Given::Bool(*value)),
        Some(Any::Int(number)) => take(&Given::I64(*number)),
        Some(Any::Double(number)) => take(&Given::F64(*number)),
        Some(Any::List(_) | Any::Object(_)) => take(&Given::Json(&value_json(value).to_string())),
    }
}

fn moment(unix_ns: u64) -> i64 {
    i64::try_from(unix_ns).unwrap_or(i64::MAX)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otlp::proto::{ResourceSpans, ScopeSpans};

    #[test]
    fn what_is_left_out_of_a_run_is_counted_and_kept_with_it() -> Result<(), ImportError> {
        let span = |id: u8| Span {
            trace_id: vec![1; 16],
            span_id: vec![id; 8],
            name: "span".to_owned(),
            ..Span::default()
        };
        // Zeros are no id, and the second comes twice.
        let spans = [0, 1, 2, 2, 3, 4].map(span).to_vec();
        let scope_spans = vec![ScopeSpans { scope: None, spans }];
        let resource_spans = vec![ResourceSpans { resource: None, scope_spans }];
        let request = Request { resource_spans }.encode_to_vec();
        let folder = std::env::temp_dir().join(format!("hodo-otlp-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let requests = || Ok(std::iter::once(Ok(request.clone())));
        let about = OtlpRun { id: "run", app: "api", most_spans: 3, spoilt: 1 };
        let made = otlp_run(requests, &folder, &about)?;
        assert_eq!((made.totals.records.spans, made.left_out), (3, 3));
        assert_eq!(
            made.notes,
            [
                "1 spans or more whose requests a disk has spoilt, left out",
                "1 spans past the limit, left out",
                "1 spans without an id, left out"
            ]
        );
        let about = std::fs::read_to_string(folder.join("run.json"))?;
        assert!(about.contains("1 spans past the limit") && about.contains(r#""left_out":3"#));
        std::fs::remove_dir_all(folder)?;
        Ok(())
    }
}
