//! Every series in a line.

use super::{csv_line, csv_number};
use crate::absent;
use crate::report::{about_machine, heading, named};
use crate::term::measure;
use crate::term::number;
use crate::term::style::{self, ACCENT, DIM};
use crate::term::table::{Cell, Column, Table};
use crate::term::text as words;
use hodo_trace::{MachineSeries, Measures, SeriesStats, Source};

/// The tables, one a machine.
pub fn text(all: &[Measures<'_>], width: usize) -> String {
    all.iter().map(|measures| one(measures, width)).collect::<Vec<_>>().join("\n")
}

fn one(measures: &Measures<'_>, width: usize) -> String {
    let mut table = Table::new(vec![
        Column::text("source", 0),
        Column::text("series", 0).cut(),
        Column::number("mean", 0),
        Column::number("min", 3),
        Column::number("max", 1),
        Column::number("last", 2),
        Column::number("sampled", 4),
    ])
    .indent(2);
    let mut before = None;
    for series in ordered(measures) {
        let first = before != Some(&series.source);
        before = Some(&series.source);
        table.row(row(measures, series, first));
    }
    let about = words::fit(&about_machine(measures), width.saturating_sub(9));
    let absent = absent::lines(absent::of(measures.machine()).iter());
    let told = absent.into_iter().map(|words| named(measures.machine(), words));
    let told = told.map(|words| words::safe(&format!("not sampled: {words}")));
    let told = told.flat_map(|words| words::wrap(&words, width.saturating_sub(2)));
    let told: String = told.map(|line| format!("  {}\n", style::paint(DIM, &line))).collect();
    heading("Machine", &about) + &table.render(width) + &told
}

/// GPUs first, single cores last.
fn ordered<'a>(measures: &Measures<'a>) -> Vec<&'a MachineSeries> {
    let rank = |source: &Source| match source {
        Source::Gpu(_) | Source::GpuProcess(..) => 0,
        Source::Host => 1,
        Source::Processes => 2,
        Source::Core(_) => 5,
        Source::Sampler => 4,
        _ => 3,
    };
    let mut series: Vec<&MachineSeries> = measures.machine().series.iter().collect();
    series.sort_by_key(|series| rank(&series.source));
    series
}

fn row(measures: &Measures<'_>, series: &MachineSeries, first: bool) -> Vec<Cell> {
    let machine = measures.machine();
    let source = if first { machine.source_name(&series.source) } else { String::new() };
    let unit = machine.shown_unit(series);
    let mut cells =
        vec![Cell::plain(words::safe(&source)), Cell::new(ACCENT, words::safe(&series.metric))];
    let stats = measures.of(series);
    if let (Source::Gpu(uuid), "gpu.throttle") = (&series.source, series.metric.as_str()) {
        cells.push(throttle(measures, uuid));
        cells.resize_with(6, Cell::default);
        cells.push(sampled(stats));
        return cells;
    }
    let numbers: [fn(&SeriesStats) -> f64; 4] = [|s| s.mean, |s| s.min, |s| s.max, |s| s.last];
    for number in numbers {
        cells.push(match &stats {
            Some(stats) => Cell::plain(measure::value(number(stats), unit)),
            None => Cell::new(DIM, "–"),
        });
    }
    cells.push(sampled(stats));
    cells
}

fn sampled(stats: Option<SeriesStats>) -> Cell {
    let covered = stats.map(|stats| number::percent(stats.covered));
    Cell::new(DIM, covered.unwrap_or_else(|| "not then".to_owned()))
}

/// Bits have no mean: the reason that held most of the time, and for how much of it.
fn throttle(measures: &Measures<'_>, uuid: &str) -> Cell {
    match measures.throttle(uuid).as_deref() {
        None => Cell::new(DIM, "–"),
        Some([]) => Cell::plain("never"),
        Some([most, ..]) => Cell::plain(format!("{} {}", most.reason, number::percent(most.share))),
    }
}

/// Comma-separated values, a line for each series.
pub fn csv(all: &[Measures<'_>]) -> String {
    let titles =
        ["host", "source", "metric", "unit", "mean", "min", "max", "last", "covered", "readings"];
    let mut out = csv_line(&titles.map(str::to_owned));
    for measures in all {
        let machine = measures.machine();
        for series in ordered(measures) {
            let stats = measures.of(series);
            let of = |number: fn(&SeriesStats) -> f64| csv_number(stats.as_ref().map(number));
            out += &csv_line(&[
                machine.host().to_owned(),
                series.source.to_string(),
                series.metric.clone(),
                machine.shown_unit(series).to_owned(),
                of(|s| s.mean),
                of(|s| s.min),
                of(|s| s.max),
                of(|s| s.last),
                of(|s| s.covered),
                stats.map_or(0, |stats| stats.readings).to_string(),
            ]);
        }
    }
    out
}
