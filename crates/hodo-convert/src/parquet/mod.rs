//! A run as a folder of Parquet tables that every tool can read, and that hodo reads as it reads
//! what it recorded.

mod chunk;
mod file;

use crate::OnProgress;
use hodo_trace::Run;
use hodo_trace::packed::{
    FOLDERS, Fingerprint, HIDDEN, Rows, SCHEMA, SIDE_FILE, Seen, Side, SideFile, TABLES, Table,
    Tables, file_name,
};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Why a run could not be packed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackError {
    /// There is something already.
    #[error("{folder} is there already; name another folder, or remove it first")]
    Exists {
        /// What is there.
        folder: PathBuf,
    },
    /// The run has its tables.
    #[error(
        "{folder} is packed already; what was recorded can be packed anew, as long as it is there, \
         once the folders `{TABLES}` and `{HIDDEN}` in it are gone"
    )]
    Packed {
        /// The run's folder.
        folder: PathBuf,
    },
    /// The operating system refused, or the disk is full.
    #[error("cannot write {path}: {source}; nothing was left behind")]
    Write {
        /// What was being written.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A table could not be put into Parquet.
    #[error("cannot write {path}: {why}; nothing was left behind")]
    Table {
        /// What was being written.
        path: PathBuf,
        /// What went wrong.
        why: String,
    },
}

/// What goes wrong in a file, before it is known which.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Parquet(#[from] parquet::errors::ParquetError),
}

impl Failure {
    fn of(self, path: &Path) -> PackError {
        let path = path.to_owned();
        match self {
            Failure::Io(source) => PackError::Write { path, source },
            Failure::Parquet(error) => PackError::Table { path, why: error.to_string() },
        }
    }
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Files.
    pub files: usize,
    /// Bytes in them.
    pub bytes: u64,
    /// Rows of the tables that are for everyone.
    pub rows: u64,
}

/// Writes `run` as a new folder `to`, or into it where it is empty. It is complete or not there.
pub fn write(run: &Run, to: &Path, progress: OnProgress<'_>) -> Result<Written, PackError> {
    write_new(run, to, progress, None)
}

/// The same; tells by what the run is known when it is read back. That is quicker than to ask for it.
pub fn write_known(
    run: &Run,
    to: &Path,
    progress: OnProgress<'_>,
) -> Result<(Written, Fingerprint), PackError> {
    let mut known = Fingerprint::begin(run);
    let written = write_new(run, to, progress, Some(&mut known))?;
    Ok((written, known))
}

fn write_new(
    run: &Run,
    to: &Path,
    progress: OnProgress<'_>,
    known: Option<&mut Fingerprint>,
) -> Result<Written, PackError> {
    let is_free = match std::fs::read_dir(to) {
        Ok(mut inside) => inside.next().is_none(),
        Err(_) => !to.exists(),
    };
    if !is_free {
        return Err(PackError::Exists { folder: to.to_owned() });
    }
    let draft = Draft::beside(to)?;
    let written = fill(run, &draft.0, progress, known)?;
    let write = |source| PackError::Write { path: to.to_owned(), source };
    std::fs::rename(&draft.0, to).map_err(write)?;
    sync_folder(to.parent());
    Ok(written)
}

/// Writes the tables of `run` into its own folder, beside what was recorded.
pub fn write_in_place(run: &Run, progress: OnProgress<'_>) -> Result<Written, PackError> {
    if FOLDERS.iter().any(|name| run.folder.join(name).exists()) {
        return Err(PackError::Packed { folder: run.folder.clone() });
    }
    let draft = Draft::inside(&run.folder)?;
    let written = fill(run, &draft.0, progress, None)?;
    // What makes it a packed run comes last.
    for name in [TABLES, "run.json", HIDDEN] {
        let to = run.folder.join(name);
        if let Err(source) = std::fs::rename(draft.0.join(name), &to) {
            // Tables without what goes with them are of no use to hodo.
            let _ = std::fs::remove_dir_all(run.folder.join(TABLES));
            return Err(PackError::Write { path: to, source });
        }
    }
    sync_folder(Some(&run.folder));
    Ok(written)
}

/// A folder in the making; gone when it is dropped, unless it got its name.
struct Draft(PathBuf);

impl Draft {
    fn beside(to: &Path) -> Result<Draft, PackError> {
        let name = to.file_name().unwrap_or("run".as_ref()).to_string_lossy();
        let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(".".as_ref());
        let write = |source| PackError::Write { path: parent.to_owned(), source };
        std::fs::create_dir_all(parent).map_err(write)?;
        Draft::new(parent.join(format!(".{name}.packing-{}", std::process::id())))
    }

    fn inside(run: &Path) -> Result<Draft, PackError> {
        Draft::new(run.join(format!(".packing-{}", std::process::id())))
    }

    fn new(path: PathBuf) -> Result<Draft, PackError> {
        let write = |source| PackError::Write { path: path.clone(), source };
        std::fs::create_dir(&path).map_err(write)?;
        Ok(Draft(path))
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // What cannot be removed has a name that nothing reads.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A rename is on disk when its folder is; where that cannot be asked for, it will be.
fn sync_folder(folder: Option<&Path>) {
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    if let Ok(folder) = std::fs::File::open(folder.unwrap_or(".".as_ref())) {
        let _ = folder.sync_all();
    }
}

fn fill(
    run: &Run,
    folder: &Path,
    progress: OnProgress<'_>,
    mut known: Option<&mut Fingerprint>,
) -> Result<Written, PackError> {
    let (written, total) = (Written::default(), row_count(run));
    let mut out = Out { folder, written, files: Vec::new(), progress, total };
    Tables::new(run).each(|table, whose, rows| match &mut known {
        None => out.table(table, whose, Some(rows)),
        Some(known) => {
            let seen = Seen::new(rows);
            out.table(table, whose, Some(&seen))?;
            known.add(table, whose, seen);
            Ok(())
        }
    })?;
    for table in Table::ALL {
        if !out.folder_of(table).exists() {
            out.table(table, "", None)?;
        }
    }
    let json = |error: serde_json::Error| PackError::Table {
        path: folder.join(SIDE_FILE),
        why: error.to_string(),
    };
    let mut side = Side::of(run);
    side.files = std::mem::take(&mut out.files);
    out.file(&folder.join(HIDDEN).join(SIDE_FILE), &side.json().map_err(json)?)?;
    out.file(&folder.join("run.json"), &run_json(run).map_err(json)?)?;
    Ok(out.written)
}

/// Rows that are written, about: for a bar that moves evenly.
fn row_count(run: &Run) -> u64 {
    let of = |process: &hodo_trace::Process| {
        process.spans.len() * 2 + process.marks.len() + process.attrs.all().len()
    };
    run.processes.iter().map(of).sum::<usize>() as u64
}

/// `run.json` as it was recorded, with a note of what was done to it.
fn run_json(run: &Run) -> Result<String, serde_json::Error> {
    let recorded = std::fs::read(run.folder.join("run.json")).unwrap_or_default();
    let recorded = serde_json::from_slice(&recorded).ok().filter(serde_json::Value::is_object);
    let mut json = match recorded {
        Some(json) => json,
        None => serde_json::to_value(&run.info)?,
    };
    let packed = serde_json::json!({"schema": SCHEMA, "hodo": env!("CARGO_PKG_VERSION")});
    json["packed"] = packed;
    serde_json::to_string_pretty(&json)
}

/// A folder that files are written into.
struct Out<'a> {
    folder: &'a Path,
    written: Written,
    files: Vec<SideFile>,
    progress: OnProgress<'a>,
    total: u64,
}

impl Out<'_> {
    fn folder_of(&self, table: Table) -> PathBuf {
        let parent = if table.is_public() { TABLES } else { HIDDEN };
        self.folder.join(parent).join(table.name())
    }

    fn table(
        &mut self,
        table: Table,
        whose: &str,
        rows: Option<&dyn Rows>,
    ) -> Result<(), PackError> {
        let folder = self.folder_of(table);
        let path = folder.join(file_name(whose));
        std::fs::create_dir_all(&folder).map_err(|error| Failure::from(error).of(&path))?;
        let (progress, total) = (self.progress, self.total);
        let done = &mut self.written.rows;
        let mut step = |rows: usize| {
            *done += rows as u64;
            progress((*done).min(total), total);
        };
        let sum =
            file::write(&path, table, rows, &mut step).map_err(|failure| failure.of(&path))?;
        let inside = path.strip_prefix(self.folder).unwrap_or(&path).to_owned();
        self.files.push(SideFile { path: inside, bytes: sum.bytes, crc32c: sum.crc32c });
        self.count(sum.bytes);
        Ok(())
    }

    fn file(&mut self, path: &Path, text: &str) -> Result<(), PackError> {
        let write = || {
            std::fs::create_dir_all(path.parent().unwrap_or(self.folder))?;
            let mut file = std::fs::File::create_new(path)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()
        };
        write().map_err(|error| Failure::from(error).of(path))?;
        self.count(text.len() as u64);
        Ok(())
    }

    fn count(&mut self, bytes: u64) {
        self.written.files += 1;
        self.written.bytes += bytes;
    }
}
