//! Who is connected. Where all places are taken, the one who came first and has shown no token leaves:
//! whoever may ask is not shut out by those who may not, nor by one token's many connections.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// All who are connected.
pub struct Guests {
    most: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last: u64,
    /// In the order in which they came.
    here: BTreeMap<u64, Arc<Guest>>,
}

/// One of them.
#[derive(Debug, Default)]
pub struct Guest {
    /// The token of their last request; none before the first, and where it was none.
    token: Mutex<Option<String>>,
    leave: Notify,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Guest {
    /// A request of theirs was let in by the token with that id, or by none.
    pub fn came_with(&self, token: Option<&str>) {
        let mut known = lock(&self.token);
        if known.as_deref() != token {
            *known = token.map(str::to_owned);
        }
    }

    /// Waits until their place is needed by another.
    pub async fn leave(&self) {
        self.leave.notified().await;
    }
}

/// The place of one of them, free again when this goes.
pub struct Place {
    guests: Arc<Guests>,
    number: u64,
    /// Whose it is.
    pub guest: Arc<Guest>,
}

impl Guests {
    /// With so many places.
    pub fn new(most: usize) -> Arc<Guests> {
        Arc::new(Guests { most, state: Mutex::default() })
    }

    /// A place for one more; none where all are taken by several who are known.
    pub fn enter(self: &Arc<Guests>) -> Option<Place> {
        let mut state = lock(&self.state);
        if state.here.len() >= self.most {
            let first = state.first_to_leave(self.most / 2)?;
            if let Some(guest) = state.here.remove(&first) {
                guest.leave.notify_one();
            }
        }
        state.last += 1;
        let (number, guest) = (state.last, Arc::<Guest>::default());
        state.here.insert(number, guest.clone());
        Some(Place { guests: self.clone(), number, guest })
    }
}

impl State {
    /// Who came first of those without a token; else of the one that has more than `share` places.
    fn first_to_leave(&self, share: usize) -> Option<u64> {
        let mut first_of: HashMap<String, (u64, usize)> = HashMap::new();
        for (number, guest) in &self.here {
            let Some(token) = lock(&guest.token).clone() else { return Some(*number) };
            first_of.entry(token).or_insert((*number, 0)).1 += 1;
        }
        let most = first_of.into_values().max_by_key(|(_, places)| *places);
        most.filter(|(_, places)| *places > share).map(|(number, _)| number)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.guests.state).here.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_told(place: &Place) -> bool {
        let leave = std::pin::pin!(place.guest.leave());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        leave.poll(&mut context).is_ready()
    }

    fn full(tokens: &[&str]) -> (Arc<Guests>, Vec<Place>) {
        let guests = Guests::new(tokens.len());
        let places: Vec<Place> = tokens.iter().filter_map(|_| guests.enter()).collect();
        for (place, token) in places.iter().zip(tokens) {
            place.guest.came_with(Some(*token).filter(|token| !token.is_empty()));
        }
        (guests, places)
    }

    #[test]
    fn who_is_not_known_makes_room_and_who_is_stays() {
        let (guests, mut places) = full(&["a", "", "", "b"]);
        let next = guests.enter();
        assert_eq!(places.iter().map(is_told).collect::<Vec<_>>(), [false, true, false, false]);
        for (place, token) in places.iter().chain(&next).zip(["a", "", "b", "b", "a"]) {
            place.guest.came_with(Some(token));
        }
        assert!(guests.enter().is_none(), "all places are taken by those who may ask");
        // The one who left does not free a second place.
        places.remove(1);
        assert!(guests.enter().is_none());
        places[0].guest.came_with(None);
        assert!(guests.enter().is_some() && is_told(&places[0]), "its token is no longer one");
    }

    #[test]
    fn one_token_does_not_keep_the_others_out() {
        let (guests, places) = full(&["reader", "busy", "busy", "busy"]);
        assert!(guests.enter().is_some());
        assert_eq!(places.iter().map(is_told).collect::<Vec<_>>(), [false, true, false, false]);
    }
}
