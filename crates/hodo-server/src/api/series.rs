//! Marks, and readings of the machines, over time.

use super::ask::{self, Part};
use super::extract::{Path, Query};
use crate::error::ApiError;
use crate::state::Shared;
use crate::store::Loaded;
use axum::extract::State;
use axum::response::Response;
use hodo_trace::timeline::{MarkAxis, Points};
use hodo_trace::{Filter, Machine, MachineSeries, Source};
use serde::Deserialize;
use serde_json::{Value, json};

/// Points of one answer unless asked otherwise, and at most.
const POINTS: usize = 2000;
const MOST_POINTS: usize = 20_000;
/// Points in a file that should stay small.
const FEW_POINTS: usize = 400;

/// Tracks of marks and readings, after those of slices.
pub fn tracks(loaded: &Loaded) -> Vec<Value> {
    let marks = loaded.timeline.marks(&loaded.run);
    let marks = marks.iter().filter(|mark| mark["numbers"] != 0).map(|mark| {
        let name = mark["name"].as_str().unwrap_or_default();
        json!({"id": format!("mark:{name}"), "kind": "marks", "name": name, "mark": name,
            "slices": mark["numbers"], "depths": 1})
    });
    let series = besides_cores(loaded).map(|(machine, series)| {
        let mut track = described(machine, series);
        track["series"] = track["id"].take();
        track["id"] = json!(format!("series:{}", track["series"].as_str().unwrap_or_default()));
        track["kind"] = json!("series");
        track["depths"] = json!(1);
        track["slices"] = json!(series.values().len());
        track
    });
    marks.chain(series).collect()
}

fn all(loaded: &Loaded) -> impl Iterator<Item = (&Machine, &MachineSeries)> {
    loaded.run.machines.iter().flat_map(|m| m.series.iter().map(move |series| (m, series)))
}

/// Names that stay the same while the run grows.
fn id(machine: &Machine, series: &MachineSeries) -> String {
    format!("{}|{}|{}", machine.host(), series.source, series.metric)
}

fn described(machine: &Machine, series: &MachineSeries) -> Value {
    let device = machine.source_name(&series.source);
    let gpu = match &series.source {
        Source::Gpu(uuid) => machine.gpu(uuid).map(|gpu| gpu.name),
        _ => None,
    };
    json!({
        "id": id(machine, series), "name": format!("{device} {}", series.metric),
        "metric": series.metric, "device": device, "gpu": gpu, "host": machine.host(),
        "unit": machine.shown_unit(series), "last": series.last(),
        "linked": machine.linked,
    })
}

/// `GET /api/runs/{run}/series`.
pub async fn list(
    State(shared): State<Shared>,
    Path(run): Path<String>,
) -> Result<Response, ApiError> {
    ask::document(&shared, run, "series".to_owned(), |loaded| Ok(listed(all(loaded)))).await
}

/// The series of a run that `are` some of all, or why there are none.
fn listed<'a>(are: impl Iterator<Item = (&'a Machine, &'a MachineSeries)>) -> Value {
    let none =
        "the machine was not sampled; `hodo run --monitor`, telemetry= or `hodo monitor` does";
    let series: Vec<Value> = are.map(|(machine, s)| described(machine, s)).collect();
    json!({"why": series.is_empty().then_some(none), "series": series})
}

/// The series that a file holds: those of single processors are too many for it.
fn besides_cores(loaded: &Loaded) -> impl Iterator<Item = (&Machine, &MachineSeries)> {
    all(loaded).filter(|(_, series)| !matches!(series.source, Source::Core(_)))
}

/// The list of them.
pub fn series_of(loaded: &Loaded) -> Value {
    listed(besides_cores(loaded))
}

/// Id and readings of each of them, as few as a small chart shows.
pub fn all_series(loaded: &Loaded) -> impl Iterator<Item = (String, Value)> {
    besides_cores(loaded).map(|(machine, series)| {
        (id(machine, series), readings(loaded, machine, series, None, FEW_POINTS))
    })
}

fn readings(
    loaded: &Loaded,
    machine: &Machine,
    series: &MachineSeries,
    range: Option<[i64; 2]>,
    most: usize,
) -> Value {
    let points = Points::within(&loaded.timeline.readings(machine, series), range, most);
    let Points { x, mean, min, max, per_point, .. } = points;
    let unit = machine.shown_unit(series);
    json!({"t_ns": x, "mean": mean, "min": min, "max": max, "per_point": per_point, "unit": unit})
}

/// How many points of which time.
#[derive(Deserialize)]
pub struct Wanted {
    t0: Option<i64>,
    t1: Option<i64>,
    max: Option<usize>,
}

/// `GET /api/runs/{run}/series/{series}`.
pub async fn one(
    State(shared): State<Shared>,
    Path((run, wanted)): Path<(String, String)>,
    Query(Wanted { t0, t1, max }): Query<Wanted>,
) -> Result<Response, ApiError> {
    let range = Part { t0, t1, filter: String::new() }.range()?;
    let most = most(max);
    let question = format!("series {range:?} {most} {wanted}");
    ask::document(&shared, run, question, move |loaded| {
        let found = all(loaded).find(|(machine, series)| id(machine, series) == wanted);
        let (machine, series) = found.ok_or_else(|| {
            ApiError::missing(format!("this run has no series `{wanted}`; /series lists them"))
        })?;
        Ok(readings(loaded, machine, series, range, most))
    })
    .await
}

fn most(asked: Option<usize>) -> usize {
    asked.unwrap_or(POINTS).clamp(1, MOST_POINTS)
}

/// `GET /api/runs/{run}/marks`.
pub async fn marks(
    State(shared): State<Shared>,
    Path(run): Path<String>,
) -> Result<Response, ApiError> {
    ask::document(&shared, run, "marks".to_owned(), |loaded| Ok(marks_of(loaded))).await
}

/// All marks of a run, or why there are none.
pub fn marks_of(loaded: &Loaded) -> Value {
    let none = "the program made no marks; hodo.mark(\"loss\", value) makes one";
    let marks = loaded.timeline.marks(&loaded.run);
    json!({"why": marks.is_empty().then_some(none), "marks": marks})
}

/// Name, axis and points of every mark that is a number.
pub fn all_marks(loaded: &Loaded) -> impl Iterator<Item = (String, &'static str, Value)> {
    let marks = loaded.timeline.marks(&loaded.run);
    let numbers = marks.into_iter().filter(|mark| mark["numbers"] != 0);
    let names = numbers.filter_map(|mark| Some(mark["name"].as_str()?.to_owned()));
    let both =
        |name: String| [(name.clone(), "step", MarkAxis::Step), (name, "time", MarkAxis::Time)];
    names.flat_map(both).filter_map(|(name, word, axis)| {
        let all = loaded.timeline.mark(&loaded.run, &Filter::default(), &name, axis)?;
        Some((name, word, points_of(&all, None, FEW_POINTS)))
    })
}

fn points_of(all: &[(f64, Option<f64>)], range: Option<[i64; 2]>, most: usize) -> Value {
    let points = Points::within(all, range, most);
    let Points { x, mean, min, max, per_point, not_positive, not_number } = points;
    json!({
        "x": x, "y": mean, "min": min, "max": max, "per_point": per_point,
        "not_positive": not_positive, "not_number": not_number,
    })
}

/// Which mark, over what, how many points, and of which stretch of the axis: nanoseconds, or steps. Its
/// name is no part of the path: `..` would lead elsewhere.
#[derive(Deserialize)]
pub struct MarkWanted {
    name: String,
    #[serde(default)]
    x: Axis,
    t0: Option<i64>,
    t1: Option<i64>,
    max: Option<usize>,
    #[serde(default)]
    filter: String,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Axis {
    #[default]
    Time,
    Step,
}

/// `GET /api/runs/{run}/mark`.
pub async fn mark(
    State(shared): State<Shared>,
    Path(run): Path<String>,
    Query(MarkWanted { name, x, t0, t1, max, filter }): Query<MarkWanted>,
) -> Result<Response, ApiError> {
    let most = most(max);
    let part = Part { t0, t1, filter };
    let (filter, range) = (part.filter()?, part.range()?);
    let question = format!("mark {x:?} {range:?} {most} {:?} {name}", part.filter);
    let axis = match x {
        Axis::Time => MarkAxis::Time,
        Axis::Step => MarkAxis::Step,
    };
    ask::document(&shared, run, question, move |loaded| {
        let all = loaded.timeline.mark(&loaded.run, &filter, &name, axis).ok_or_else(|| {
            ApiError::missing(format!("this run has no mark `{name}`; /marks lists them"))
        })?;
        Ok(points_of(&all, range, most))
    })
    .await
}
