//! The rows of the table. Each peer runs in the fastest configuration its documentation offers.

pub mod fastrace;
pub mod floors;
pub mod opentelemetry;
pub mod perfetto;
pub mod puffin;
pub mod tracing;
pub mod tracy;

use crate::measure::Row;

/// A row's short name for the command line, and how it is set up.
pub type Entry = (&'static str, fn() -> Row);

/// The floors below any recorder.
pub const FLOORS: &[Entry] = &[
    ("empty", floors::empty_row),
    ("clock", floors::clock_row),
    ("store", floors::store_row),
];

/// The other recorders.
pub const PEERS: &[Entry] = &[
    ("fastrace", fastrace::row),
    ("tracing", tracing::row),
    ("puffin", puffin::row),
    ("tracy", tracy::row),
    ("perfetto", perfetto::row),
    ("opentelemetry", opentelemetry::row),
];
