//! One value as text.

use super::failed;
use crate::SqlError;
use crate::term::number;
use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type, UInt64Type};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};

/// What a column of nanoseconds tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// How long.
    Duration,
    /// When.
    Moment,
    /// Which: digits without gaps.
    Id,
    /// Anything else.
    Plain,
}

/// Columns that say when.
const MOMENTS: [&str; 6] = ["start_ns", "end_ns", "at_ns", "time_ns", "launched_ns", "from_ns"];
/// Columns whose numbers are names.
const IDS: [&str; 9] = [
    "id",
    "parent",
    "scope",
    "pid",
    "parent_pid",
    "parent_scope",
    "correlation",
    "graph_node",
    "thread",
];

/// What the name of a column says of it; that of `max(duration_ns)` is its argument's.
pub fn meaning(name: &str) -> Meaning {
    let name = name.trim_end_matches(')');
    if name.starts_with("count(") {
        return Meaning::Plain;
    }
    let last = name.rsplit(['(', '.']).next().unwrap_or(name);
    match last {
        last if MOMENTS.contains(&last) => Meaning::Moment,
        last if last.ends_with("_ns") => Meaning::Duration,
        last if IDS.contains(&last) => Meaning::Id,
        _ => Meaning::Plain,
    }
}

/// The values of a column as people read them; none for null.
pub fn readable(column: &ArrayRef, meaning: Meaning) -> Result<Vec<Option<String>>, SqlError> {
    let whole = |n: i64| match meaning {
        Meaning::Duration => duration(n as f64),
        Meaning::Moment => moment(n),
        Meaning::Id => n.to_string(),
        Meaning::Plain => grouped(n),
    };
    let float = |n: f64| match meaning {
        Meaning::Duration => duration(n),
        Meaning::Moment => moment(n as i64),
        _ => number::digits(n),
    };
    Ok(match column.data_type() {
        DataType::Int64 => {
            column.as_primitive::<Int64Type>().iter().map(|n| n.map(whole)).collect()
        }
        DataType::UInt64 => {
            let column = column.as_primitive::<UInt64Type>().iter();
            column.map(|n| n.map(|n| i64::try_from(n).map_or(n.to_string(), whole))).collect()
        }
        DataType::Float64 => {
            column.as_primitive::<Float64Type>().iter().map(|n| n.map(float)).collect()
        }
        _ => exact(column)?,
    })
}

/// The values of a column as they are; none for null.
pub fn exact(column: &ArrayRef) -> Result<Vec<Option<String>>, SqlError> {
    let options = FormatOptions::default().with_display_error(false);
    let format = ArrayFormatter::try_new(column, &options).map_err(failed)?;
    let cell = |row: usize| match column.is_null(row) {
        true => Ok(None),
        false => format.value(row).try_to_string().map(Some).map_err(failed),
    };
    (0..column.len()).map(cell).collect()
}

fn duration(ns: f64) -> String {
    match ns < 0.0 {
        true => format!("-{}", number::duration(-ns)),
        false => number::duration(ns),
    }
}

fn moment(ns: i64) -> String {
    format!("{}.{:06}", number::when(ns), ns.rem_euclid(1_000_000_000) / 1000)
}

fn grouped(n: i64) -> String {
    let size = number::count(n.unsigned_abs());
    if n < 0 { format!("-{size}") } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_column_says_what_it_means() {
        assert_eq!(meaning("duration_ns"), Meaning::Duration);
        assert_eq!(meaning("max(spans.duration_ns)"), Meaning::Duration);
        assert_eq!(meaning("min(spans.start_ns)"), Meaning::Moment);
        assert_eq!(meaning("count(spans.start_ns)"), Meaning::Plain);
        assert_eq!(meaning("id"), Meaning::Id);
        assert_eq!(meaning("value"), Meaning::Plain);
    }

    #[test]
    fn numbers_are_readable() {
        assert_eq!(grouped(-1_234_567), "-1 234 567");
        assert_eq!(moment(1_794_773_700_123_456_789), "2026-11-15 20:15:00.123456");
        assert_eq!(duration(-1500.0), "-1.50 µs");
    }
}
