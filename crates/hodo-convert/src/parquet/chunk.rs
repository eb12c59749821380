//! One column of one row group: its pages, encoded and compressed.

use super::Failure;
use bytes::Bytes;
use hodo_trace::packed::coding::{delta_encode, hybrid_encode, hybrid_encode_run};
use hodo_trace::packed::{Coding, Field, NO_TEXT, Quick, Same, Values};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::{Statistics, ValueStatistics};
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use std::collections::HashMap;
use std::ops::Range;

/// Rows of a page.
const PAGE_ROWS: usize = 1 << 15;
/// Numbers of which more than this part differs are shorter, and quicker to read, without codes.
const MOST_CODES: usize = 16;
/// A longer text tells readers nothing they could skip rows by.
const MAX_BOUND_BYTES: usize = 64;
const ZSTD_LEVEL: i32 = 1;

/// An encoded column, ready to be appended to a row group.
pub(super) struct Chunk {
    pub(super) bytes: Bytes,
    pub(super) close: ColumnCloseResult,
}

/// Encodes columns; keeps what can be used again.
pub(super) struct Encoder {
    zstd: zstd::bulk::Compressor<'static>,
}

impl Encoder {
    pub(super) fn new() -> Result<Encoder, Failure> {
        let mut zstd = zstd::bulk::Compressor::new(ZSTD_LEVEL)?;
        // Whoever decompresses a page finds out whether it is damaged.
        zstd.include_checksum(true)?;
        Ok(Encoder { zstd })
    }

    /// Encodes the values of `field`.
    pub(super) fn encode(
        &mut self,
        field: &Field,
        column: &ColumnDescPtr,
        values: &Values,
    ) -> Result<Chunk, Failure> {
        let mut pages = Pages::new(self, field);
        let statistics = match values {
            Values::Whole(all, there) => pages.wholes(all, there.as_deref())?,
            Values::Number(all, there) => pages.numbers(all, there.as_deref())?,
            Values::Text(codes, texts) => pages.texts(codes, texts)?,
            Values::Same(same, rows) => pages.same(same, *rows)?,
        };
        pages.finish(column, values.len(), statistics)
    }
}

/// The pages of a column in the making.
struct Pages<'a> {
    encoder: &'a mut Encoder,
    field: &'a Field,
    sink: TrackedWrite<Vec<u8>>,
    dictionary: bool,
    data_offset: Option<u64>,
    encodings: Vec<Encoding>,
    uncompressed: usize,
}

impl<'a> Pages<'a> {
    fn new(encoder: &'a mut Encoder, field: &'a Field) -> Pages<'a> {
        Pages {
            encoder,
            field,
            sink: TrackedWrite::new(Vec::new()),
            dictionary: false,
            data_offset: None,
            encodings: vec![Encoding::RLE],
            uncompressed: 0,
        }
    }

    fn wholes(
        &mut self,
        all: &[i64],
        there: Option<&[bool]>,
    ) -> Result<Option<Statistics>, Failure> {
        let present = compact(all, there);
        let values = present.as_deref().unwrap_or(all);
        let nulls = (all.len() - values.len()) as u64;
        let bound = |value: Option<&i64>| value.copied();
        let statistics = Statistics::Int64(ValueStatistics::new(
            bound(values.iter().min()),
            bound(values.iter().max()),
            None,
            Some(nulls),
            false,
        ));
        let coded = (self.field.coding == Coding::Codes).then(|| codes_of(values)).flatten();
        match coded {
            Some((codes, distinct)) if !distinct.is_empty() => {
                let mut plain = Vec::new();
                put_words(distinct.iter().map(|v| v.to_le_bytes()), &mut plain);
                self.dictionary(plain, distinct.len())?;
                self.coded(&codes, distinct.len(), there, all.len())?;
            }
            _ => {
                let delta = self.field.coding != Coding::Plain;
                let encoding = if delta { Encoding::DELTA_BINARY_PACKED } else { Encoding::PLAIN };
                self.data(there, all.len(), encoding, |range, out| match delta {
                    true => delta_encode(&values[range], out),
                    false => put_words(values[range].iter().map(|v| v.to_le_bytes()), out),
                })?;
            }
        }
        Ok(Some(statistics))
    }

    /// A column of one value, or of none.
    fn same(&mut self, same: &Same, rows: usize) -> Result<Option<Statistics>, Failure> {
        let mut plain = Vec::new();
        let statistics = match same {
            Same::None => None,
            Same::Whole(value) => {
                plain.extend_from_slice(&value.to_le_bytes());
                let value = Some(*value);
                Some(Statistics::Int64(ValueStatistics::new(value, value, None, Some(0), false)))
            }
            Same::Text(text) => {
                put_text(text.as_bytes(), &mut plain);
                text_statistics(Some(text.as_bytes()), Some(text.as_bytes()), 0)
            }
        };
        let there = *same != Same::None;
        let encoding = if there { Encoding::RLE_DICTIONARY } else { Encoding::PLAIN };
        if there {
            self.dictionary(plain, 1)?;
        }
        self.pages(rows, encoding, |page, optional, out| {
            if optional {
                put_run(page.len(), there, out);
            }
            if there {
                // Numbers of no bits: all are the first.
                out.push(0);
                hybrid_encode_run(0, page.len(), 0, out);
            }
        })?;
        Ok(statistics)
    }

    fn numbers(
        &mut self,
        all: &[f64],
        there: Option<&[bool]>,
    ) -> Result<Option<Statistics>, Failure> {
        let present = compact(all, there);
        let values = present.as_deref().unwrap_or(all);
        self.data(there, all.len(), Encoding::PLAIN, |range, out| {
            put_words(values[range].iter().map(|v| v.to_le_bytes()), out);
        })?;
        let nulls = (all.len() - values.len()) as u64;
        Ok(Some(Statistics::Double(ValueStatistics::new(None, None, None, Some(nulls), false))))
    }

    fn texts(&mut self, all: &[u32], texts: &[String]) -> Result<Option<Statistics>, Failure> {
        let there: Option<Vec<bool>> =
            self.field.optional.then(|| all.iter().map(|&code| code != NO_TEXT).collect());
        let there = there.as_deref();
        let mut codes = compact(all, there).unwrap_or_else(|| all.to_vec());
        let used = used(&mut codes, texts.len());
        let text = |code: u32| texts[used[code as usize] as usize].as_bytes();
        let nulls = (all.len() - codes.len()) as u64;
        let bounds = || used.iter().map(|&place| texts[place as usize].as_bytes());
        let statistics = text_statistics(bounds().min(), bounds().max(), nulls);
        // Texts that hardly repeat are shorter without a number each.
        if used.is_empty() || (used.len() > 1000 && used.len() > codes.len() / 2) {
            self.data(there, all.len(), Encoding::PLAIN, |range, out| {
                codes[range].iter().for_each(|&code| put_text(text(code), out));
            })?;
            return Ok(statistics);
        }
        let mut plain = Vec::new();
        (0..used.len() as u32).for_each(|code| put_text(text(code), &mut plain));
        self.dictionary(plain, used.len())?;
        self.coded(&codes, used.len(), there, all.len())?;
        Ok(statistics)
    }

    fn dictionary(&mut self, plain: Vec<u8>, values: usize) -> Result<(), Failure> {
        let buf = self.compress(&plain)?;
        let page = Page::DictionaryPage {
            buf,
            num_values: values as u32,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        self.dictionary = true;
        self.encodings.push(Encoding::PLAIN);
        self.write(page, plain.len()).map(|_| ())
    }

    fn coded(
        &mut self,
        codes: &[u32],
        distinct: usize,
        there: Option<&[bool]>,
        rows: usize,
    ) -> Result<(), Failure> {
        let width = u32::BITS - (distinct as u32).saturating_sub(1).leading_zeros();
        self.data(there, rows, Encoding::RLE_DICTIONARY, |range, out| {
            out.push(width as u8);
            hybrid_encode(&codes[range], width, out);
        })
    }

    /// Writes the pages of all rows; `put` appends the values of a range among those that are
    /// there.
    fn data(
        &mut self,
        there: Option<&[bool]>,
        rows: usize,
        encoding: Encoding,
        put: impl Fn(Range<usize>, &mut Vec<u8>),
    ) -> Result<(), Failure> {
        let mut value = 0;
        self.pages(rows, encoding, |page, optional, out| {
            let count = match there {
                Some(there) => put_levels(&there[page], out),
                None => {
                    if optional {
                        put_run(page.len(), true, out);
                    }
                    page.len()
                }
            };
            put(value..value + count, out);
            value += count;
        })
    }

    /// Writes pages of what `put` makes of their rows; it is told whether rows may lack a value.
    fn pages(
        &mut self,
        rows: usize,
        encoding: Encoding,
        mut put: impl FnMut(Range<usize>, bool, &mut Vec<u8>),
    ) -> Result<(), Failure> {
        self.encodings.push(encoding);
        let mut body = Vec::new();
        for first in (0..rows).step_by(PAGE_ROWS) {
            let page = first..(first + PAGE_ROWS).min(rows);
            let num_values = page.len() as u32;
            body.clear();
            put(page, self.field.optional, &mut body);
            let page = Page::DataPage {
                buf: self.compress(&body)?,
                num_values,
                encoding,
                def_level_encoding: Encoding::RLE,
                rep_level_encoding: Encoding::RLE,
                statistics: None,
            };
            let offset = self.write(page, body.len())?;
            self.data_offset.get_or_insert(offset);
        }
        Ok(())
    }

    fn compress(&mut self, bytes: &[u8]) -> Result<Bytes, Failure> {
        Ok(self.encoder.zstd.compress(bytes)?.into())
    }

    fn write(&mut self, page: Page, uncompressed: usize) -> Result<u64, Failure> {
        let mut writer = SerializedPageWriter::new(&mut self.sink);
        let written = writer.write_page(CompressedPage::new(page, uncompressed))?;
        self.uncompressed += written.uncompressed_size;
        Ok(written.offset)
    }

    fn finish(
        mut self,
        column: &ColumnDescPtr,
        rows: usize,
        statistics: Option<Statistics>,
    ) -> Result<Chunk, Failure> {
        self.encodings.dedup();
        let bytes = self.sink.into_inner()?;
        let level = ZstdLevel::try_new(ZSTD_LEVEL)?;
        let mut metadata = ColumnChunkMetaData::builder(column.clone())
            .set_encodings(self.encodings)
            .set_num_values(rows as i64)
            .set_compression(Compression::ZSTD(level))
            .set_total_compressed_size(bytes.len() as i64)
            .set_total_uncompressed_size(self.uncompressed as i64)
            .set_data_page_offset(self.data_offset.unwrap_or(0) as i64)
            .set_dictionary_page_offset(self.dictionary.then_some(0));
        if let Some(statistics) = statistics {
            metadata = metadata.set_statistics(statistics);
        }
        let close = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: rows as u64,
            metadata: metadata.build()?,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok(Chunk { bytes: bytes.into(), close })
    }
}

/// That all of so many rows have a value, or none.
fn put_run(rows: usize, there: bool, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    hybrid_encode_run(there.into(), rows, 1, out);
    let len = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&len.to_le_bytes());
}

/// Which rows have a value, and how many do.
fn put_levels(there: &[bool], out: &mut Vec<u8>) -> usize {
    if !there.contains(&false) {
        put_run(there.len(), true, out);
        return there.len();
    }
    let levels: Vec<u32> = there.iter().map(|&there| there.into()).collect();
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    hybrid_encode(&levels, 1, out);
    let len = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&len.to_le_bytes());
    levels.iter().sum::<u32>() as usize
}

fn put_words(words: impl ExactSizeIterator<Item = [u8; 8]>, out: &mut Vec<u8>) {
    out.reserve(words.len() * 8);
    words.for_each(|word| out.extend_from_slice(&word));
}

fn put_text(text: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    out.extend_from_slice(text);
}

/// The values that are there; none when all are.
fn compact<T: Copy>(all: &[T], there: Option<&[bool]>) -> Option<Vec<T>> {
    let there = there.filter(|there| there.contains(&false))?;
    Some(all.iter().zip(there).filter(|(_, there)| **there).map(|(value, _)| *value).collect())
}

/// Renumbers `codes` by those that occur; returns the old number of each.
fn used(codes: &mut [u32], texts: usize) -> Vec<u32> {
    let mut new = vec![NO_TEXT; texts];
    let mut old = Vec::new();
    for code in codes {
        let place = &mut new[*code as usize];
        if *place == NO_TEXT {
            *place = old.len() as u32;
            old.push(*code);
        }
        *code = *place;
    }
    old
}

/// A number for each value and the distinct values; none when too many differ.
fn codes_of(values: &[i64]) -> Option<(Vec<u32>, Vec<i64>)> {
    let most = (values.len() / MOST_CODES).max(1000);
    let mut places: HashMap<i64, u32, Quick> = HashMap::default();
    let mut distinct = Vec::new();
    let mut codes = Vec::with_capacity(values.len());
    let mut last = None;
    for &value in values {
        let code = match last {
            Some((known, code)) if known == value => code,
            _ => *places.entry(value).or_insert_with(|| {
                distinct.push(value);
                distinct.len() as u32 - 1
            }),
        };
        last = Some((value, code));
        codes.push(code);
        if distinct.len() > most {
            return None;
        }
    }
    Some((codes, distinct))
}

fn text_statistics(min: Option<&[u8]>, max: Option<&[u8]>, nulls: u64) -> Option<Statistics> {
    let short = |text: Option<&[u8]>| {
        text.filter(|text| text.len() <= MAX_BOUND_BYTES).map(|t| ByteArray::from(t.to_vec()))
    };
    let (min, max) = short(min).zip(short(max)).unzip();
    Some(Statistics::ByteArray(ValueStatistics::new(min, max, None, Some(nulls), false)))
}
