//! Imports: traces of other tools as a run that every command reads like a recorded one.
//!
//! What a source is follows from its content. Each importer hands what it finds to one builder,
//! which places scopes in one another, joins GPU work to the calls that launched it and writes the
//! run through the format's encoders. Memory does not grow with the source: what waits to be
//! sorted lies in files once it is much.

mod build;
mod chrome;
mod cirron;
mod gpuflight;
mod json;
mod lines;
mod notes;
mod otlp;
mod perfetto;
mod place;
mod pool;
mod rows;
mod sort;
mod source;
mod store;
mod strings;

use crate::OnProgress;
use build::Builder;
pub use build::Totals;
pub use otlp::{MOST_SPANS as OTLP_MOST_SPANS, OtlpMade, OtlpRun, otlp_run, text as otlp_text};
use serde_json::json;
use source::Entry;
use std::io;
use std::path::{Path, PathBuf};

fn named(path: &Path) -> String {
    match path.as_os_str().is_empty() {
        true => "the source".to_owned(),
        false => path.display().to_string(),
    }
}

/// Why an import stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// A source could not be read.
    #[error("cannot read {}: {source}", named(path))]
    Read {
        /// Which; empty where it is no file of its own.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A source is of no kind that is known.
    #[error("cannot import {}: {found}", path.display())]
    Unknown {
        /// Which.
        path: PathBuf,
        /// What it looks like.
        found: String,
    },
    /// A source holds nothing to import.
    #[error("nothing to import in {}{}", path.display(), because(why))]
    Nothing {
        /// Which.
        path: PathBuf,
        /// What was found instead.
        why: Vec<String>,
    },
    /// A source goes past a limit that real traces keep.
    #[error("{limit} (at byte {offset})")]
    Limit {
        /// Which limit.
        limit: Limit,
        /// Bytes from the beginning.
        offset: u64,
    },
    /// The bytes of a source are damaged.
    #[error("damaged: {0}")]
    Damaged(String),
    /// Something about one source.
    #[error("cannot import {}: {error}", path.display())]
    In {
        /// Which.
        path: PathBuf,
        /// What.
        error: Box<ImportError>,
    },
    /// The run could not be written.
    #[error("cannot write the run: {0}")]
    Write(io::Error),
}

fn because(why: &[String]) -> String {
    if why.is_empty() { String::new() } else { format!(": {}", why.join("; ")) }
}

/// Limits that keep a few bytes from taking all memory, disk or time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Limit {
    /// A gzip stream unfolds to many times its size.
    #[error("it unfolds to more than {} times its size, which no trace does", source::MOST_RATIO)]
    Ratio,
    /// A gzip stream is larger than any trace.
    #[error("it unfolds to more than 256 GiB")]
    Unfolded,
    /// An archive has too many files.
    #[error("it holds more than 1,048,576 files")]
    Files,
    /// Too many levels of lists in lists.
    #[error("nested more than {} levels deep, which no trace is", json::DEEPEST)]
    Depth,
    /// A text, list or line that is too long.
    #[error("one element is longer than {} MiB, which no trace has", json::MOST_BYTES >> 20)]
    Element,
}

/// Errors of reading; damage of compressed streams is told from a disk that fails.
impl From<io::Error> for ImportError {
    fn from(error: io::Error) -> ImportError {
        use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
        match error.downcast::<ImportError>() {
            Ok(own) => own,
            Err(error) => match error.kind() {
                InvalidData | InvalidInput | UnexpectedEof => {
                    ImportError::Damaged(error.to_string())
                }
                // tar's own complaints have no kind.
                io::ErrorKind::Other => ImportError::Damaged(error.to_string()),
                _ => ImportError::Read { path: PathBuf::new(), source: error },
            },
        }
    }
}

/// What a source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// Chrome trace JSON, of torch.profiler among others.
    Chrome,
    /// A spool of the Cirron SDK.
    Cirron,
    /// Logs of GPUFlight.
    GpuFlight,
    /// Perfetto protobuf.
    Perfetto,
}

impl Source {
    /// Its name.
    pub fn text(self) -> &'static str {
        match self {
            Source::Chrome => "Chrome trace",
            Source::Cirron => "Cirron spool",
            Source::GpuFlight => "GPUFlight log",
            Source::Perfetto => "Perfetto trace",
        }
    }

    /// What a file with this beginning is.
    fn detect(head: &[u8]) -> Result<Source, &'static str> {
        let has = |words: &str| head.windows(words.len()).any(|w| w == words.as_bytes());
        let first = head.iter().find(|b| !b.is_ascii_whitespace() && !b"\xEF\xBB\xBF".contains(b));
        match first {
            None => Err("it is empty"),
            _ if head.starts_with(b"SQLite format 3\0") => Err(
                "a SQLite file; exports of Nsight Systems are not read (export Chrome JSON, or \
                 record with `hodo run`)",
            ),
            Some(b'{') if has("\"traceEvents\"") || has("\"displayTimeUnit\"") => {
                Ok(Source::Chrome)
            }
            Some(b'[') => Ok(Source::Chrome),
            Some(b'{') if has("\"schema_version\"") && has("\"batch_id\"") => Ok(Source::Cirron),
            Some(b'{') if has("\"type\"") && has("\"session_id\"") => Ok(Source::GpuFlight),
            _ if is_packet(head) => Ok(Source::Perfetto),
            Some(b'{') => Err("JSON of a kind that is not known"),
            _ => Err("none of the formats that are known"),
        }
    }
}

/// Whether this may be the first packet of a Perfetto trace: field 1, its length, and a field in it.
fn is_packet(head: &[u8]) -> bool {
    let [0x0A, rest @ ..] = head else { return false };
    let Some(length) = rest.iter().position(|byte| byte & 0x80 == 0) else { return false };
    length < 5 && rest.get(length + 1).is_some_and(|tag| matches!(tag & 7, 0 | 1 | 2 | 5))
}

/// Said of a file without a date.
const NO_DATE: &str =
    "the file does not say when it was recorded: it is taken to end when it was last changed";

/// How to import.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The application's name; the source's own if left out.
    pub app: Option<String>,
}

/// A run that was imported.
#[derive(Clone, Debug)]
pub struct Imported {
    /// Its folder.
    pub folder: PathBuf,
    /// Its id.
    pub id: String,
    /// What each source was.
    pub sources: Vec<(PathBuf, Vec<Source>)>,
    /// What it holds.
    pub totals: Totals,
    /// What was left out or damaged, in words.
    pub notes: Vec<String>,
}

/// Imports `paths` as one run in a new folder of `dir`.
pub fn import(
    paths: &[PathBuf],
    dir: &Path,
    options: &Options,
    progress: OnProgress<'_>,
) -> Result<Imported, ImportError> {
    in_part(dir, |part| {
        let mut builder = Builder::new(part);
        let mut sources = Vec::new();
        for path in paths {
            let kinds = one(path, &mut builder, progress).map_err(|error| about(path, error))?;
            sources.push((path.clone(), kinds));
        }
        finish(builder, sources, part, dir, options)
    })
}

/// Imports `bytes`, a file of a known kind that is called `path`, as a run in a new folder of `dir`.
pub fn import_bytes(
    source: Source,
    path: &Path,
    bytes: &[u8],
    dir: &Path,
) -> Result<Imported, ImportError> {
    in_part(dir, |part| {
        let mut builder = Builder::new(part);
        let mut importers = Importers::default();
        let (path, head) = (path.to_owned(), Vec::new());
        let entry = Entry { path: path.clone(), head, bytes: Box::new(bytes), changed_ns: None };
        let taken = importers.take(source, entry, &mut builder);
        taken.and_then(|()| importers.finish(&mut builder)).map_err(|error| about(&path, error))?;
        if builder.is_empty() {
            return Err(ImportError::Nothing { path, why: builder.notes.lines() });
        }
        finish(builder, vec![(path, vec![source])], part, dir, &Options::default())
    })
}

/// Makes a run in a folder that becomes one of `dir` when it is complete, and else is gone.
fn in_part(
    dir: &Path,
    make: impl FnOnce(&Path) -> Result<Imported, ImportError>,
) -> Result<Imported, ImportError> {
    std::fs::create_dir_all(dir).map_err(ImportError::Write)?;
    let part = dir.join(format!("import-{:016x}.part", build::random()));
    std::fs::create_dir(&part).map_err(ImportError::Write)?;
    let made = make(&part);
    if made.is_err() {
        // What is left of it is of no use; why it failed is told already.
        let _ = std::fs::remove_dir_all(&part);
    }
    made
}

/// An error that says which file it is about.
fn about(path: &Path, error: ImportError) -> ImportError {
    match error {
        named @ (ImportError::Read { .. }
        | ImportError::Unknown { .. }
        | ImportError::Nothing { .. }
        | ImportError::Write(_)) => named,
        error => ImportError::In { path: path.to_owned(), error: Box::new(error) },
    }
}

fn finish(
    builder: Builder,
    sources: Vec<(PathBuf, Vec<Source>)>,
    part: &Path,
    dir: &Path,
    options: &Options,
) -> Result<Imported, ImportError> {
    let start_ns = builder.start_ns();
    let first = builder.first_process().cloned().unwrap_or_default();
    let file = sources.first().map_or(Path::new(""), |(path, _)| path);
    let app = options.app.clone().unwrap_or_else(|| app_name(&first.name, file));
    let id = format!("{}-{}-{:06x}", stamp(start_ns), clean(&app), build::random() >> 40);
    let run = run_json(&id, &app, &first, start_ns, &sources);
    let (totals, notes) = builder.finish().map_err(ImportError::Write)?;
    std::fs::write(part.join("run.json"), run).map_err(ImportError::Write)?;
    let folder = dir.join(&id);
    std::fs::rename(part, &folder).map_err(ImportError::Write)?;
    Ok(Imported { folder, id, sources, totals, notes: notes.lines() })
}

/// Imports one path; says what it was.
fn one(
    path: &Path,
    builder: &mut Builder,
    progress: OnProgress<'_>,
) -> Result<Vec<Source>, ImportError> {
    let mut importers = Importers::default();
    let damage = source::entries(path, progress, &mut |entry| importers.entry(entry, builder))?;
    if let Some(words) = damage {
        builder.notes.place(format!("{}: {words}", path.display()));
    }
    importers.finish(builder)?;
    match importers.seen.is_empty() {
        true => Err(ImportError::Unknown {
            path: path.to_owned(),
            found: importers.unknown.unwrap_or_else(|| "no file in it".into()),
        }),
        false if builder.is_empty() => {
            Err(ImportError::Nothing { path: path.to_owned(), why: builder.notes.lines() })
        }
        false => Ok(importers.seen),
    }
}

/// The importers of one path: a folder has many files of one kind.
#[derive(Default)]
struct Importers {
    cirron: cirron::Importer,
    gpuflight: gpuflight::Importer,
    seen: Vec<Source>,
    /// What the first file of no known kind looked like.
    unknown: Option<String>,
}

impl Importers {
    fn entry(&mut self, entry: Entry<'_>, builder: &mut Builder) -> Result<(), ImportError> {
        let source = match Source::detect(&entry.head) {
            Ok(source) => source,
            Err(found) => {
                self.unknown.get_or_insert_with(|| found.to_owned());
                builder.notes.count("files of a kind that is not known, left out");
                return Ok(());
            }
        };
        if !self.seen.contains(&source) {
            self.seen.push(source);
        }
        self.take(source, entry, builder)
    }

    /// Takes a file of a known kind.
    fn take(
        &mut self,
        source: Source,
        entry: Entry<'_>,
        builder: &mut Builder,
    ) -> Result<(), ImportError> {
        match source {
            Source::Chrome => chrome::import(entry, builder),
            Source::Cirron => self.cirron.file(entry, builder),
            Source::GpuFlight => self.gpuflight.file(entry, builder),
            Source::Perfetto => perfetto::import(entry, builder),
        }
    }

    fn finish(&mut self, builder: &mut Builder) -> Result<(), ImportError> {
        std::mem::take(&mut self.cirron).finish(builder)?;
        std::mem::take(&mut self.gpuflight).finish(builder)
    }
}

fn run_json(
    id: &str,
    app: &str,
    first: &build::Process,
    start_ns: u64,
    sources: &[(PathBuf, Vec<Source>)],
) -> String {
    let from = |(path, kinds): &(PathBuf, Vec<Source>)| {
        let kinds: Vec<_> = kinds.iter().map(|kind| kind.text()).collect();
        format!("{} ({})", path.display(), kinds.join(", "))
    };
    json!({
        "format": 1,
        "id": id,
        "app": app,
        "argv": [],
        "cwd": "",
        "host": first.host,
        "pid": first.pid,
        "rank": first.rank,
        "world_size": first.world_size,
        "hodo": env!("CARGO_PKG_VERSION"),
        "start_ns": start_ns,
        "imported": sources.iter().map(from).collect::<Vec<_>>(),
    })
    .to_string()
}

/// What a run is called: as its process, else as its file.
fn app_name(process: &str, path: &Path) -> String {
    if !process.is_empty() {
        return process.to_owned();
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split('.').find(|part| !part.is_empty()).unwrap_or("import").to_owned()
}

/// `text` as part of a folder's name.
fn clean(text: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-' || c == '.';
    text.chars().take(48).map(|c| if fits(c) { c } else { '_' }).collect()
}

/// `YYYYMMDD-HHMMSS` in UTC.
pub fn stamp(wall_ns: u64) -> String {
    let seconds = wall_ns / 1_000_000_000;
    let (days, second) = ((seconds / 86_400) as i64, seconds % 86_400);
    // Days since 0000-03-01, by eras of 400 years.
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, year) = if month < 10 { (month + 3, year) } else { (month - 9, year + 1) };
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{:04}{month:02}{day:02}-{hour:02}{minute:02}{:02}", year + era * 400, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_dates() {
        assert_eq!(stamp(0), "19700101-000000");
        assert_eq!(stamp(1_700_000_000_000_000_000), "20231114-221320");
        assert_eq!(stamp(951_782_400_000_000_000), "20000229-000000");
        assert_eq!(stamp(1_735_689_599_000_000_000), "20241231-235959");
    }

    #[test]
    fn a_run_is_called_as_its_file_where_nothing_else_is_known() {
        assert_eq!(app_name("", Path::new("a/trace.json.gz")), "trace");
        assert_eq!(app_name("", Path::new(".cirron")), "cirron");
        assert_eq!(app_name("python3", Path::new("x")), "python3");
    }
}
