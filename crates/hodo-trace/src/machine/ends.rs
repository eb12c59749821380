//! When the readings of a host begin and end, without reading them all.

use crate::read::{Frame, frames, numbered_files, plain};
use hodo_format::arena::Anchor;
use hodo_format::machine::{FILE_PREFIX, LIVE_FILE, Readings, frame_kind};
use hodo_format::record::Sink;
use hodo_format::spool::{self, FILE_HEADER_BYTES, FrameSink, frame_kind as spool_kind};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Blocks of a file's beginning and end that are looked at: one of each tier is enough.
const BLOCKS: usize = 4;

/// The first and the last reading in `folder`, nanoseconds since 1970; none when there is none.
pub(crate) fn ends(folder: &Path) -> Option<(i64, i64)> {
    let mut found = Ends::default();
    let files = numbered_files(folder, FILE_PREFIX);
    if let Some(first) = files.first() {
        found.look(first);
    }
    if let Some(last) = files.last().filter(|_| files.len() > 1) {
        found.look(last);
    }
    // It holds a minute at most.
    let rows = plain::bytes(&folder.join(LIVE_FILE), plain::MOST_JSON_BYTES).unwrap_or_default();
    let _ = spool::read(&rows, &mut found);
    let (first, last) = found.times?;
    let anchor = found.anchor?;
    let booted_ns = anchor.wall_ns.wrapping_sub(anchor.monotonic_ns) as i64;
    let at = |ns: u64| i64::try_from(ns).ok()?.checked_add(booted_ns);
    Some((at(first)?, at(last)?))
}

#[derive(Default)]
struct Ends {
    anchor: Option<Anchor>,
    times: Option<(u64, u64)>,
}

impl Ends {
    /// Looks at the first and the last blocks of a file. One that gives nothing has nothing to give.
    fn look(&mut self, path: &Path) {
        let Ok(file) = plain::open(path) else { return };
        let frames: Vec<Frame> = frames(&file).collect();
        let of = |kind: u8| frames.iter().filter(move |frame| frame.header.kind == kind);
        let blocks: Vec<&Frame> = of(frame_kind::READINGS).collect();
        let last = blocks.len().saturating_sub(BLOCKS).max(BLOCKS.min(blocks.len()));
        let first = &blocks[..blocks.len().min(BLOCKS)];
        let mut bytes = vec![0; FILE_HEADER_BYTES];
        if file.read_exact_at(&mut bytes, 0).is_err() {
            return;
        }
        let wanted = of(spool_kind::ANCHORS).take(1).chain(first.iter().copied());
        for frame in wanted.chain(blocks[last..].iter().copied()) {
            let mut one = vec![0; frame.bytes()];
            if file.read_exact_at(&mut one, frame.at).is_ok() {
                bytes.extend_from_slice(&one);
            }
        }
        let _ = spool::read(&bytes, self);
    }
}

impl Sink for Ends {}

impl FrameSink for Ends {
    fn anchors(&mut self, anchors: &[Anchor]) {
        let all = self.anchor.into_iter().chain(anchors.iter().copied());
        self.anchor = all.min_by_key(|anchor| anchor.monotonic_ns);
    }

    fn readings(&mut self, readings: Readings) {
        for &time in &readings.times {
            let (first, last) = self.times.unwrap_or((time, time));
            self.times = Some((first.min(time), last.max(time)));
        }
    }
}
