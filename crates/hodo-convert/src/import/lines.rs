//! Lines of a log, of which a long one is passed over and takes no memory.

use super::ImportError;
use std::io::{BufRead, BufReader, Read};

/// Longest line that is read; a batch of records takes a few hundred KiB.
pub const MOST_BYTES: usize = 16 << 20;

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A line, without its end.
    Whole,
    /// A line that is too long, of so many bytes.
    TooLong(u64),
    /// A line without an end: the file was cut, or is being written.
    Cut,
    /// Nothing.
    End,
}

/// The lines of a file.
pub struct Lines<R> {
    from: BufReader<R>,
    /// Bytes passed.
    pub offset: u64,
    /// The line.
    pub line: Vec<u8>,
}

impl<R: Read> Lines<R> {
    /// The lines of `from`.
    pub fn new(from: R) -> Lines<R> {
        Lines { from: BufReader::with_capacity(256 << 10, from), offset: 0, line: Vec::new() }
    }

    /// Reads the next line into [`Lines::line`].
    pub fn next(&mut self) -> Result<Line, ImportError> {
        self.line.clear();
        let mut bytes = 0u64;
        loop {
            let some = self.from.fill_buf()?;
            if some.is_empty() {
                return Ok(match bytes {
                    0 => Line::End,
                    _ if bytes > MOST_BYTES as u64 => Line::TooLong(bytes),
                    _ => Line::Cut,
                });
            }
            let end = some.iter().position(|&byte| byte == b'\n');
            let part = &some[..end.unwrap_or(some.len())];
            if self.line.len() + part.len() <= MOST_BYTES {
                self.line.extend_from_slice(part);
            }
            let taken = end.map_or(some.len(), |end| end + 1);
            bytes += taken as u64;
            self.offset += taken as u64;
            self.from.consume(taken);
            if end.is_some() {
                let is_long = bytes > MOST_BYTES as u64;
                return Ok(if is_long { Line::TooLong(bytes) } else { Line::Whole });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]
    use super::*;

    #[test]
    fn long_lines_are_passed_over() {
        let long = "x".repeat(MOST_BYTES + 1);
        let text = format!("one\n\n{long}\ntwo\nhal");
        let mut lines = Lines::new(text.as_bytes());
        let mut next =
            || (lines.next().unwrap(), String::from_utf8_lossy(&lines.line).into_owned());
        assert_eq!(next(), (Line::Whole, "one".into()));
        assert_eq!(next(), (Line::Whole, String::new()));
        assert_eq!(next().0, Line::TooLong(MOST_BYTES as u64 + 2));
        assert_eq!(next(), (Line::Whole, "two".into()));
        assert_eq!(next(), (Line::Cut, "hal".into()));
        assert_eq!(next().0, Line::End);
    }
}
