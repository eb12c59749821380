//! The files of a process folder: which there are, and what each spool file held.

use super::plain::Pieces;
use crate::Damage;
use hodo_format::spool::{self, DamageKind, FileSummary, FrameSink};
use std::path::{Path, PathBuf};

/// The catalog's file name.
pub(crate) const CATALOG: &str = "catalog.hodo";
/// How the names of spool files begin.
pub(crate) const SPOOL: &str = "spool-";
/// How the names of GPU files begin.
pub(crate) const GPU: &str = "gpu-";

/// Spool files in order of their number.
pub(super) fn spool_files(folder: &Path) -> Vec<PathBuf> {
    numbered_files(folder, SPOOL)
}

/// GPU files in order of their number.
pub(super) fn gpu_files(folder: &Path) -> Vec<PathBuf> {
    numbered_files(folder, GPU)
}

/// Files named `PREFIX000001.hodo`, in order of their number.
pub(crate) fn numbered_files(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    numbered(folder, prefix).into_iter().map(|(_, path)| path).collect()
}

/// The same with their numbers.
pub(crate) fn numbered(folder: &Path, prefix: &str) -> Vec<(u64, PathBuf)> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<(u64, PathBuf)> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            Some((number(&path, prefix)?, path))
        })
        .collect();
    files.sort();
    files
}

/// The number in `spool-000001.hodo` or `gpu-000001.hodo`.
pub(super) fn file_number(path: &Path) -> Option<u64> {
    number(path, SPOOL).or(number(path, GPU))
}

fn number(path: &Path, prefix: &str) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    name.strip_prefix(prefix)?.strip_suffix(".hodo")?.parse().ok()
}

/// Reads spool files one after another, piece by piece, and keeps what was damaged.
#[derive(Default)]
pub(crate) struct SpoolReader {
    /// Frame sequence numbers seen in any file.
    pub(super) sequences: super::ranges::Ranges,
    /// Frames whose header was readable and whose payload was not.
    pub(crate) damaged_frames: u64,
    pub(crate) damage: Damage,
    /// The process in the file headers.
    pub(crate) process: Option<u64>,
    /// Lowest sequence number in the first spool file.
    pub(super) spool_start: Option<u64>,
    /// One past the highest sequence number in any spool file.
    spool_end: u64,
    /// The lowest sequence number of each file that has some, and one past the highest.
    extents: Vec<(u64, u64)>,
    torn: Option<Torn>,
}

/// The end of the newest file, if it stops inside a frame: a write that a kill cut, or is under way.
struct Torn {
    bytes: u64,
    frames: u64,
    places: usize,
}

impl SpoolReader {
    /// Reads a file into `sink` and returns its length; a file that is not there holds nothing.
    pub(crate) fn read(&mut self, path: &Path, sink: &mut impl FrameSink) -> u64 {
        self.torn = None;
        let mut pieces = match Pieces::open(path) {
            Ok(pieces) => pieces,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return 0,
            Err(error) => {
                self.damage.note(path.to_owned(), 0, format!("cannot be read: {error}"));
                return 0;
            }
        };
        match spool::read_from(&mut pieces, sink) {
            Ok(summary) => self.add(path, &summary, pieces.end),
            Err(error) => {
                self.damage.bytes += pieces.length();
                self.damage.note(path.to_owned(), 0, error.to_string());
            }
        }
        if let Some(error) = pieces.error.take() {
            self.damage.note(path.to_owned(), pieces.end, format!("cannot be read: {error}"));
        }
        pieces.end
    }

    fn add(&mut self, path: &Path, summary: &FileSummary, length: u64) {
        self.process = self.process.or(summary.header.map(|header| header.process));
        for &(low, high) in &summary.sequences {
            self.sequences.add(low, high.saturating_add(1));
        }
        let all = summary.sequences.iter();
        let extent = all.fold((u64::MAX, 0), |(low, high), s| (low.min(s.0), high.max(s.1)));
        if file_number(path).is_some() && !summary.sequences.is_empty() {
            self.extents.push((extent.0, extent.1.saturating_add(1)));
        }
        if file_number(path).is_some() {
            let starts = summary.sequences.iter().map(|s| s.0);
            self.spool_start = self.spool_start.or(starts.min());
            let ends = summary.sequences.iter().map(|s| s.1.saturating_add(1));
            self.spool_end = self.spool_end.max(ends.max().unwrap_or(0));
        }
        self.damaged_frames += summary.damage.frames;
        self.damage.bytes += summary.damage.bytes;
        let before = self.damage.places.len();
        for place in &summary.damage.places {
            self.damage.note(path.to_owned(), place.offset, why(place.kind));
        }
        self.torn = torn_end(summary, length, before);
    }

    /// Forgets the torn end of the newest file: what it would hold is still in the arena.
    pub(crate) fn forgive_torn_end(&mut self) {
        if let Some(torn) = self.torn.take() {
            self.damage.bytes -= torn.bytes;
            self.damaged_frames -= torn.frames;
            self.damage.places.truncate(torn.places);
        }
    }

    /// Adds the damage of files that number their frames by themselves.
    pub(super) fn add_damage(&mut self, other: SpoolReader, frames: u64) {
        self.damage.join(other.damage, frames);
    }

    /// Frames that are in no file, where frames are numbered from 0 and the first file is there.
    pub(super) fn missing_of_all(&self, first_file: Option<u64>, is_cut: bool) -> u64 {
        let from = if first_file == Some(1) { 0 } else { self.sequences.start() };
        let holes = match is_cut {
            true => self.missing_inside(),
            false => self.sequences.missing(from, self.sequences.end()),
        };
        holes.max(self.damaged_frames)
    }

    /// Frames that are in no file. Those of spool files the size cap removed are not counted: they
    /// all came before the first file that is left. Nor are, before the end, numbers past the last
    /// spool frame: the pump writes the catalog of a round before its records, so a kill or a look
    /// in between finds a gap whose records are still in the arena.
    ///
    /// Of a run that `is_cut`, some of what was removed had been shipped before, so that what is
    /// missing lies between files: only holes inside one are damage.
    pub(super) fn missing_frames(&self, first_file: Option<u64>, ended: bool, is_cut: bool) -> u64 {
        let from = match first_file {
            Some(number) if number > 1 => self.spool_start.unwrap_or(0),
            _ => self.sequences.start(),
        };
        let spool_end = self.spool_end.max(from);
        let after = self.sequences.missing(spool_end, self.sequences.end());
        let before = match is_cut {
            true => self.missing_inside(),
            false => self.sequences.missing(from, spool_end),
        };
        let holes = if ended { before + after } else { before };
        holes.max(self.damaged_frames)
    }

    fn missing_inside(&self) -> u64 {
        self.extents.iter().map(|&(from, to)| self.sequences.missing(from, to)).sum()
    }
}

fn torn_end(summary: &FileSummary, length: u64, places: usize) -> Option<Torn> {
    let last = summary.damage.places.last().filter(|p| p.kind == DamageKind::CutOff)?;
    let bytes = length.saturating_sub(last.offset);
    // Only when nothing readable follows is it the end of the file that is missing.
    let only = summary.damage.places.len() == 1 && summary.damage.bytes == bytes;
    only.then_some(Torn { bytes, frames: summary.damage.frames, places })
}

fn why(kind: DamageKind) -> &'static str {
    match kind {
        DamageKind::FileHeader => "the file header is damaged",
        DamageKind::Bytes => "bytes that belong to no frame",
        DamageKind::CutOff => "the file ends inside a frame",
        DamageKind::Checksum => "a frame does not match its checksum",
        DamageKind::Undecodable => "a frame cannot be decoded",
    }
}
