//! The values of a column as its pages are read.

use super::file::{Unreadable, odd};
use crate::packed::coding::{delta_decode, hybrid_decode, hybrid_is_all};
use crate::packed::schema::Kind;
use crate::packed::values::{NO_TEXT, Values};
use parquet::basic::Encoding;
use parquet::column::page::Page;

/// A column in the making.
#[derive(Default)]
pub(super) struct Column {
    kind: Option<Kind>,
    optional: bool,
    /// Rows that are still to come.
    left: usize,
    /// Values of a dictionary of numbers, as bits.
    words: Vec<u64>,
    /// Which rows are there; empty while all are.
    there: Vec<bool>,
    pub(super) wholes: Vec<i64>,
    numbers: Vec<f64>,
    pub(super) codes: Vec<u32>,
    pub(super) texts: Vec<String>,
    /// Texts of the dictionary; those of plain pages follow.
    dictionary: usize,
    /// What the page at hand holds, before rows without a value are put in.
    page_codes: Vec<u32>,
    page_wholes: Vec<i64>,
    page_levels: Vec<u32>,
}

impl Column {
    pub(super) fn new(kind: Kind, optional: bool, rows: usize) -> Column {
        Column { kind: Some(kind), optional, left: rows, ..Column::default() }
    }

    /// Rows that it holds.
    pub(super) fn len(&self) -> usize {
        match self.kind {
            Some(Kind::Number) => self.numbers.len(),
            Some(Kind::Text) => self.codes.len(),
            _ => self.wholes.len(),
        }
    }

    /// Whether a row has a value.
    #[inline]
    pub(super) fn is_there(&self, row: usize) -> bool {
        self.there.is_empty() || self.there[row]
    }

    /// Forgets the rows, not the dictionary.
    pub(super) fn clear(&mut self) {
        self.there.clear();
        self.wholes.clear();
        self.numbers.clear();
        self.codes.clear();
        self.texts.truncate(self.dictionary);
    }

    /// Takes a page; whether it had rows.
    pub(super) fn page(&mut self, page: Page) -> Result<bool, Unreadable> {
        match page {
            Page::DictionaryPage { buf, num_values, .. } => {
                self.fill_dictionary(&buf, num_values as usize)?;
                Ok(false)
            }
            Page::DataPage { buf, num_values, encoding, .. } => {
                self.data(&buf, num_values as usize, encoding)?;
                Ok(true)
            }
            Page::DataPageV2 { .. } => odd("a page is of another version than hodo writes"),
        }
    }

    fn fill_dictionary(&mut self, mut bytes: &[u8], count: usize) -> Result<(), Unreadable> {
        if self.kind == Some(Kind::Text) {
            for _ in 0..count {
                self.texts.push(text(&mut bytes)?);
            }
            self.dictionary = count;
        } else {
            words(bytes, count, &mut self.words, |word| word)?;
        }
        Ok(())
    }

    fn data(&mut self, bytes: &[u8], count: usize, encoding: Encoding) -> Result<(), Unreadable> {
        if count > self.left {
            return odd("a column has more values than rows");
        }
        self.left -= count;
        let mut bytes = bytes;
        let present = self.levels(&mut bytes, count)?;
        match (self.kind, encoding) {
            (_, Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY) => {
                let Some((&width, rest)) = bytes.split_first() else {
                    return odd("a page has no values");
                };
                let before = self.codes.len();
                if count == present && self.kind == Some(Kind::Text) {
                    hybrid_decode(rest, width.into(), present, &mut self.codes)?;
                    return in_dictionary(&self.codes[before..], self.dictionary);
                }
                self.page_codes.clear();
                hybrid_decode(rest, width.into(), present, &mut self.page_codes)?;
                self.coded(count == present)
            }
            (Some(Kind::Whole), Encoding::DELTA_BINARY_PACKED) if count == present => {
                Ok(delta_decode(bytes, present, &mut self.wholes)?)
            }
            (Some(Kind::Whole), Encoding::DELTA_BINARY_PACKED) => {
                self.page_wholes.clear();
                delta_decode(bytes, present, &mut self.page_wholes)?;
                let values = self.page_wholes.iter().copied();
                spread(&mut self.wholes, values, Some(&self.page_levels), 0);
                Ok(())
            }
            (Some(Kind::Whole), Encoding::PLAIN) if count == present => {
                words(bytes, present, &mut self.wholes, |word| word as i64)
            }
            (Some(Kind::Whole), Encoding::PLAIN) => {
                self.page_wholes.clear();
                words(bytes, present, &mut self.page_wholes, |word| word as i64)?;
                let values = self.page_wholes.iter().copied();
                spread(&mut self.wholes, values, Some(&self.page_levels), 0);
                Ok(())
            }
            (Some(Kind::Number), Encoding::PLAIN) => {
                let mut values = Vec::new();
                words(bytes, present, &mut values, f64::from_bits)?;
                let levels = (count != present).then_some(&self.page_levels[..]);
                spread(&mut self.numbers, values.into_iter(), levels, 0.0);
                Ok(())
            }
            (Some(Kind::Text), Encoding::PLAIN) => self.plain_texts(bytes, count, present),
            (_, other) => odd(format!("hodo does not write the encoding {other}")),
        }
    }

    /// Which of the next `count` rows are there; returns how many.
    fn levels(&mut self, bytes: &mut &[u8], count: usize) -> Result<usize, Unreadable> {
        if !self.optional {
            return Ok(count);
        }
        let Some((len, rest)) = bytes.split_first_chunk() else { return odd("a page is cut") };
        let len = u32::from_le_bytes(*len) as usize;
        let Some((levels, rest)) = rest.split_at_checked(len) else { return odd("a page is cut") };
        *bytes = rest;
        let before = self.len();
        if hybrid_is_all(levels, 1, count) {
            if !self.there.is_empty() {
                self.there.resize(before + count, true);
            }
            return Ok(count);
        }
        self.page_levels.clear();
        hybrid_decode(levels, 1, count, &mut self.page_levels)?;
        self.there.resize(before, true);
        self.there.extend(self.page_levels.iter().map(|&level| level == 1));
        Ok(self.page_levels.iter().filter(|&&level| level == 1).count())
    }

    fn coded(&mut self, all: bool) -> Result<(), Unreadable> {
        let is_text = self.kind == Some(Kind::Text);
        let distinct = if is_text { self.dictionary } else { self.words.len() };
        in_dictionary(&self.page_codes, distinct)?;
        let levels = (!all).then_some(&self.page_levels[..]);
        let (words, codes) = (&self.words, self.page_codes.iter());
        match self.kind {
            Some(Kind::Text) => spread(&mut self.codes, codes.copied(), levels, NO_TEXT),
            Some(Kind::Number) => {
                let values = codes.map(|&code| f64::from_bits(words[code as usize]));
                spread(&mut self.numbers, values, levels, 0.0);
            }
            _ => {
                let values = codes.map(|&code| words[code as usize] as i64);
                spread(&mut self.wholes, values, levels, 0);
            }
        }
        Ok(())
    }

    fn plain_texts(
        &mut self,
        mut bytes: &[u8],
        count: usize,
        present: usize,
    ) -> Result<(), Unreadable> {
        for row in 0..count {
            if present < count && self.page_levels[row] != 1 {
                self.codes.push(NO_TEXT);
                continue;
            }
            self.codes.push(self.texts.len() as u32);
            self.texts.push(text(&mut bytes)?);
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Values, Unreadable> {
        if self.left > 0 {
            return odd("a column has fewer values than rows");
        }
        let there = Some(self.there).filter(|there| there.contains(&false));
        Ok(match self.kind {
            Some(Kind::Number) => Values::Number(self.numbers, there),
            Some(Kind::Text) => Values::Text(self.codes, self.texts),
            _ => Values::Whole(self.wholes, there),
        })
    }
}

/// Refuses codes that a dictionary of so many values does not have.
fn in_dictionary(codes: &[u32], distinct: usize) -> Result<(), Unreadable> {
    match codes.iter().max() {
        Some(&most) if most as usize >= distinct => {
            odd("a page refers to values that its dictionary does not have")
        }
        _ => Ok(()),
    }
}

/// Appends values, with `none` where rows have none.
fn spread<T: Copy>(
    to: &mut Vec<T>,
    mut values: impl Iterator<Item = T>,
    levels: Option<&[u32]>,
    none: T,
) {
    match levels {
        None => to.extend(values),
        Some(levels) => to.extend(levels.iter().map(|&level| match level {
            1 => values.next().unwrap_or(none),
            _ => none,
        })),
    }
}

fn words<T>(
    bytes: &[u8],
    count: usize,
    to: &mut Vec<T>,
    value: impl Fn(u64) -> T,
) -> Result<(), Unreadable> {
    let (words, _) = bytes.as_chunks::<8>();
    let Some(words) = words.get(..count) else { return odd("a page ends before its last value") };
    to.extend(words.iter().map(|word| value(u64::from_le_bytes(*word))));
    Ok(())
}

fn text(bytes: &mut &[u8]) -> Result<String, Unreadable> {
    let cut = || Unreadable::Odd("a page ends before its last text".to_owned());
    let (len, rest) = bytes.split_first_chunk().ok_or_else(cut)?;
    let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize).ok_or_else(cut)?;
    *bytes = rest;
    Ok(String::from_utf8_lossy(text).into_owned())
}
