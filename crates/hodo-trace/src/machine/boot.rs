//! Which boot of which host readings and processes are of: they share its monotonic clock.

use crate::Process;

/// On one host the wall clock may have been set between two readings of the clocks by less than
/// this; past it, the host was booted between them.
const SET_NS: u64 = 60_000_000_000;
/// Containers of one host have names of their own. Boots that seem so close together are one.
const SAME_NS: u64 = 10_000_000;

/// A boot of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Boot {
    /// The host's name.
    pub(super) host: String,
    /// What the wall clock showed when the monotonic clock began; none when no reading is left.
    pub(super) ns: Option<i64>,
}

impl Boot {
    /// How far the clocks are apart of a process that ran in this boot; none for any other process.
    pub(super) fn distance(&self, process: &Process) -> Option<u64> {
        let apart = self.ns?.abs_diff(process.clock.booted_ns()?);
        let most = if process.info.host == self.host { SET_NS } else { SAME_NS };
        (apart <= most).then_some(apart)
    }
}
