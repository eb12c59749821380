//! A row a mark, by thread in the order they were made.

use super::{Of, Rows, id};
use crate::packed::values::Values;
use std::ops::Range;

/// The marks of a process.
pub(super) struct Marks<'a>(pub(super) &'a Of<'a>);

impl Rows for Marks<'_> {
    fn len(&self) -> usize {
        self.0.process.marks.len()
    }

    fn column(&self, name: &'static str, rows: Range<usize>) -> Values {
        let process = self.0.process;
        let (places, names) = (rows.clone(), &process.names);
        let rows = &process.marks[rows];
        match name {
            "scope" => Values::wholes(rows.iter().map(|mark| id(mark.span))),
            "path" => self.0.paths_of(rows.iter().map(|mark| mark.span)),
            "name" => Values::by_key(rows.iter().map(|m| Some(m.name)), |m| Some(names.text(m))),
            "kind" => {
                let kinds = rows.iter().map(|mark| Some(u32::from(mark.summary)));
                Values::by_key(kinds, |kind| Some(if kind == 1 { "summary" } else { "point" }))
            }
            "at_ns" => Values::wholes(rows.iter().map(|mark| self.0.moment(mark.at))),
            "value" => Values::numbers(rows.iter().map(|mark| mark.value.as_f64())),
            "text" => Values::texts(rows.iter().map(|mark| {
                let is_text = mark.value.as_f64().is_none();
                is_text.then(|| mark.value.display(names))
            })),
            "attributes" => Values::texts(
                places.map(|place| Some(process.mark_attrs.of(place)?.display(names))),
            ),
            _ => self.0.common(name, rows.len()),
        }
    }
}

/// What [`Marks`] does not tell: which string a name is, ticks, the value's own bits, and whether
/// its attributes were cut.
pub(super) struct Ticks<'a>(pub(super) &'a Of<'a>);

impl Rows for Ticks<'_> {
    fn len(&self) -> usize {
        self.0.process.marks.len()
    }

    fn column(&self, name: &'static str, rows: Range<usize>) -> Values {
        let (process, places) = (self.0.process, rows.clone());
        let clock = process.clock.backwards();
        let rows = &process.marks[rows];
        match name {
            "name" => Values::whole(rows.iter().map(|mark| mark.name.into())),
            "at" => {
                Values::whole(rows.iter().map(|mark| clock.rest(self.0.moment(mark.at), mark.at)))
            }
            "sort" => Values::whole(rows.iter().map(|mark| mark.value.sort().into())),
            "word" => Values::whole(rows.iter().map(|mark| mark.value.word())),
            "own" => Values::whole(places.map(|place| {
                process.mark_attrs.of(place).map_or(0, |attributes| attributes.sort().into())
            })),
            _ => self.0.common(name, rows.len()),
        }
    }
}
