//! A part of a run in numbers: range, flame graph, steps.

use super::ask::{self, Part};
use super::extract::{Path, Query};
use crate::error::ApiError;
use crate::state::Shared;
use crate::store::Loaded;
use axum::extract::State;
use axum::response::Response;
use hodo_trace::Filter;
use hodo_trace::timeline::FlameBy;
use serde::Deserialize;
use serde_json::{Value, json};

/// `GET /api/runs/{run}/range`.
pub async fn range(
    State(shared): State<Shared>,
    Path(run): Path<String>,
    Query(part): Query<Part>,
) -> Result<Response, ApiError> {
    let (filter, range) = (part.filter()?, part.range()?);
    let question = format!("range {range:?} {}", part.filter);
    ask::document(&shared, run, question, move |loaded| {
        Ok(loaded.timeline.range(&loaded.run, &filter, range))
    })
    .await
}

/// What a flame graph is of.
#[derive(Deserialize)]
pub struct Flame {
    #[serde(default)]
    by: By,
    t0: Option<i64>,
    t1: Option<i64>,
    #[serde(default)]
    filter: String,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum By {
    #[default]
    Wall,
    Cpu,
    Gpu,
}

/// `GET /api/runs/{run}/flame`.
pub async fn flame(
    State(shared): State<Shared>,
    Path(run): Path<String>,
    Query(Flame { by, t0, t1, filter }): Query<Flame>,
) -> Result<Response, ApiError> {
    let part = Part { t0, t1, filter };
    let (filter, range) = (part.filter()?, part.range()?);
    let question = format!("flame {by:?} {range:?} {}", part.filter);
    let by = match by {
        By::Wall => FlameBy::Wall,
        By::Cpu => FlameBy::Cpu,
        By::Gpu => FlameBy::Gpu,
    };
    ask::document(&shared, run, question, move |loaded| {
        Ok(loaded.timeline.flame(&loaded.run, &filter, range, by))
    })
    .await
}

/// Which steps: all, or one of them.
#[derive(Default, Deserialize)]
pub struct Steps {
    index: Option<i64>,
    after_ns: Option<i64>,
    before_ns: Option<i64>,
    #[serde(default)]
    filter: String,
}

/// One of the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum One {
    Index(i64),
    After(i64),
    Before(i64),
}

impl Steps {
    /// The one that is asked for; none where all are.
    fn one(&self) -> Result<Option<One>, ApiError> {
        match (self.index, self.after_ns, self.before_ns) {
            (None, None, None) => Ok(None),
            (Some(index), None, None) => Ok(Some(One::Index(index))),
            (None, Some(ns), None) => Ok(Some(One::After(ns))),
            (None, None, Some(ns)) => Ok(Some(One::Before(ns))),
            _ => Err(ApiError::bad("say which step by one of index=N, after_ns=T, before_ns=T")),
        }
    }
}

/// `GET /api/runs/{run}/steps`.
pub async fn steps(
    State(shared): State<Shared>,
    Path(run): Path<String>,
    Query(asked): Query<Steps>,
) -> Result<Response, ApiError> {
    let one = asked.one()?;
    let filter: Filter = asked.filter.parse()?;
    let question = format!("steps {one:?} {}", asked.filter);
    ask::document(&shared, run, question, move |loaded| Ok(told(loaded, &filter, one))).await
}

/// The steps of a run in scopes that `filter` keeps.
pub fn steps_of(loaded: &Loaded, filter: &Filter) -> Value {
    told(loaded, filter, None)
}

fn told(loaded: &Loaded, filter: &Filter, one: Option<One>) -> Value {
    let none = "no scope has an index, and no loop is called a step or has most of the time: \
                `hodo.batches`, `hodo.epochs` or index= make steps";
    let Loaded { timeline, run, .. } = loaded;
    let steps = match one {
        None => timeline.steps(run, filter),
        Some(One::Index(index)) => timeline.step_with_index(run, filter, index),
        Some(One::After(ns)) => timeline.step_after(run, filter, ns),
        Some(One::Before(ns)) => timeline.step_before(run, filter, ns),
    };
    steps.unwrap_or_else(|| json!({"path": null, "why": none, "count": 0}))
}

/// The flame graph of a whole run by `wall`, `cpu` or `gpu`.
pub fn flame_of(loaded: &Loaded, by: &str) -> Value {
    let by = match by {
        "cpu" => FlameBy::Cpu,
        "gpu" => FlameBy::Gpu,
        _ => FlameBy::Wall,
    };
    loaded.timeline.flame(&loaded.run, &Filter::default(), None, by)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_asked_for_in_one_way() {
        let all = Steps::default();
        assert!(all.one().is_ok_and(|one| one.is_none()));
        let by_index = Steps { index: Some(7), ..Steps::default() };
        assert!(by_index.one().is_ok_and(|one| one == Some(One::Index(7))));
        let before = Steps { before_ns: Some(5), ..Steps::default() };
        assert!(before.one().is_ok_and(|one| one == Some(One::Before(5))));
        let both = Steps { after_ns: Some(5), ..by_index };
        assert!(both.one().is_err());
    }
}
