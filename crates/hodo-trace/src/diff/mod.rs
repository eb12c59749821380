//! Two programs compared by their runs: which scopes take longer, how sure that is, what explains it.
//!
//! Each side is one run or several. Runs on each side that took turns tell most: what the machine
//! did to both cancels. `docs/compare.md` says how a change is told from noise.

mod change;
mod comparable;
mod explain;
mod gate;
mod kernels;
mod profile;
mod scopes;
mod series;
mod spread;
mod student;

pub use change::Change;
pub use comparable::Obstacle;
pub use explain::{DifferenceOf, Explanation, Part};
pub use gate::{Gate, Regression};
pub use kernels::{KernelDiff, KernelNumbers};
pub use profile::RunProfile;
pub use scopes::{Judgement, ScopeDiff, ScopeNumbers};

use serde::Serialize;

/// Names the shape of the JSON a [`Diff`] becomes.
pub const DIFF_SCHEMA: &str = "hodo.diff/1";

/// How to compare.
#[derive(Clone, Debug, PartialEq)]
pub struct DiffOptions {
    /// All intervals hold at once with this probability.
    pub confidence: f64,
    /// A change that is smaller is none.
    pub min_effect: f64,
    /// Scopes and kernels with a smaller share of the time are shown, not judged.
    pub min_share: f64,
    /// Judge only these paths, written with `/` between names; `*` and `?` stand for anything.
    pub scopes: Vec<String>,
    /// Compare what is not comparable too.
    pub force: bool,
}

impl Default for DiffOptions {
    fn default() -> DiffOptions {
        let (confidence, min_effect, min_share) = (0.95, 0.01, 0.01);
        DiffOptions { confidence, min_effect, min_share, scopes: Vec::new(), force: false }
    }
}

/// Two sides compared.
#[derive(Clone, Debug, Serialize)]
pub struct Diff {
    /// [`DIFF_SCHEMA`].
    pub schema: &'static str,
    /// Ids of the runs compared with, in order of their start.
    pub base: Vec<String>,
    /// Ids of the runs compared.
    pub head: Vec<String>,
    /// Whether the runs of the two sides took turns and are compared pair by pair.
    pub paired: bool,
    /// All intervals hold at once with this probability.
    pub confidence: f64,
    /// Scopes that were judged.
    pub judged: usize,
    /// What explains the change of each outermost scope, most time first.
    pub explanations: Vec<Explanation>,
    /// Every path of either side, each parent before its children.
    pub scopes: Vec<ScopeDiff>,
    /// Kernels by short name, the largest difference first; none when the GPU was not captured on
    /// both sides.
    pub kernels: Option<Vec<KernelDiff>>,
    /// What a reader should know of the runs.
    pub notes: Vec<String>,
    /// Why the sides are not comparable, where they were compared all the same.
    pub obstacles: Vec<Obstacle>,
}

/// Compares `head` with `base`. The error says why they are not comparable.
pub fn diff(
    base: &[RunProfile],
    head: &[RunProfile],
    options: &DiffOptions,
) -> Result<Diff, Vec<Obstacle>> {
    let (base, head) = (by_start(base), by_start(head));
    let obstacles = comparable::obstacles(&base, &head, options);
    if obstacles.iter().any(|obstacle| obstacle.is_final || !options.force) {
        return Err(obstacles);
    }
    let paired = take_turns(&base, &head);
    let scopes = scopes::scopes(&base, &head, paired, options);
    let ids = |side: &[&RunProfile]| side.iter().map(|run| run.id.clone()).collect();
    Ok(Diff {
        schema: DIFF_SCHEMA,
        base: ids(&base),
        head: ids(&head),
        paired,
        confidence: options.confidence,
        judged: scopes.iter().filter(|scope| scope.judgement.is_judged()).count(),
        explanations: explain::explain(&base, &head, paired, options, &scopes),
        kernels: kernels::kernels(&base, &head, paired, options),
        notes: comparable::notes(&base, &head),
        obstacles,
        scopes,
    })
}

fn by_start(side: &[RunProfile]) -> Vec<&RunProfile> {
    let mut runs: Vec<&RunProfile> = side.iter().collect();
    runs.sort_by_key(|run| run.start_ns);
    runs
}

/// Whether the runs went one of each side, one of each side, …, in whichever order within the two.
fn take_turns(base: &[&RunProfile], head: &[&RunProfile]) -> bool {
    let marked = |side: &[&RunProfile], of: bool| -> Vec<(Option<i64>, bool)> {
        side.iter().map(|run| (run.start_ns, of)).collect()
    };
    let mut all = marked(base, false);
    all.extend(marked(head, true));
    all.sort_unstable();
    let turns = all.chunks(2).all(|two| two.len() == 2 && two[0].1 != two[1].1);
    base.len() == head.len() && base.len() > 1 && turns && all.iter().all(|run| run.0.is_some())
}

/// A mean over the runs of a side.
fn mean_of(values: impl Iterator<Item = f64>) -> f64 {
    spread::mean(&values.collect::<Vec<f64>>())
}
