//! The readings of a series, one by one.

use super::{csv_line, csv_number};
use crate::output::Failure;
use hodo_trace::{Machine, MachineSeries, Measures, NamePattern, Run};
use serde_json::{Value, json};

/// The series that `name` means on each machine: a metric, or a pattern with `*` and `?`.
fn wanted<'a>(
    all: &[Measures<'a>],
    name: &str,
) -> Result<Vec<(usize, &'a MachineSeries)>, Failure> {
    let pattern = NamePattern::new(name);
    let is_glob = name.contains(['*', '?']);
    let fits = |metric: &str| if is_glob { pattern.matches(metric) } else { metric == name };
    let of = |(at, measures): (usize, &Measures<'a>)| {
        let series = measures.machine().series.iter().filter(|s| fits(&s.metric));
        series.map(move |series| (at, series)).collect::<Vec<_>>()
    };
    let found: Vec<(usize, &MachineSeries)> = all.iter().enumerate().flat_map(of).collect();
    match found.is_empty() {
        false => Ok(found),
        true => Err(Failure::Failed(missing(all, name))),
    }
}

fn missing(all: &[Measures<'_>], name: &str) -> String {
    let why = all.first().map(|m| m.machine().why_missing_everywhere(name));
    let why = why.map(|why| format!(" ({})", why.text())).unwrap_or_default();
    format!("no series {name} was sampled{why}; hodo machine lists those that were")
}

/// What is shown of a series in the time that was asked for.
fn points<'a>(
    measures: &'a Measures<'_>,
    series: &'a MachineSeries,
) -> impl Iterator<Item = (i64, Option<f64>)> + 'a {
    let machine: &Machine = measures.machine();
    let inside = |at: i64| measures.ranges().contains(at);
    machine.points(series).filter(move |(at, _)| inside(*at))
}

/// Comma-separated values, a line for each reading.
pub fn csv(all: &[Measures<'_>], name: &str) -> Result<String, Failure> {
    let titles = ["time_ns", "host", "source", "metric", "unit", "value"];
    let mut out = csv_line(&titles.map(str::to_owned));
    for (at, series) in wanted(all, name)? {
        let machine = all[at].machine();
        let [host, source] = [machine.host().to_owned(), series.source.to_string()];
        let unit = machine.shown_unit(series).to_owned();
        for (time, value) in points(&all[at], series) {
            out += &csv_line(&[
                time.to_string(),
                host.clone(),
                source.clone(),
                series.metric.clone(),
                unit.clone(),
                csv_number(value),
            ]);
        }
    }
    Ok(out)
}

/// The same as JSON.
pub fn document(run: &Run, all: &[Measures<'_>], name: &str) -> Result<Value, Failure> {
    let one = |(at, series): (usize, &MachineSeries)| {
        let machine = all[at].machine();
        let (times, values): (Vec<i64>, Vec<Option<f64>>) = points(&all[at], series).unzip();
        json!({
            "host": machine.host(),
            "source": series.source.to_string(),
            "metric": series.metric,
            "unit": machine.shown_unit(series),
            "times_ns": times,
            "values": values,
        })
    };
    let series: Vec<Value> = wanted(all, name)?.into_iter().map(one).collect();
    Ok(json!({"schema": "hodo.series/1", "run": run.info.id, "series": series}))
}
