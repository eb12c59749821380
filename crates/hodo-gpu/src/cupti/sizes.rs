//! How long each record is, by version: for buffers that are read without the library that wrote
//! them. A live capture asks CUPTI itself.

use super::code::kind;

/// Bytes of a record of `kind` as CUPTI `version` writes it; none for a kind hodo does not take.
pub fn size_of_record(version: u32, kind: u32) -> Option<usize> {
    let since = |steps: &[(u32, usize)]| {
        steps.iter().rev().find(|(first, _)| version >= *first).map(|&(_, size)| size)
    };
    match kind {
        kind::CONCURRENT_KERNEL => {
            since(&[(0, 208), (130_000, 216), (130_100, 224), (130_300, 232), (130_400, 248)])
        }
        kind::MEMCPY => since(&[(0, 88), (26, 96), (130_400, 112)]),
        kind::MEMSET => since(&[(0, 88), (130_400, 104)]),
        kind::MEMCPY2 => Some(96),
        kind::MEMORY2 => since(&[(0, 120), (24, 128)]),
        kind::SYNCHRONIZATION => since(&[(0, 40), (26, 56)]),
        kind::DRIVER | kind::RUNTIME => Some(40),
        _ => None,
    }
}
