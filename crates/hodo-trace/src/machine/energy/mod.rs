//! Energy of scopes: the one definition.
//!
//! Between two readings of its energy counter a GPU used what was counted, when in between is told by
//! readings of its power (without them: evenly). At each moment it is
//! divided among the scopes whose kernels run there, in equal parts; while none runs, or where
//! kernels were not recorded, among the innermost open scopes of the processes that use the GPU, on
//! the threads that launch on it; while none is open, it is outside any scope. So the scopes' own
//! energy and that outside add up to what the GPU used while the run was on and readings were taken.

mod of_nodes;
mod power;
mod sweep;
mod users;

pub(crate) use of_nodes::Attribution;
pub use power::{EnergyFrom, GpuJoules};

use serde::Serialize;

/// Energy of the scopes of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct NodeEnergy {
    /// Of its scopes and those inside them, joules.
    pub total_j: f64,
    /// Of its scopes themselves.
    pub self_j: f64,
    /// The part of that in which kernels of theirs ran.
    pub kernels_j: f64,
    /// Time in them in which the GPU's power was not known, nanoseconds: no part of this.
    pub unsampled_ns: u64,
    /// Scopes of processes whose machine was not sampled: no part of this.
    pub missing: u64,
    /// They are shorter than the time between two readings, and have their part of what all that ran
    /// then used.
    pub pro_rata: bool,
}

/// Energy of a run's GPUs, and how it was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EnergySummary {
    /// Of all GPUs the run used, while it was on and readings were taken, joules.
    pub total_j: f64,
    /// The part of it in scopes that are shown.
    pub scopes_j: f64,
    /// The part while no scope was open.
    pub outside_j: f64,
    /// The part in scopes that a filter dropped.
    pub hidden_j: f64,
    /// By GPU.
    pub gpus: Vec<GpuEnergy>,
}

/// Energy of one GPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GpuEnergy {
    /// The host it is in.
    pub host: String,
    /// Its UUID.
    pub uuid: String,
    /// Its name; empty when nobody told it.
    pub name: String,
    /// Joules.
    pub total_j: f64,
    /// The part while no scope was open.
    pub outside_j: f64,
    /// What it is made of.
    pub from: EnergyFrom,
    /// How it was divided.
    pub method: EnergyMethod,
    /// Time of the run in which its power was known, nanoseconds.
    pub sampled_ns: u64,
    /// Time of the run in which it was not.
    pub unsampled_ns: u64,
    /// The usual time between two readings.
    pub interval_ns: u64,
}

/// How energy was divided among scopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EnergyMethod {
    /// Among those whose kernels ran; by wall time while none did.
    Kernels,
    /// Among those that were open: kernels were not recorded.
    WallTime,
}

/// Joules in a kilowatt hour.
const KILOWATT_HOUR: f64 = 3.6e6;

/// What `joules` cost at a price for a kilowatt hour.
pub fn money(joules: f64, price: f64) -> f64 {
    joules / KILOWATT_HOUR * price
}
