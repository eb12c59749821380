//! What happens to runs, as it happens: server-sent events.

use crate::state::Shared;
use crate::store::Event as Happened;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use serde_json::json;
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

/// Something is said at least so often, so that both sides know the other is there.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

/// `GET /api/events`.
pub async fn events(
    State(shared): State<Shared>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let heard = shared.store.events.subscribe();
    let events = stream::unfold(heard, |mut heard| async {
        let event = next(&mut heard).await?;
        Some((Ok(event), heard))
    });
    Sse::new(events).keep_alive(KeepAlive::new().interval(SIGN_OF_LIFE))
}

/// The next event; none when the server ends, or when some were missed: who connects anew looks
/// at everything again.
async fn next(heard: &mut Receiver<Happened>) -> Option<Event> {
    match heard.recv().await {
        Ok(Happened::Grew { run, generation, end_ns }) => {
            let data = json!({"run": run, "generation": generation, "end_ns": end_ns});
            Some(Event::default().event("grew").data(data.to_string()))
        }
        Ok(Happened::Runs) => Some(Event::default().event("runs").data("{}")),
        Err(RecvError::Lagged(_) | RecvError::Closed) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::broadcast::Sender;

    #[tokio::test]
    async fn who_missed_growth_is_told_by_the_end_of_the_stream() {
        let told = Sender::new(2);
        let mut heard = told.subscribe();
        let grew = |generation| Happened::Grew { run: "run".to_owned(), generation, end_ns: 1 };
        told.send(grew(1)).unwrap();
        assert!(next(&mut heard).await.is_some());
        for generation in 2..5 {
            told.send(grew(generation)).unwrap();
        }
        assert!(next(&mut heard).await.is_none());
    }
}
