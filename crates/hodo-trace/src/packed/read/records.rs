//! The marks and attributes of a packed process.

use super::file::Unreadable;
use super::{Reading, Table};
use crate::packed::values::NO_TEXT;
use crate::{AttrRow, Attrs, Clock, MarkAttrs, MarkRow, TraceError, Value};
use hodo_format::record::SpanId;

/// What a text that was cut is shown with.
const CUT: char = '…';

impl Reading<'_, '_> {
    pub(super) fn attrs(&mut self) -> Result<Attrs, TraceError> {
        let mut rows: Vec<AttrRow> = Vec::new();
        self.groups(
            [Table::Attrs, Table::AttrWords],
            self.side.rows.attrs,
            |[attrs, words], at, took| {
                let scopes = attrs.wholes(at, "scope")?;
                let (keys, sorts) = (words.wholes(at, "key")?, words.wholes(at, "sort")?);
                let bits = words.wholes(at, "word")?;
                // The texts of numbers take long to read and tell nothing new.
                let has_texts = sorts.iter().any(|&sort| sort >= Value::FIRST_TEXT.into());
                let texts = has_texts.then(|| attrs.texts(at, "value")).transpose()?;
                for row in 0..scopes.len() {
                    let text = || {
                        let found = texts.as_ref().and_then(|(codes, t)| text(codes, t, row));
                        found.unwrap_or_default().into()
                    };
                    rows.push(AttrRow {
                        span: SpanId(scopes[row] as u64),
                        key: keys[row] as u32,
                        value: value(sorts[row], bits[row], text)?,
                    });
                    *took += 1;
                }
                Ok(())
            },
        )?;
        Ok(Attrs::new(rows))
    }

    pub(super) fn marks(&mut self, clock: &Clock) -> Result<(Vec<MarkRow>, MarkAttrs), TraceError> {
        let clock = clock.backwards();
        let (mut marks, mut own) = (Vec::new(), MarkAttrs::default());
        self.groups(
            [Table::Marks, Table::MarkTicks],
            self.side.rows.marks,
            |[all, ticks], at, took| {
                let (scopes, in_scope) = all.some_wholes(at, "scope")?;
                let (moments, timed) = all.some_wholes(at, "at_ns")?;
                let (kinds, kind) = all.texts(at, "kind")?;
                let (codes, texts) = all.texts(at, "text")?;
                let (attr_codes, attr_texts) = all.texts(at, "attributes")?;
                let (names, rests) = (ticks.wholes(at, "name")?, ticks.wholes(at, "at")?);
                let (sorts, bits) = (ticks.wholes(at, "sort")?, ticks.wholes(at, "word")?);
                let own_sorts = ticks.wholes(at, "own")?;
                let is =
                    |there: &Option<Vec<bool>>, row: usize| there.as_ref().is_none_or(|t| t[row]);
                for row in 0..names.len() {
                    let shown =
                        |sort: i64| uncut(text(&codes, &texts, row).unwrap_or_default(), sort);
                    let told = is(&timed, row).then(|| clock.moment(moments[row]));
                    marks.push(MarkRow {
                        span: if is(&in_scope, row) {
                            SpanId(scopes[row] as u64)
                        } else {
                            SpanId::NONE
                        },
                        name: names[row] as u32,
                        at: told.unwrap_or(0).wrapping_add(rests[row] as u64),
                        summary: text(&kinds, &kind, row) == Some("summary"),
                        value: value(sorts[row], bits[row], || shown(sorts[row]))?,
                    });
                    if own_sorts[row] != 0 {
                        let shown = text(&attr_codes, &attr_texts, row).unwrap_or_default();
                        let attributes = value(own_sorts[row], 0, || uncut(shown, own_sorts[row]))?;
                        own.push(marks.len() - 1, attributes);
                    }
                    *took += 1;
                }
                Ok(())
            },
        )?;
        Ok((marks, own.sorted()))
    }
}

fn text<'a>(codes: &[u32], texts: &'a [String], row: usize) -> Option<&'a str> {
    let code = Some(codes[row]).filter(|&code| code != NO_TEXT)?;
    texts.get(code as usize).map(String::as_str)
}

/// The text without the sign that it was cut, which its sort says too.
fn uncut(shown: &str, sort: i64) -> Box<str> {
    let is_cut = sort == 6 || sort == 8;
    shown.strip_suffix(CUT).filter(|_| is_cut).unwrap_or(shown).into()
}

fn value(sort: i64, word: i64, text: impl FnOnce() -> Box<str>) -> Result<Value, Unreadable> {
    let odd = || Unreadable::Odd(format!("a value is of the unknown sort {sort}"));
    Value::again(sort, word, text).ok_or_else(odd)
}
