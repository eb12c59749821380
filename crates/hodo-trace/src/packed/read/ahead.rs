//! Rows are decoded on a thread of their own while those before them are put away.

use std::sync::mpsc::{channel, sync_channel};
use std::thread;

/// Batches that may wait to be put away.
const AHEAD: usize = 8;

/// Calls `make`, which fills batches and hands them over, and `take` with each row of them, in order.
/// Without a second processor, or a thread to be had, one after the other.
pub(super) fn ahead<T: Send, E: Send>(
    mut make: impl FnMut(&mut dyn FnMut(&mut Vec<T>)) -> Result<(), E> + Send,
    mut take: impl FnMut(T),
) -> Result<(), E> {
    let several = thread::available_parallelism().is_ok_and(|processors| processors.get() > 1);
    let made = several.then(|| beside(&mut make, &mut take)).flatten();
    made.unwrap_or_else(|| make(&mut |batch| batch.drain(..).for_each(&mut take)))
}

/// The same with a thread; none if there is none to be had.
fn beside<T: Send, E: Send>(
    make: &mut (impl FnMut(&mut dyn FnMut(&mut Vec<T>)) -> Result<(), E> + Send),
    take: &mut impl FnMut(T),
) -> Option<Result<(), E>> {
    let (full_to, full) = sync_channel::<Vec<T>>(AHEAD);
    let (empty_to, empty) = channel::<Vec<T>>();
    thread::scope(|scope| {
        let name = thread::Builder::new().name("hodo-decode".into());
        let making = name.spawn_scoped(scope, move || {
            make(&mut |batch| {
                let next = empty.try_recv().unwrap_or_default();
                // Whoever takes them is there until the last one.
                let _ = full_to.send(std::mem::replace(batch, next));
            })
        });
        let making = making.ok()?;
        for mut batch in full {
            batch.drain(..).for_each(&mut *take);
            let _ = empty_to.send(batch);
        }
        Some(making.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three batches, and a failure after them.
    fn make(hand_over: &mut dyn FnMut(&mut Vec<u32>)) -> Result<(), &'static str> {
        let mut batch = Vec::new();
        for first in [0, 1000, 2000] {
            assert!(batch.is_empty(), "what was handed over comes back empty");
            batch.extend(first..first + 1000);
            hand_over(&mut batch);
        }
        Err("damaged")
    }

    #[test]
    fn rows_come_in_order_and_a_failure_after_what_was_read() {
        let mut taken = Vec::new();
        assert_eq!(ahead(make, |row| taken.push(row)), Err("damaged"));
        assert_eq!(taken, (0..3000).collect::<Vec<u32>>());
        let mut beside_it = Vec::new();
        let told = beside(&mut { make }, &mut |row| beside_it.push(row));
        assert_eq!((told, beside_it), (Some(Err("damaged")), taken));
    }

    #[test]
    #[should_panic(expected = "in the middle")]
    fn a_panic_is_passed_on() {
        let _ = beside(
            &mut |_: &mut dyn FnMut(&mut Vec<u8>)| -> Result<(), ()> { panic!("in the middle") },
            &mut drop,
        );
    }
}
