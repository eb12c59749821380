//! Attributes that wait until their scope has its id: in memory, and past some size in a file.

use super::sort::unnamed_file;
use hodo_format::record::MAX_TEXT_BYTES;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes that are kept in memory.
const MEMORY_BYTES: usize = 32 << 20;
/// Most bytes the attributes of one scope take.
const SET_BYTES: usize = u16::MAX as usize;

/// A value of an attribute or a mark.
#[derive(Clone, Debug, PartialEq)]
pub enum Given<'a> {
    /// A whole number.
    I64(i64),
    /// A float.
    F64(f64),
    /// True or false.
    Bool(bool),
    /// Text.
    Text(&'a str),
    /// A JSON document.
    Json(&'a str),
}

mod code {
    pub const I64: u8 = 1;
    pub const F64: u8 = 2;
    pub const BOOL: u8 = 3;
    pub const TEXT: u8 = 4;
    pub const JSON: u8 = 5;
}

/// Attributes of one scope in the making.
#[derive(Debug, Default)]
pub struct Set {
    bytes: Vec<u8>,
    /// Attributes that did not fit.
    pub dropped: u64,
}

impl Set {
    /// Begins another.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Becomes the set of that number.
    pub fn load(&mut self, pool: &Pool, number: u64) -> io::Result<()> {
        pool.get(number, &mut self.bytes)
    }

    /// Adds a value with the string id of its key. Longer text than a record holds is kept as far
    /// as one holds it.
    pub fn push(&mut self, key: u32, value: &Given<'_>) {
        if self.bytes.len() + MAX_TEXT_BYTES + 16 > SET_BYTES {
            self.dropped += 1;
            return;
        }
        self.bytes.extend_from_slice(&key.to_le_bytes());
        match value {
            Given::I64(v) => self.word(code::I64, *v as u64),
            Given::F64(v) => self.word(code::F64, v.to_bits()),
            Given::Bool(v) => self.word(code::BOOL, u64::from(*v)),
            Given::Text(text) => self.text(code::TEXT, text),
            Given::Json(text) => self.text(code::JSON, text),
        }
    }

    fn word(&mut self, code: u8, word: u64) {
        self.bytes.push(code);
        self.bytes.extend_from_slice(&word.to_le_bytes());
    }

    /// One byte more than a record holds tells the reader that the end is missing.
    fn text(&mut self, code: u8, text: &str) {
        let kept = &text[..text.floor_char_boundary(MAX_TEXT_BYTES)];
        self.bytes.push(code);
        self.bytes.extend_from_slice(&(kept.len() as u16).to_le_bytes());
        self.bytes.push(u8::from(kept.len() < text.len()));
        self.bytes.extend_from_slice(kept.as_bytes());
    }
}

/// A value that was kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kept<'a> {
    /// Anything that fits a word: its code of a record, and the word.
    Word(u16, u64),
    /// Text.
    Text {
        /// Its bytes.
        bytes: &'a [u8],
        /// Whether its end is missing.
        cut: bool,
        /// Whether it is a JSON document.
        json: bool,
    },
}

/// The values in the bytes of a set, each with its key.
pub fn values(mut bytes: &[u8]) -> impl Iterator<Item = (u32, Kept<'_>)> {
    std::iter::from_fn(move || {
        let key = u32::from_le_bytes(*bytes.split_off(..4)?.first_chunk()?);
        let code = *bytes.split_off_first()?;
        if code <= code::BOOL {
            let word = u64::from_le_bytes(*bytes.split_off(..8)?.first_chunk()?);
            return Some((key, Kept::Word(code.into(), word)));
        }
        let len = u16::from_le_bytes(*bytes.split_off(..2)?.first_chunk()?);
        let cut = *bytes.split_off_first()? != 0;
        let text = bytes.split_off(..usize::from(len))?;
        Some((key, Kept::Text { bytes: text, cut, json: code == code::JSON }))
    })
}

/// Sets by the number that [`Pool::put`] gave them.
pub struct Pool {
    memory: Vec<u8>,
    file: Option<File>,
    /// Bytes in the file.
    aside: u64,
    folder: PathBuf,
}

impl Pool {
    /// An empty one, whose file is in `folder`.
    pub fn new(folder: &Path) -> Pool {
        Pool { memory: Vec::new(), file: None, aside: 0, folder: folder.to_owned() }
    }

    /// Keeps a set; 0 stands for an empty one.
    pub fn put(&mut self, set: &Set) -> io::Result<u64> {
        if set.bytes.is_empty() {
            return Ok(0);
        }
        if self.memory.len() + set.bytes.len() > MEMORY_BYTES {
            let file = match &mut self.file {
                Some(file) => file,
                none => none.insert(unnamed_file(&self.folder)?),
            };
            file.write_all(&self.memory)?;
            self.aside += self.memory.len() as u64;
            self.memory.clear();
        }
        let at = self.aside + self.memory.len() as u64;
        self.memory.extend_from_slice(&set.bytes);
        Ok(at << 16 | set.bytes.len() as u64)
    }

    /// The bytes of a set, put into `bytes`.
    pub fn get(&self, number: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
        let (at, len) = (number >> 16, (number & 0xffff) as usize);
        bytes.clear();
        match (at.checked_sub(self.aside), &self.file) {
            (None, Some(file)) => {
                bytes.resize(len, 0);
                file.read_exact_at(bytes, at)
            }
            (from, _) => {
                let from = from.unwrap_or(0) as usize;
                bytes.extend_from_slice(self.memory.get(from..from + len).unwrap_or_default());
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]
    use super::*;

    #[test]
    fn sets_come_back_from_memory_and_from_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut pool = Pool::new(folder.path());
        let text = "é".repeat(MAX_TEXT_BYTES);
        let mut numbers = Vec::new();
        for i in 0..10_000 {
            let mut set = Set::default();
            set.push(1, &Given::I64(i));
            set.push(2, &Given::F64(0.5));
            set.push(3, &Given::Text(&text));
            set.push(4, &Given::Json("[1]"));
            numbers.push(pool.put(&set).unwrap());
        }
        assert!(pool.aside > 0, "more than memory takes");
        assert_eq!(pool.put(&Set::default()).unwrap(), 0);
        let mut bytes = Vec::new();
        for (i, number) in numbers.into_iter().enumerate() {
            pool.get(number, &mut bytes).unwrap();
            let found: Vec<_> = values(&bytes).collect();
            assert_eq!(found[0], (1, Kept::Word(1, i as u64)));
            assert_eq!(found[1], (2, Kept::Word(2, 0.5f64.to_bits())));
            let cut = &text.as_bytes()[..MAX_TEXT_BYTES];
            assert_eq!(found[2], (3, Kept::Text { bytes: cut, cut: true, json: false }));
            assert_eq!(found[3], (4, Kept::Text { bytes: b"[1]", cut: false, json: true }));
        }
    }

    #[test]
    fn attributes_past_the_size_of_a_set_are_counted() {
        let mut set = Set::default();
        let text = "x".repeat(MAX_TEXT_BYTES);
        (0..20).for_each(|key| set.push(key, &Given::Text(&text)));
        assert_eq!(set.dropped + values(&set.bytes).count() as u64, 20);
        assert!(set.dropped > 0 && set.bytes.len() <= SET_BYTES);
    }
}
