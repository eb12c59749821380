//! What a sampler that died left in its live file, made a file like any other.

use super::files::Files;
use super::glance::{Contents, Ends, SeriesKey, key};
use super::growing::Growing;
use crate::json;
use hodo_format::machine::{LIVE_FILE, Readings, readings_frame, state_frame};
use hodo_format::spool::anchors_frame;
use std::collections::HashMap;
use std::io::Error;
use std::path::Path;

/// What was found of the sampler before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Before {
    /// Blocks that were removed for being too old.
    pub removed_blocks: u64,
    /// Rows that could not be kept.
    pub lost_rows: u64,
}

/// Takes over the folder of a sampler that is gone: rows that only its live file has become a file
/// of their own. At every step of this a kill loses nothing, and the next one finds what is left.
pub fn take_over(folder: &Path, files: &mut Files) -> Result<Before, Error> {
    let last = files.newest_sealed().map(Ends::of_file).unwrap_or_default();
    let told = |key: &str| json::number(&last.state, key).unwrap_or(0);
    let before = Before { removed_blocks: told("removed_blocks"), lost_rows: told("lost_rows") };
    let path = folder.join(LIVE_FILE);
    let live = Contents::of_file(&path);
    let rows = later_rows(&live, &last.newest);
    if !rows.is_empty() {
        write(folder, files, &live, &last.state, &rows)?;
    }
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(before),
    }
}

/// Rows that are later than every block of one of their series: those of a row share its blocks.
fn later_rows(live: &Contents, newest: &HashMap<SeriesKey, u64>) -> Vec<Readings> {
    let keys: HashMap<u32, _> = live.series.iter().map(|one| (one.id, key(one))).collect();
    let known = |readings: &Readings| {
        let ids = readings.series.iter();
        ids.filter_map(|id| newest.get(keys.get(id)?)).copied().max()
    };
    let is_later = |readings: &&Readings| {
        let last = readings.times.last().copied();
        last.is_some_and(|last| known(readings).is_none_or(|known| last > known))
    };
    live.readings.iter().filter(is_later).cloned().collect()
}

/// Writes them as the next file: under another name first, so that it is there whole or not at all.
fn write(
    folder: &Path,
    files: &mut Files,
    live: &Contents,
    state: &str,
    rows: &[Readings],
) -> Result<(), Error> {
    let (path, mut bytes) = (files.next(), files.next_header());
    let mut sequence = 0..;
    let mut number = || sequence.next().unwrap_or(0);
    anchors_frame(number(), &live.anchors, &mut bytes);
    let state = if live.state.is_empty() { state } else { &live.state };
    if !state.is_empty() {
        state_frame(number(), state, &mut bytes);
    }
    super::put_series(&mut number, &live.series, &mut bytes);
    let blocks = joined(rows);
    for block in &blocks {
        readings_frame(number(), block, &mut bytes);
    }
    let mut file = Growing::create(&folder.join("samples.part"), &bytes)?;
    file.rename(&path)?;
    let first = blocks.iter().filter_map(|block| block.times.first().copied()).min();
    files.add_sealed(path, file.bytes(), blocks.len() as u64, first);
    Ok(())
}

/// Rows of the same series as one block each.
fn joined(rows: &[Readings]) -> Vec<Readings> {
    let mut by_series: Vec<(Vec<u32>, Vec<&Readings>)> = Vec::new();
    for row in rows.iter().filter(|row| row.times.len() == 1) {
        match by_series.iter_mut().find(|(series, _)| *series == row.series) {
            Some((_, same)) => same.push(row),
            None => by_series.push((row.series.clone(), vec![row])),
        }
    }
    let block = |(series, rows): (Vec<u32>, Vec<&Readings>)| {
        let times = rows.iter().map(|row| row.times[0]).collect();
        let of = |at: usize| rows.iter().map(move |row| row.values.get(at).copied().flatten());
        let values = (0..series.len()).flat_map(of).collect();
        Readings { series, times, values }
    };
    by_series.into_iter().map(block).collect()
}
