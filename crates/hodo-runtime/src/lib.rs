//! `libhodo.so`: the one recorder of a process, behind a C interface.
//!
//! Every function is safe before the start, after the end and in a forked child, takes null where a
//! pointer is optional, and never lets a panic out.

mod control;
mod options;
mod warnings;

pub use control::{hodo_flush, hodo_init, hodo_is_on, hodo_reason, hodo_shutdown};
pub use options::Options;
pub use warnings::hodo_on_warning;

/// Runs `work`; a panic stays here and gives `otherwise`.
pub(crate) fn guarded<T>(otherwise: T, work: impl FnOnce() -> T) -> T {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or(otherwise)
}
