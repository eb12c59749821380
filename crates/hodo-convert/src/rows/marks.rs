//! A row a mark.

use super::{Cell, id, moment, of_process};
use crate::ConvertError;
use hodo_trace::{Process, Value};
use serde_json::Value as Json;

/// The columns.
pub const COLUMNS: [&str; 9] =
    ["process", "pid", "rank", "scope", "name", "kind", "at_ns", "value", "attributes"];

/// Gives the marks of a process, by thread as they were made.
pub fn rows(
    process: &Process,
    each: &mut dyn FnMut(&[Cell<'_>]) -> Result<(), ConvertError>,
) -> Result<(), ConvertError> {
    for (place, mark) in process.marks.iter().enumerate() {
        let [whose, pid, rank] = of_process(process);
        let attrs = process.mark_attrs.of(place).map(|attrs| attrs.resolved(&process.names));
        let attrs = attrs.and_then(|attrs| serde_json::to_value(attrs).ok());
        each(&[
            whose,
            pid,
            rank,
            id(mark.span),
            Cell::Text(process.names.text(mark.name)),
            Cell::Text(if mark.summary { "summary" } else { "point" }.into()),
            moment(process, mark.at),
            value(&mark.value, process),
            attrs.map_or(Cell::None, |attrs: Json| Cell::Json(attrs.to_string())),
        ])?;
    }
    Ok(())
}

fn value<'a>(value: &'a Value, process: &'a Process) -> Cell<'a> {
    match value {
        Value::I64(n) => Cell::Whole(*n),
        Value::F64(n) => Cell::Float(*n),
        Value::Bool(b) => Cell::Bool(*b),
        Value::Name(name) => Cell::Text(process.names.text(*name)),
        Value::Text { text, .. } | Value::Json { text, .. } => Cell::Text((&**text).into()),
    }
}
