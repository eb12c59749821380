//! What runs in the user's process: clock, thread state, scope stack, rings, pump, fork, health.
//!
//! Opening and closing a scope takes no lock, allocates nothing, makes no system call and uses no
//! atomic read-modify-write. Records go into memory-mapped rings that outlive the process; a
//! background thread, the pump, moves them into compact checksummed files.

pub mod ring;

/// Declares modules that the race models, which only look at [`ring`], leave out.
macro_rules! recorder {
    ($($module:ident)*) => {$(
        #[cfg(not(loom))]
        mod $module;
    )*};
}

recorder! {
    arena attach attr begun calibrate clock companion config context control
    cpu drain fork front handle health json left_open names
    numbers own_thread perf pin pool process pump rank rendezvous rseq
    run scope scopes shipper signals stand_in store strings table telemetry thread work write
}

#[cfg(not(loom))]
pub mod binding;

#[cfg(not(loom))]
mod api {
    pub use crate::begun::{Attached, Context, Handle, Link, Polling, begin};
    pub use crate::clock::ClockSource;
    pub use crate::config::{Config, Gpu};
    pub use crate::control::{flush, health, init, set_warn, shutdown};
    pub use crate::cpu::CpuMethod;
    pub use crate::front::{
        Scope, ScopeId, Site, Value, child_env, current, intern, mark, open_at, open_with,
    };
    pub use crate::health::Health;
    pub use crate::numbers::{NewScope, current_scope_id, enter_new_scope};
    pub use crate::process::Started;
    pub use crate::pump::Flushed;
    pub use crate::rendezvous::is_on;
    pub use crate::telemetry::Telemetry;
    pub use hodo_format::arena::{Counts, Loss};
    pub use hodo_format::record::flag;
}
#[cfg(not(loom))]
pub use api::*;
#[cfg(not(loom))]
use control::{guarded, internal_errors, lock, warn};
