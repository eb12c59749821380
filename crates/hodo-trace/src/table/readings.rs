use super::{Column, Data, Texts};
use crate::{Machine, MachineSeries, NamePattern, Run};

/// The readings of the machines that `run` was on, series by series; with `series` only those whose
/// metric fits. The columns:
///
/// `time_ns` since 1970, `host`, `source` (`host`, `core:3`, `gpu:UUID` and such), `metric`, `unit`
/// and `value` (of a counter its growth a second; missing where it could not be read).
pub fn reading_columns(run: &Run, series: Option<&NamePattern>) -> Vec<Column> {
    let fits = |one: &MachineSeries| series.is_none_or(|pattern| pattern.matches(&one.metric));
    let of = |machine| move |series| (machine, series);
    let shown: Vec<(&Machine, &MachineSeries)> = run
        .machines
        .iter()
        .flat_map(|machine| machine.series.iter().filter(|one| fits(one)).map(of(machine)))
        .collect();
    let points = || shown.iter().flat_map(|(machine, series)| machine.points(series));
    let texts = |name, text: fn(&Machine, &MachineSeries) -> String| {
        let mut texts = Texts::default();
        for (machine, series) in &shown {
            let place = texts.place(&text(machine, series));
            texts.codes.extend(std::iter::repeat_n(place, series.times().len()));
        }
        texts.column(name)
    };
    vec![
        Column::new("time_ns", Data::I64(points().map(|point| point.0).collect())),
        texts("host", |machine, _| machine.host().to_owned()),
        texts("source", |_, series| series.source.to_string()),
        texts("metric", |_, series| series.metric.clone()),
        texts("unit", |machine, series| machine.shown_unit(series).to_owned()),
        Column::partly("value", points().map(|point| point.1), Data::F64),
    ]
}
