//! How far a growing file holds whole frames.

use hodo_format::spool::{FILE_HEADER_BYTES, FRAME_HEADER_BYTES, FrameHeader, frame_kind};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Goes from frame to frame of a file and remembers where it came to.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    at: u64,
    /// Something stands where a frame should: the file is shipped as it is.
    lost: bool,
    /// The recorder shut down: its last frame was met.
    pub(crate) ended: bool,
}

impl Walk {
    /// The end of the last whole frame among the first `length` bytes of `file`; all of them where
    /// they are not frames.
    pub(crate) fn whole_until(&mut self, file: &File, length: u64) -> std::io::Result<u64> {
        if self.at == 0 && length >= FILE_HEADER_BYTES as u64 {
            self.at = FILE_HEADER_BYTES as u64;
        }
        while !self.lost && self.at > 0 && self.at + FRAME_HEADER_BYTES as u64 <= length {
            let mut bytes = [0; FRAME_HEADER_BYTES];
            file.read_exact_at(&mut bytes, self.at)?;
            let Some(header) = FrameHeader::parse(&bytes) else {
                self.lost = true;
                break;
            };
            let next = self.at + FRAME_HEADER_BYTES as u64 + u64::from(header.payload_bytes);
            if next > length {
                break;
            }
            self.ended |= header.kind == frame_kind::END;
            self.at = next;
        }
        Ok(if self.lost { length } else { self.at.min(length) })
    }
}

/// Whether the file in `path` has the frame that a recorder writes last.
pub(crate) fn has_end(path: &Path) -> bool {
    let walk = || {
        let (file, mut walk) = (File::open(path)?, Walk::default());
        walk.whole_until(&file, file.metadata()?.len())?;
        std::io::Result::Ok(walk.ended)
    };
    walk().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hodo_format::spool::{Losses, end_frame, file_header, strings_frame};
    use std::io::Write;

    #[test]
    fn only_whole_frames_count_until_one_is_damaged() {
        let mut bytes = file_header(1, 0).to_vec();
        let mut ends = vec![bytes.len()];
        strings_frame(0, 1, &["a", "b"], &mut bytes);
        ends.push(bytes.len());
        end_frame(1, &Losses::default(), &mut bytes);
        ends.push(bytes.len());
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        let mut walk = Walk::default();
        for length in 0..=bytes.len() {
            let whole = ends.iter().copied().filter(|&end| end <= length).max().unwrap_or(0);
            let anew = Walk::default().whole_until(&file, length as u64).unwrap();
            assert_eq!(anew, whole as u64, "of {length}");
            assert_eq!(walk.whole_until(&file, length as u64).unwrap(), whole as u64);
            assert_eq!(walk.ended, length == bytes.len());
        }
        file.write_all(&[7; 100]).unwrap();
        let length = bytes.len() as u64 + 100;
        assert_eq!(walk.whole_until(&file, length).unwrap(), length);
        assert_eq!(walk.whole_until(&file, length - 7).unwrap(), length - 7, "and so it stays");
    }
}
