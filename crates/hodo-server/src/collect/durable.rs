//! Files that are on disk, or not there at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// Bytes compared at a time.
const COMPARED: usize = 64 << 10;

/// How files of the store are made: for whoever runs the collector alone.
pub const FILE_MODE: u32 = 0o600;

/// Makes a folder and the entry that leads to it durable; one that is there stays.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    match fs::create_dir(folder) {
        Ok(()) => sync_parent(folder),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

/// Makes what a folder lists durable.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
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
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = Path::new(&part);
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

/// Whether `file` has exactly these bytes at `offset`.
pub fn has_bytes(file: &File, mut offset: u64, bytes: &[u8]) -> io::Result<bool> {
    let mut there = vec![0; COMPARED.min(bytes.len())];
    for piece in bytes.chunks(COMPARED) {
        let there = &mut there[..piece.len()];
        file.read_exact_at(there, offset)?;
        if there != piece {
            return Ok(false);
        }
        offset += piece.len() as u64;
    }
    Ok(true)
}

/// Writes `bytes` at `at`, the end of the file, and leaves blocks of zeros as holes: the memory that a
/// program left behind is mostly empty. From the front to the back, so that whatever a kill leaves is
/// the beginning of what was to be written.
pub fn write_with_holes(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    const BLOCK: usize = 4096;
    let (mut written, mut from) = (0, 0);
    while from < bytes.len() {
        // As the disk has its blocks, whatever the bytes begin with.
        let to = bytes.len().min(from + BLOCK - ((at + from as u64) % BLOCK as u64) as usize);
        if bytes[from..to].iter().all(|byte| *byte == 0) {
            file.write_all_at(&bytes[written..from], at + written as u64)?;
            written = to;
        }
        from = to;
    }
    file.write_all_at(&bytes[written..], at + written as u64)?;
    let end = at + bytes.len() as u64;
    if file.metadata()?.len() < end { file.set_len(end) } else { Ok(()) }
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
        let mut at = 0;
        for cut in [0, 100, 4096, 70_000, 1_000_001, bytes.len()] {
            write_with_holes(&file, &bytes[at..cut], at as u64).unwrap();
            assert_eq!(file.metadata().unwrap().len(), cut as u64);
            at = cut;
        }
        let mut read = vec![9; bytes.len()];
        file.read_exact_at(&mut read, 0).unwrap();
        assert!(read == bytes);
        assert!(file.metadata().unwrap().blocks() * 512 < 1 << 20);
    }
}
