//! `libhodo.so`: the one recorder of a process, behind a C interface.
//!
//! Every function is safe before the start, after the end and in a forked child, takes null where a
//! pointer is optional, and never lets a panic out.

pub mod api;
pub mod control;
pub mod gpu;
pub mod handle;
pub mod health;
pub mod inject;
pub mod layout;
pub mod options;
pub mod scope;
pub mod telemetry;
mod text;
pub mod value;
pub mod warnings;

/// Runs `work`; a panic stays here and gives `otherwise`.
pub(crate) fn guarded<T>(otherwise: T, work: impl FnOnce() -> T) -> T {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or(otherwise)
}
