//! Whether the files of a packed run are as they were written.

use crate::Damage;
use std::fs::File;
use std::io::Read;
use std::path::Path;

const BUFFER_BYTES: usize = 1 << 20;

/// What became of the files of the packed run in `folder` since it was packed. Reading a run takes a
/// part of them; other tools read all.
pub fn check(folder: &Path) -> Damage {
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
        let why = match sum(&path) {
            Ok(found) if found == (told.bytes, told.crc32c) => continue,
            Ok((bytes, _)) if bytes != told.bytes => {
                format!("has {bytes} bytes, and had {} when it was packed", told.bytes)
            }
            Ok(_) => "does not match its checksum".to_owned(),
            Err(error) => error.to_string(),
        };
        damage.frames += 1;
        damage.bytes += told.bytes;
        damage.note(path, 0, why);
    }
    damage
}

/// Bytes and CRC-32C of a file.
fn sum(path: &Path) -> std::io::Result<(u64, u32)> {
    let mut file = File::open(path)?;
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
