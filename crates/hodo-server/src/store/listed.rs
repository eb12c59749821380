//! What tells whether a row of the list of runs is another.

use super::written::Written;
use hodo_trace::{ProcessState, Run};
use std::path::Path;

/// A run as the list shows it, in what changes while it is recorded.
#[derive(Clone, Debug)]
pub struct Listed {
    written: Written,
    state: Option<ProcessState>,
    scopes: Option<u64>,
    /// Whether it was so twice: a process that just shuts its recorder down may look as if it had ended otherwise.
    is_settled: bool,
}

impl Listed {
    /// As it is now. Of a run that is over and has the same files `before` still holds: looking at
    /// the names of files costs little, so that a folder may have many runs.
    pub fn of(folder: &Path, before: Option<&Listed>) -> Listed {
        let written = Written::of(folder);
        let same = before.filter(|before| before.written == written);
        if let Some(settled) = same.filter(|before| before.is_settled) {
            return settled.clone();
        }
        let now = Run::summary(folder);
        // Those go on by the clock, also where nothing is written.
        let goes_on = matches!(now.state, Some(ProcessState::Live | ProcessState::Silent));
        let is_settled = !goes_on && same.is_some_and(|before| before.state == now.state);
        Listed { written, state: now.state, scopes: now.spans, is_settled }
    }
}

impl PartialEq for Listed {
    fn eq(&self, other: &Listed) -> bool {
        (&self.written, self.state, self.scopes) == (&other.written, other.state, other.scopes)
    }
}
