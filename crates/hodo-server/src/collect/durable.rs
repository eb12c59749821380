//! Files that are on disk, or not there at all.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Bytes compared at a time.
const COMPARED: usize = 64 << 10;

/// How files of the store are made: for whoever runs the collector alone.
pub const FILE_MODE: u32 = 0o600;

/// How folders of the store are made.
const FOLDER_MODE: u32 = 0o700;

/// Makes a folder and those above it; those that are there stay.
pub fn make_folders(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder)
}

/// Makes a folder of the store one that nobody else looks into.
pub fn close_to_others(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, fs::Permissions::from_mode(FOLDER_MODE))
}

/// The same for all that is in a folder which something else has written.
pub fn make_private(folder: &Path) -> io::Result<()> {
    close_to_others(folder)?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()? {
            kind if kind.is_dir() => make_private(&entry.path())?,
            kind if kind.is_file() => {
                fs::set_permissions(entry.path(), fs::Permissions::from_mode(FILE_MODE))?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Makes what is in a folder and the folders inside it durable.
pub fn sync_all(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => sync_all(&entry.path())?,
            false => File::open(entry.path())?.sync_all()?,
        }
    }
    sync_folder(folder)
}

/// Makes a folder and the entry that leads to it durable; one that is there stays.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    match fs::DirBuilder::new().mode(FOLDER_MODE).create(folder) {
        Ok(()) => sync_parent(folder),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

/// Makes what a folder lists durable.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    #[cfg(test)]
    SYNCED.with_borrow_mut(|synced| synced.push(folder.to_owned()));
    File::open(folder)?.sync_all()
}

#[cfg(test)]
thread_local! {
    /// The folders that this thread made durable.
    static SYNCED: std::cell::RefCell<Vec<PathBuf>> = const { std::cell::RefCell::new(Vec::new()) };
}

/// Does `work`, and shows the folders that it made durable.
#[cfg(test)]
pub fn synced(
    work: impl FnOnce() -> io::Result<()>,
    look: impl FnOnce(&[PathBuf]),
) -> io::Result<()> {
    SYNCED.take();
    work()?;
    look(&SYNCED.take());
    Ok(())
}

/// Makes the entry of `path` in its folder durable.
pub fn sync_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), sync_folder)
}

/// Opens a file of the store and never what a link leads to.
pub fn open(path: &Path, create: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(create).mode(FILE_MODE).custom_flags(libc::O_NOFOLLOW);
    options.open(path)
}

/// Replaces a file in one step: whoever reads it sees the old one or the new one, also after a kill.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_with(path, |file| file.write_all(content))
}

/// The same with what `write` writes.
pub fn replace_with(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let part = &unfinished(path);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(FILE_MODE);
    let mut file = options.custom_flags(libc::O_NOFOLLOW).open(part)?;
    let written = write(&mut file).and_then(|()| file.sync_all());
    let replaced = written.and_then(|()| fs::rename(part, path));
    if replaced.is_err() {
        // What is left has a name that nothing reads; the next one writes over it.
        let _ = fs::remove_file(part);
    }
    replaced?;
    sync_parent(path)
}

/// Where the next content of a file is written: no run and no file of one has a name that begins so.
pub fn unfinished(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".part");
    path.with_file_name(name)
}

/// Whether `file` has exactly these bytes at `offset`.
pub fn has_bytes(file: &File, offset: u64, bytes: &[u8]) -> io::Result<bool> {
    all_pieces(file, offset, bytes, |there, piece| there == piece)
}

/// The same where zeros may be instead of any of them: of a piece that was being written when the
/// power failed, the length may be on disk and the bytes not.
pub fn has_bytes_or_zeros(file: &File, offset: u64, bytes: &[u8]) -> io::Result<bool> {
    all_pieces(file, offset, bytes, |there, piece| {
        there == piece || there.iter().zip(piece).all(|(there, byte)| there == byte || *there == 0)
    })
}

fn all_pieces(
    file: &File,
    mut offset: u64,
    bytes: &[u8],
    fits: impl Fn(&[u8], &[u8]) -> bool,
) -> io::Result<bool> {
    let mut there = vec![0; COMPARED.min(bytes.len())];
    for piece in bytes.chunks(COMPARED) {
        let there = &mut there[..piece.len()];
        file.read_exact_at(there, offset)?;
        if !fits(there, piece) {
            return Ok(false);
        }
        offset += piece.len() as u64;
    }
    Ok(true)
}

/// What of `bytes` at `at` is written and is no hole.
pub fn written_bytes(bytes: &[u8], at: u64) -> u64 {
    let written = blocks(bytes, at).filter(|block| !is_hole(&bytes[block.clone()]));
    written.map(|block| block.len() as u64).sum()
}

fn is_hole(block: &[u8]) -> bool {
    block.iter().all(|byte| *byte == 0)
}

/// `bytes` at `at` as the disk has its blocks, whatever they begin with.
fn blocks(bytes: &[u8], at: u64) -> impl Iterator<Item = Range<usize>> {
    const BLOCK: usize = 4096;
    let first = BLOCK - (at % BLOCK as u64) as usize;
    let ends = std::iter::successors(Some(first), |end| Some(end + BLOCK));
    let starts = std::iter::once(0).chain(ends.clone()).take_while(|start| *start < bytes.len());
    starts.zip(ends).map(|(start, end)| start..end.min(bytes.len()))
}

/// Writes `bytes` at `at`, behind which the file has these or zeros, durably, and leaves blocks of
/// zeros as holes: the memory that a program left behind is mostly empty.
pub fn write_with_holes(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    let mut written = 0;
    for block in blocks(bytes, at) {
        if is_hole(&bytes[block.clone()]) {
            file.write_all_at(&bytes[written..block.start], at + written as u64)?;
            written = block.end;
        }
    }
    file.write_all_at(&bytes[written..], at + written as u64)?;
    file.sync_data()?;
    // The length of a hole is written at once: before the bytes in front of it, it would tell of what
    // is not there.
    let end = at + bytes.len() as u64;
    if file.metadata()?.len() < end {
        file.set_len(end)?;
        file.sync_data()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::testing::Folder;

    #[test]
    fn a_replaced_file_is_the_old_one_or_the_new_one() -> io::Result<()> {
        let folder = Folder::new();
        let path = folder.path().join("run.json");
        replace(&path, b"old")?;
        let failed = replace_with(&path, |file| {
            file.write_all(b"half of the n")?;
            Err(io::Error::other("the disk is full"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path)?, b"old");
        replace(&path, b"new")?;
        assert_eq!(fs::read(&path)?, b"new");
        assert_eq!(fs::read_dir(folder.path())?.count(), 1, "nothing else is left");
        Ok(())
    }

    #[test]
    fn links_are_not_followed() -> io::Result<()> {
        let folder = Folder::new();
        let (secret, link) = (folder.path().join("secret"), folder.path().join("link"));
        fs::write(&secret, "secret")?;
        std::os::unix::fs::symlink(&secret, &link)?;
        assert!(open(&link, true).is_err());
        replace(&link, b"own")?;
        assert_eq!(fs::read(&secret)?, b"secret");
        Ok(())
    }

    #[test]
    fn bytes_are_compared_past_one_piece() -> io::Result<()> {
        let folder = Folder::new();
        let path = folder.path().join("file");
        let mut bytes: Vec<u8> = (0..200_000_u32).map(|n| n as u8).collect();
        fs::write(&path, &bytes)?;
        let file = open(&path, false)?;
        assert!(has_bytes(&file, 7, &bytes[7..])?);
        bytes[199_999] ^= 1;
        assert!(!has_bytes(&file, 7, &bytes[7..])?);
        Ok(())
    }

    #[test]
    fn zeros_take_no_room_and_are_there_all_the_same() {
        use std::os::unix::fs::MetadataExt;
        let folder = Folder::new();
        let file = open(&folder.path().join("arena"), true).unwrap();
        let mut bytes = vec![0; 3 << 20];
        bytes[5] = 1;
        bytes[1_000_000] = 2;
        let (mut at, mut written) = (0, 0);
        for cut in [0, 100, 4096, 70_000, 1_000_001, bytes.len()] {
            write_with_holes(&file, &bytes[at..cut], at as u64).unwrap();
            assert_eq!(file.metadata().unwrap().len(), cut as u64);
            written += written_bytes(&bytes[at..cut], at as u64);
            at = cut;
        }
        let mut read = vec![9; bytes.len()];
        file.read_exact_at(&mut read, 0).unwrap();
        assert!(read == bytes);
        assert!(file.metadata().unwrap().blocks() * 512 < 1 << 20);
        // The first hundred bytes, and the block of the other until it was cut.
        assert_eq!(written, 100 + 577);
    }
}
