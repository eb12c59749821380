//! The recorder's ring, taken file for file, in a crate small enough for loom, Miri and
//! ThreadSanitizer.
//!
//! With `--cfg loom` the models explore every interleaving; without, they run on real threads.
//! With `HODO_SEEDED_BUG=1` the ring publishes too weakly and its free list forgets to count
//! changes: each model must then fail, or it proves nothing.

#[allow(clippy::len_without_is_empty, reason = "the recorder does not export it")]
#[path = "../../../crates/hodo-record/src/ring.rs"]
pub mod ring;

pub mod segments;
pub mod sync;
