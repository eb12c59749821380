//! hodo is a flight recorder for ML and GPU programs: name the regions of your code as *scopes*
//! and every pass through one is recorded (wall and CPU time, index, attributes, failure), for
//! tens of nanoseconds, in a form that survives `kill -9`. `hodo report` prints where the time went.
//!
//! ```
//! # let folder = tempfile::tempdir().unwrap();
//! # std::env::set_current_dir(&folder).unwrap();
//! let _hodo = hodo::init(hodo::Config { app: Some("train".into()), ..hodo::Config::from_env() });
//!
//! for epoch in hodo::epochs(0..2) {
//!     for batch in hodo::batches(vec![[1.0, 2.0], [3.0, 4.0]]) {
//!         let _s = hodo::scope!("forward", index = epoch, variant = "beam");
//!         let loss: f64 = batch.iter().sum();
//!         hodo::mark!("loss", loss);
//!     }
//! }
//! ```
//!
//! | you want | you write |
//! | --- | --- |
//! | a block | [`scope!`], [`scope()`] for names made at run time |
//! | a function, also an async one | [`#[hodo::scoped]`](macro@scoped) |
//! | a future | [`FutureExt::scoped`] |
//! | work that begins here and ends there | [`begin!`], [`begin()`] |
//! | a value | [`mark!`] |
//! | a training loop | [`epochs`], [`batches`] |
//! | a benchmark | [`bench()`] |
//! | children on another thread | [`Handle::attach`], [`Link`], [`mod@thread`] |
//!
//! Before [`init`] every one of these is inert and costs about a nanosecond. With the feature
//! `off` they compile to nothing at all.
//!
//! # Features
//!
//! - `macros` (default): the [`#[hodo::scoped]`](macro@scoped) attribute.
//! - `off`: no scope, mark or loop leaves a trace in the program.
//! - `telemetry` (default): [`Config::telemetry`] reads the machine beside the scopes.
//! - `log`: the recorder's warnings go to the `log` facade instead of standard error.
//! - `tracing`: [`tracing::Layer`] shows the spans of the `tracing` crate as scopes.

mod backend;
mod bench;
mod future;
mod handle;
mod init;
mod loops;
mod macros;
mod mark;
mod number;
mod scope;
mod statistics;
pub mod thread;
#[cfg(feature = "tracing")]
pub mod tracing;
mod value;

pub use bench::{Bench, Iterations, bench};
pub use future::{FutureExt, Scoped};
pub use handle::{Attached, Handle, Link, begin};
pub use hodo_record::{Config, Flushed, Gpu, Health, ScopeId, Started, Telemetry};
pub use init::{
    Recording, child_env, flush, gpu_state, health, init, is_on, shutdown, telemetry_state,
};
pub use loops::{LoopExt, Loops, batches, epochs};
pub use mark::{mark, summary};
pub use number::{NewScope, current_scope_id, enter_new_scope};
pub use scope::{Scope, current, scope};
pub use statistics::Statistics;
pub use value::{Json, ToValue};

#[cfg(feature = "macros")]
#[doc = include_str!("scoped.md")]
pub use hodo_macros::scoped;

/// What the macros expand to; not for use by hand.
#[doc(hidden)]
pub mod __private {
    pub use crate::backend::{Site, Value, is_on};
    pub use crate::future::{in_fallible_scope, in_scope};
    pub use crate::handle::begin_with;
    pub use crate::mark::mark_with;
    pub use crate::scope::{open, open_at};
    pub use crate::value::{LiteralValue, name_id, to_index};
}

/// The guide, so that what it shows is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
struct Guide;
