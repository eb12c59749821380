//! The runs that are there already.

use super::Check;
use hodo_trace::{ProcessState, Run};
use std::path::Path;

/// Counts the runs by state. One that ended without shutting its recorder down is as good as any
/// other.
pub fn count(dir: &Path) -> Check {
    let runs = Run::list(dir);
    let states = [ProcessState::Live, ProcessState::Finished, ProcessState::Ended];
    let count = |state| runs.iter().filter(|r| r.state == Some(state)).count();
    let mut parts = vec![format!("{} in this folder", runs.len())];
    parts.extend(states.map(|state| format!("{} {}", count(state), state.word())));
    let unknown = count(ProcessState::Unknown);
    if unknown == 0 {
        return Check::ok("runs", parts.join(", "));
    }
    parts.push(format!("{unknown} of which no file says how it ended"));
    Check::warn("runs", parts.join(", "), "`hodo ls` lists them, `hodo verify RUN` says more")
}
