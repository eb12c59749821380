//! The recorder the API is written against: the real one, or with the feature `off` one of no size.

#[cfg(not(feature = "off"))]
pub use hodo_record::{
    Attached, Context, Handle, Link, Scope, Site, begin, current, flush, health, init, intern,
    is_on, mark, open_at, open_with, shutdown,
};

#[cfg(feature = "off")]
pub use off::*;

pub use hodo_record::Value;

#[cfg(feature = "off")]
#[allow(
    missing_docs,
    reason = "each item is the empty twin of one in hodo_record, documented there"
)]
mod off;
