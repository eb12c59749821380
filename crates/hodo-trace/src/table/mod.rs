//! The tables of a run as columns in memory: what data frames are made of.

mod join;
mod tree;

pub use tree::tree_columns;

use crate::packed::{Field, Kind, Rows, Same, Table, Tables, Values};
use crate::select::{Selection, select};
use crate::{AttrRow, Filter, NamePattern, Names, Process, Run};
use hodo_format::record::SpanId;
use serde_json::{Map, Value as Json};
use std::ops::Range;

/// One column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name; a unit at the end says what its numbers count.
    pub name: &'static str,
    /// Its values, one a row.
    pub data: Data,
    /// For every row whether there is a value; none: all are there. Texts tell it by their codes.
    pub valid: Option<Vec<bool>>,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Whole numbers.
    I64(Vec<i64>),
    /// Floats.
    F64(Vec<f64>),
    /// Texts that repeat: a place in `texts` for every row, -1 where there is none.
    Text {
        /// The places.
        codes: Vec<i32>,
        /// Each text once.
        texts: Vec<String>,
    },
}

impl Column {
    /// Rows.
    pub fn len(&self) -> usize {
        match &self.data {
            Data::I64(values) => values.len(),
            Data::F64(values) => values.len(),
            Data::Text { codes, .. } => codes.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn new(name: &'static str, kind: Kind, values: Values) -> Column {
        let (data, valid) = match values {
            Values::Whole(values, valid) => (Data::I64(values), valid),
            Values::Number(values, valid) => (Data::F64(values), valid),
            // What stands for no text there is -1 here.
            Values::Text(codes, texts) => {
                let codes = codes.into_iter().map(|code| code as i32).collect();
                (Data::Text { codes, texts }, None)
            }
            Values::Same(same, rows) => same_in(kind, same, rows),
        };
        Column { name, data, valid }
    }

    fn none_of(field: &Field) -> Column {
        Column::new(field.name, field.kind, Values::Same(Same::None, 0))
    }

    /// The rows at `places`, in their order.
    fn at(self, places: &[usize]) -> Column {
        fn picked<T: Copy>(values: &[T], places: &[usize]) -> Vec<T> {
            places.iter().map(|&place| values[place]).collect()
        }
        let data = match self.data {
            Data::I64(values) => Data::I64(picked(&values, places)),
            Data::F64(values) => Data::F64(picked(&values, places)),
            Data::Text { codes, texts } => Data::Text { codes: picked(&codes, places), texts },
        };
        Column { name: self.name, data, valid: self.valid.map(|valid| picked(&valid, places)) }
    }

    /// The number of a row.
    fn whole(&self, row: usize) -> Option<i64> {
        let Data::I64(values) = &self.data else { return None };
        let is_there = self.valid.as_ref().is_none_or(|valid| valid[row]);
        is_there.then(|| values[row])
    }
}

/// A column that has one value, or none, in every row.
fn same_in(kind: Kind, same: Same, rows: usize) -> (Data, Option<Vec<bool>>) {
    match (kind, same) {
        (_, Same::Whole(value)) => (Data::I64(vec![value; rows]), None),
        (_, Same::Text(text)) => (Data::Text { codes: vec![0; rows], texts: vec![text] }, None),
        (Kind::Whole, Same::None) => (Data::I64(vec![0; rows]), Some(vec![false; rows])),
        (Kind::Number, Same::None) => (Data::F64(vec![0.0; rows]), Some(vec![false; rows])),
        (Kind::Text, Same::None) => (Data::Text { codes: vec![-1; rows], texts: Vec::new() }, None),
    }
}

/// A table of `run` as [`Table::fields`] has it, of the scopes that `filter` keeps: with the marks,
/// attributes and GPU work in these, and what is in no scope only where all are kept. Scopes, marks
/// and work are in the order of their times. Samples, processes and health are those of the run.
pub fn columns(run: &Run, table: Table, filter: &Filter) -> Vec<Column> {
    let (tables, fields) = (Tables::new(run), table.fields());
    let kept = select(run, tables.links(), filter);
    let mut parts: Vec<Vec<Column>> = fields.iter().map(|_| Vec::new()).collect();
    tables.each_of(table, |at, rows| {
        let wanted = at.and_then(|at| wanted(table, &run.processes[at], &kept[at], rows));
        for (field, parts) in fields.iter().zip(&mut parts) {
            parts.push(part(field, rows, wanted.as_deref()));
        }
    });
    let joined = fields.iter().zip(parts).map(|(field, parts)| join::joined(field, parts));
    in_order(table, joined.collect())
}

/// The readings of the machines that `run` was on, series by series; with `series` only those whose
/// metric fits.
pub fn sample_columns(run: &Run, series: Option<&NamePattern>) -> Vec<Column> {
    let all = columns(run, Table::Samples, &Filter::default());
    let metric = all.iter().find(|column| column.name == "metric").map(|column| &column.data);
    let (Some(series), Some(Data::Text { codes, texts })) = (series, metric) else { return all };
    let fits: Vec<bool> = texts.iter().map(|text| series.matches(text)).collect();
    let rows = codes.iter().enumerate();
    let fit = |code: i32| fits.get(code as usize).is_some_and(|&fits| fits);
    let places: Vec<usize> = rows.filter(|row| fit(*row.1)).map(|row| row.0).collect();
    all.into_iter().map(|column| column.at(&places)).collect()
}

/// A column of the rows that are wanted.
fn part(field: &Field, rows: &dyn Rows, wanted: Option<&[usize]>) -> Column {
    let Some(wanted) = wanted else {
        return Column::new(field.name, field.kind, rows.column(field.name, 0..rows.len()));
    };
    // Few of many are asked for together: the last scopes of a long run.
    let range = wanted.first().map_or(0, |&first| first)..wanted.last().map_or(0, |last| last + 1);
    let first = range.start;
    let places: Vec<usize> = wanted.iter().map(|row| row - first).collect();
    Column::new(field.name, field.kind, rows.column(field.name, range)).at(&places)
}

/// The rows of a process's table that a filter keeps; none: all of them.
fn wanted(table: Table, of: &Process, kept: &Selection, rows: &dyn Rows) -> Option<Vec<usize>> {
    let all: Range<usize> = 0..rows.len();
    match (kept, table) {
        (Selection::All, _) => None,
        (_, Table::Spans) => Some(all.filter(|&row| kept.keeps(row as u32)).collect()),
        _ => {
            let scopes = Column::new("scope", Kind::Whole, rows.column("scope", all.clone()));
            let row = |at| of.spans.row_of(SpanId(scopes.whole(at)? as u64));
            Some(all.filter(|&at| row(at).is_some_and(|row| kept.keeps(row))).collect())
        }
    }
}

/// The rows by time, then by id: a scope comes before what it contains.
fn in_order(table: Table, columns: Vec<Column>) -> Vec<Column> {
    let (time, id) = match table {
        Table::Spans => ("start_ns", "id"),
        Table::Marks => ("at_ns", ""),
        Table::Kernels | Table::Copies => ("start_ns", ""),
        _ => return columns,
    };
    let find = |name: &str| columns.iter().find(|column| column.name == name);
    let Some(times) = find(time) else { return columns };
    let ids = find(id);
    let key = |row: usize| (times.whole(row), ids.and_then(|ids| ids.whole(row)));
    if (1..times.len()).all(|row| key(row - 1) <= key(row)) {
        return columns;
    }
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by_key(|&row| key(row));
    columns.into_iter().map(|column| column.at(&order)).collect()
}

/// Attributes as a JSON object, a later value of a key in the place of an earlier; none: no text.
pub(crate) fn attributes(attrs: &[AttrRow], names: &Names) -> Option<String> {
    if let [only] = attrs {
        let key = serde_json::to_string(&names.text(only.key)).ok()?;
        let value = serde_json::to_string(&only.value.resolved(names)).ok()?;
        return Some(format!("{{{key}:{value}}}"));
    }
    if attrs.is_empty() {
        return None;
    }
    let pair = |a: &AttrRow| {
        let value = serde_json::to_value(a.value.resolved(names)).unwrap_or(Json::Null);
        (names.text(a.key).into_owned(), value)
    };
    let object: Map<String, Json> = attrs.iter().map(pair).collect();
    Some(Json::Object(object).to_string())
}
