//! The rows of the table. Each peer runs in the fastest configuration its documentation offers.

pub mod fastrace;
pub mod floors;
pub mod launches;
pub mod opentelemetry;
pub mod ours;
pub mod perfetto;
pub mod puffin;
pub mod tracing;
pub mod tracy;

use crate::measure::Row;

/// A row's short name for the command line, and how it is set up.
pub type Entry = (&'static str, fn() -> Row);

/// The floors below any recorder.
pub const FLOORS: &[Entry] =
    &[("empty", floors::empty_row), ("clock", floors::clock_row), ("store", floors::store_row)];

/// hodo before it is started; no other row of hodo may be set up earlier.
pub const NOT_STARTED: &[Entry] = &[("not-started", ours::not_started)];

/// hodo while it records.
pub const OURS: &[Entry] = &[
    ("hodo", ours::on),
    ("attributes", ours::attributes),
    ("mark", ours::mark),
    ("runtime-name", ours::runtime_name),
];

/// hodo in places that should not matter.
pub const PLACES: &[Entry] =
    &[("depth-8", ours::depth_8), ("depth-63", ours::depth_63), ("siblings", ours::siblings)];

/// The other recorders.
pub const PEERS: &[Entry] = &[
    ("fastrace", fastrace::row),
    ("tracing", tracing::row),
    ("puffin", puffin::row),
    ("tracy", tracy::row),
    ("perfetto", perfetto::row),
    ("opentelemetry", opentelemetry::row),
];

/// What hodo does inside a launch; a process of their own, since they start a capture.
pub const LAUNCHES: &[Entry] =
    &[("launch", launches::in_a_scope), ("launch-outside", launches::outside)];

/// Every row.
pub const ALL: &[&[Entry]] = &[FLOORS, NOT_STARTED, OURS, PLACES, PEERS, LAUNCHES];
