//! OTLP/HTTP: spans of other tools, shown as runs of their services.
//!
//! What comes is put into a log before it is answered, one log for each service, instance and day.
//! The run that is shown is made of the log, again when there is more in it; a span that was sent
//! twice is in the log twice and in the run once.

mod log;
mod make;

pub use make::work;

use super::depot::usage_bytes;
use super::durable;
use super::guard::Caller;
use super::ingest::apart;
use super::receive::Encoding;
use super::refusal::Refusal;
use super::{Collecting, Inside};
use axum::Extension;
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use hodo_convert::import::{otlp_text, stamp};
use hodo_convert::otlp::proto::{Request as Spans, Resource, ResourceSpans, ScopeSpans};
use hodo_convert::otlp::request_of_json;
use log::Log;
use prost::Message;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a request may unfold to.
const MOST_BYTES: usize = 32 << 20;
/// The folder of logs in the store.
const LOGS: &str = "otlp";
/// Whose a log is, in its folder.
const OWNER: &str = "owner";
/// How ids of these runs begin. No shipped run may be called so.
const PREFIX: &str = "otlp~";
/// Nanoseconds of a day.
const DAY_NS: u64 = 86_400_000_000_000;
/// Characters of a service's name that are in a run's id.
const NAME_CHARS: usize = 48;
/// A service that does not say its name.
const UNNAMED: &str = "unknown_service";

/// The logs of a store.
#[derive(Default)]
pub struct Logs {
    open: Mutex<HashMap<String, Arc<Mutex<Log>>>>,
    /// Runs whose log has more than they show.
    dirty: Mutex<BTreeMap<String, String>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether this is the id of a run that is made of spans.
pub fn is_id(run: &str) -> bool {
    run.strip_prefix(PREFIX).is_some_and(hodo_format::ship::is_run_id)
}

/// The folder of a run's log.
pub fn folder(inside: &Inside, run: &str) -> PathBuf {
    inside.depot.dir().join(LOGS).join(run)
}

/// Forgets a run and removes its log.
pub fn remove(inside: &Inside, run: &str) -> io::Result<()> {
    lock(&inside.logs.dirty).remove(run);
    let log = lock(&inside.logs.open).remove(run);
    // Whoever is adding to it is waited for.
    let _log = log.as_ref().map(|log| lock(log));
    match std::fs::remove_dir_all(folder(inside, run)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Protobuf,
    Json,
}

impl Format {
    fn of(headers: &HeaderMap) -> Result<Format, Refusal> {
        let told = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
        match told.split(';').next().unwrap_or("").trim() {
            "application/x-protobuf" => Ok(Format::Protobuf),
            "application/json" => Ok(Format::Json),
            _ => Err(Refusal::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "spans are application/x-protobuf or application/json",
            )),
        }
    }

    fn parse(self, bytes: &[u8]) -> Result<Spans, Refusal> {
        let parsed = match self {
            Format::Protobuf => Spans::decode(bytes).map_err(|error| error.to_string()),
            Format::Json => request_of_json(bytes),
        };
        parsed.map_err(|why| Refusal::bad(format!("this is no ExportTraceServiceRequest: {why}")))
    }

    /// All was taken.
    fn answer(self) -> Response {
        match self {
            Format::Protobuf => ([(CONTENT_TYPE, "application/x-protobuf")], "").into_response(),
            Format::Json => ([(CONTENT_TYPE, "application/json")], "{}").into_response(),
        }
    }
}

/// Logs that are kept open.
const MOST_OPEN: usize = 64;
/// Days that the spans of one sender may be of in one request.
const MOST_DAYS: usize = 4;

/// `POST /v1/traces`.
pub async fn traces(
    State(collecting): State<Collecting>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, Refusal> {
    let (head, body) = request.into_parts();
    let format = Format::of(&head.headers)?;
    let encoding = Encoding::of(&head.headers, &[Encoding::Identity, Encoding::Gzip])?;
    let received = collecting.room.receive(&head.headers, body, MOST_BYTES).await?;
    apart(move || {
        let spans = format.parse(&received.unfold(encoding, MOST_BYTES)?)?;
        for (run, (app, spans)) in by_run(spans, caller.id())? {
            add(&collecting, &run, &app, &spans, &caller)?;
        }
        Ok(format.answer())
    })
    .await
}

/// Puts spans into the log of their run.
fn add(
    inside: &Inside,
    run: &str,
    app: &str,
    spans: &Spans,
    caller: &Caller,
) -> Result<(), Refusal> {
    let bytes = spans.encode_to_vec();
    let more = bytes.len() as u64;
    inside.depot.usage.make_sure(caller.id(), caller.most_bytes(), more)?;
    let log = log(inside, run, caller.id())?;
    let mut log = lock(&log);
    let before = log.length();
    log.append(&bytes)?;
    inside.depot.usage.exchange(run, caller.id(), before, log.length());
    inside.counters.stored(more);
    inside.counters.otlp_spans.fetch_add(count(spans), Ordering::Relaxed);
    lock(&inside.logs.dirty).insert(run.to_owned(), app.to_owned());
    Ok(())
}

fn log(inside: &Inside, run: &str, owner: &str) -> io::Result<Arc<Mutex<Log>>> {
    let mut open = lock(&inside.logs.open);
    if let Some(log) = open.get(run) {
        return Ok(log.clone());
    }
    let folder = folder(inside, run);
    let is_new = !folder.exists();
    let log = Arc::new(Mutex::new(Log::open(&folder)?));
    if is_new {
        durable::replace(&folder.join(OWNER), owner.as_bytes())?;
    }
    if open.len() >= MOST_OPEN {
        // One that nobody writes to is opened again when spans come for it.
        let idle = open.iter().find(|(_, log)| Arc::strong_count(log) == 1);
        if let Some(idle) = idle.map(|(run, _)| run.clone()) {
            open.remove(&idle);
        }
    }
    open.insert(run.to_owned(), log.clone());
    Ok(log)
}

/// Counts what a run and its log take.
fn measure(inside: &Inside, run: &str) {
    let log = folder(inside, run);
    let owner = std::fs::read_to_string(log.join(OWNER)).unwrap_or_default();
    let bytes = [log, inside.depot.folder(run)].iter().map(|folder| usage_bytes(folder)).sum();
    inside.depot.usage.set(run, &owner, bytes);
}

fn count(spans: &Spans) -> u64 {
    let libraries = spans.resource_spans.iter().flat_map(|of| &of.scope_spans);
    libraries.map(|library| library.spans.len() as u64).sum()
}

/// The spans of a request by the run they belong to, with the service's name.
fn by_run(request: Spans, owner: &str) -> Result<BTreeMap<String, (String, Spans)>, Refusal> {
    let mut runs: BTreeMap<String, (String, Spans)> = BTreeMap::new();
    for of in request.resource_spans {
        let (app, instance) = service(of.resource.as_ref());
        let mut days: BTreeMap<u64, Vec<ScopeSpans>> = BTreeMap::new();
        for library in of.scope_spans {
            let mut own: BTreeMap<u64, ScopeSpans> = BTreeMap::new();
            for span in library.spans {
                let day = span.start_time_unix_nano / DAY_NS;
                let empty = || ScopeSpans { scope: library.scope.clone(), spans: Vec::new() };
                own.entry(day).or_insert_with(empty).spans.push(span);
                // Each has a copy of what is said of them all.
                if own.len() > MOST_DAYS {
                    return Err(many_days());
                }
            }
            own.into_iter().for_each(|(day, spans)| days.entry(day).or_default().push(spans));
        }
        if days.len() > MOST_DAYS {
            return Err(many_days());
        }
        for (day, scope_spans) in days {
            let run = id(&app, day, &[&app, &instance, owner]);
            let (_, request) = runs.entry(run).or_insert_with(|| (app.clone(), Spans::default()));
            let resource = of.resource.clone();
            request.resource_spans.push(ResourceSpans { resource, scope_spans });
        }
    }
    Ok(runs)
}

fn many_days() -> Refusal {
    Refusal::bad(format!(
        "spans of more than {MOST_DAYS} days in one request; send fewer at a time"
    ))
}

/// The name of the service, and which of its instances.
fn service(resource: Option<&Resource>) -> (String, String) {
    let attributes = resource.map_or(&[][..], |resource| &resource.attributes);
    let text = |key: &str| otlp_text(attributes, key).filter(|text| !text.is_empty());
    let app = text("service.name").unwrap_or(UNNAMED).to_owned();
    let instance = text("service.instance.id").or_else(|| text("host.name")).unwrap_or_default();
    (app, instance.to_owned())
}

/// A run's id: the service, the day, and what tells it from others.
fn id(app: &str, day: u64, parts: &[&str]) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let name: String =
        app.chars().take(NAME_CHARS).map(|c| if is_plain(&c) { c } else { '_' }).collect();
    let parts: Vec<u8> = parts.iter().flat_map(|part| [part.as_bytes(), b"\0"].concat()).collect();
    let name = name.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    let name = if name.is_empty() { "service" } else { name };
    let date = stamp(day * DAY_NS);
    let date = date.split('-').next().unwrap_or_default();
    format!("{PREFIX}{name}-{date}-{:08x}", crc32c::crc32c(&parts))
}
