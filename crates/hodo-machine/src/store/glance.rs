//! Looks into files that other samplers wrote.

use hodo_format::arena::Anchor;
use hodo_format::machine::{Readings, Series, frame_kind};
use hodo_format::record::Sink;
use hodo_format::spool::{self, FILE_HEADER_BYTES, FRAME_HEADER_BYTES, FrameHeader, FrameSink};
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Enough of a file to hold its first block.
const BEGINNING: u64 = 1 << 20;

/// What a file of readings holds.
#[derive(Debug, Default)]
pub struct Contents {
    /// Its clock anchors.
    pub anchors: Vec<Anchor>,
    /// Its series.
    pub series: Vec<Series>,
    /// Its readings, in file order.
    pub readings: Vec<Readings>,
    /// Its newest state.
    pub state: String,
}

impl Contents {
    /// What there is in `bytes`, damaged or not.
    pub fn of(bytes: &[u8]) -> Contents {
        let mut contents = Contents::default();
        // A file that gives nothing has nothing to give.
        let _ = spool::read(bytes, &mut contents);
        contents
    }

    /// What there is in a file; nothing where it cannot be read.
    pub fn of_file(path: &Path) -> Contents {
        std::fs::read(path).map(|bytes| Contents::of(&bytes)).unwrap_or_default()
    }
}

impl Sink for Contents {}

impl FrameSink for Contents {
    fn anchors(&mut self, anchors: &[Anchor]) {
        self.anchors.extend_from_slice(anchors);
    }
    fn machine_state(&mut self, json: &str) {
        self.state = json.into();
    }
    fn series(&mut self, series: &[Series]) {
        self.series.extend_from_slice(series);
    }
    fn readings(&mut self, readings: Readings) {
        self.readings.push(readings);
    }
}

/// How far the blocks of a file go: of its readings the moments alone are kept, for a file of
/// megabytes has a hundred in values, and whoever takes over may be a program at work.
#[derive(Debug, Default)]
pub struct Ends {
    /// The newest moment of each series.
    pub newest: HashMap<SeriesKey, u64>,
    /// Its newest state.
    pub state: String,
    keys: HashMap<u32, SeriesKey>,
}

/// What a series is in every file: its source and its metric.
pub type SeriesKey = (String, String);

/// The key of a series.
pub fn key(series: &Series) -> SeriesKey {
    (series.source.clone(), series.metric.clone())
}

impl Ends {
    /// Those of a file; none where it cannot be read.
    pub fn of_file(path: &Path) -> Ends {
        let mut ends = Ends::default();
        if let Ok(bytes) = std::fs::read(path) {
            // A file that gives nothing has nothing to give.
            let _ = spool::read(&bytes, &mut ends);
        }
        ends
    }
}

impl Sink for Ends {}

impl FrameSink for Ends {
    fn machine_state(&mut self, json: &str) {
        self.state = json.into();
    }
    fn series(&mut self, series: &[Series]) {
        self.keys.extend(series.iter().map(|one| (one.id, key(one))));
    }
    fn readings(&mut self, readings: Readings) {
        let Some(&last) = readings.times.last() else { return };
        for key in readings.series.iter().filter_map(|id| self.keys.get(id)) {
            match self.newest.get_mut(key) {
                Some(at) => *at = last.max(*at),
                None => drop(self.newest.insert(key.clone(), last)),
            }
        }
    }
}

/// Moment of the first reading of a file.
pub fn first_ns(path: &Path) -> Option<u64> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(BEGINNING).read_to_end(&mut bytes).ok()?;
    let contents = Contents::of(&bytes);
    contents.readings.iter().filter_map(|readings| readings.times.first().copied()).min()
}

/// Blocks of readings in a file, by its frames' headers.
pub fn blocks(path: &Path) -> u64 {
    let Ok(file) = File::open(path) else { return 0 };
    let mut at = FILE_HEADER_BYTES as u64;
    let mut blocks = 0;
    let mut header = [0; FRAME_HEADER_BYTES];
    while file.read_exact_at(&mut header, at).is_ok() {
        let Some(header) = FrameHeader::parse(&header) else { break };
        blocks += u64::from(header.kind == frame_kind::READINGS);
        at += FRAME_HEADER_BYTES as u64 + u64::from(header.payload_bytes);
    }
    blocks
}
