//! Work into WORK frames.

use super::shape::{self, Lane, Shape, column, has};
use super::{Work, frame_kind};
use crate::spool::codec::{Compressor, Label, Layout};
use crate::spool::varint::Column;
use crate::spool::{FRAME_RECORDS, MAX_FRAME_RECORDS};
use std::collections::HashMap;

/// Columns that end a zstd block: what follows them has another distribution of bytes.
const BREAKS: [usize; 5] = [
    column::SHAPES,
    column::LANES,
    column::STARTS,
    column::LENGTHS,
    // Correlation and span.
    column::FOLLOWING + 1,
];

/// Collects GPU work and writes it as frames. Its buffers are kept from frame to frame.
pub struct Encoder {
    columns: [Column; column::COUNT],
    codes: HashMap<Shape, u32>,
    shapes: Vec<Known>,
    lanes: Vec<(Lane, u64)>,
    following: [u64; shape::FOLLOWING],
    /// Code of the row before.
    last: u32,
    rows: usize,
    compressor: Compressor,
    layout: Layout,
}

/// A shape of the frame and its row before.
struct Known {
    shape: Shape,
    lane: usize,
    length: u64,
    bytes: u64,
    /// Code of the shape that followed it last: in a loop it does again.
    next: u32,
}

impl Encoder {
    /// An empty encoder that compresses with zstd at `zstd_level`.
    pub fn new(zstd_level: i32) -> Self {
        Encoder {
            columns: Default::default(),
            codes: HashMap::new(),
            shapes: Vec::new(),
            lanes: Vec::new(),
            following: Default::default(),
            last: 0,
            rows: 0,
            compressor: Compressor::new(zstd_level),
            layout: Layout::default(),
        }
    }

    /// Takes a piece of work; `false` when the frame would hold more than a reader accepts. Finish
    /// a frame when [`Encoder::is_full`], long before that.
    pub fn push(&mut self, work: &Work) -> bool {
        if self.rows >= MAX_FRAME_RECORDS {
            return false;
        }
        self.rows += 1;
        let (shape, numbers) = Shape::of(work);
        let code = self.code(&shape);
        let Some(known) = self.shapes.get_mut(code as usize) else { return false };
        let columns = &mut self.columns;
        columns[column::SHAPES].unsigned(code.into());
        let lane = &mut self.lanes[known.lane].1;
        if shape.has & has::START != 0 {
            columns[column::STARTS].signed(work.start.wrapping_sub(*lane));
            *lane = work.start;
        }
        if shape.has & has::END != 0 {
            let length = work.end.wrapping_sub(work.start);
            columns[column::LENGTHS].signed(length.wrapping_sub(known.length));
            known.length = length;
            *lane = work.end;
        }
        if shape.has & has::BYTES != 0 {
            columns[column::BYTES].signed(numbers.bytes.wrapping_sub(known.bytes));
            known.bytes = numbers.bytes;
        }
        for (i, number) in numbers.following.into_iter().enumerate() {
            if shape.has & 1 << i != 0 {
                let before = std::mem::replace(&mut self.following[i], number);
                columns[column::FOLLOWING + i].signed(number.wrapping_sub(before));
            }
        }
        true
    }

    /// Pieces of work collected since the last frame.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether nothing was collected since the last frame.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Whether it is time to finish the frame: [`FRAME_RECORDS`] pieces of work.
    pub fn is_full(&self) -> bool {
        self.rows >= FRAME_RECORDS
    }

    /// Appends one WORK frame to `out` and starts anew.
    pub fn finish(&mut self, sequence: u64, out: &mut Vec<u8>) {
        let label = Label { kind: frame_kind::WORK, sequence, records: self.rows as u32 };
        self.layout.append(label, &self.columns, &BREAKS, &mut self.compressor, out);
        self.columns.iter_mut().for_each(Column::clear);
        self.codes.clear();
        self.shapes.clear();
        self.lanes.clear();
        self.following = Default::default();
        self.last = 0;
        self.rows = 0;
    }

    /// The code of a shape; a new one is written down.
    fn code(&mut self, shape: &Shape) -> u32 {
        let guess = self.shapes.get(self.last as usize).map_or(0, |last| last.next);
        if self.shapes.get(guess as usize).is_some_and(|known| known.shape == *shape) {
            self.last = guess;
            return guess;
        }
        let code = self.codes.get(shape).copied().unwrap_or_else(|| self.add(shape));
        if let Some(last) = self.shapes.get_mut(self.last as usize) {
            last.next = code;
        }
        self.last = code;
        code
    }

    fn add(&mut self, shape: &Shape) -> u32 {
        let lane = self.lane(shape.lane);
        let code = self.shapes.len() as u32;
        let known = Known { shape: *shape, lane, length: 0, bytes: 0, next: code };
        self.shapes.push(known);
        self.codes.insert(*shape, code);
        let column = &mut self.columns[column::DEFINITIONS];
        let (kind, fields, count) = shape::fields(&shape.detail);
        column.unsigned(lane as u64);
        column.unsigned(shape.flags.into());
        column.unsigned(shape.has.into());
        column.unsigned(shape.graph.into());
        column.unsigned(shape.thread.into());
        column.unsigned(kind);
        column.unsigned(count as u64);
        fields[..count].iter().for_each(|field| column.unsigned(*field));
        code
    }

    /// Which of the frame's lanes it is; a new one is written down.
    fn lane(&mut self, lane: Lane) -> usize {
        if let Some(known) = self.lanes.iter().position(|(known, _)| *known == lane) {
            return known;
        }
        lane.iter().for_each(|part| self.columns[column::LANES].unsigned((*part).into()));
        self.lanes.push((lane, 0));
        self.lanes.len() - 1
    }
}
