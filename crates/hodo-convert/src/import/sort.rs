//! Sorts more rows than memory should hold: full chunks are sorted and laid aside in a file.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Bytes of rows that are kept in memory.
const CHUNK_BYTES: usize = 96 << 20;
/// Bytes read at once of a chunk that was laid aside.
const READ_BYTES: usize = 256 << 10;

/// Takes rows of `N` words and gives them back in the order of their words.
pub struct Sorter<const N: usize> {
    rows: Vec<[u64; N]>,
    most: usize,
    aside: Vec<File>,
    folder: PathBuf,
}

impl<const N: usize> Sorter<N> {
    /// An empty one, which lays chunks aside in `folder`.
    pub fn new(folder: &Path) -> Sorter<N> {
        Sorter::holding(folder, CHUNK_BYTES / (8 * N))
    }

    /// One that keeps `most` rows in memory.
    fn holding(folder: &Path, most: usize) -> Sorter<N> {
        Sorter { rows: Vec::new(), most, aside: Vec::new(), folder: folder.to_owned() }
    }

    /// Takes a row.
    pub fn push(&mut self, row: [u64; N]) -> io::Result<()> {
        if self.rows.len() == self.most {
            self.lay_aside()?;
        }
        self.rows.push(row);
        Ok(())
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.aside.is_empty()
    }

    fn lay_aside(&mut self) -> io::Result<()> {
        self.rows.sort_unstable();
        let mut file = unnamed_file(&self.folder)?;
        let mut bytes = Vec::with_capacity(READ_BYTES);
        for rows in self.rows.chunks((READ_BYTES / (8 * N)).max(1)) {
            bytes.clear();
            rows.iter().flatten().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
            file.write_all(&bytes)?;
        }
        file.seek(SeekFrom::Start(0))?;
        self.aside.push(file);
        self.rows.clear();
        Ok(())
    }

    /// The rows in their order.
    pub fn sorted(mut self) -> io::Result<Sorted<N>> {
        self.rows.sort_unstable();
        let mut sorted = Sorted {
            rows: self.rows.into_iter(),
            aside: self
                .aside
                .into_iter()
                .map(|f| BufReader::with_capacity(READ_BYTES, f))
                .collect(),
            next: BinaryHeap::new(),
        };
        for chunk in 0..=sorted.aside.len() {
            sorted.refill(chunk)?;
        }
        Ok(sorted)
    }
}

/// Sorted rows, merged from their chunks.
pub struct Sorted<const N: usize> {
    rows: std::vec::IntoIter<[u64; N]>,
    aside: Vec<BufReader<File>>,
    /// The next row of each chunk, with the chunk's number; that in memory is the last.
    next: BinaryHeap<Reverse<([u64; N], usize)>>,
}

impl<const N: usize> Sorted<N> {
    /// The next row, if there is one.
    pub fn next(&mut self) -> io::Result<Option<[u64; N]>> {
        let Some(Reverse((row, chunk))) = self.next.pop() else { return Ok(None) };
        self.refill(chunk)?;
        Ok(Some(row))
    }

    fn refill(&mut self, chunk: usize) -> io::Result<()> {
        let row = match self.aside.get_mut(chunk) {
            Some(file) => read_row(file)?,
            None => self.rows.next(),
        };
        self.next.extend(row.map(|row| Reverse((row, chunk))));
        Ok(())
    }
}

fn read_row<const N: usize>(from: &mut impl Read) -> io::Result<Option<[u64; N]>> {
    let mut row = [0; N];
    for (at, word) in row.iter_mut().enumerate() {
        let mut bytes = [0; 8];
        match from.read_exact(&mut bytes) {
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof && at == 0 => return Ok(None),
            read => read?,
        }
        *word = u64::from_le_bytes(bytes);
    }
    Ok(Some(row))
}

/// A file in `folder` without a name: it is gone with the process, however that ends.
pub fn unnamed_file(folder: &Path) -> io::Result<File> {
    let path = folder.join("import.tmp");
    let file = File::options().read(true).write(true).create(true).truncate(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]
    use super::*;

    #[test]
    fn rows_come_back_in_order_from_memory_and_from_files() {
        let folder = tempfile::tempdir().unwrap();
        for most in [1, 7, 1000] {
            let mut sorter: Sorter<3> = Sorter::holding(folder.path(), most);
            assert!(sorter.is_empty());
            let mut expected = Vec::new();
            let mut word = 1u64;
            for i in 0..100 {
                word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let row = [word >> 60, word >> 32, i];
                expected.push(row);
                sorter.push(row).unwrap();
            }
            expected.sort_unstable();
            let mut sorted = sorter.sorted().unwrap();
            let mut found = Vec::new();
            while let Some(row) = sorted.next().unwrap() {
                found.push(row);
            }
            assert_eq!(found, expected, "{most} rows in memory");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
