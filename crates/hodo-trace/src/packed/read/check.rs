//! Whether the files of a packed run are as they were written.

use crate::Damage;
use crate::packed::SideFile;
use crate::read::plain;
use std::io::Read;
use std::path::Path;

const BUFFER_BYTES: usize = 1 << 20;

/// What became of the files of the packed run in `folder` since it was packed. Reading a run takes a
/// part of them; other tools read all.
pub fn check(folder: &Path) -> Damage {
    files_against(folder, |path, told| match sum(path) {
        Ok((bytes, crc)) if bytes == told.bytes => {
            (crc != told.crc32c).then(|| "does not match its checksum".to_owned())
        }
        found => length(found.map(|(bytes, _)| bytes), told),
    })
}

/// The same by the lengths of the files alone, which takes no time.
pub fn check_lengths(folder: &Path) -> Damage {
    files_against(folder, |path, told| length(path.metadata().map(|file| file.len()), told))
}

/// What is wrong with the length of a file.
fn length(found: std::io::Result<u64>, told: &SideFile) -> Option<String> {
    match found {
        Ok(bytes) if bytes == told.bytes => None,
        Ok(bytes) => Some(format!("has {bytes} bytes, and had {} when it was packed", told.bytes)),
        Err(error) => Some(error.to_string()),
    }
}

/// Holds the files that a packed run had against those that it has.
fn files_against(folder: &Path, wrong: impl Fn(&Path, &SideFile) -> Option<String>) -> Damage {
    let mut damage = Damage::default();
    let side = match super::side(folder) {
        Ok(side) => side,
        Err(error) => {
            damage.note(folder.to_owned(), 0, error.to_string());
            return damage;
        }
    };
    for told in side.iter().flat_map(|side| &side.files) {
        let path = folder.join(&told.path);
        let Some(why) = wrong(&path, told) else { continue };
        damage.frames += 1;
        damage.bytes += told.bytes;
        damage.note(path, 0, why);
    }
    damage
}

/// Bytes and CRC-32C of a file.
fn sum(path: &Path) -> std::io::Result<(u64, u32)> {
    let mut file = plain::open(path)?;
    let mut buffer = vec![0; BUFFER_BYTES];
    let (mut bytes, mut crc) = (0, 0);
    loop {
        let len = file.read(&mut buffer)?;
        if len == 0 {
            return Ok((bytes, crc));
        }
        bytes += len as u64;
        crc = crc32c::crc32c_append(crc, &buffer[..len]);
    }
}
