//! A row an attribute of a scope, by scope in the order they were set.

use super::{Of, Rows};
use crate::packed::values::Values;
use crate::{AttrRow, Value};
use std::borrow::Cow;
use std::ops::Range;

/// The attributes of a process.
pub(super) struct Attrs<'a>(pub(super) &'a Of<'a>);

impl<'a> Attrs<'a> {
    fn text(&self, value: &'a Value) -> Cow<'a, str> {
        match value {
            Value::Text { text, .. } | Value::Json { text, .. } => Cow::Borrowed(text),
            Value::Name(name) => self.0.process.names.text(*name),
            other => Cow::Owned(other.display(&self.0.process.names)),
        }
    }

    fn names(&self, rows: &[AttrRow]) -> Values {
        let (process, spans) = (self.0.process, &self.0.process.spans);
        let name = |a: &AttrRow| Some(spans.name(spans.row_of(a.span)?));
        Values::by_key(rows.iter().map(name), |name| Some(process.names.text(name)))
    }
}

impl Rows for Attrs<'_> {
    fn len(&self) -> usize {
        self.0.process.attrs.all().len()
    }

    fn column(&self, name: &'static str, rows: Range<usize>) -> Values {
        let len = rows.len();
        let (rows, names) = (&self.0.process.attrs.all()[rows], &self.0.process.names);
        match name {
            "scope" => Values::whole(rows.iter().map(|a| a.span.0 as i64)),
            "name" => self.names(rows),
            "key" => Values::by_key(rows.iter().map(|a| Some(a.key)), |key| Some(names.text(key))),
            "type" => {
                let sorts = rows.iter().map(|a| Some(u32::from(a.value.sort())));
                Values::by_key(sorts, Value::type_of)
            }
            "value" => Values::texts(rows.iter().map(|a| Some(self.text(&a.value)))),
            "number" => Values::numbers(rows.iter().map(|a| a.value.as_f64())),
            _ => self.0.common(name, len),
        }
    }
}

/// What [`Attrs`] does not tell: which string a key is, and the value's own bits.
pub(super) struct Words<'a>(pub(super) &'a Of<'a>);

impl Rows for Words<'_> {
    fn len(&self) -> usize {
        self.0.process.attrs.all().len()
    }

    fn column(&self, name: &'static str, rows: Range<usize>) -> Values {
        let len = rows.len();
        let rows = &self.0.process.attrs.all()[rows];
        match name {
            "key" => Values::whole(rows.iter().map(|a| a.key.into())),
            "sort" => Values::whole(rows.iter().map(|a| a.value.sort().into())),
            "word" => Values::whole(rows.iter().map(|a| a.value.word())),
            _ => self.0.common(name, len),
        }
    }
}
