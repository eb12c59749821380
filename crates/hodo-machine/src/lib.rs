//! What a machine does while programs run: GPUs, processors, memory, disks, networks.
//!
//! A [`Reader`] reads one part of it into a [`Table`], which holds the newest value of every series.
//! A [`Sampler`] calls readers in rounds; a [`Sampling`] does so in the background and writes what was
//! read into a run.

pub mod gpu;
pub mod host;
mod in_process;
mod json;
mod processes;
mod procfile;
mod sampler;
mod sampling;
mod state;
mod store;
mod table;
mod tier;

pub use hodo_record::binding::parse_bytes;
pub use in_process::install;
pub use processes::Roots;
pub use sampler::{Cost, MIN_INTERVAL, Newest, Parts, Row, Sampler, readers};
pub use sampling::{Sampling, Settings};
pub use state::{Kind, Standing, Status};
pub use store::{Holder, Kept, Limits, folder};
pub use table::{Absent, Reader, Slot, Table};
pub use tier::{Readers, Tier};

/// Now, in nanoseconds of the monotonic clock: the time of all readings.
pub fn monotonic_ns() -> u64 {
    hodo_record::binding::nanoseconds(libc::CLOCK_MONOTONIC)
}
