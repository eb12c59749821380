//! One Parquet file, a column of a row group at a time.

use crate::packed::coding::{Undecodable, delta_decode, hybrid_decode};
use crate::packed::schema::{Field, GROUP_ROWS, Kind, SCHEMA, SCHEMA_KEY, TABLE_KEY, Table};
use crate::packed::values::{NO_TEXT, Values};
use parquet::basic::{Encoding, Type};
use parquet::column::page::Page;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::fs::File;
use std::path::Path;

/// Why a file, or a part of it, cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("{0}")]
    Parquet(#[from] ParquetError),
    #[error("a column {0}")]
    Undecodable(#[from] Undecodable),
    #[error("{0}")]
    Odd(String),
    #[error("its tables have schema {0}, and this version of hodo knows up to {SCHEMA}")]
    Newer(u32),
}

fn odd<T>(why: impl Into<String>) -> Result<T, Unreadable> {
    Err(Unreadable::Odd(why.into()))
}

/// A table's file.
pub(crate) struct TableFile {
    file: SerializedFileReader<File>,
    table: Table,
}

impl TableFile {
    pub(crate) fn open(path: &Path, table: Table) -> Result<TableFile, Unreadable> {
        let file = SerializedFileReader::new(File::open(path)?)?;
        let keys = file.metadata().file_metadata().key_value_metadata();
        let value = |key: &str| keys?.iter().find(|k| k.key == key)?.value.as_deref();
        let schema = value(SCHEMA_KEY).and_then(|text| text.parse().ok());
        match (schema, value(TABLE_KEY)) {
            (Some(newer), _) if newer > SCHEMA => Err(Unreadable::Newer(newer)),
            (Some(_), Some(name)) if name == table.name() => Ok(TableFile { file, table }),
            (Some(_), Some(name)) => odd(format!("it is of the table `{name}`")),
            _ => odd("hodo did not write it"),
        }
    }

    /// Row groups.
    pub(crate) fn groups(&self) -> usize {
        self.file.metadata().num_row_groups()
    }

    /// Rows and bytes of a group, and where it begins.
    pub(crate) fn extent(&self, group: usize) -> (usize, u64, u64) {
        let group = self.file.metadata().row_group(group);
        let first = group.columns().first().map_or(0, |column| column.data_page_offset());
        let not_negative = |number: i64| u64::try_from(number).unwrap_or(0);
        let rows = not_negative(group.num_rows()) as usize;
        (rows, not_negative(group.compressed_size()), not_negative(first))
    }

    /// A column of a group; none of its values can be missing unless the schema says so.
    pub(crate) fn column(&self, group: usize, name: &str) -> Result<Values, Unreadable> {
        let (rows, ..) = self.extent(group);
        if rows > GROUP_ROWS {
            return odd(format!("{rows} rows together, of which hodo writes {GROUP_ROWS} at most"));
        }
        let columns = self.file.metadata().file_metadata().schema_descr().columns();
        let field = self.table.fields().iter().find(|field| field.name == name);
        let at = columns.iter().position(|column| column.name() == name);
        let Some((field, at)) = field.zip(at) else { return odd(format!("no column `{name}`")) };
        let expected = match field.kind {
            Kind::Whole => Type::INT64,
            Kind::Number => Type::DOUBLE,
            Kind::Text => Type::BYTE_ARRAY,
        };
        let levels = columns[at].max_def_level();
        if columns[at].physical_type() != expected || columns[at].max_rep_level() > 0 || levels > 1
        {
            return odd(format!("the column `{name}` is of another type"));
        }
        let mut pages = self.file.get_row_group(group)?.get_column_page_reader(at)?;
        let mut column = Column::new(field, levels == 1, rows);
        while let Some(page) = pages.get_next_page()? {
            column.page(page)?;
        }
        column.finish()
    }

    /// A column of whole numbers that are all there.
    pub(crate) fn wholes(&self, group: usize, name: &str) -> Result<Vec<i64>, Unreadable> {
        match self.column(group, name)? {
            Values::Whole(values, None) => Ok(values),
            _ => odd(format!("the column `{name}` lacks values")),
        }
    }

    /// A column of whole numbers, and where they are there unless everywhere.
    pub(crate) fn some_wholes(
        &self,
        group: usize,
        name: &str,
    ) -> Result<(Vec<i64>, Option<Vec<bool>>), Unreadable> {
        match self.column(group, name)? {
            Values::Whole(values, there) => Ok((values, there)),
            _ => odd(format!("the column `{name}` is of another type")),
        }
    }

    /// A column of floats that are all there.
    pub(crate) fn numbers(&self, group: usize, name: &str) -> Result<Vec<f64>, Unreadable> {
        match self.column(group, name)? {
            Values::Number(values, None) => Ok(values),
            _ => odd(format!("the column `{name}` lacks values")),
        }
    }

    /// A column of texts.
    pub(crate) fn texts(
        &self,
        group: usize,
        name: &str,
    ) -> Result<(Vec<u32>, Vec<String>), Unreadable> {
        match self.column(group, name)? {
            Values::Text(codes, texts) => Ok((codes, texts)),
            _ => odd(format!("the column `{name}` is of another type")),
        }
    }
}

/// A column in the making.
struct Column {
    kind: Kind,
    optional: bool,
    rows: usize,
    seen: usize,
    /// Values of a dictionary of numbers, as bits.
    words: Vec<u64>,
    /// Which rows are there; empty while all are.
    there: Vec<bool>,
    wholes: Vec<i64>,
    numbers: Vec<f64>,
    codes: Vec<u32>,
    texts: Vec<String>,
    /// Texts of the dictionary; those of plain pages follow.
    dictionary: usize,
}

impl Column {
    fn new(field: &Field, optional: bool, rows: usize) -> Column {
        Column {
            kind: field.kind,
            optional,
            rows,
            seen: 0,
            words: Vec::new(),
            there: Vec::new(),
            wholes: Vec::new(),
            numbers: Vec::new(),
            codes: Vec::new(),
            texts: Vec::new(),
            dictionary: 0,
        }
    }

    fn page(&mut self, page: Page) -> Result<(), Unreadable> {
        match page {
            Page::DictionaryPage { buf, num_values, .. } => self.fill_dictionary(&buf, num_values),
            Page::DataPage { buf, num_values, encoding, .. } => {
                self.data(&buf, num_values as usize, encoding)
            }
            Page::DataPageV2 { .. } => odd("a page is of another version than hodo writes"),
        }
    }

    fn fill_dictionary(&mut self, mut bytes: &[u8], count: u32) -> Result<(), Unreadable> {
        let count = count as usize;
        if self.kind == Kind::Text {
            for _ in 0..count {
                let text = text(&mut bytes)?;
                self.texts.push(text);
            }
            self.dictionary = count;
        } else {
            self.words = words(bytes, count)?;
        }
        Ok(())
    }

    fn data(&mut self, bytes: &[u8], count: usize, encoding: Encoding) -> Result<(), Unreadable> {
        if count > self.rows - self.seen {
            return odd("a column has more values than rows");
        }
        self.seen += count;
        let mut bytes = bytes;
        let levels = self.levels(&mut bytes, count)?;
        let present = levels.as_ref().map_or(count, |l| l.iter().filter(|l| **l).count());
        match (self.kind, encoding) {
            (_, Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY) => {
                let Some((&width, rest)) = bytes.split_first() else {
                    return odd("a page has no values");
                };
                let codes = hybrid_decode(rest, width.into(), present)?;
                self.coded(&codes, levels.as_deref())
            }
            (Kind::Whole, Encoding::DELTA_BINARY_PACKED) => {
                let values = delta_decode(bytes, present)?;
                spread(&mut self.wholes, values.into_iter(), levels.as_deref());
                Ok(())
            }
            (Kind::Text, Encoding::PLAIN) => self.plain_texts(bytes, levels.as_deref(), count),
            (Kind::Whole, Encoding::PLAIN) => {
                let values = words(bytes, present)?.into_iter().map(|word| word as i64);
                spread(&mut self.wholes, values, levels.as_deref());
                Ok(())
            }
            (Kind::Number, Encoding::PLAIN) => {
                let values = words(bytes, present)?.into_iter().map(f64::from_bits);
                spread(&mut self.numbers, values, levels.as_deref());
                Ok(())
            }
            (_, other) => odd(format!("hodo does not write the encoding {other}")),
        }
    }

    /// Which of the next `count` rows are there; none when all are.
    fn levels(&mut self, bytes: &mut &[u8], count: usize) -> Result<Option<Vec<bool>>, Unreadable> {
        if !self.optional {
            return Ok(None);
        }
        let Some((len, rest)) = bytes.split_first_chunk() else { return odd("a page is cut") };
        let len = u32::from_le_bytes(*len) as usize;
        let Some((levels, rest)) = rest.split_at_checked(len) else { return odd("a page is cut") };
        *bytes = rest;
        let levels = hybrid_decode(levels, 1, count)?;
        let all = levels.iter().all(|&level| level == 1);
        if all && self.there.is_empty() {
            return Ok(None);
        }
        self.there.resize(self.seen - count, true);
        self.there.extend(levels.iter().map(|&level| level == 1));
        Ok((!all).then(|| levels.iter().map(|&level| level == 1).collect()))
    }

    fn coded(&mut self, codes: &[u32], levels: Option<&[bool]>) -> Result<(), Unreadable> {
        let distinct = if self.kind == Kind::Text { self.dictionary } else { self.words.len() };
        if codes.iter().any(|&code| code as usize >= distinct) {
            return odd("a page refers to values that its dictionary does not have");
        }
        let words = &self.words;
        match self.kind {
            Kind::Text => {
                spread_or(&mut self.codes, codes.iter().copied(), levels, NO_TEXT);
            }
            Kind::Whole => {
                let values = codes.iter().map(|&code| words[code as usize] as i64);
                spread(&mut self.wholes, values, levels);
            }
            Kind::Number => {
                let values = codes.iter().map(|&code| f64::from_bits(words[code as usize]));
                spread(&mut self.numbers, values, levels);
            }
        }
        Ok(())
    }

    fn plain_texts(
        &mut self,
        mut bytes: &[u8],
        levels: Option<&[bool]>,
        count: usize,
    ) -> Result<(), Unreadable> {
        for row in 0..count {
            if levels.is_some_and(|levels| !levels[row]) {
                self.codes.push(NO_TEXT);
                continue;
            }
            self.codes.push(self.texts.len() as u32);
            self.texts.push(text(&mut bytes)?);
        }
        Ok(())
    }

    fn finish(self) -> Result<Values, Unreadable> {
        if self.seen != self.rows {
            return odd("a column has fewer values than rows");
        }
        let mut there = self.there;
        if !there.is_empty() {
            there.resize(self.rows, true);
        }
        let there = Some(there).filter(|there| there.contains(&false));
        Ok(match self.kind {
            Kind::Whole => Values::Whole(self.wholes, there),
            Kind::Number => Values::Number(self.numbers, there),
            Kind::Text => Values::Text(self.codes, self.texts),
        })
    }
}

/// Appends values, with zeros where rows have none.
fn spread<T: Default + Clone>(
    to: &mut Vec<T>,
    values: impl Iterator<Item = T>,
    levels: Option<&[bool]>,
) {
    match levels {
        None => to.extend(values),
        Some(_) => spread_or(to, values, levels, T::default()),
    }
}

fn spread_or<T>(
    to: &mut Vec<T>,
    mut values: impl Iterator<Item = T>,
    levels: Option<&[bool]>,
    none: T,
) where
    T: Clone,
{
    match levels {
        None => to.extend(values),
        Some(levels) => to.extend(levels.iter().map(|&there| match there {
            true => values.next().unwrap_or_else(|| none.clone()),
            false => none.clone(),
        })),
    }
}

fn words(bytes: &[u8], count: usize) -> Result<Vec<u64>, Unreadable> {
    let (words, _) = bytes.as_chunks::<8>();
    match words.get(..count) {
        Some(words) => Ok(words.iter().map(|word| u64::from_le_bytes(*word)).collect()),
        None => odd("a page ends before its last value"),
    }
}

fn text(bytes: &mut &[u8]) -> Result<String, Unreadable> {
    let cut = || Unreadable::Odd("a page ends before its last text".to_owned());
    let (len, rest) = bytes.split_first_chunk().ok_or_else(cut)?;
    let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize).ok_or_else(cut)?;
    *bytes = rest;
    Ok(String::from_utf8_lossy(text).into_owned())
}
