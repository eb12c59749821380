#![no_main]
//! An arena: the bytes as they are, or a sound header with slabs made of the bytes.

use hodo_format::arena::{
    ARENA_MAGIC, ARENA_VERSION, SLAB_BYTES, THREAD_UNITS_AT, read::ArenaView, read::open,
};
use hodo_format::record::decode_one;
use hodo_format::spool::FrameSink;
use hodo_fuzz::Keep;
use libfuzzer_sys::fuzz_target;

/// Bytes of input that a composed slab takes.
const PIECE: usize = 320;
const MAX_SLABS: usize = 6;

fuzz_target!(|data: &[u8]| {
    let [first, rest @ ..] = data else { return };
    let arena = if first & 1 == 0 { rest.to_vec() } else { compose(rest) };
    if let Ok(view) = open(&arena) {
        check(&view);
    }
});

fn check(view: &ArenaView) {
    for segment in &view.segments {
        let mut sink = Keep::default();
        sink.run(segment.thread, segment.first, segment.records);
        let (mut at, mut records) = (0, 0);
        while let Some((taken, counted)) = decode_one(&segment.units[at..], &mut sink) {
            at += taken;
            records += u64::from(counted);
        }
        assert_eq!((at, records), (segment.units.len(), segment.records));
        assert!(segment.drained <= segment.records && segment.thread != 0);
    }
    assert!(view.open.iter().all(|scope| !scope.id.is_none()));
}

/// A header, then a slab per piece: 64 bytes of slab header, 128 behind it, the rest as units.
fn compose(data: &[u8]) -> Vec<u8> {
    let mut arena = vec![0; SLAB_BYTES];
    arena[..8].copy_from_slice(&ARENA_MAGIC.to_le_bytes());
    arena[8..12].copy_from_slice(&ARENA_VERSION.to_le_bytes());
    arena[12..16].copy_from_slice(&(SLAB_BYTES as u32).to_le_bytes());
    for piece in data.chunks(PIECE).take(MAX_SLABS) {
        let begin = arena.len();
        arena.resize(begin + SLAB_BYTES, 0);
        let slab = &mut arena[begin..];
        let (front, units) = piece.split_at(piece.len().min(192));
        slab[..front.len()].copy_from_slice(front);
        let at = if front.first() == Some(&3) { THREAD_UNITS_AT } else { 64 };
        slab[at..at + units.len()].copy_from_slice(units);
    }
    arena
}
