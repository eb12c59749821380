//! Questions that take a run to answer: so many at a time, and the run is brought here first.

use super::refusal::Refusal;
use super::{Collecting, ingest};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hodo_format::ship;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Questions that are worked on at once: each may read a run.
const MOST_READERS: usize = 8;
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
    let asked = asked(path);
    // Events go on for as long as the page is open, and the page itself is in memory.
    let is_heavy = path == "/api/runs" || path == "/api/sql" || !asked.is_empty();
    if !is_heavy {
        return next.run(request).await;
    }
    let turn = match collecting.readers.turn().await {
        Ok(turn) => turn,
        Err(refusal) => return refusal.into_response(),
    };
    let answer = match bring(&collecting, asked).await {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    drop(turn);
    answer
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
        let mut runs = asked.iter().filter(|run| ship::is_run_id(run));
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
