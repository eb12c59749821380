//! Ranges that start on one thread and end on any: scopes that belong to none.

use super::registry::Domain;
use super::{event, ranges::Own, raw};
use hodo_record::binding::{Begun, table};
use hodo_record::is_on;
use std::sync::{Mutex, MutexGuard};

/// Most ranges open at once; later ones are counted, not recorded.
const MOST: usize = 1 << 16;
const PLACE_BITS: u32 = 16;

/// The ranges that are open. An id is a place and how often it was taken, so that a range which is
/// ended twice ends nothing else.
#[derive(Default)]
struct Open {
    places: Vec<Place>,
    free: Vec<u32>,
}

struct Place {
    taken: u64,
    begun: Option<Begun>,
}

// SAFETY: the slot in it is shared memory, claimed atomically by whoever ends it.
unsafe impl Send for Place {}

impl Open {
    const fn new() -> Open {
        Open { places: Vec::new(), free: Vec::new() }
    }

    fn add(&mut self, begun: Begun) -> Option<u64> {
        let at = match self.free.pop() {
            Some(at) => at as usize,
            None if self.places.len() < MOST => {
                self.places.push(Place { taken: 0, begun: None });
                self.places.len() - 1
            }
            None => return None,
        };
        let place = &mut self.places[at];
        place.taken += 1;
        place.begun = Some(begun);
        Some(place.taken << PLACE_BITS | at as u64)
    }

    fn take(&mut self, id: u64) -> Option<Begun> {
        let at = (id & ((1 << PLACE_BITS) - 1)) as usize;
        let place = self.places.get_mut(at).filter(|place| place.taken == id >> PLACE_BITS)?;
        let begun = place.begun.take()?;
        self.free.push(at as u32);
        Some(begun)
    }
}

static OPEN: Mutex<Open> = Mutex::new(Open::new());

/// Keeps the list of open ranges for the calling thread alone, while it forks.
pub struct Held {
    _open: MutexGuard<'static, Open>,
}

/// See [`Held`].
pub fn hold() -> Held {
    Held { _open: open() }
}

fn open() -> MutexGuard<'static, Open> {
    crate::lock(&OPEN)
}

/// Starts a range; its id, or 0 when it is not recorded.
pub fn start(own: &mut Own, domain: &Domain, what: &raw::Event) -> u64 {
    let name = event::name(own, what);
    let numbers = own.take_numbers();
    let Some(table) = table().filter(|_| name != 0 && is_on()) else { return 0 };
    let begun = (table.begin)(name, 0, 0);
    if begun.id == 0 {
        return 0;
    }
    event::attributes(domain, what).with(|pairs| event::set_slowly(begun.slot, begun.id, pairs));
    event::set_slowly(begun.slot, begun.id, &numbers);
    let added = open().add(begun);
    if added.is_none() {
        // No id could ever end it: it ends here, as short as it is.
        (table.end)(begun, 0);
        super::count(|counts| &counts.too_many_started);
    }
    added.unwrap_or(0)
}

/// Ends a range, on any thread; whether one with this id was open.
pub fn end(id: u64) -> bool {
    let begun = open().take(id);
    if let Some((begun, table)) = begun.zip(table()) {
        (table.end)(begun, 0);
    }
    begun.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_ends_its_range_once_and_no_other() {
        let mut open = Open::new();
        let begun = |id| Begun { id, ..Begun::INERT };
        let (first, second) = (open.add(begun(1)).unwrap_or(0), open.add(begun(2)).unwrap_or(0));
        assert!(first != 0 && second != 0 && first != second);
        assert_eq!(open.take(first).map(|b| b.id), Some(1));
        assert!(open.take(first).is_none(), "twice");
        let third = open.add(begun(3)).unwrap_or(0);
        assert_ne!(third, first, "the place is taken anew under another id");
        assert!(open.take(first).is_none());
        assert_eq!(open.take(third).map(|b| b.id), Some(3));
        assert_eq!(open.take(second).map(|b| b.id), Some(2));
        for wrong in [0, 1, u64::MAX, 1 << PLACE_BITS | 60_000] {
            assert!(open.take(wrong).is_none());
        }
    }

    #[test]
    fn too_many_are_refused() {
        let mut open = Open::new();
        let begun = Begun { id: 1, ..Begun::INERT };
        assert!((0..MOST).all(|_| open.add(begun).is_some()));
        assert!(open.add(begun).is_none());
    }
}
