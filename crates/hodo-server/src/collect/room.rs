//! Memory for bodies, of which no token takes the share of others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Bytes that all bodies which are being received or unfolded may take at once.
const MOST_BYTES: usize = 256 << 20;

/// Room for bodies.
#[derive(Clone)]
pub struct Room(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    freed: Notify,
}

#[derive(Default)]
struct State {
    held: usize,
    tokens: HashMap<String, Token>,
}

#[derive(Default)]
struct Token {
    held: usize,
    /// Those who wait, one after another: a large body is not overtaken by small ones.
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl State {
    /// Takes `bytes` for a token, which may hold as much as it leaves free for all others.
    fn take(&mut self, token: &str, bytes: usize) -> bool {
        let own = self.tokens.get(token).map_or(0, |token| token.held);
        let fits = own + bytes <= MOST_BYTES.saturating_sub(self.held);
        if fits {
            self.held += bytes;
            self.tokens.entry(token.to_owned()).or_default().held += bytes;
        }
        fits
    }
}

/// Room that is given back when this goes.
pub struct Place {
    shared: Arc<Shared>,
    token: String,
    bytes: usize,
}

impl Room {
    /// All of it.
    pub fn new() -> Room {
        Room(Arc::new(Shared { state: Mutex::default(), freed: Notify::new() }))
    }

    /// Room for `bytes` of a token, as soon as there is some.
    pub async fn place(&self, token: &str, bytes: usize) -> Place {
        let turn = self.0.state().tokens.entry(token.to_owned()).or_default().turn.clone();
        let _turn = turn.lock().await;
        let mut freed = std::pin::pin!(self.0.freed.notified());
        loop {
            // Before it is looked at: what is given back then is heard.
            freed.as_mut().enable();
            if self.0.state().take(token, bytes) {
                return Place { shared: self.0.clone(), token: token.to_owned(), bytes };
            }
            freed.as_mut().await;
            freed.set(self.0.freed.notified());
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.held = state.held.saturating_sub(self.bytes);
        if let Some(token) = state.tokens.get_mut(&self.token) {
            token.held = token.held.saturating_sub(self.bytes);
        }
        // One that nobody uses any more is not remembered.
        state.tokens.retain(|_, token| token.held > 0 || Arc::strong_count(&token.turn) > 1);
        drop(state);
        self.shared.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const PIECE: usize = 8 << 20;

    async fn now(room: &Room, token: &str, bytes: usize) -> Option<Place> {
        tokio::time::timeout(Duration::from_millis(1), room.place(token, bytes)).await.ok()
    }

    async fn all(room: &Room, token: &str) -> Vec<Place> {
        let mut places = Vec::new();
        while let Some(place) = now(room, token, PIECE).await {
            places.push(place);
        }
        places
    }

    #[tokio::test(start_paused = true)]
    async fn no_token_takes_what_others_need() {
        let room = Room::new();
        let greedy = all(&room, "greedy").await;
        assert_eq!(greedy.len() * PIECE, MOST_BYTES / 2, "alone it has half");
        let second = all(&room, "second").await;
        assert_eq!(second.len() * PIECE, MOST_BYTES / 4);
        assert!(now(&room, "third", 4 * PIECE).await.is_some(), "and the next has its share");
        assert!(now(&room, "greedy", PIECE).await.is_none());
        drop((greedy, second));
        assert!(now(&room, "third", 16 * PIECE).await.is_some());
        assert!(room.0.state().tokens.is_empty(), "nobody is remembered");
    }

    #[tokio::test(start_paused = true)]
    async fn a_large_body_has_its_turn() {
        let room = Room::new();
        let mut small = all(&room, "a").await;
        let waiting = room.clone();
        let large = tokio::spawn(async move { waiting.place("a", 4 * PIECE).await });
        tokio::time::sleep(Duration::from_secs(1)).await;
        let waiting = room.clone();
        let next = tokio::spawn(async move { waiting.place("a", PIECE).await });
        for _ in 0..2 {
            assert!(!large.is_finished() && !next.is_finished());
            small.pop();
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        assert!(large.is_finished() && !next.is_finished(), "who came first has it first");
        drop(small);
        assert!(large.await.is_ok() && next.await.is_ok());
    }
}
