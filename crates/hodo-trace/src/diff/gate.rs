//! Whether a comparison is a regression: what a pipeline stops for.

use super::Diff;
use super::change::Change;
use super::scopes::{Judgement, ScopeDiff};
use serde::Serialize;

/// What a gate says of a comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Gate {
    /// The most that a scope may be slower, as a share.
    pub max: f64,
    /// Scopes that are slower by more, and really are.
    pub regressions: Vec<Regression>,
    /// Scopes whose data let them be slower by more than that, and as well not be slower at all:
    /// more runs would tell.
    pub unclear: Vec<Vec<String>>,
    /// Judged scopes.
    pub judged: usize,
}

/// A scope that is slower than allowed.
#[derive(Clone, Debug, Serialize)]
pub struct Regression {
    /// Names from the outermost scope to this.
    pub path: Vec<String>,
    /// By how much.
    pub change: Change,
    /// Whether only its longest instances are, and not a typical one.
    pub at_times: bool,
}

impl Diff {
    /// Looks for scopes that are slower by more than the share `max`: the best guess is above it,
    /// and the interval leaves out that nothing changed.
    pub fn gate(&self, max: f64) -> Gate {
        let mut regressions: Vec<Regression> =
            self.scopes.iter().filter_map(|scope| regression(scope, max)).collect();
        regressions.sort_by(|a, b| b.change.ratio.total_cmp(&a.change.ratio));
        let is_unclear = |scope: &&ScopeDiff| {
            let guess = |change: Option<Change>| change.is_some_and(|c| c.ratio > max);
            scope.judgement.is_judged() && guess(scope.change) && regression(scope, max).is_none()
        };
        let unclear = self.scopes.iter().filter(is_unclear).map(|s| s.path.clone()).collect();
        Gate { max, regressions, unclear, judged: self.judged }
    }
}

fn regression(scope: &ScopeDiff, max: f64) -> Option<Regression> {
    let above = |change: Option<Change>| change.filter(|c| c.low > 0.0 && c.ratio > max);
    let typical = above(scope.change);
    let mean = above(scope.mean_change).filter(|_| scope.judgement != Judgement::NotJudged);
    let change = typical.or(mean)?;
    Some(Regression { path: scope.path.clone(), change, at_times: typical.is_none() })
}
