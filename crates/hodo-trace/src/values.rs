use hodo_format::record::{self, SpanId};
use serde::{Serialize, Serializer};

/// The mark every scope has: how much recording work happened inside it, in nanoseconds.
pub const OVERHEAD_MARK: &str = "hodo.overhead";

/// A value of an attribute or a mark.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    I64(i64),
    /// A float; NaN and infinities are kept.
    F64(f64),
    /// True or false.
    Bool(bool),
    /// An interned string of the process, see [`crate::Names`].
    Name(u32),
    /// Text, `cut` when the recorder had to shorten it.
    Text {
        /// The text.
        text: Box<str>,
        /// Whether its end is missing.
        cut: bool,
    },
    /// A JSON document as text.
    Json {
        /// The document.
        text: Box<str>,
        /// Whether its end is missing.
        cut: bool,
    },
}

impl Value {
    pub(crate) fn from_record(value: &record::Value<'_>) -> Value {
        let owned = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned().into_boxed_str();
        match *value {
            record::Value::I64(v) => Value::I64(v),
            record::Value::F64(v) => Value::F64(v),
            record::Value::Bool(v) => Value::Bool(v),
            record::Value::Name(id) => Value::Name(id),
            record::Value::Text { bytes, cut } => Value::Text { text: owned(bytes), cut },
            record::Value::Json { bytes, cut } => Value::Json { text: owned(bytes), cut },
        }
    }

    /// The value as a number; booleans count as 0 and 1.
    pub fn as_f64(&self) -> Option<f64> {
        match *self {
            Value::I64(v) => Some(v as f64),
            Value::F64(v) => Some(v),
            Value::Bool(v) => Some(f64::from(u8::from(v))),
            Value::Name(_) | Value::Text { .. } | Value::Json { .. } => None,
        }
    }

    /// From this [`Value::sort`] on values have a text of their own.
    pub(crate) const FIRST_TEXT: u8 = 5;

    /// Which sort of value it is, as packed runs number them.
    pub(crate) fn sort(&self) -> u8 {
        match *self {
            Value::I64(_) => 1,
            Value::F64(_) => 2,
            Value::Bool(_) => 3,
            Value::Name(_) => 4,
            Value::Text { cut, .. } => Value::FIRST_TEXT + u8::from(cut),
            Value::Json { cut, .. } => 7 + u8::from(cut),
        }
    }

    /// The word that tables have for a [`Value::sort`].
    pub(crate) fn type_of(sort: u32) -> Option<&'static str> {
        Some(match sort {
            1 => "int",
            2 => "float",
            3 => "bool",
            4..=6 => "text",
            7 | 8 => "json",
            _ => return None,
        })
    }

    /// The bits of a value that has no text of its own.
    pub(crate) fn word(&self) -> i64 {
        match *self {
            Value::I64(v) => v,
            Value::F64(v) => v.to_bits() as i64,
            Value::Bool(v) => v.into(),
            Value::Name(id) => id.into(),
            Value::Text { .. } | Value::Json { .. } => 0,
        }
    }

    /// The value of [`Value::sort`] and [`Value::word`]; none for a sort that does not exist.
    pub(crate) fn again(sort: i64, word: i64, text: impl FnOnce() -> Box<str>) -> Option<Value> {
        Some(match sort {
            1 => Value::I64(word),
            2 => Value::F64(f64::from_bits(word as u64)),
            3 => Value::Bool(word != 0),
            4 => Value::Name(u32::try_from(word).ok()?),
            5 | 6 => Value::Text { text: text(), cut: sort == 6 },
            7 | 8 => Value::Json { text: text(), cut: sort == 8 },
            _ => return None,
        })
    }

    /// Whether it is text, interned or not.
    pub fn is_text(&self) -> bool {
        matches!(self, Value::Name(_) | Value::Text { .. })
    }

    /// The same value with an interned string spelt out.
    pub fn resolved(&self, names: &crate::Names) -> Value {
        match *self {
            Value::Name(id) => Value::Text { text: names.text(id).into(), cut: false },
            ref other => other.clone(),
        }
    }

    /// The value as a person reads it.
    pub fn display(&self, names: &crate::Names) -> String {
        match self {
            Value::I64(v) => v.to_string(),
            Value::F64(v) => v.to_string(),
            Value::Bool(v) => v.to_string(),
            Value::Name(id) => names.text(*id).into_owned(),
            Value::Text { text, cut } | Value::Json { text, cut } => {
                format!("{text}{}", if *cut { "…" } else { "" })
            }
        }
    }
}

/// JSON has no NaN and no infinities: those become the strings `NaN`, `inf` and `-inf`.
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::I64(v) => to.serialize_i64(*v),
            Value::F64(v) if v.is_finite() => to.serialize_f64(*v),
            Value::F64(v) => to.serialize_str(&v.to_string()),
            Value::Bool(v) => to.serialize_bool(*v),
            Value::Name(id) => to.serialize_str(&format!("(name {id})")),
            Value::Text { text, .. } => to.serialize_str(text),
            Value::Json { text, .. } => match serde_json::from_str::<serde_json::Value>(text) {
                Ok(document) => document.serialize(to),
                Err(_) => to.serialize_str(text),
            },
        }
    }
}

/// One attribute of a scope.
#[derive(Clone, Debug, PartialEq)]
pub struct AttrRow {
    /// The scope.
    pub span: SpanId,
    /// String id of the key.
    pub key: u32,
    /// The value.
    pub value: Value,
}

/// The attributes of a process, sorted by scope.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attrs {
    rows: Vec<AttrRow>,
}

impl Attrs {
    /// Sorts `rows`, keeping the order in which one scope's were set.
    pub(crate) fn new(mut rows: Vec<AttrRow>) -> Attrs {
        if !rows.is_sorted_by_key(|r| r.span) {
            // Stable, and moves each of the large rows once.
            rows.sort_by_cached_key(|r| r.span);
        }
        Attrs { rows }
    }

    /// Every attribute, in order of scope.
    pub fn all(&self) -> &[AttrRow] {
        &self.rows
    }

    /// The attributes of one scope, in the order they were set; a later one replaces an earlier.
    pub fn of(&self, span: SpanId) -> &[AttrRow] {
        let from = self.rows.partition_point(|r| r.span < span);
        let len = self.rows[from..].partition_point(|r| r.span == span);
        &self.rows[from..from + len]
    }
}

/// The attributes of marks: JSON objects, of the few marks that have any.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MarkAttrs {
    /// With the place of their mark, in that order once all are there.
    rows: Vec<(usize, Value)>,
}

impl MarkAttrs {
    /// The attributes of the mark at `place` of [`crate::Process::marks`].
    pub fn of(&self, place: usize) -> Option<&Value> {
        if self.rows.is_empty() {
            return None;
        }
        let at = self.rows.binary_search_by_key(&place, |r| r.0).ok()?;
        Some(&self.rows[at].1)
    }

    pub(crate) fn push(&mut self, place: usize, attributes: Value) {
        self.rows.push((place, attributes));
    }

    /// Follows the marks when only some of them are kept.
    pub(crate) fn keep(&mut self, kept: &[bool]) {
        let mut places = Vec::with_capacity(kept.len());
        let mut next = 0;
        for &kept in kept {
            places.push(next);
            next += usize::from(kept);
        }
        self.rows.retain(|row| kept[row.0]);
        self.rows.iter_mut().for_each(|row| row.0 = places[row.0]);
    }

    pub(crate) fn sorted(mut self) -> MarkAttrs {
        if !self.rows.is_sorted_by_key(|r| r.0) {
            self.rows.sort_by_key(|r| r.0);
        }
        self
    }
}

/// A mark.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkRow {
    /// The scope it was made in, or none.
    pub span: SpanId,
    /// String id of its name.
    pub name: u32,
    /// Ticks when it was made.
    pub at: u64,
    /// A summary of its scope rather than a point of a series.
    pub summary: bool,
    /// Its value.
    pub value: Value,
}
