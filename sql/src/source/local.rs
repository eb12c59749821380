//! Runs in folders: packed ones as they are, recorded ones by way of tables made of them.

use super::Source;
use crate::{Note, SqlError, made};
use hodo_trace::packed::{self, Table};
use hodo_trace::{Place, Run};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use url::Url;

/// Where runs are looked for, and what making tables of them needs.
pub struct Here<'a> {
    /// The folder with the runs.
    pub dir: &'a Path,
    /// Where tables go that are not kept.
    pub scratch: &'a Path,
    /// Told of what took long.
    pub note: Note,
}

impl Here<'_> {
    /// The run that `name` means, or the newest; every run of a folder that is none itself.
    pub fn find(&self, name: Option<&str>) -> Result<Vec<Source>, SqlError> {
        match Run::find(self.dir, name) {
            Ok(folder) => Ok(vec![self.run(&folder)?]),
            Err(error) => match name.map(Path::new).filter(|path| path.is_dir()) {
                Some(folder) if is_packed(folder) => Ok(vec![self.run(folder)?]),
                Some(folder) if !runs(folder).is_empty() => self.all(folder),
                _ => Err(error.into()),
            },
        }
    }

    /// The same by a `file://` address.
    pub fn find_url(&self, url: &Url) -> Result<Vec<Source>, SqlError> {
        let path = url.to_file_path().ok();
        let path = path.as_deref().filter(|path| path.is_dir()).and_then(Path::to_str);
        self.find(Some(path.ok_or_else(|| SqlError::Source(format!("{url} is no folder here")))?))
    }

    /// All runs of a folder.
    pub fn all(&self, dir: &Path) -> Result<Vec<Source>, SqlError> {
        let runs = runs(dir);
        if runs.is_empty() {
            // Says what to do.
            Run::find(dir, None)?;
        }
        runs.iter().map(|folder| self.run(folder)).collect()
    }

    fn run(&self, folder: &Path) -> Result<Source, SqlError> {
        if !is_packed(folder) {
            let made = made::tables(folder, self.scratch, self.note)?;
            return Ok(Source::at(folder_url(&made)?));
        }
        let mut source = Source::at(folder_url(&folder.join(packed::TABLES))?);
        source.spoilt = spoilt(folder);
        Ok(source)
    }
}

/// Whether the tables of a run hold all of it: processes may have joined it after it was packed.
fn is_packed(folder: &Path) -> bool {
    let tables = folder.join(packed::TABLES);
    let spans = tables.join(Table::Spans.name());
    let recorded = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut recorded = recorded.filter(|entry| entry.path().join("process.json").is_file());
    let is_missing = |name: &str| !spans.join(packed::file_name(name)).is_file();
    tables.is_dir() && !recorded.any(|entry| is_missing(&entry.file_name().to_string_lossy()))
}

/// Tables whose files are not as long as they were when the run was packed.
fn spoilt(folder: &Path) -> BTreeMap<&'static str, String> {
    let table_of = |file: &Path| {
        let name = file.parent().and_then(Path::file_name)?;
        Table::ALL.into_iter().map(Table::name).find(|table| name == *table)
    };
    let damage = packed::check_lengths(folder);
    let of = |place: &Place| {
        Some((table_of(&place.file)?, format!("{} {}", place.file.display(), place.why)))
    };
    damage.places.iter().filter_map(of).collect()
}

fn runs(dir: &Path) -> Vec<PathBuf> {
    let mut runs: Vec<PathBuf> = Run::list(dir).into_iter().map(|run| run.folder).collect();
    runs.sort();
    runs
}

fn folder_url(folder: &Path) -> Result<Url, SqlError> {
    let unreadable = |why: &dyn std::fmt::Display| {
        SqlError::Source(format!("cannot read {}: {why}", folder.display()))
    };
    let whole = folder.canonicalize().map_err(|e| unreadable(&e))?;
    Url::from_directory_path(whole).map_err(|()| unreadable(&"its path is no address"))
}
