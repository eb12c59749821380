//! Runs in folders: packed ones as they are, recorded ones by way of tables made of them.

use super::Source;
use crate::SqlError;
use crate::made;
use hodo_trace::{Run, packed};
use std::path::{Path, PathBuf};
use url::Url;

/// The run that `name` means, or the newest; every run of a folder that is none itself.
pub fn find(
    dir: &Path,
    name: Option<&str>,
    note: &(dyn Fn(&str) + Sync),
) -> Result<Vec<Source>, SqlError> {
    match Run::find(dir, name) {
        Ok(folder) => Ok(vec![run(&folder, note)?]),
        Err(error) => match name.map(Path::new).filter(|path| path.is_dir()) {
            Some(folder) if folder.join(packed::TABLES).is_dir() => Ok(vec![run(folder, note)?]),
            Some(folder) if !runs(folder).is_empty() => all(folder, note),
            _ => Err(error.into()),
        },
    }
}

/// The same by a `file://` address.
pub fn at_url(
    url: &Url,
    dir: &Path,
    note: &(dyn Fn(&str) + Sync),
) -> Result<Vec<Source>, SqlError> {
    let path = url.to_file_path().ok();
    let path = path.as_deref().filter(|path| path.is_dir()).and_then(Path::to_str);
    let path = path.ok_or_else(|| SqlError::Source(format!("{url} is no folder here")))?;
    find(dir, Some(path), note)
}

/// All runs of a folder.
pub fn all(dir: &Path, note: &(dyn Fn(&str) + Sync)) -> Result<Vec<Source>, SqlError> {
    let runs = runs(dir);
    if runs.is_empty() {
        // Says what to do.
        Run::find(dir, None)?;
    }
    runs.iter().map(|folder| run(folder, note)).collect()
}

fn runs(dir: &Path) -> Vec<PathBuf> {
    let mut runs: Vec<PathBuf> = Run::list(dir).into_iter().map(|run| run.folder).collect();
    runs.sort();
    runs
}

fn run(folder: &Path, note: &(dyn Fn(&str) + Sync)) -> Result<Source, SqlError> {
    if folder.join(packed::TABLES).is_dir() {
        return Ok(Source::at(folder_url(&folder.join(packed::TABLES))?));
    }
    let made = made::tables(folder, note)?;
    let tables = folder_url(&made.tables)?;
    Ok(Source { made: made.temporary, ..Source::at(tables) })
}

fn folder_url(folder: &Path) -> Result<Url, SqlError> {
    let unreadable = |why: &dyn std::fmt::Display| {
        SqlError::Source(format!("cannot read {}: {why}", folder.display()))
    };
    let whole = folder.canonicalize().map_err(|e| unreadable(&e))?;
    Url::from_directory_path(whole).map_err(|()| unreadable(&"its path is no address"))
}
