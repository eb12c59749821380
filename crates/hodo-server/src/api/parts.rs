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

/// `GET /api/runs/{run}/steps`.
pub async fn steps(
    State(shared): State<Shared>,
    Path(run): Path<String>,
    Query(part): Query<Part>,
) -> Result<Response, ApiError> {
    let filter = part.filter()?;
    let question = format!("steps {}", part.filter);
    ask::document(&shared, run, question, move |loaded| Ok(steps_of(loaded, &filter))).await
}

/// The steps of a run in scopes that `filter` keeps.
pub fn steps_of(loaded: &Loaded, filter: &Filter) -> Value {
    let none = "no scope has an index: `hodo.batches`, `hodo.epochs` or index= gives it one";
    let steps = loaded.timeline.steps(&loaded.run, filter);
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
