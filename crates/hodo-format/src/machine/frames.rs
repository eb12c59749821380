//! The frames of sample files.

use super::{Kind, Readings, Series, frame_kind};
use crate::spool::codec::{self, Compressor, Label, Layout, split};
use crate::spool::varint::{Column, Cursor};
use crate::spool::{MAX_FRAME_RECORDS, MAX_RAW_BYTES};

/// Blocks come a few times a minute.
const ZSTD_LEVEL: i32 = 6;
/// Ids, moments, which values there are, and the values.
const COLUMNS: usize = 4;
/// Most values of one frame; a writer that has more makes two.
const MAX_VALUES: usize = 1 << 20;

/// Which values of a series there are.
mod presence {
    pub(super) const ALL: u8 = 0;
    pub(super) const NONE: u8 = 1;
    /// A byte for each moment follows.
    pub(super) const SOME: u8 = 2;
}

/// Appends a STATE frame: `json` is an object.
///
/// Text longer than [`MAX_RAW_BYTES`] makes no frame.
pub fn state_frame(sequence: u64, json: &str, out: &mut Vec<u8>) {
    if json.len() <= MAX_RAW_BYTES {
        let label = Label { kind: frame_kind::STATE, sequence, records: 0 };
        codec::append(label, &[json.as_bytes()], None, out);
    }
}

/// Appends a SERIES frame of the first of `series`; returns how many it took, which is all unless
/// they are more than [`MAX_FRAME_RECORDS`].
pub fn series_frame(sequence: u64, series: &[Series], out: &mut Vec<u8>) -> usize {
    let series = &series[..series.len().min(MAX_FRAME_RECORDS)];
    let mut raw = Column::default();
    for one in series {
        raw.unsigned(one.id.into());
        raw.byte(u8::from(one.kind == Kind::Counter));
        raw.byte(one.exponent as u8);
        for text in [&one.source, &one.metric, &one.unit] {
            raw.unsigned(text.len() as u64);
            raw.slice(text.as_bytes());
        }
    }
    let label = Label { kind: frame_kind::SERIES, sequence, records: series.len() as u32 };
    let mut compressor = Compressor::new(ZSTD_LEVEL);
    codec::append(label, &[raw.bytes()], Some(&mut compressor), out);
    series.len()
}

/// The series of a SERIES payload; `raw` is without the padding.
pub(crate) fn series(raw: &[u8]) -> Option<Vec<Series>> {
    let mut cursor = Cursor::over(raw);
    let mut series = Vec::new();
    while cursor.left() > 0 {
        let id = u32::try_from(cursor.unsigned()).ok()?;
        let kind = if cursor.byte() & 1 == 0 { Kind::Gauge } else { Kind::Counter };
        let exponent = cursor.byte() as i8;
        let [source, metric, unit] = [text(&mut cursor)?, text(&mut cursor)?, text(&mut cursor)?];
        series.push(Series { id, source, metric, unit, kind, exponent });
    }
    cursor.is_spent().then_some(series)
}

fn text(cursor: &mut Cursor<'_>) -> Option<String> {
    let length = cursor.unsigned();
    Some(std::str::from_utf8(cursor.take(length)?).ok()?.into())
}

/// Appends a READINGS frame and answers `true`; readings whose parts do not fit together, or of
/// more values than a frame may hold, make none.
pub fn readings_frame(sequence: u64, readings: &Readings, out: &mut Vec<u8>) -> bool {
    put_readings(sequence, readings, &mut Compressor::new(ZSTD_LEVEL), out)
}

/// As [`readings_frame`], not compressed: for the one row that goes into the live file.
pub fn row_frame(sequence: u64, readings: &Readings, out: &mut Vec<u8>) -> bool {
    put_readings(sequence, readings, &mut Compressor::none(), out)
}

fn put_readings(
    sequence: u64,
    readings: &Readings,
    compressor: &mut Compressor,
    out: &mut Vec<u8>,
) -> bool {
    let rows = readings.times.len();
    let fits = readings.values.len() == readings.series.len() * rows
        && readings.values.len() <= MAX_VALUES
        && rows.max(readings.series.len()) <= MAX_FRAME_RECORDS;
    if !fits {
        return false;
    }
    let mut columns: [Column; COLUMNS] = Default::default();
    let [ids, times, presences, values] = &mut columns;
    deltas(readings.series.iter().map(|&id| u64::from(id)), ids);
    deltas(readings.times.iter().copied(), times);
    for at in 0..readings.series.len() {
        let of_series = readings.values_of(at);
        put_presence(of_series, presences);
        deltas(of_series.iter().flatten().map(|&value| value as u64), values);
    }
    let label = Label { kind: frame_kind::READINGS, sequence, records: rows as u32 };
    Layout::default().append(label, &columns, &[1, 2], compressor, out);
    true
}

fn deltas(numbers: impl Iterator<Item = u64>, column: &mut Column) {
    let mut before = 0u64;
    for number in numbers {
        column.signed(number.wrapping_sub(before));
        before = number;
    }
}

fn put_presence(values: &[Option<i64>], column: &mut Column) {
    let there = values.iter().flatten().count();
    match there {
        0 => column.byte(presence::NONE),
        _ if there == values.len() => column.byte(presence::ALL),
        _ => {
            column.byte(presence::SOME);
            values.iter().for_each(|value| column.byte(value.is_some().into()));
        }
    }
}

/// The readings of a READINGS payload; `raw` ends with the padding.
pub(crate) fn readings(raw: &[u8]) -> Option<Readings> {
    let [mut ids, mut times, mut presences, mut values]: [Cursor<'_>; COLUMNS] = split(raw)?;
    let ids_of = summed(&mut ids).take(MAX_FRAME_RECORDS + 1).map(u32::try_from);
    let series = ids_of.collect::<Result<Vec<_>, _>>().ok()?;
    let times: Vec<u64> = summed(&mut times).take(MAX_FRAME_RECORDS + 1).collect();
    let rows = times.len();
    if series.len().checked_mul(rows)? > MAX_VALUES || rows.max(series.len()) > MAX_FRAME_RECORDS {
        return None;
    }
    let mut all = Vec::with_capacity(series.len() * rows);
    for _ in 0..series.len() {
        let mut value = 0u64;
        let mut next = || {
            value = value.wrapping_add(values.signed());
            Some(value as i64)
        };
        match presences.byte() {
            presence::ALL => all.extend((0..rows).map(|_| next())),
            presence::NONE => all.extend((0..rows).map(|_| None)),
            presence::SOME => {
                all.extend((0..rows).map(|_| (presences.byte() != 0).then(&mut next).flatten()));
            }
            _ => return None,
        }
    }
    let spent = ids.is_spent() && presences.is_spent() && values.is_spent();
    spent.then_some(Readings { series, times, values: all })
}

fn summed(column: &mut Cursor<'_>) -> impl Iterator<Item = u64> {
    let mut sum = 0u64;
    std::iter::from_fn(move || {
        (column.left() > 0).then(|| {
            sum = sum.wrapping_add(column.signed());
            sum
        })
    })
}
