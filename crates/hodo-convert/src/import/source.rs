//! Where a trace lies: a file, a gzip stream, a folder or an archive of files; all read once, in
//! order, with limits on what a few bytes may unfold to.

use super::{ImportError, Limit};
use crate::OnProgress;
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// A stream may unfold to this much whatever it is.
const HARMLESS_BYTES: u64 = 64 << 20;
/// Above that to so many times its own size: traces do to 10 or 40, at most 200 times.
pub const MOST_RATIO: u64 = 400;
/// And to this much in all.
const MOST_BYTES: u64 = 256 << 30;
/// Files in a folder or an archive.
const MOST_FILES: usize = 1 << 20;
/// Folders in folders.
const DEEPEST: usize = 8;
/// What of a file is looked at to tell what it is.
const HEAD_BYTES: usize = 64 << 10;

/// Counts what passes, for progress and for the ratio.
struct Counted<'a, R> {
    from: R,
    count: Rc<Cell<u64>>,
    total: u64,
    progress: Option<OnProgress<'a>>,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(buffer)?;
        self.count.set(self.count.get() + n as u64);
        if let Some(progress) = self.progress {
            progress(self.count.get(), self.total);
        }
        Ok(n)
    }
}

/// Refuses to unfold without end.
pub struct Unfolded<R> {
    from: R,
    folded: Rc<Cell<u64>>,
    out: u64,
}

impl<R: Read> Read for Unfolded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(buffer)?;
        self.out += n as u64;
        let ratio = self.out > HARMLESS_BYTES && self.out / self.folded.get().max(1) > MOST_RATIO;
        if ratio || self.out > MOST_BYTES {
            let limit = if ratio { Limit::Ratio } else { Limit::Unfolded };
            return Err(io::Error::other(ImportError::Limit { limit, offset: self.out }));
        }
        Ok(n)
    }
}

/// The bytes of `from`, unfolded if they are a gzip stream.
pub fn unfolded<'a>(mut from: impl BufRead + 'a) -> Result<Box<dyn BufRead + 'a>, ImportError> {
    if !from.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
        return Ok(Box::new(from));
    }
    let count = Rc::new(Cell::new(0));
    let folded = Rc::clone(&count);
    let counted = BufReader::new(Counted { from, count, total: 0, progress: None });
    let from = MultiGzDecoder::new(counted);
    Ok(Box::new(BufReader::with_capacity(HEAD_BYTES, Unfolded { from, folded, out: 0 })))
}

/// The bytes of a zlib stream.
pub fn inflated(bytes: &[u8]) -> Unfolded<ZlibDecoder<&[u8]>> {
    let folded = Rc::new(Cell::new(bytes.len() as u64));
    Unfolded { from: ZlibDecoder::new(bytes), folded, out: 0 }
}

/// One file of a source.
pub struct Entry<'a> {
    /// Its path, from the source's own.
    pub path: PathBuf,
    /// Its first bytes, unfolded.
    pub head: Vec<u8>,
    /// All of its bytes, unfolded.
    pub bytes: Box<dyn Read + 'a>,
    /// Nanoseconds since 1970 when it was last changed, if that is known.
    pub changed_ns: Option<i64>,
}

/// Calls `each` with every file of the source at `path`. Damage in an archive ends it, and is
/// returned in words.
pub fn entries(
    path: &Path,
    progress: OnProgress<'_>,
    each: &mut dyn FnMut(Entry<'_>) -> Result<(), ImportError>,
) -> Result<Option<String>, ImportError> {
    let io = |source| ImportError::Read { path: path.to_owned(), source };
    let about = std::fs::metadata(path).map_err(io)?;
    if !about.is_dir() {
        let file = counted(path, about.len(), progress).map_err(io)?;
        return of_file(path, file, changed_ns(&about), each);
    }
    let mut files = Vec::new();
    walk(path, 0, &mut files).map_err(io)?;
    files.sort();
    let total = files.iter().map(|(_, bytes)| bytes).sum();
    let mut done = 0;
    for (file, bytes) in files {
        progress(done, total);
        done += bytes;
        let io = |source| ImportError::Read { path: file.clone(), source };
        let from = BufReader::with_capacity(HEAD_BYTES, File::open(&file).map_err(io)?);
        let changed = std::fs::metadata(&file).ok().and_then(|about| changed_ns(&about));
        let name = file.strip_prefix(path).unwrap_or(&file);
        one(name, from, changed, each)?;
    }
    Ok(None)
}

fn counted<'a>(path: &Path, total: u64, progress: OnProgress<'a>) -> io::Result<impl BufRead + 'a> {
    let (from, count) = (File::open(path)?, Rc::new(Cell::new(0)));
    let counted = Counted { from, count, total, progress: Some(progress) };
    Ok(BufReader::with_capacity(HEAD_BYTES, counted))
}

fn of_file(
    path: &Path,
    file: impl BufRead,
    changed: Option<i64>,
    each: &mut dyn FnMut(Entry<'_>) -> Result<(), ImportError>,
) -> Result<Option<String>, ImportError> {
    let mut from = unfolded(file)?;
    let head = head(&mut from)?;
    let whole = io::Cursor::new(head.clone()).chain(from);
    if !is_archive(&head) {
        each(Entry { path: path.to_owned(), head, bytes: Box::new(whole), changed_ns: changed })?;
        return Ok(None);
    }
    let mut archive = tar::Archive::new(whole);
    for (number, file) in archive.entries()?.enumerate() {
        let file = match file.map_err(ImportError::from) {
            Err(ImportError::Damaged(why)) => return Ok(Some(damaged_archive(&why))),
            other => other?,
        };
        if number >= MOST_FILES {
            return Err(ImportError::Limit { limit: Limit::Files, offset: number as u64 });
        }
        if !file.header().entry_type().is_file() {
            continue;
        }
        let name = file.path()?.into_owned();
        if let Err(error) = one(&name, BufReader::with_capacity(HEAD_BYTES, file), changed, each) {
            match error {
                ImportError::Damaged(why) => return Ok(Some(damaged_archive(&why))),
                other => return Err(other),
            }
        }
    }
    Ok(None)
}

fn damaged_archive(why: &str) -> String {
    format!("the archive is damaged ({why}); what came before is imported")
}

fn one(
    path: &Path,
    from: impl BufRead,
    changed_ns: Option<i64>,
    each: &mut dyn FnMut(Entry<'_>) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let mut from = unfolded(from)?;
    let head = head(&mut from)?;
    let bytes = Box::new(io::Cursor::new(head.clone()).chain(from));
    each(Entry { path: path.to_owned(), head, bytes, changed_ns })
}

/// The first bytes; what damage cuts short is short.
fn head(from: &mut impl Read) -> Result<Vec<u8>, ImportError> {
    let mut head = Vec::new();
    match from.take(HEAD_BYTES as u64).read_to_end(&mut head).map_err(ImportError::from) {
        Err(ImportError::Damaged(_)) if !head.is_empty() => Ok(head),
        read => read.map(|_| head),
    }
}

fn is_archive(head: &[u8]) -> bool {
    head.get(257..262) == Some(b"ustar")
}

/// Files below `folder` with their sizes; temporary ones are left out.
fn walk(folder: &Path, depth: usize, files: &mut Vec<(PathBuf, u64)>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let Ok(about) = std::fs::symlink_metadata(&path) else { continue };
        if about.is_dir() && depth < DEEPEST {
            walk(&path, depth + 1, files)?;
        } else if about.is_file() && files.len() < MOST_FILES {
            files.push((path, about.len()));
        }
    }
    Ok(())
}

fn changed_ns(about: &std::fs::Metadata) -> Option<i64> {
    let since = about.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_nanos()).ok()
}
