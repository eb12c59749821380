//! The sorts of GPU work as numbers.

use hodo_format::gpu::Detail;

const KERNEL: u64 = 1;
const COPY: u64 = 2;
const SET: u64 = 3;
const SYNC: u64 = 4;
const MEMORY: u64 = 5;

/// What a piece of work is, with the small numbers that only its kind has: a byte each.
pub(super) fn sort(detail: &Detail) -> u64 {
    let bytes = |sort, [a, b, c]: [u8; 3]| {
        sort | u64::from(a) << 8 | u64::from(b) << 16 | u64::from(c) << 24
    };
    match *detail {
        Detail::Kernel(_) => KERNEL,
        Detail::Copy { direction, from, to, .. } => bytes(COPY, [direction, from, to]),
        Detail::Set { memory, .. } => bytes(SET, [memory, 0, 0]),
        Detail::Sync { what } => bytes(SYNC, [what, 0, 0]),
        Detail::Memory { freed, memory, .. } => bytes(MEMORY, [memory, freed.into(), 0]),
    }
}
