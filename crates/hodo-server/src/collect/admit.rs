//! Questions that take a run to answer: so many at a time, and the run is brought here first.

use super::guard::Caller;
use super::receive::{Encoding, MOST_BODY_BYTES, Received};
use super::refusal::Refusal;
use super::{Collecting, ingest, remote};
use crate::api::MOST_RUNS;
use crate::turn;
use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hodo_format::ship;
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Questions that are worked on at once: each may read a run.
const MOST_READERS: usize = 8;
/// Where questions in SQL go.
const SQL: &str = "/api/sql";
/// How long one waits for its turn before it is told to come back.
const PATIENCE: Duration = Duration::from_secs(10);
/// Runs that are fetched at once.
const MOST_FETCHING: usize = 4;
/// How long one waits for a run that is elsewhere; it is fetched all the same.
const FETCH_TIME: Duration = Duration::from_secs(60);
/// Seconds after which it may be here.
const FETCH_AGAIN_S: u64 = 5;

/// Turns of those who read.
pub struct Readers {
    turns: Arc<Semaphore>,
    /// Those who wait for the store elsewhere, which may take for ever, have turns of their own.
    fetching: Arc<Semaphore>,
}

impl Readers {
    /// All turns are free.
    pub fn new() -> Readers {
        let free = |count| Arc::new(Semaphore::new(count));
        Readers { turns: free(MOST_READERS), fetching: free(MOST_FETCHING) }
    }

    async fn turn(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        let turn = tokio::time::timeout(PATIENCE, self.turns.clone().acquire_owned()).await;
        match turn {
            Ok(Ok(turn)) => Ok(turn),
            _ => Err(Refusal::later("too many questions are being answered; ask again", 2)),
        }
    }
}

/// Lets a question in when it is its turn.
pub async fn admit(State(collecting): State<Collecting>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let asked = asked(path);
    // Events go on for as long as the page is open, and the page itself is in memory.
    let is_heavy = path == "/api/runs" || path == SQL || !asked.is_empty();
    match is_heavy {
        true => {
            answer(&collecting, request, asked, next).await.unwrap_or_else(Refusal::into_response)
        }
        false => next.run(request).await,
    }
}

/// Answers a question about runs. Who sends it slowly has no turn yet, nor has who waits for a store.
async fn answer(
    collecting: &Collecting,
    request: Request,
    mut asked: Vec<String>,
    next: Next,
) -> Result<Response, Refusal> {
    let is_sql = request.uri().path() == SQL;
    let (request, received) = with_body(collecting, request).await?;
    if let Some(received) = received.as_ref().filter(|_| is_sql) {
        let text = received.unfold(Encoding::Identity, MOST_BODY_BYTES)?;
        // What is no question is refused by whoever answers it.
        asked = serde_json::from_slice::<Named>(&text).map(|named| named.runs).unwrap_or_default();
    }
    if collecting.remote.is_some() {
        let fetched = tokio::time::timeout(FETCH_TIME, bring(collecting, asked)).await;
        fetched.unwrap_or_else(|_| {
            let words = "the run is elsewhere and is still being fetched; ask again";
            Err(Refusal::soon(words, FETCH_AGAIN_S))
        })?;
    }
    let turn = collecting.readers.turn().await?;
    // What is computed keeps the turn, also when whoever asked has hung up.
    Ok(turn::holding(Arc::new(turn), next.run(request)).await)
}

/// A request with its body, and the room that it takes; none where it has none.
async fn with_body(
    collecting: &Collecting,
    request: Request,
) -> Result<(Request, Option<Received>), Refusal> {
    if request.body().is_end_stream() {
        return Ok((request, None));
    }
    let (head, body) = request.into_parts();
    let token = head.extensions.get::<Caller>().map_or("", Caller::id);
    let received = collecting.room.receive(token, &head.headers, body, 0).await?;
    let text = received.unfold(Encoding::Identity, MOST_BODY_BYTES)?;
    Ok((Request::from_parts(head, Body::from(text)), Some(received)))
}

/// What of a question in SQL names runs.
#[derive(Deserialize)]
struct Named {
    #[serde(default)]
    runs: Vec<String>,
}

/// The runs that a path is about.
fn asked(path: &str) -> Vec<String> {
    let steps: Vec<&str> = path.split('/').skip(1).collect();
    let ids = match steps[..] {
        ["api", "runs", run, "compare", other] => vec![run, other],
        ["api", "runs", run, ..] => vec![run],
        _ => Vec::new(),
    };
    ids.into_iter().filter(|id| !id.is_empty()).map(decoded).collect()
}

/// A step of a path as whoever answers it reads it: `%2E` is a dot.
fn decoded(step: &str) -> String {
    let mut bytes = Vec::with_capacity(step.len());
    let mut rest = step.as_bytes();
    while let Some((first, others)) = rest.split_first() {
        let hex =
            others.get(..2).filter(|_| *first == b'%').and_then(|two| str::from_utf8(two).ok());
        let byte = hex.and_then(|two| u8::from_str_radix(two, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &others[2..] } else { others };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Brings back runs that are elsewhere alone. What is begun goes on when nobody waits for it any more.
async fn bring(collecting: &Collecting, asked: Vec<String>) -> Result<(), Refusal> {
    // Whoever asks for more is refused.
    for run in asked.into_iter().take(MOST_RUNS).filter(|run| ship::is_run_id(run)) {
        let here = collecting.clone();
        let Some(entry) = ingest::apart(move || Ok(remote::asked(&here, &run)?)).await? else {
            continue;
        };
        // The others who ask for the same run wait for the one who fetches it.
        let alone = entry.fetching.clone().lock_owned().await;
        let turn = collecting.readers.fetching.clone().acquire_owned().await;
        let here = collecting.clone();
        ingest::apart(move || {
            let _held = (alone, turn);
            here.bring_back(&entry).map_err(|error| {
                let words = format!("the run is elsewhere and cannot be fetched: {error}");
                Refusal::new(StatusCode::BAD_GATEWAY, words)
            })
        })
        .await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_the_runs_they_are_about() {
        assert_eq!(asked("/api/runs/a/report"), ["a"]);
        assert_eq!(asked("/api/runs/a/compare/b"), ["a", "b"]);
        assert_eq!(asked("/api/runs/compare/compare/b"), ["compare", "b"]);
        assert_eq!(asked("/api/runs/a%2e%62/compare/b%2Dc"), ["a.b", "b-c"], "as it is answered");
        assert_eq!(asked("/api/runs/a%2/report"), ["a%2"]);
        for path in ["/", "/api/runs", "/api/runs/", "/api/events", "/healthz"] {
            assert!(asked(path).is_empty(), "{path}");
        }
    }

    #[tokio::test]
    async fn who_hangs_up_has_its_turn_until_the_work_is_done() {
        let readers = Readers::new();
        let free = || readers.turns.available_permits();
        let turn = readers.turn().await.expect("a turn");
        let (begun, has_begun) = tokio::sync::oneshot::channel();
        let (end, is_over) = std::sync::mpsc::channel::<()>();
        let work = move || {
            let _ = begun.send(());
            let _ = is_over.recv();
            Ok(())
        };
        let asked = tokio::spawn(turn::holding(Arc::new(turn), ingest::apart(work)));
        has_begun.await.expect("it begins");
        asked.abort();
        assert!(asked.await.is_err_and(|error| error.is_cancelled()));
        assert_eq!(free(), MOST_READERS - 1, "the work goes on");
        drop(end);
        while free() < MOST_READERS {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_no_turn_is_told_to_come_back() {
        let readers = Readers::new();
        let mut turns = Vec::new();
        for _ in 0..MOST_READERS {
            turns.push(readers.turn().await.expect("a turn"));
        }
        let refused = readers.turn().await.err().map(|refusal| refusal.status);
        assert_eq!(refused, Some(StatusCode::TOO_MANY_REQUESTS));
        turns.pop();
        assert!(readers.turn().await.is_ok());
    }
}
