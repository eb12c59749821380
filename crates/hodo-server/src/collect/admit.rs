//! Questions that take a run to answer: so many at a time, and the run is brought here first.

use super::guard::Caller;
use super::receive::{Encoding, MOST_BODY_BYTES, Received};
use super::refusal::Refusal;
use super::{Collecting, ingest};
use crate::api::MOST_RUNS;
use crate::turn;
use axum::body::Body;
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

/// Turns of those who read.
pub struct Readers(Arc<Semaphore>);

impl Readers {
    /// All turns are free.
    pub fn new() -> Readers {
        Readers(Arc::new(Semaphore::new(MOST_READERS)))
    }

    async fn turn(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        let turn = tokio::time::timeout(PATIENCE, self.0.clone().acquire_owned()).await;
        match turn {
            Ok(Ok(turn)) => Ok(turn),
            _ => Err(Refusal::later("too many questions are being answered; ask again", 2)),
        }
    }
}

/// Lets a question in when it is its turn.
pub async fn admit(State(collecting): State<Collecting>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let (asked, is_sql) = (asked(path), path == SQL);
    // Events go on for as long as the page is open, and the page itself is in memory.
    let is_heavy = path == "/api/runs" || is_sql || !asked.is_empty();
    if !is_heavy {
        return next.run(request).await;
    }
    let turn = match collecting.readers.turn().await {
        Ok(turn) => turn,
        Err(refusal) => return refusal.into_response(),
    };
    let answer = async {
        let (request, asked, _place) = match is_sql && collecting.remote.is_some() {
            true => of_sql(&collecting, request).await?,
            false => (request, asked, None),
        };
        bring(&collecting, asked).await?;
        Ok::<Response, Refusal>(next.run(request).await)
    };
    // What is computed keeps the turn, also when whoever asked has hung up.
    turn::holding(Arc::new(turn), answer).await.unwrap_or_else(IntoResponse::into_response)
}

/// A question in SQL says in its body which runs it is about.
async fn of_sql(
    collecting: &Collecting,
    request: Request,
) -> Result<(Request, Vec<String>, Option<Received>), Refusal> {
    let (head, body) = request.into_parts();
    let token = head.extensions.get::<Caller>().map_or("", Caller::id);
    let received = collecting.room.receive(token, &head.headers, body, 0).await?;
    let text = received.unfold(Encoding::Identity, MOST_BODY_BYTES)?;
    // What is no question is refused by whoever answers it.
    let named = serde_json::from_slice::<Named>(&text).map(|named| named.runs).unwrap_or_default();
    Ok((Request::from_parts(head, Body::from(text)), named, Some(received)))
}

/// What of a question in SQL names runs.
#[derive(Deserialize)]
struct Named {
    #[serde(default)]
    runs: Vec<String>,
}

/// The runs that a path is about.
fn asked(path: &str) -> Vec<String> {
    let run = path.strip_prefix("/api/runs/").and_then(|rest| rest.split('/').next());
    let other = path.split_once("/compare/").map(|(_, other)| other);
    [run, other].into_iter().flatten().filter(|id| !id.is_empty()).map(str::to_owned).collect()
}

/// Brings back runs that are elsewhere alone.
async fn bring(collecting: &Collecting, asked: Vec<String>) -> Result<(), Refusal> {
    if collecting.remote.is_none() {
        return Ok(());
    }
    let collecting = collecting.clone();
    ingest::apart(move || {
        // Whoever asks for more is refused.
        let mut runs = asked.iter().take(MOST_RUNS).filter(|run| ship::is_run_id(run));
        runs.try_for_each(|run| collecting.bring_back(run)).map_err(|error| {
            let words = format!("the run is elsewhere and cannot be fetched: {error}");
            Refusal::new(StatusCode::BAD_GATEWAY, words)
        })
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_the_runs_they_are_about() {
        assert_eq!(asked("/api/runs/a/report"), ["a"]);
        assert_eq!(asked("/api/runs/a/compare/b"), ["a", "b"]);
        for path in ["/", "/api/runs", "/api/runs/", "/api/events", "/healthz"] {
            assert!(asked(path).is_empty(), "{path}");
        }
    }

    #[tokio::test]
    async fn who_hangs_up_has_its_turn_until_the_work_is_done() {
        let readers = Readers::new();
        let free = || readers.0.available_permits();
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
