//! Runs whose process ended without shutting its recorder down.

use super::Check;
use hodo_trace::Run;
use std::path::Path;

/// Counts runs that a crash left behind; their rings take space until they are removed.
pub fn crashed(dir: &Path) -> Check {
    const NAME: &str = "runs";
    let runs = Run::list(dir);
    let crashed = runs.iter().filter(|r| r.crashed).count();
    let live = runs.iter().filter(|r| r.live).count();
    let found = format!("{} in this folder, {live} live, {crashed} crashed", runs.len());
    if crashed == 0 {
        return Check::ok(NAME, found);
    }
    Check::warn(
        NAME,
        found,
        "`hodo report` reads them as they are; remove a run's folder when it is not needed any more",
    )
}
