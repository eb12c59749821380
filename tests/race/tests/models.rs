//! Each model is a claim about the ring; `run.sh` shows that each fails on the seeded bug.

use hodo_race::segments::{CAPACITY, Drainer, Producer, Segments};
use hodo_race::sync::{Arc, explore, pause, thread};
use std::collections::HashSet;

#[cfg(all(not(loom), miri))]
const TIMES: usize = 20;
#[cfg(all(not(loom), not(miri)))]
const TIMES: usize = 2_000;
#[cfg(loom)]
const TIMES: usize = 0;

/// Drains while the producer is at work: twice where every order is explored, else until
/// `enough` records have come.
fn look(drainer: &mut Drainer<'_>, seen: &mut Vec<u64>, enough: usize) {
    drainer.drain(seen);
    pause();
    drainer.drain(seen);
    while cfg!(not(loom)) && seen.len() < enough {
        drainer.drain(seen);
        pause();
    }
}

/// What the drainer sees of a record is what the producer wrote.
#[test]
fn a_published_record_is_whole() {
    explore(TIMES, || {
        let segments = Arc::new(Segments::new(1));
        let slab = segments.take().unwrap();
        let shared = Arc::clone(&segments);
        let producer = thread::spawn(move || {
            let mut producer = Producer::new(&shared, slab);
            (1..=u64::from(CAPACITY)).for_each(|word| assert!(producer.push(word)));
        });
        let mut drainer = Drainer::new(&segments, slab);
        let mut seen = Vec::new();
        look(&mut drainer, &mut seen, CAPACITY as usize);
        assert!(seen.iter().copied().eq(1..=seen.len() as u64), "{seen:?}");
        producer.join().unwrap();
    });
}

/// Records cross from segment to segment, segments are recycled, and each record comes once, in
/// order.
#[test]
fn segments_are_handed_over_and_recycled() {
    explore(TIMES, || {
        let segments = Arc::new(Segments::new(2));
        let slab = segments.take().unwrap();
        let shared = Arc::clone(&segments);
        let producer = thread::spawn(move || {
            let mut producer = Producer::new(&shared, slab);
            (1..=5).filter(|&word| producer.push(word)).collect::<Vec<u64>>()
        });
        let mut drainer = Drainer::new(&segments, slab);
        let mut seen = Vec::new();
        look(&mut drainer, &mut seen, 4);
        let kept = producer.join().unwrap();
        drainer.drain(&mut seen);
        assert_eq!(seen, kept);
    });
}

/// A slab is never owned by two threads, also when it left the list and came back in between.
#[test]
fn a_free_slab_has_one_taker() {
    explore(TIMES, || {
        let segments = Arc::new(Segments::new(3));
        let shared = Arc::clone(&segments);
        let other = thread::spawn(move || {
            let (first, second) = (shared.take(), shared.take());
            if let Some(slab) = first {
                shared.give(slab);
            }
            second
        });
        let mut mine: Vec<u32> = [segments.take(), segments.take()].into_iter().flatten().collect();
        mine.extend(other.join().unwrap());
        mine.extend(std::iter::from_fn(|| segments.take()));
        let distinct: HashSet<u32> = mine.iter().copied().collect();
        assert_eq!(distinct.len(), mine.len(), "taken twice: {mine:?}");
        assert_eq!(mine.len(), 3, "a slab went missing: {mine:?}");
    });
}
