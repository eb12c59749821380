//! The part of a file that is looked at, moved on piece by piece.

use super::FRAME_MAGIC;

/// So many bytes are read at first, twice as many the next time, and at most so many at once.
const FIRST_BYTES: usize = 1 << 16;
const MOST_BYTES: usize = 1 << 20;

/// Where the bytes of a spool file come from.
pub trait Source {
    /// Puts what is at `offset` into `into`; how many bytes that was, none at the end.
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> usize;

    /// Where the next bytes are, at or behind `offset`, that are not a hole: zeros without end that
    /// take no room on the disk and need not be looked at. It is the end where none follow.
    fn next_data(&mut self, offset: u64) -> u64 {
        offset
    }
}

impl Source for &[u8] {
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> usize {
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = self.get(from..).unwrap_or_default();
        let taken = rest.len().min(into.len());
        into[..taken].copy_from_slice(&rest[..taken]);
        taken
    }
}

pub(super) struct Window<'a, S> {
    source: &'a mut S,
    bytes: Vec<u8>,
    /// Offset of the first of them.
    begin: u64,
    piece_bytes: usize,
    ended: bool,
}

impl<'a, S: Source> Window<'a, S> {
    pub(super) fn new(source: &'a mut S) -> Window<'a, S> {
        Window { source, bytes: Vec::new(), begin: 0, piece_bytes: FIRST_BYTES, ended: false }
    }

    /// Offset of what was not read yet.
    pub(super) fn end(&self) -> u64 {
        self.begin + self.bytes.len() as u64
    }

    /// The bytes from `at` on, at least `wanted` where there are so many. What is before them is
    /// forgotten.
    pub(super) fn from(&mut self, at: u64, wanted: usize) -> &[u8] {
        while !self.ended && at + wanted as u64 > self.end() {
            self.read_on(at);
        }
        let behind = usize::try_from(at.saturating_sub(self.begin)).unwrap_or(usize::MAX);
        self.bytes.get(behind..).unwrap_or_default()
    }

    fn read_on(&mut self, at: u64) {
        let behind = at.saturating_sub(self.begin).min(self.bytes.len() as u64);
        self.bytes.drain(..behind as usize);
        self.begin += behind;
        let before = self.bytes.len();
        self.bytes.resize(before + self.piece_bytes, 0);
        self.piece_bytes = (2 * self.piece_bytes).min(MOST_BYTES);
        let taken = self.source.read_at(self.begin + before as u64, &mut self.bytes[before..]);
        self.bytes.truncate(before + taken);
        self.ended = taken == 0;
    }

    /// `at`, or the end of the hole that nothing but the end of the window is before.
    pub(super) fn behind_hole(&mut self, at: u64) -> u64 {
        let may_begin = self.from(at, 0).contains(&FRAME_MAGIC[0]);
        let data = if may_begin || self.ended { at } else { self.source.next_data(self.end()) };
        if data <= self.end() {
            return at;
        }
        (self.bytes, self.begin) = (Vec::new(), data);
        data
    }
}
