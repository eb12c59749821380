//! Reading arenas: whole, cut, flipped, and while a process goes on writing.

use crate::arena_sample::{ArenaSample, Content, PROCESS, anchor, counts};
use crate::made::Random;
use hodo_format::arena::read::{ArenaDamage, ArenaError, ArenaView, Source, open, open_source};
use hodo_format::arena::*;
use hodo_format::record::Kind;
use std::cell::Cell;
use std::mem::offset_of;

/// Asserts that the view holds what `contents` hold, and nothing else of these slabs' owners.
fn holds(view: &ArenaView, contents: &[&Content]) {
    for content in contents {
        assert!(content.segment.iter().all(|segment| view.segments.contains(segment)));
        assert!(content.thread.iter().all(|thread| view.threads.contains(thread)));
        assert!(content.strings.iter().all(|strings| view.strings.contains(strings)));
        assert!(content.open.iter().all(|scope| view.open.contains(scope)));
    }
}

#[test]
fn everything_is_found() {
    let sample = ArenaSample::new(3);
    let view = open(&sample.bytes).unwrap();
    assert_eq!((view.process, view.pid, view.finished), (PROCESS, 42, false));
    assert_eq!(view.clock, clock_kind::COUNTER);
    assert_eq!(view.anchors, [0, 1, 2].map(anchor));
    assert_eq!((view.stored, view.ended_produced), (counts(100), counts(200)));
    assert_eq!(view.lost, [300, 310, 320, 330].map(counts));
    assert_eq!(view.ended_lost, [400, 410, 420, 430].map(counts));
    assert_eq!(view.damage, ArenaDamage::default());
    holds(&view, &sample.contents.iter().collect::<Vec<_>>());
    let expected = |count: fn(&Content) -> usize| sample.contents.iter().map(count).sum::<usize>();
    assert_eq!(view.segments.len(), expected(|c| c.segment.iter().len()));
    assert_eq!(view.threads.len(), expected(|c| c.thread.iter().len()));
    assert_eq!(view.strings.len(), 1);
    assert_eq!(view.open.len(), expected(|c| c.open.len()));
}

#[test]
fn the_anchor_about_to_be_replaced_is_left_out() {
    let taken = |n| open(&ArenaSample::new(n).bytes).unwrap().anchors;
    assert_eq!(taken(0), []);
    assert_eq!(taken(31), (0..31).map(anchor).collect::<Vec<_>>());
    assert_eq!(taken(32), [0].into_iter().chain(2..32).map(anchor).collect::<Vec<_>>());
    assert_eq!(taken(1000), [0].into_iter().chain(970..1000).map(anchor).collect::<Vec<_>>());
}

#[test]
fn cut_anywhere() {
    let sample = ArenaSample::new(3);
    for len in (0..sample.bytes.len()).step_by(61) {
        let Ok(view) = open(&sample.bytes[..len]) else {
            assert!(len < size_of::<ArenaHeader>());
            continue;
        };
        let whole = len / SLAB_BYTES;
        holds(&view, &sample.contents[..whole].iter().collect::<Vec<_>>());
        assert_eq!(view.damage.missing_bytes, (sample.bytes.len() - len) as u64);
        for segment in &view.segments {
            let full = sample.contents.iter().filter_map(|content| content.segment.as_ref());
            let full =
                full.clone().find(|s| (s.thread, s.first) == (segment.thread, segment.first));
            assert!(full.unwrap().units.starts_with(&segment.units), "units nobody wrote");
        }
        let known = |scope| sample.contents.iter().any(|content| content.open.contains(scope));
        assert!(view.open.iter().all(known), "scopes nobody opened");
    }
}

#[test]
fn bits_flipped_anywhere() {
    let sample = ArenaSample::new(40);
    let mut bytes = sample.bytes.clone();
    let mut random = Random(3);
    for _ in 0..20_000 {
        let bits: Vec<usize> = (0..1 + random.below(16))
            .map(|_| random.below(bytes.len() as u64 * 8) as usize)
            .collect();
        let flip = |bytes: &mut [u8]| bits.iter().for_each(|bit| bytes[bit / 8] ^= 1 << (bit % 8));
        flip(&mut bytes);
        let touched = |slab: usize| bits.iter().any(|bit| bit / 8 / SLAB_BYTES == slab);
        match open(&bytes) {
            Ok(view) => {
                let intact = sample.contents.iter().enumerate().filter(|(i, _)| !touched(*i));
                holds(&view, &intact.map(|(_, content)| content).collect::<Vec<_>>());
            }
            Err(_) => assert!(bits.iter().any(|bit| bit / 8 < 16), "refused a sound header"),
        }
        flip(&mut bytes);
    }
}

#[test]
fn a_length_past_the_capacity_disqualifies_the_slab() {
    for (slab, capacity) in [(1, THREAD_UNITS), (2, SLAB_UNITS)] {
        let mut sample = ArenaSample::new(1);
        let len = slab * SLAB_BYTES + offset_of!(SlabHeader, len);
        sample.bytes[len..len + 4].copy_from_slice(&(capacity as u32 + 1).to_le_bytes());
        let view = open(&sample.bytes).unwrap();
        assert_eq!((view.segments.len(), view.damage.slabs), (5, 1));
    }
}

#[test]
fn other_versions_and_other_files_are_refused() {
    let mut bytes = ArenaSample::new(1).bytes;
    assert_eq!(open(&[]), Err(ArenaError::NotArena));
    assert_eq!(open(&[b'x'; SLAB_BYTES]), Err(ArenaError::NotArena));
    assert_eq!(open(&[0; SLAB_BYTES]), Err(ArenaError::NotReady));
    let version = offset_of!(ArenaHeader, version);
    bytes[version..version + 4].copy_from_slice(&(1u32 << 16 | 9).to_le_bytes());
    assert!(open(&bytes).is_ok());
    bytes[version..version + 4].copy_from_slice(&(3u32 << 16 | 1).to_le_bytes());
    let error = open(&bytes).unwrap_err();
    let words = "arena format 3.1 is not understood, this hodo reads 1.x: use a matching hodo";
    assert_eq!(error.to_string(), words);
}

/// An arena in which something happens before the `at`-th copy.
struct Living<F> {
    bytes: Vec<Cell<u8>>,
    copies: Cell<usize>,
    happens: F,
}

impl<F: Fn(usize, &[Cell<u8>])> Living<F> {
    fn new(bytes: &[u8], happens: F) -> Self {
        let bytes = bytes.iter().copied().map(Cell::new).collect();
        Living { bytes, copies: Cell::new(0), happens }
    }
}

impl<F: Fn(usize, &[Cell<u8>])> Source for Living<F> {
    fn bytes(&self) -> usize {
        self.bytes.len()
    }

    fn copy(&self, at: usize, into: &mut [u8]) -> bool {
        self.copies.set(self.copies.get() + 1);
        (self.happens)(self.copies.get(), &self.bytes);
        let Some(bytes) = self.bytes.get(at..at + into.len()) else { return false };
        into.iter_mut().zip(bytes).for_each(|(to, from)| *to = from.get());
        true
    }
}

/// Gives the ring slab `slab` to thread 9, as a pump and another thread would.
fn hand_over(slab: usize, first: u8, bytes: &[Cell<u8>]) {
    let at = slab * SLAB_BYTES;
    bytes[at + offset_of!(SlabHeader, thread)].set(9);
    bytes[at + offset_of!(SlabHeader, first)].set(first);
    bytes[at + SLAB_UNITS_AT..at + SLAB_UNITS_AT + 64].iter().for_each(|byte| byte.set(0));
}

#[test]
fn a_slab_that_changes_hands_is_never_mixed() {
    let sample = ArenaSample::new(1);
    let ring = 2;
    let intact = sample.contents[ring].segment.as_ref().unwrap();
    let mut taken_before = 0;
    for when in 0..60 {
        let source = Living::new(&sample.bytes, |copy, bytes| {
            if copy == when {
                hand_over(ring, 5, bytes);
            }
        });
        let view = open_source(&source).unwrap();
        let of_slab =
            view.segments.iter().find(|s| s.thread == intact.thread && s.first == intact.first);
        taken_before += usize::from(of_slab.is_some());
        assert!(of_slab.is_none_or(|segment| segment == intact), "a mixture of two owners");
    }
    assert!((1..60).contains(&taken_before), "the slab never changed hands at the right moment");
}

#[test]
fn a_slab_that_never_rests_is_given_up_and_counted() {
    let sample = ArenaSample::new(1);
    let source = Living::new(&sample.bytes, |copy, bytes| hand_over(2, copy as u8, bytes));
    let view = open_source(&source).unwrap();
    assert_eq!(view.damage.restless, 1);
    let others = sample.contents.iter().enumerate().filter(|(i, _)| *i != 2);
    holds(&view, &others.map(|(_, content)| content).collect::<Vec<_>>());
}

#[test]
fn a_slot_that_stands_for_a_scope_of_another_thread_is_no_open_scope() {
    let mut sample = ArenaSample::new(1);
    sample.bytes[SLAB_BYTES + THREAD_SLOTS_AT] = Kind::Pad as u8;
    let view = open(&sample.bytes).unwrap();
    let open = &sample.contents[1].open;
    assert!(!view.open.iter().any(|scope| scope.id == open[0].id));
    assert!(view.open.contains(&open[1]));
}

#[test]
fn a_slot_that_changes_is_left_out() {
    let sample = ArenaSample::new(1);
    let start = SLAB_BYTES + THREAD_SLOTS_AT + offset_of!(Slot, start);
    let overhead = SLAB_BYTES + THREAD_SLOTS_AT + 64 + offset_of!(Slot, overhead);
    let source = Living::new(&sample.bytes, |copy, bytes| {
        bytes[start].set(copy as u8);
        bytes[overhead].set(copy as u8);
    });
    let view = open_source(&source).unwrap();
    let open = &sample.contents[1].open;
    assert!(!view.open.iter().any(|scope| scope.id == open[0].id));
    assert!(view.open.iter().any(|scope| scope.id == open[1].id), "overhead may grow meanwhile");
}
