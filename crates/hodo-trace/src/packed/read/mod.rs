//! Reading a packed run. What is damaged is counted and said, and the rest is read.

mod ahead;
mod check;
mod column;
mod file;
mod machines;
mod records;
mod spans;
mod work;

use super::schema::Table;
use super::side::{Side, SideProcess};
use super::{HIDDEN, SCHEMA, SIDE_FILE, TABLES, file_name};
use crate::read::{Meter, plain};
use crate::{Damage, Gpu, Process, ProcessInfo, TraceError};
pub use check::{check, check_lengths};
use file::{TableFile, Unreadable};
use hodo_format::arena::Counts;
pub(crate) use machines::machines;
use std::path::{Path, PathBuf};

/// A side file is not longer: it has a few lines for each process, thread and table.
const MOST_SIDE_BYTES: u64 = 1 << 30;

/// The side file of the packed run in `folder`; none when it is not packed.
pub(crate) fn side(folder: &Path) -> Result<Option<Side>, TraceError> {
    let path = folder.join(HIDDEN).join(SIDE_FILE);
    let bytes = match plain::bytes(&path, MOST_SIDE_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && is_told_packed(folder) => {
            return Err(TraceError::Pack { path, why: "it is missing".to_owned() });
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(TraceError::Io { path, source }),
    };
    /// Read first: a newer version may have changed all else.
    #[derive(serde::Deserialize)]
    struct Version {
        schema: u32,
    }
    let damaged =
        |error: serde_json::Error| TraceError::Pack { path: path.clone(), why: error.to_string() };
    let version: Version = serde_json::from_slice(&bytes).map_err(damaged)?;
    if version.schema > SCHEMA {
        return Err(TraceError::NewerPack { path, schema: version.schema });
    }
    let side: Side = serde_json::from_slice(&bytes).map_err(damaged)?;
    match side.stays_inside() {
        true => Ok(Some(side)),
        false => {
            let why = "it names files outside of the run's folder".to_owned();
            Err(TraceError::Pack { path, why })
        }
    }
}

/// Whether `run.json` says that the run is packed, and nothing else of it is there.
fn is_told_packed(folder: &Path) -> bool {
    let told = plain::bytes(&folder.join("run.json"), plain::MOST_JSON_BYTES).ok();
    let told = told.and_then(|bytes| serde_json::from_slice::<serde_json::Value>(&bytes).ok());
    let is_packed = told.is_some_and(|run| !run["packed"].is_null());
    let inside = || std::fs::read_dir(folder).into_iter().flatten().flatten();
    is_packed && !inside().any(|entry| entry.path().join("process.json").is_file())
}

/// The files of a packed run, for a meter.
pub(crate) fn files(folder: &Path, side: &Side) -> Vec<PathBuf> {
    let tables = [Table::Spans, Table::SpanTicks, Table::Marks, Table::Attrs, Table::Work];
    let of = |process: &SideProcess| {
        let whose = process.folder.clone();
        tables.map(move |table| path(folder, table, &whose))
    };
    side.processes.iter().flat_map(of).collect()
}

/// Where the file of a table lies.
fn path(folder: &Path, table: Table, whose: &str) -> PathBuf {
    let parent = if table.is_public() { TABLES } else { HIDDEN };
    folder.join(parent).join(table.name()).join(file_name(whose))
}

/// Reads a process of the packed run in `folder`.
pub(crate) fn process(
    folder: &Path,
    side: &SideProcess,
    meter: &mut Meter<'_>,
) -> Result<Process, TraceError> {
    let mut reading = Reading { folder, side, damage: side.damage.again(folder), lost: 0, meter };
    let (clock, mut names) = (side.clock(), side.names());
    let threads = side.threads();
    let spans = reading.spans(&clock, &mut names)?;
    let mut lost = Counts { spans: std::mem::take(&mut reading.lost), ..Counts::default() };
    let (marks, mark_attrs) = reading.marks(&clock)?;
    lost.marks = std::mem::take(&mut reading.lost);
    let attrs = reading.attrs()?;
    lost.attrs = std::mem::take(&mut reading.lost);
    let work = reading.work()?;
    let damage = reading.damage;
    let mut account = side.account.again();
    account.lose(lost);
    let gpu = &side.gpu;
    Ok(Process {
        folder: folder.join(&side.folder),
        info: ProcessInfo { ..side.info.clone() },
        state: side.state(),
        gpu: Gpu::again(work, gpu.state(), gpu.samples(), gpu.newer(), gpu.live(), &names),
        clock,
        names,
        threads,
        spans,
        attrs,
        marks,
        mark_attrs,
        account,
        damage,
        process: side.process,
        last_tick: side.last_tick,
    })
}

/// A process that is being read.
struct Reading<'a, 'b> {
    folder: &'a Path,
    side: &'a SideProcess,
    damage: Damage,
    /// Records that could not be read.
    lost: u64,
    meter: &'a mut Meter<'b>,
}

impl Reading<'_, '_> {
    fn path(&self, table: Table) -> PathBuf {
        path(self.folder, table, &self.side.folder)
    }

    /// Opens the files of `tables`, which go together, and calls `take` with each row group that
    /// all of them have; `rows` is how many rows there should be. `take` counts the rows it took.
    fn groups<const N: usize>(
        &mut self,
        tables: [Table; N],
        rows: u64,
        mut take: impl FnMut(&[TableFile; N], usize, &mut usize) -> Result<(), Unreadable>,
    ) -> Result<(), TraceError> {
        if rows == 0 {
            return Ok(());
        }
        let mut files = Vec::with_capacity(N);
        for table in tables {
            let path = self.path(table);
            match TableFile::open(&path, table) {
                Ok(file) => files.push(file),
                Err(Unreadable::Newer(schema)) => {
                    return Err(TraceError::NewerPack { path, schema });
                }
                Err(error) => {
                    let bytes = path.metadata().map_or(0, |file| file.len());
                    self.damaged(&path, 0, bytes, rows, &error);
                    return Ok(());
                }
            }
        }
        let Ok(files) = <[TableFile; N]>::try_from(files) else { return Ok(()) };
        let mut seen = 0;
        for group in 0..files[0].groups() {
            let (rows, bytes, _) = files[0].extent(group);
            let alike = files.iter().all(|f| group < f.groups() && f.extent(group).0 == rows);
            let mut took = 0;
            let taken = match alike {
                true => take(&files, group, &mut took),
                false => Err(Unreadable::Odd("its files do not have the same rows".to_owned())),
            };
            seen += rows as u64;
            self.meter
                .add(files.iter().filter(|f| group < f.groups()).map(|f| f.extent(group).1).sum());
            if let Err(error) = taken {
                let spoilt = files.iter().position(TableFile::is_spoilt).unwrap_or(0);
                let path = self.path(tables[spoilt]);
                let offset = files[spoilt].extent(group).2;
                self.damaged(&path, offset, bytes, (rows - took.min(rows)) as u64, &error);
            }
        }
        if seen < rows {
            let path = self.path(tables[0]);
            let error = Unreadable::Odd(format!("{} rows are missing", rows - seen));
            self.damaged(&path, 0, 0, rows - seen, &error);
        }
        Ok(())
    }

    fn damaged(&mut self, path: &Path, offset: u64, bytes: u64, rows: u64, why: &Unreadable) {
        self.damage.bytes += bytes;
        self.damage.frames += 1;
        self.damage.note(path.to_owned(), offset, why.to_string());
        self.lost += rows;
    }
}
