//! Tables of runs that were recorded and not packed: made once and kept with the run, so that the
//! next query is quick.

use crate::{Note, SqlError};
use hodo_trace::packed::{self, SCHEMA};
use hodo_trace::{ProcessState, ReadOptions, Run};
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Where they are kept, in the run's folder.
const KEPT: &str = ".tables";
/// Making them in less is not worth a word.
const PATIENCE: Duration = Duration::from_secs(1);

/// The folder with the tables of the run in `folder`, as it is now. Those of a run that is being
/// recorded are made anew each time, in `scratch`.
pub fn tables(folder: &Path, scratch: &Path, note: Note) -> Result<PathBuf, SqlError> {
    match is_live(folder) {
        true => temporary(folder, scratch, note),
        // A folder that cannot be written, or is full, is no reason to answer nothing.
        false => kept(folder, note).map_or_else(|| temporary(folder, scratch, note), Ok),
    }
}

fn is_live(folder: &Path) -> bool {
    let summary = Run::summary(folder);
    summary.sampling || summary.state == Some(ProcessState::Live)
}

fn temporary(folder: &Path, scratch: &Path, note: Note) -> Result<PathBuf, SqlError> {
    let place = tempfile::Builder::new().prefix("run-").tempdir_in(scratch);
    let place =
        place.map_err(|e| SqlError::Failed(format!("cannot make a temporary folder: {e}")))?;
    // It goes away with the scratch folder.
    write(folder, &place.keep().join("run"), note)
}

/// The tables that are kept; none where they cannot be.
fn kept(folder: &Path, note: Note) -> Option<PathBuf> {
    let home = folder.join(KEPT);
    let place = home.join(key(folder));
    if !is_whole(&place) {
        let _lock = lock(&home).ok()?;
        if !is_whole(&place) {
            // Older tables, and what a killed program left.
            clear(&home);
            let part = home.join("part");
            write(folder, &part, note).ok()?;
            fs::rename(&part, &place).ok()?;
        }
    }
    Some(place.join(packed::TABLES))
}

/// Whether the tables are there and as long as they were made.
fn is_whole(place: &Path) -> bool {
    packed::is_packed(place) && packed::check_lengths(place).is_none()
}

/// Held while tables are made: another program that wants the same ones waits for them.
fn lock(home: &Path) -> io::Result<File> {
    fs::create_dir_all(home)?;
    let file = File::create(home.join("lock"))?;
    file.lock()?;
    Ok(file)
}

fn clear(home: &Path) {
    let entries = fs::read_dir(home).into_iter().flatten().flatten();
    // What cannot be removed is in nobody's way.
    entries.filter(|e| e.path().is_dir()).for_each(|e| _ = fs::remove_dir_all(e.path()));
}

fn write(folder: &Path, out: &Path, note: Note) -> Result<PathBuf, SqlError> {
    let began = Instant::now();
    let run = Run::open(folder, &ReadOptions::default())?;
    if let Some(unreadable) = run.unreadable_bytes() {
        note(&format!(
            "{unreadable} bytes of {} cannot be read: its tables lack them",
            run.info.id
        ));
    }
    hodo_convert::parquet::write(&run, out, &|_, _| ()).map_err(|e| {
        SqlError::Source(format!("cannot make tables of {}: {e}", folder.display()))
    })?;
    if began.elapsed() > PATIENCE {
        let seconds = began.elapsed().as_secs_f64();
        note(&format!("made the tables of {} in {seconds:.1} s", run.info.id));
    }
    Ok(out.join(packed::TABLES))
}

/// Changes when any file of the run does.
fn key(folder: &Path) -> String {
    let mut files = Vec::new();
    collect(folder, &mut files);
    files.sort();
    let mut hasher = DefaultHasher::new();
    (SCHEMA, env!("CARGO_PKG_VERSION"), files).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Path, size and time of change of every file, but for the tables.
fn collect(folder: &Path, files: &mut Vec<(PathBuf, u64, i64, i64)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(data) = entry.metadata() else { continue };
        match data.is_dir() {
            true if entry.file_name() != KEPT => collect(&entry.path(), files),
            true => {}
            false => files.push((entry.path(), data.len(), data.mtime(), data.mtime_nsec())),
        }
    }
}
