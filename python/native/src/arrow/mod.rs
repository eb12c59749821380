//! Columns as the Arrow C data interface has them, so that every Arrow library takes a table without
//! a copy: <https://arrow.apache.org/docs/format/CDataInterface.html>.
//!
//! What is handed out holds the columns by itself; it is released on any thread, with or without
//! the interpreter's lock.

mod array;
mod schema;
mod stream;

pub use array::ArrowArray;
pub use schema::ArrowSchema;
pub use stream::ArrowArrayStream;

use hodo_trace::{Column, Data};
use std::borrow::Cow;
use std::ffi::{CString, c_void};

/// Every table, as Arrow lays it out in memory.
pub struct Columns {
    columns: Vec<ArrowColumn>,
    rows: usize,
}

/// A column.
pub struct ArrowColumn {
    pub name: CString,
    pub values: Values,
    /// A bit a row, 0 where there is no value; none: all are there.
    pub bits: Option<Vec<u8>>,
    pub missing: usize,
    pub can_miss: bool,
}

/// What a column holds.
pub enum Values {
    I64(Vec<i64>),
    F64(Vec<f64>),
    /// A place in the dictionary for every row.
    Text(Vec<i32>, Texts),
}

/// Each text once: where it begins and ends among all bytes.
pub struct Texts {
    pub ends: Ends,
    pub bytes: Vec<u8>,
    pub len: usize,
}

/// Where texts end, in the fewest bytes that hold it: readers of old know only the small ones.
pub enum Ends {
    Small(Vec<i32>),
    Large(Vec<i64>),
}

impl Columns {
    /// The columns; as many rows as the first has.
    pub fn new(columns: Vec<Column>) -> Columns {
        let rows = columns.first().map_or(0, Column::len);
        Columns { columns: columns.into_iter().map(ArrowColumn::new).collect(), rows }
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn all(&self) -> &[ArrowColumn] {
        &self.columns
    }
}

impl ArrowColumn {
    fn new(column: Column) -> ArrowColumn {
        // Names of columns are hodo's own, without such bytes.
        let name = CString::new(column.name).unwrap_or_default();
        let can_miss = column.valid.is_some() || matches!(column.data, Data::Text { .. });
        let mut missing = 0;
        let bits = match (&column.data, &column.valid) {
            (Data::Text { codes, .. }, _) => {
                bits(codes.iter().map(|&code| code >= 0), &mut missing)
            }
            (_, Some(valid)) => bits(valid.iter().copied(), &mut missing),
            (_, None) => Vec::new(),
        };
        let values = match column.data {
            Data::I64(values) => Values::I64(values),
            Data::F64(values) => Values::F64(values),
            Data::Text { codes, texts } => Values::Text(codes, Texts::new(&texts)),
        };
        ArrowColumn { name, values, bits: (missing > 0).then_some(bits), missing, can_miss }
    }

    /// A bit a row, whether all are there or not.
    pub fn all_bits(&self) -> Cow<'_, [u8]> {
        match &self.bits {
            Some(bits) => Cow::Borrowed(bits),
            None => Cow::Owned(vec![u8::MAX; self.len().div_ceil(8)]),
        }
    }

    fn len(&self) -> usize {
        match &self.values {
            Values::I64(values) => values.len(),
            Values::F64(values) => values.len(),
            Values::Text(codes, _) => codes.len(),
        }
    }

    /// Where its values begin.
    fn data(&self) -> *const c_void {
        match &self.values {
            Values::I64(values) => values.as_ptr().cast(),
            Values::F64(values) => values.as_ptr().cast(),
            Values::Text(codes, _) => codes.as_ptr().cast(),
        }
    }
}

/// A bit for each row, the lowest first; counts those that are not there.
fn bits(there: impl ExactSizeIterator<Item = bool>, missing: &mut usize) -> Vec<u8> {
    let mut bits = vec![0u8; there.len().div_ceil(8)];
    for (row, there) in there.enumerate() {
        bits[row / 8] |= u8::from(there) << (row % 8);
        *missing += usize::from(!there);
    }
    bits
}

impl Texts {
    fn new(texts: &[String]) -> Texts {
        let bytes = texts.concat().into_bytes();
        let ends = std::iter::once(0).chain(texts.iter().scan(0usize, |end, text| {
            *end += text.len();
            Some(*end)
        }));
        let ends = match i32::try_from(bytes.len()) {
            Ok(_) => Ends::Small(ends.map(|end| end as i32).collect()),
            Err(_) => Ends::Large(ends.map(|end| end as i64).collect()),
        };
        Texts { ends, bytes, len: texts.len() }
    }

    fn ends(&self) -> *const c_void {
        match &self.ends {
            Ends::Small(ends) => ends.as_ptr().cast(),
            Ends::Large(ends) => ends.as_ptr().cast(),
        }
    }

    /// The first `rows` of `codes` and the texts they stand for; of few rows only these.
    pub fn used<'a>(&self, codes: &'a [i32], rows: usize) -> (Cow<'a, [i32]>, Vec<String>) {
        if rows == codes.len() {
            return (Cow::Borrowed(codes), (0..self.len).map(|at| self.text(at)).collect());
        }
        let first = codes[..rows].iter().zip(0..);
        let own = first.map(|(&code, at)| if code < 0 { code } else { at }).collect();
        let text = |&code: &i32| usize::try_from(code).map_or(String::new(), |at| self.text(at));
        (Cow::Owned(own), codes[..rows].iter().map(text).collect())
    }

    fn text(&self, at: usize) -> String {
        let end = |at: usize| match &self.ends {
            Ends::Small(ends) => ends[at] as usize,
            Ends::Large(ends) => ends[at] as usize,
        };
        String::from_utf8_lossy(&self.bytes[end(at)..end(at + 1)]).into_owned()
    }
}
