//! The file of rows that are in no block yet: each is there as soon as it was read.

use super::growing::Growing;
use super::{after, last_id, put_series};
use crate::sampler::Row;
use hodo_format::machine::{LIVE_FILE, Readings, Series, row_frame};
use hodo_format::spool::{anchors_frame, file_header};
use hodo_record::ClockSource;
use std::io::Error;
use std::path::{Path, PathBuf};

/// The file.
#[derive(Debug)]
pub struct Live {
    path: PathBuf,
    part: PathBuf,
    writer: u64,
    file: Option<Growing>,
    /// The highest id of a series that it has.
    told_id: u32,
    sequence: u64,
    frames: Vec<u8>,
}

impl Live {
    /// A file that is made with its first row.
    pub fn new(folder: &Path, writer: u64) -> Live {
        let path = folder.join(LIVE_FILE);
        let part = folder.join(format!("{LIVE_FILE}.part"));
        Live { path, part, writer, file: None, told_id: 0, sequence: 0, frames: Vec::new() }
    }

    /// Whether there is one to append to.
    pub fn is_begun(&self) -> bool {
        self.file.is_some()
    }

    /// Begins it anew with the rows that are in no block. The one before stays until it is whole.
    pub fn begin(
        &mut self,
        series: &[Series],
        rows: impl Iterator<Item = Readings>,
    ) -> Result<(), Error> {
        self.file = None;
        (self.told_id, self.sequence) = (0, 0);
        self.frames.clear();
        self.frames.extend_from_slice(&file_header(self.writer, 0));
        let anchor = ClockSource::Monotonic.anchor();
        let number = self.number();
        anchors_frame(number, &[anchor], &mut self.frames);
        self.put_series(series);
        for row in rows {
            let number = self.number();
            row_frame(number, &row, &mut self.frames);
        }
        let mut file = Growing::create(&self.part, &self.frames)?;
        file.rename(&self.path)?;
        self.file = Some(file);
        Ok(())
    }

    /// Appends a row: all of it or nothing.
    pub fn append(&mut self, row: &Row<'_>, series: &[Series]) -> Result<(), Error> {
        self.frames.clear();
        self.put_series(series);
        let number = self.number();
        row_frame(
            number,
            &super::pending::single(row.time_ns, row.ids, row.values),
            &mut self.frames,
        );
        let Some(file) = &mut self.file else { return Ok(()) };
        file.append(&self.frames)
    }

    /// Whether somebody deleted it, or put another in its place.
    pub fn is_gone(&self) -> bool {
        self.file.as_ref().is_some_and(Growing::is_gone)
    }

    /// It lacks a row: it is begun anew when that can be.
    pub fn give_up(&mut self) {
        self.file = None;
    }

    /// Nothing is left that is not in a block.
    pub fn remove(&mut self) {
        self.file = None;
        let _ = std::fs::remove_file(&self.path);
    }

    fn put_series(&mut self, series: &[Series]) {
        let Live { sequence, frames, .. } = self;
        let mut number = || {
            *sequence += 1;
            *sequence - 1
        };
        put_series(&mut number, after(series, self.told_id), frames);
        self.told_id = self.told_id.max(last_id(series));
    }

    fn number(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence - 1
    }
}
