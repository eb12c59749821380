//! CUPTI as hodo uses it: found and opened at run time, called through a table of functions.
//!
//! Offsets and codes are those of CUPTI 12.0 to 13.x: records only ever grow at their end, and
//! callback numbers never change, so one binary serves every version.

#[cfg(test)]
mod against;
pub mod code;
mod find;
mod functions;
pub mod record;
mod sizes;

pub use find::{CudaDriver, CudaError, Device, Found, candidates, find, mapped};
pub use functions::{BufferCompleted, BufferRequested, Callback, Cupti, Problem};
pub use record::{Activity, ApiCall, Record, Walk, walk_sized};
pub use sizes::size_of_record;
