//! Series over time: marks and readings of the machine, with no more points than can be drawn.

use super::Timeline;
use super::mark_steps::steps;
use crate::links::Links;
use crate::select::{Selection, select};
use crate::{Filter, Machine, MachineSeries, MarkRow, OVERHEAD_MARK, Process, Run};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What a mark is drawn over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkAxis {
    /// Time from the start of the run.
    Time,
    /// The index of the scope it was made in, or of one around that; else how many came before it.
    /// An inner loop that begins anew, batches of the next epoch, goes on counting where the last ended.
    Step,
}

/// Points that were put together: the mean of each group, its least and its most.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Points {
    /// Where each group begins.
    pub x: Vec<f64>,
    /// Means; none where nothing was captured.
    pub mean: Vec<Option<f64>>,
    /// Least values.
    pub min: Vec<Option<f64>>,
    /// Largest values.
    pub max: Vec<Option<f64>>,
    /// Points in each group, but for the last.
    pub per_point: usize,
    /// Values at or below 0, for which a log axis has no place.
    pub not_positive: usize,
    /// Places that have no number: NaN, infinite, text, or nothing captured. Beside numbers of the same
    /// group they leave no gap.
    pub not_number: usize,
}

impl Points {
    /// Puts `all`, which are in order, into at most `most` groups.
    pub fn new(all: &[(f64, Option<f64>)], most: usize) -> Points {
        let per_point = all.len().div_ceil(most.max(1)).max(1);
        let not_positive = all.iter().filter(|point| is_not_positive(point.1)).count();
        let not_number = all.iter().filter(|point| point.1.is_none()).count();
        let mut points = Points { per_point, not_positive, not_number, ..Points::default() };
        for group in all.chunks(per_point) {
            let values = || group.iter().filter_map(|point| point.1);
            let count = values().count();
            points.x.push(group[0].0);
            points.mean.push((count > 0).then(|| values().sum::<f64>() / count as f64));
            points.min.push(values().reduce(f64::min));
            points.max.push(values().reduce(f64::max));
        }
        points
    }

    /// The same for a stretch of the axis, from its begin to before its end. The last point before it
    /// and the first after it stand beside the groups, each by itself: the curve leads in and out by
    /// them, however short the stretch is.
    pub fn within(all: &[(f64, Option<f64>)], range: Option<[i64; 2]>, most: usize) -> Points {
        let Some(range) = range else { return Points::new(all, most) };
        let [first, end] = range.map(|edge| all.partition_point(|point| point.0 < edge as f64));
        let mut points = Points::new(&all[first..end], most);
        if let Some(before) = first.checked_sub(1) {
            points.put(0, all[before]);
        }
        if let Some(&after) = all.get(end) {
            points.put(points.x.len(), after);
        }
        points
    }

    fn put(&mut self, at: usize, (x, value): (f64, Option<f64>)) {
        self.x.insert(at, x);
        self.not_positive += usize::from(is_not_positive(value));
        self.not_number += usize::from(value.is_none());
        for column in [&mut self.mean, &mut self.min, &mut self.max] {
            column.insert(at, value);
        }
    }
}

fn is_not_positive(value: Option<f64>) -> bool {
    value.is_some_and(|value| value <= 0.0)
}

impl Timeline {
    /// The marks of a run by name: how many, the last value, whether they are numbers.
    pub fn marks(&self, run: &Run) -> Vec<Value> {
        let mut found: BTreeMap<String, MarkOf<'_>> = BTreeMap::new();
        for (process, mark) in all_marks(run) {
            let name = process.names.text(mark.name).into_owned();
            let at_ns = self.moment_ns(process, mark.at);
            let of = found.entry(name).or_insert_with(|| MarkOf::new(process, mark, at_ns));
            of.count += 1;
            of.numbers += u64::from(mark.value.as_f64().is_some());
            if at_ns >= of.at_ns {
                *of = MarkOf { process, mark, at_ns, ..*of };
            }
        }
        let one = |(name, of): (String, MarkOf<'_>)| {
            json!({
                "name": name, "kind": if of.mark.summary { "summary" } else { "series" },
                "count": of.count, "numbers": of.numbers, "last_ns": of.at_ns,
                "last": of.mark.value.resolved(&of.process.names),
            })
        };
        found.into_iter().map(one).collect()
    }

    /// The numbers of one mark in the scopes that `filter` keeps, in order of the axis; none when the
    /// run has no such mark.
    pub fn mark(
        &self,
        run: &Run,
        filter: &Filter,
        name: &str,
        axis: MarkAxis,
    ) -> Option<Vec<(f64, Option<f64>)>> {
        let is_there = |(p, mark): (&Process, &MarkRow)| p.names.get(mark.name) == Some(name);
        if !all_marks(run).any(is_there) {
            return None;
        }
        let kept = select(run, &Links::new(&run.processes), filter);
        let mut all: Vec<(i64, &Process, &MarkRow)> = Vec::new();
        for (process, kept) in run.processes.iter().zip(&kept).filter(|(p, _)| p.is_timed()) {
            let is_all = matches!(kept, Selection::All);
            let named =
                process.marks.iter().filter(|mark| process.names.get(mark.name) == Some(name));
            let wanted = named.filter(|mark| {
                process.spans.row_of(mark.span).map_or(is_all, |row| kept.keeps(row))
            });
            all.extend(wanted.map(|mark| (self.moment_ns(process, mark.at), process, mark)));
        }
        all.sort_by_key(|mark| mark.0);
        let x: Vec<f64> = match axis {
            MarkAxis::Time => all.iter().map(|mark| mark.0 as f64).collect(),
            MarkAxis::Step => steps(&all),
        };
        let values = all.iter().map(|mark| mark.2.value.as_f64().filter(|value| value.is_finite()));
        let mut points: Vec<(f64, Option<f64>)> = x.into_iter().zip(values).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Some(points)
    }

    /// The readings of a series in order of time, as they are shown.
    pub fn readings(&self, machine: &Machine, series: &MachineSeries) -> Vec<(f64, Option<f64>)> {
        let points = machine.points(series).map(|(at, value)| (self.from_start_ns(at), value));
        points.map(|(at, value)| (at as f64, value.filter(|v| v.is_finite()))).collect()
    }
}

/// The newest of a mark.
#[derive(Clone, Copy)]
struct MarkOf<'a> {
    process: &'a Process,
    mark: &'a MarkRow,
    at_ns: i64,
    count: u64,
    numbers: u64,
}

impl<'a> MarkOf<'a> {
    fn new(process: &'a Process, mark: &'a MarkRow, at_ns: i64) -> MarkOf<'a> {
        MarkOf { process, mark, at_ns, count: 0, numbers: 0 }
    }
}

/// Marks that have a time, but for those that every scope has.
fn all_marks(run: &Run) -> impl Iterator<Item = (&Process, &MarkRow)> {
    let timed = run.processes.iter().filter(|process| process.is_timed());
    let all = timed.flat_map(|process| process.marks.iter().map(move |mark| (process, mark)));
    all.filter(|(process, mark)| process.names.get(mark.name) != Some(OVERHEAD_MARK))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_keep_the_least_and_the_most() {
        let all: Vec<(f64, Option<f64>)> = [Some(1.0), Some(5.0), None, Some(2.0), None]
            .into_iter()
            .enumerate()
            .map(|(at, value)| (at as f64, value))
            .collect();
        let points = Points::new(&all, 3);
        assert_eq!(points.per_point, 2);
        assert_eq!(points.x, [0.0, 2.0, 4.0]);
        assert_eq!(points.mean, [Some(3.0), Some(2.0), None]);
        assert_eq!(points.min, [Some(1.0), Some(2.0), None]);
        assert_eq!(points.max, [Some(5.0), Some(2.0), None]);
        assert_eq!(Points::new(&[], 10).x, [0.0; 0]);
    }

    #[test]
    fn values_that_a_log_axis_has_no_place_for_are_counted_one_by_one() {
        let all: Vec<(f64, Option<f64>)> =
            (0..5000).map(|at| (f64::from(at), Some(f64::from(3 - at % 2 * 4)))).collect();
        let points = Points::new(&all, 2000);
        assert!(points.mean.iter().all(|mean| *mean > Some(0.0)));
        assert_eq!(points.not_positive, 2500);
        assert_eq!(
            Points::within(&all, Some([10, 20]), 2).not_positive,
            6,
            "with the one before it"
        );
    }

    #[test]
    fn values_that_are_no_numbers_are_counted_also_beside_numbers() {
        let all: Vec<(f64, Option<f64>)> =
            (0..4000).map(|at| (f64::from(at), (at % 7 != 0).then_some(1.0))).collect();
        let points = Points::new(&all, 2000);
        assert!(points.mean.iter().all(Option::is_some), "no gap tells of them");
        assert_eq!(points.not_number, 572);
        let stretch = Points::within(&all, Some([8, 14]), 2);
        assert_eq!(stretch.not_number, 2, "the one before it and the one after it");
    }

    #[test]
    fn a_stretch_has_the_points_before_and_after_it_beside_its_own() {
        let all: Vec<(f64, Option<f64>)> =
            (0..10).map(|at| (f64::from(at * 100), Some(f64::from(at)))).collect();
        let between = Points::within(&all, Some([310, 320]), 10);
        assert_eq!(between.x, [300.0, 400.0]);
        assert_eq!(between.mean, [Some(3.0), Some(4.0)]);
        let grouped = Points::within(&all, Some([200, 600]), 2);
        assert_eq!((grouped.x, grouped.per_point), (vec![100.0, 200.0, 400.0, 600.0], 2));
        assert_eq!(grouped.mean, [Some(1.0), Some(2.5), Some(4.5), Some(6.0)]);
        assert_eq!(grouped.max, [Some(1.0), Some(3.0), Some(5.0), Some(6.0)]);
        assert_eq!(Points::within(&all, Some([-50, 10]), 9).x, [0.0, 100.0]);
        assert_eq!(Points::within(&all, Some([901, 999]), 9).x, [900.0]);
        assert_eq!(Points::within(&[], Some([0, 9]), 9), Points::new(&[], 9));
        assert_eq!(Points::within(&all, None, 3), Points::new(&all, 3));
    }
}
