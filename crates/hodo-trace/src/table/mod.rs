//! Scopes, marks and readings as columns, a row each: what data frames are made of.

mod marks;
mod readings;
mod spans;

pub use marks::mark_columns;
pub use readings::reading_columns;
pub use spans::span_columns;

use crate::{AttrRow, Names};
use serde_json::{Map, Value as Json};
use std::collections::HashMap;

/// One column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name; a unit at the end says what its numbers count.
    pub name: &'static str,
    /// Its values, one a row.
    pub data: Data,
    /// A byte a row, 0 where the value was not captured or means nothing; none: all are there.
    pub valid: Option<Vec<u8>>,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Signed whole numbers.
    I64(Vec<i64>),
    /// Whole numbers.
    U64(Vec<u64>),
    /// Small whole numbers.
    U32(Vec<u32>),
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
            Data::U64(values) => values.len(),
            Data::U32(values) => values.len(),
            Data::F64(values) => values.len(),
            Data::Text { codes, .. } => codes.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn new(name: &'static str, data: Data) -> Column {
        Column { name, data, valid: None }
    }

    /// A column of which some values are missing; those hold `T`'s default.
    fn partly<T: Default>(
        name: &'static str,
        values: impl Iterator<Item = Option<T>>,
        data: fn(Vec<T>) -> Data,
    ) -> Column {
        let (valid, values): (Vec<u8>, Vec<T>) =
            values.map(|v| (u8::from(v.is_some()), v.unwrap_or_default())).unzip();
        Column { name, data: data(values), valid: Some(valid) }
    }

    /// A column of which values are missing only where a run is damaged.
    fn or_whole(self) -> Column {
        Column { valid: self.valid.filter(|valid| valid.contains(&0)), ..self }
    }
}

/// Texts in the making, each kept once.
#[derive(Default)]
struct Texts {
    codes: Vec<i32>,
    texts: Vec<String>,
    places: HashMap<String, i32>,
}

const NO_TEXT: i32 = -1;

impl Texts {
    /// The place of `text`, which is new perhaps.
    fn place(&mut self, text: &str) -> i32 {
        if let Some(&place) = self.places.get(text) {
            return place;
        }
        let place = self.texts.len() as i32;
        self.texts.push(text.to_owned());
        self.places.insert(text.to_owned(), place);
        place
    }

    fn push(&mut self, text: Option<&str>) {
        let place = text.map_or(NO_TEXT, |text| self.place(text));
        self.codes.push(place);
    }

    fn column(self, name: &'static str) -> Column {
        Column::new(name, Data::Text { codes: self.codes, texts: self.texts })
    }
}

/// Attributes as a JSON object, a later value of a key in the place of an earlier; none: no text.
pub(crate) fn attributes(attrs: &[AttrRow], names: &Names) -> Option<String> {
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
