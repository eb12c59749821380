//! The sorts of GPU work as numbers.

use hodo_format::gpu::{Detail, Kernel};

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

/// The detail that [`sort`] told; work of an unknown sort is a wait for nothing known.
pub(super) fn detail(sort: u64, kernel: Kernel, bytes: u64, address: u64) -> Detail {
    let [sort, a, b, c, ..] = sort.to_le_bytes();
    match u64::from(sort) {
        KERNEL => Detail::Kernel(kernel),
        COPY => Detail::Copy { bytes, direction: a, from: b, to: c },
        SET => Detail::Set { bytes, memory: a },
        MEMORY => Detail::Memory { freed: b != 0, bytes, address, memory: a },
        _ => Detail::Sync { what: a },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sort_of_work_comes_back() {
        let kernel = Kernel { name: 7, grid: [1, 2, 3], ..Kernel::default() };
        let all = [
            Detail::Kernel(kernel),
            Detail::Copy { bytes: 9, direction: 8, from: 2, to: 3 },
            Detail::Set { bytes: 9, memory: 5 },
            Detail::Sync { what: 4 },
            Detail::Memory { freed: true, bytes: 9, address: 77, memory: 3 },
            Detail::Memory { freed: false, bytes: 9, address: 77, memory: 3 },
        ];
        for one in all {
            assert_eq!(detail(sort(&one), kernel, 9, 77), one);
        }
    }
}
