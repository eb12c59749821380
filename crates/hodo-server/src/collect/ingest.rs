//! What shippers ask: which bytes are there, take these, we are alive.

use super::Collecting;
use super::beat;
use super::depot::{Sender, Target};
use super::guard::Caller;
use super::receive::Encoding;
use super::refusal::Refusal;
use crate::api::extract::Query;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::{Extension, Json};
use hodo_format::ship::{self, Kind, Part};
use serde::Deserialize;
use serde_json::{Value, json};

/// The longest beat: one of many thousand processes.
const MOST_BEAT_BYTES: usize = 4 << 20;

/// `GET /api/ingest/runs/{run}`.
pub async fn files(
    State(collecting): State<Collecting>,
    Extension(caller): Extension<Caller>,
    Path(run): Path<String>,
) -> Result<Json<Value>, Refusal> {
    check_run(&run)?;
    apart(move || {
        let listing = collecting.depot.list(&run, caller.owner())?;
        let mut document = json!({"run": run, "files": listing.files});
        if listing.packed {
            document["packed"] = true.into();
        }
        Ok(Json(document))
    })
    .await
}

/// How a file is sent.
#[derive(Deserialize)]
pub struct How {
    offset: Option<u64>,
    whole: Option<String>,
}

/// `PUT /api/ingest/runs/{run}/files/{part}/{name}`.
pub async fn put(
    State(collecting): State<Collecting>,
    Extension(caller): Extension<Caller>,
    Path((run, part, name)): Path<(String, String, String)>,
    Query(how): Query<How>,
    request: Request,
) -> Result<Json<Value>, Refusal> {
    check_run(&run)?;
    let (part, kind) = check_file(&part, &name)?;
    let offset = match (kind, how.offset, how.whole.as_deref()) {
        (Kind::Appended, Some(offset), None) => Some(offset),
        (Kind::Replaced, None, Some("1")) => None,
        (Kind::Appended, ..) => return Err(Refusal::bad(format!("{name} is sent with ?offset=N"))),
        (Kind::Replaced, ..) => return Err(Refusal::bad(format!("{name} is sent with ?whole=1"))),
    };
    let most = if offset.is_some() { ship::CHUNK_BYTES } else { ship::WHOLE_BYTES };
    let (head, body) = request.into_parts();
    let encoding = Encoding::of(&head.headers, &[Encoding::Identity, Encoding::Zstd])?;
    let checksum = checksum(&head.headers)?;
    let received = collecting.room.receive(caller.id(), &head.headers, body, most).await?;
    apart(move || {
        let bytes = received.unfold(encoding, most)?;
        if crc32c::crc32c(&bytes) != checksum {
            let words = "the bytes do not match their checksum; send them again";
            return Err(Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, words));
        }
        let target = Target { run: &run, part: &part, name: &name, sender: sender(&caller) };
        let length = match offset {
            Some(offset) => collecting.depot.append(&target, offset, &bytes)?,
            None => collecting.depot.replace(&target, &bytes)?,
        };
        collecting.counters.stored(bytes.len() as u64);
        Ok(Json(json!({"length": length})))
    })
    .await
}

/// `POST /api/ingest/runs/{run}/beat`.
pub async fn beat(
    State(collecting): State<Collecting>,
    Extension(caller): Extension<Caller>,
    Path(run): Path<String>,
    request: Request,
) -> Result<Json<Value>, Refusal> {
    check_run(&run)?;
    let (head, body) = request.into_parts();
    let encoding = Encoding::of(&head.headers, &[Encoding::Identity, Encoding::Zstd])?;
    let received =
        collecting.room.receive(caller.id(), &head.headers, body, MOST_BEAT_BYTES).await?;
    apart(move || {
        let text = received.unfold(encoding, MOST_BEAT_BYTES)?;
        let told = beat::Beat::parse(&text)?;
        let bytes = collecting.depot.tell(&run, sender(&caller), told)?;
        collecting.rates.charge(caller.token(), bytes);
        Ok(Json(json!({})))
    })
    .await
}

fn sender(caller: &Caller) -> Sender<'_> {
    Sender { owner: caller.owner(), most_bytes: caller.most_bytes() }
}

pub fn check_run(run: &str) -> Result<(), Refusal> {
    match ship::is_run_id(run) {
        true => Ok(()),
        false => Err(Refusal::bad(
            "this is no id of a run: letters, digits, `.`, `_` and `-`, a letter or digit first, \
             128 at most",
        )),
    }
}

fn check_file(part: &str, name: &str) -> Result<(Part, Kind), Refusal> {
    let part = Part::parse(part)
        .ok_or_else(|| Refusal::bad("this is no folder of a run that is shipped"))?;
    let kind = part.kind_of(name);
    let kind = kind.ok_or_else(|| Refusal::bad("this is no file of a run that is shipped"))?;
    Ok((part, kind))
}

fn checksum(headers: &HeaderMap) -> Result<u32, Refusal> {
    let told = headers.get(ship::CHECKSUM_HEADER).and_then(|value| value.to_str().ok());
    let is_hex =
        |told: &&str| told.len() == 8 && told.bytes().all(|digit| digit.is_ascii_hexdigit());
    let sum = told.filter(is_hex).and_then(|told| u32::from_str_radix(told, 16).ok());
    sum.ok_or_else(|| {
        let words = format!("the header {} is eight hex digits", ship::CHECKSUM_HEADER);
        Refusal::bad(words)
    })
}

/// Works where waiting for a disk keeps nobody else waiting.
pub async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let held = crate::turn::held();
    let work = move || {
        let _held = held;
        work()
    };
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        let words = format!("hodo failed on this request: {error}; please report it");
        Err(Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, words))
    })
}
