//! GPU work under the scopes that launched it.
//!
//! CUPTI and NVTX are never linked: the library that the program has mapped is used, and a machine
//! without one records scopes as before. Nothing here initialises CUDA.

mod ambient;
mod arm;
pub mod attribute;
mod buffers;
mod callback;
mod calls;
mod capture;
mod collector;
mod counts;
pub mod cupti;
mod engine;
mod files;
pub mod fixture;
mod forward;
mod graphs;
mod launches;
mod names;
pub mod nvtx;
mod pc;
#[cfg(feature = "record")]
mod recording;
mod state;
pub mod window;

pub use ambient::set_forward;
pub use arm::injected;
pub use capture::{give_way, resume};
pub use forward::{look_away, scope_of, watch};
pub use graphs::Graphs;
pub use launches::{Launch, Launches};

use hodo_record::binding::{Companion, accompany};
use std::sync::{Mutex, MutexGuard, PoisonError};

static COMPANION: Companion = Companion {
    name: "gpu",
    started: capture::started,
    stopping: capture::stopping,
    flush: capture::flush,
    at_exit: capture::at_exit,
    in_child: capture::in_child,
    thread_ends: ambient::ends,
    state: capture::state,
    ..Companion::IDLE
};

/// Makes recorders that this copy of hodo starts capture the GPU, as their configuration says.
pub fn install() {
    accompany(&COMPANION);
}

/// Locks; a panic elsewhere while it was held does not matter to the simple data behind it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
