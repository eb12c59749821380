//! What a machine does while programs run: GPUs, processors, memory, disks, networks.
//!
//! A [`Reader`] reads one part of it into a [`Table`], which holds the newest value of every series.

pub mod gpu;
mod table;

pub use table::{Absent, Reader, Slot, Table};
