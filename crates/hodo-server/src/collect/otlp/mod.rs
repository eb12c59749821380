//! OTLP/HTTP: spans of other tools, shown as runs of their services.
//!
//! What comes is put into a log before it is answered, one log for each service, instance and day.
//! The run that is shown is made of the log, again when there is more in it; a span that was sent
//! twice is in the log twice and in the run once.

mod batch;
mod log;
mod make;
mod open;
mod runs;
mod weigh;

use batch::Batch;
pub use make::{forgive, work};

use super::depot::usage_bytes;
use super::durable;
use super::guard::Caller;
use super::ingest::apart;
use super::receive::Encoding;
use super::refusal::Refusal;
use super::{Collecting, Inside};
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use hodo_convert::import::OTLP_MOST_SPANS;
use hodo_convert::otlp::proto::{PartialSuccess, Request as Spans, Response as Answer};
use hodo_convert::otlp::request_of_json;
use open::OpenLogs;
use prost::Message;
use runs::by_run;
use serde_json::json;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// How long a request of many runs waits for its turn, with what it holds of the room: longer than senders do.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a request may unfold to.
const MOST_BYTES: usize = 32 << 20;
/// The folder of logs in the store.
const LOGS: &str = "otlp";
/// How ids of these runs begin. No shipped run may be called so.
const PREFIX: &str = "otlp~";

/// The logs of a store.
pub struct Logs {
    open: OpenLogs,
    /// Held by a request of many runs, one at a time. It is waited for where that takes no thread.
    many: Arc<tokio::sync::Mutex<()>>,
    /// Runs whose log has more than they show.
    dirty: Mutex<BTreeMap<String, String>>,
    /// The run that is being made.
    making: Mutex<Option<String>>,
    /// Spans that runs do not show, by run.
    left_out: Mutex<BTreeMap<String, u64>>,
    /// When spans came last, by run.
    heard: Mutex<BTreeMap<String, Instant>>,
    /// Spans in one log.
    most_spans: u64,
}

impl Default for Logs {
    fn default() -> Logs {
        Logs {
            open: OpenLogs::default(),
            many: Arc::default(),
            dirty: Mutex::default(),
            making: Mutex::default(),
            left_out: Mutex::default(),
            heard: Mutex::default(),
            most_spans: OTLP_MOST_SPANS as u64,
        }
    }
}

impl Logs {
    /// Spans that came and are in no run.
    pub fn left_out(&self) -> u64 {
        lock(&self.left_out).values().sum()
    }

    /// How long ago spans of a run came; none where none did since the start.
    pub fn heard_ago(&self, run: &str) -> Option<Duration> {
        lock(&self.heard).get(run).map(Instant::elapsed)
    }
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

/// Whether there is a log of a run.
pub fn has_log(inside: &Inside, run: &str) -> bool {
    is_id(run) && folder(inside, run).exists()
}

/// The runs that have a log.
pub fn logged(inside: &Inside) -> impl Iterator<Item = String> {
    let logs = std::fs::read_dir(inside.depot.dir().join(LOGS)).into_iter().flatten().flatten();
    logs.filter_map(|log| log.file_name().into_string().ok()).filter(|run| is_id(run))
}

/// When the log of a run was written to last.
pub fn log_written(inside: &Inside, run: &str) -> Option<SystemTime> {
    log::path(&folder(inside, run)).metadata().ok()?.modified().ok()
}

/// Forgets a run and removes its log, if it may go; tells whether.
pub fn remove(inside: &Inside, run: &str, may_go: &dyn Fn() -> bool) -> io::Result<bool> {
    // Whoever is adding to it is waited for, and whoever comes then begins another.
    inside.logs.open.remove(run, || {
        if !may_go() {
            return Ok(false);
        }
        lock(&inside.logs.dirty).remove(run);
        lock(&inside.logs.left_out).remove(run);
        lock(&inside.logs.heard).remove(run);
        // In one step: a kill leaves a log or none, and what is on its way out goes at the next start.
        let gone = folder(inside, &format!(".{run}.gone"));
        clear(&gone)?;
        match std::fs::rename(folder(inside, run), &gone) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            moved => moved?,
        }
        durable::sync_parent(&gone)?;
        clear(&gone).map(|()| true)
    })
}

fn clear(folder: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(folder) {
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
        match self {
            Format::Protobuf => weigh::protobuf(bytes)?,
            Format::Json => weigh::json(bytes)?,
        }
        let parsed = match self {
            Format::Protobuf => Spans::decode(bytes).map_err(|error| error.to_string()),
            Format::Json => request_of_json(bytes),
        };
        let bad = |why| Refusal::bad(format!("this is no ExportTraceServiceRequest: {why}"));
        let spans = parsed.map_err(bad)?;
        weigh::check(count(&spans) > weigh::MOST_SPANS as u64)?;
        Ok(spans)
    }

    /// All was taken but for what was refused.
    fn answer(self, refused: Option<PartialSuccess>) -> Response {
        match self {
            Format::Protobuf => {
                let answer = Answer { partial_success: refused }.encode_to_vec();
                ([(CONTENT_TYPE, "application/x-protobuf")], answer).into_response()
            }
            Format::Json => match refused {
                None => Json(json!({})).into_response(),
                Some(PartialSuccess { rejected_spans, error_message }) => {
                    // Numbers of 64 bits are text in the JSON of protobuf.
                    let rejected = rejected_spans.to_string();
                    let refused = json!({"rejectedSpans": rejected, "errorMessage": error_message});
                    Json(json!({"partialSuccess": refused})).into_response()
                }
            },
        }
    }
}

/// `POST /v1/traces`.
pub async fn traces(
    State(collecting): State<Collecting>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, Refusal> {
    taken(collecting, caller, request).await.map_err(Refusal::for_otlp)
}

async fn taken(
    collecting: Collecting,
    caller: Caller,
    request: Request,
) -> Result<Response, Refusal> {
    let (head, body) = request.into_parts();
    let format = Format::of(&head.headers)?;
    let encoding = Encoding::of(&head.headers, &[Encoding::Identity, Encoding::Gzip])?;
    let received = collecting.room.receive(caller.id(), &head.headers, body, MOST_BYTES).await?;
    let owner = caller.id().to_owned();
    let (batches, received) = apart(move || {
        let spans = format.parse(&received.unfold(encoding, MOST_BYTES)?)?;
        let batches = by_run(spans, &owner)?.into_iter();
        let batches = batches.map(|(run, (app, spans))| Batch::new(run, app, &spans));
        // What has its room waits with it.
        Ok((batches.collect::<Vec<_>>(), received))
    })
    .await?;
    let turn = match batches.len() >= batch::MANY_RUNS {
        true => {
            let turn = Arc::clone(&collecting.logs.many).lock_owned();
            let turn = tokio::time::timeout(PATIENCE, turn).await;
            let busy = "other requests of many services are being kept; send it again";
            Some(turn.map_err(|_| Refusal::later(busy, 1))?)
        }
        false => None,
    };
    apart(move || {
        let _until_kept = (received, turn);
        Ok(format.answer(batch::keep(&collecting, batches, &caller)?))
    })
    .await
}

/// Counts what a run and its log take.
fn measure(inside: &Inside, run: &str) {
    let log = folder(inside, run);
    let owner = open::owner(&log).unwrap_or_default();
    let bytes = [log, inside.depot.folder(run)].iter().map(|folder| usage_bytes(folder)).sum();
    inside.depot.usage.set(run, &owner, bytes);
}

fn count(spans: &Spans) -> u64 {
    let libraries = spans.resource_spans.iter().flat_map(|of| &of.scope_spans);
    libraries.map(|library| library.spans.len() as u64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::testing::{Folder, inside};
    use axum::body::Body;
    use hodo_convert::otlp::proto::{
        Any, AnyValue, KeyValue, Resource, ResourceSpans, ScopeSpans, Span,
    };

    /// A span of a service.
    fn of_service(name: String) -> ResourceSpans {
        let value = Some(AnyValue { value: Some(Any::Text(name)) });
        let attributes = vec![KeyValue { key: "service.name".to_owned(), value }];
        let scope_spans = vec![ScopeSpans { scope: None, spans: vec![Span::default()] }];
        ResourceSpans { resource: Some(Resource { attributes }), scope_spans }
    }

    fn request(services: usize) -> Result<Request, axum::http::Error> {
        let resource_spans = (0..services).map(|n| of_service(format!("s{n}"))).collect();
        let body = Body::from(Spans { resource_spans }.encode_to_vec());
        Request::builder().header(CONTENT_TYPE, "application/x-protobuf").body(body)
    }

    #[test]
    fn a_request_of_many_runs_waits_for_its_turn_on_no_thread()
    -> Result<(), Box<dyn std::error::Error>> {
        let folder = Folder::new();
        let collecting = Collecting(inside(folder.path(), None));
        let (many, here) = (Arc::clone(&collecting.logs.many), collecting.clone());
        let sent = taken(collecting, Caller::testing("owner"), request(batch::MANY_RUNS)?);
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.max_blocking_threads(1).enable_all().build()?;
        runtime.block_on(async {
            let turn = Arc::clone(&many).lock_owned().await;
            let sent = tokio::spawn(sent);
            // Its own copy is the fourth: that of the logs, ours and the turn's are there.
            while Arc::strong_count(&many) < 4 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            let other = tokio::time::timeout(Duration::from_secs(300), apart(|| Ok(()))).await;
            assert!(other.is_ok(), "the only thread is free for others");
            assert!(!sent.is_finished() && logged(&here).next().is_none());
            drop(turn);
            let answer = sent.await.map(|sent| sent.map(|answer| answer.status()));
            assert!(matches!(answer, Ok(Ok(StatusCode::OK))), "{answer:?}");
            assert_eq!(logged(&here).count(), batch::MANY_RUNS);
        });
        Ok(())
    }
}
