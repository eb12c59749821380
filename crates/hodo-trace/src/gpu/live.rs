//! Kernels that were launched and whose records are not there.

use super::Gpu;
use crate::ProcessState;
use hodo_format::gpu::flag;
use serde::Serialize;

/// What the callbacks of a process counted, and what became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GpuLaunched {
    /// Kernels launched one by one.
    pub kernels: u64,
    /// Graphs launched.
    pub graphs: u64,
    /// Copies asked for.
    pub copies: u64,
    /// Sets asked for.
    pub sets: u64,
    /// Of the kernels: those that were captured into a graph, so did not run.
    pub captured: u64,
    /// Of the kernels: those that the driver refused.
    pub refused: u64,
    /// Of the kernels: those of a running process whose records have not come yet.
    pub under_way: u64,
    /// Of the kernels: those whose records were lost with the process.
    pub lost: u64,
}

impl Gpu {
    /// What the callbacks counted; none where they left nothing, or another tool held them.
    pub fn launched(&self, state: ProcessState) -> Option<GpuLaunched> {
        let live = self.live.filter(|live| live.kernels + live.graphs + live.copies > 0)?;
        let came = match state {
            ProcessState::Live | ProcessState::Silent => live.stored_kernels,
            // What came had perhaps not been written when the process ended. Where some was removed
            // or refused by the disk, which is counted by itself, only the page knows.
            _ if self.counts_lost() == 0 => self.lone_kernels(),
            _ => live.stored_kernels,
        };
        let missing = live.launched_kernels().saturating_sub(came);
        let (under_way, lost) = match state {
            ProcessState::Live | ProcessState::Silent => (missing, 0),
            ProcessState::Finished => (0, 0),
            ProcessState::Ended | ProcessState::Unknown => (0, missing),
        };
        Some(GpuLaunched {
            kernels: live.kernels,
            graphs: live.graphs,
            copies: live.copies,
            sets: live.sets,
            captured: live.captured,
            refused: live.refused,
            under_way,
            lost,
        })
    }

    fn counts_lost(&self) -> u64 {
        self.state.as_ref().map_or(0, |state| state.counts().lost)
    }

    /// Kernels that belong to no graph.
    fn lone_kernels(&self) -> u64 {
        let is_lone =
            |row| self.work.flags(row) & flag::GRAPH == 0 && self.work.kernel(row).is_some();
        self.work.rows().filter(|&row| is_lone(row)).count() as u64
    }
}
