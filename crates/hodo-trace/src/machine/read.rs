//! Reading the folder of a host.
//!
//! A sampler writes a block to a numbered file before it begins the live file anew. So reading *the
//! live file first, the numbered ones after* may meet a row twice, and then its time tells, but
//! never misses one.

mod collect;
mod columns;
mod held;

use super::boot::Boot;
use super::{Machine, MachineState, live};
use crate::read::{SpoolReader, numbered_files};
use crate::{Damage, Process};
use collect::Collector;
use held::Held;
use hodo_format::machine::{FILE_PREFIX, FOLDER_PREFIX, LIVE_FILE};
use std::path::{Path, PathBuf};

/// The folders of hosts in a run, in order of their names.
pub(crate) fn machine_folders(run: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(run) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut folders: Vec<PathBuf> =
        paths.filter(|path| path.is_dir() && host_and_boot(path).is_some()).collect();
    folders.sort();
    folders
}

/// What the name of a folder says: the host, and the beginning of its boot id.
pub(super) fn host_and_boot(folder: &Path) -> Option<(&str, &str)> {
    folder.file_name()?.to_str()?.strip_prefix(FOLDER_PREFIX)?.rsplit_once('-')
}

/// Times to keep, nanoseconds of the monotonic clock.
pub(super) type Window = std::ops::RangeInclusive<u64>;

/// Reads the host in `folder`, on the axis of those of `processes` that ran on it. Whatever is
/// damaged is counted, never a reason to stop.
pub(super) fn read(folder: &Path, window: Option<Window>, processes: &[Process]) -> Machine {
    let mut damage = Damage::default();
    let held = read_live(&folder.join(LIVE_FILE));
    let mut collector = Collector::new(window);
    read_files(folder, held.is_some(), &mut collector, &mut damage);
    held.into_iter().for_each(|held| held.replay(&mut collector));
    let collect::Collected { state, anchors, columns, blocks, unusable } = collector.finish();
    if unusable > 0 {
        let why = format!("{unusable} readings whose series or moments no intact frame describes");
        damage.note(folder.to_owned(), 0, why);
    }
    let host = state.as_ref().and_then(MachineState::host);
    let named = || host_and_boot(folder).map_or("", |(host, _)| host);
    let host = host.unwrap_or_else(named).to_owned();
    let first = anchors.iter().min_by_key(|anchor| anchor.monotonic_ns);
    let boot = Boot { host, ns: first.map(|at| at.wall_ns.wrapping_sub(at.monotonic_ns) as i64) };
    let axis = processes.iter().find(|p| boot.distance(p).is_some());
    let offset_ns = axis.and_then(|p| p.clock.booted_ns()).or(boot.ns).unwrap_or(0);
    Machine {
        state,
        series: columns::series(columns, &blocks, offset_ns),
        linked: None,
        live: live::is_sampled(folder),
        damage,
        boot,
        offset_ns,
        folder: folder.to_owned(),
    }
}

/// What the live file holds; none when there is none. Its end may be torn: it is appended to.
fn read_live(path: &Path) -> Option<Held> {
    let mut held = Held::default();
    let bytes = SpoolReader::default().read(path, &mut held);
    (bytes > 0).then_some(held)
}

/// Reads the numbered files. The block that a kill cut at a file's end is whole in the live file,
/// which the next sampler takes up into its first block.
fn read_files(folder: &Path, has_live: bool, collector: &mut Collector, damage: &mut Damage) {
    let paths = numbered_files(folder, FILE_PREFIX);
    let mut readers: Vec<SpoolReader> = Vec::with_capacity(paths.len());
    for path in &paths {
        let mut reader = SpoolReader::default();
        collector.next_file();
        reader.read(path, collector);
        collector.wrote(reader.process);
        readers.push(reader);
    }
    for at in 0..readers.len() {
        let next = readers.get(at + 1).map(|next| next.process);
        let is_mended = next.map_or(has_live, |next| next != readers[at].process);
        let reader = &mut readers[at];
        if is_mended {
            reader.forgive_torn_end();
        }
        damage.join(std::mem::take(&mut reader.damage), reader.damaged_frames);
    }
}
