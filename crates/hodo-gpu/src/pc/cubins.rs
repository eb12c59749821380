//! Machine code that the program loaded, kept so that an instruction's source line can be told.

use super::layout::{Checksum, SourceLine};
use crate::cupti::Cupti;
use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString, c_char};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Most bytes of machine code that are kept, in memory and again on disk.
const MOST_BYTES: usize = 256 << 20;

/// Modules as they were loaded.
#[derive(Debug, Default)]
pub struct Cubins {
    loaded: Mutex<Loaded>,
}

#[derive(Debug, Default)]
struct Loaded {
    /// Not looked at yet.
    fresh: Vec<Vec<u8>>,
    known: HashMap<u64, Cubin>,
    saved: HashSet<u64>,
    counts: Counts,
}

#[derive(Debug)]
struct Cubin {
    bytes: std::sync::Arc<[u8]>,
    has_lines: bool,
}

/// What became of the modules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Modules that were loaded.
    pub loaded: u64,
    /// Bytes of those that are kept.
    pub bytes: usize,
    /// Modules that were too many bytes to keep.
    pub refused: u64,
    /// Bytes written to the run.
    pub saved_bytes: usize,
    /// Instructions whose source line was asked for.
    pub asked: u64,
    /// Of them: in no module that is kept.
    pub unknown: u64,
    /// Of them: found.
    pub found: u64,
}

/// A place in the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file; empty when not known.
    pub file: String,
    /// The line; 0 when not known.
    pub line: u32,
}

impl Cubins {
    fn lock(&self) -> std::sync::MutexGuard<'_, Loaded> {
        crate::lock(&self.loaded)
    }

    /// Keeps a copy of a module that is being loaded.
    pub fn add(&self, cubin: &[u8]) {
        let mut loaded = self.lock();
        loaded.counts.loaded += 1;
        if loaded.counts.bytes + cubin.len() > MOST_BYTES {
            loaded.counts.refused += 1;
            return;
        }
        loaded.counts.bytes += cubin.len();
        loaded.fresh.push(cubin.to_vec());
    }

    /// The next recorder has a folder of its own, with no module in it.
    pub fn forget_saved(&self) {
        let mut loaded = self.lock();
        loaded.saved.clear();
        loaded.counts.saved_bytes = 0;
    }

    /// What became of them.
    pub fn counts(&self) -> Counts {
        self.lock().counts
    }

    /// Finds the checksums of new modules; `checksum` is CUPTI's.
    fn sort(&self, checksum: impl Fn(&[u8]) -> Option<u64>) {
        let fresh = std::mem::take(&mut self.lock().fresh);
        for bytes in fresh {
            let has_lines = contains(&bytes, b".debug_line") || contains(&bytes, b"_line_sass");
            let number = checksum(&bytes);
            let mut loaded = self.lock();
            let twice = number.is_none_or(|number| loaded.known.contains_key(&number));
            match number {
                Some(number) if !twice => {
                    loaded.known.insert(number, Cubin { bytes: bytes.into(), has_lines });
                }
                _ => loaded.counts.bytes -= bytes.len(),
            }
        }
    }

    /// The source lines of instructions, and the modules they are in as files in `folder`. What is
    /// not found in `time` has no line.
    pub fn resolve(
        &self,
        cupti: &Cupti,
        folder: &Path,
        wanted: &[(Instruction, CString)],
        time: Duration,
    ) -> HashMap<Instruction, Place> {
        self.sort(|bytes| checksum(cupti, bytes));
        let began = Instant::now();
        let mut places = HashMap::new();
        let mut unknown = 0;
        for (instruction, function) in wanted {
            let instruction = *instruction;
            let Some((bytes, has_lines)) = self.find(instruction.cubin) else {
                unknown += 1;
                continue;
            };
            self.save(folder, instruction.cubin, &bytes);
            if has_lines
                && began.elapsed() < time
                && let Some(place) = place(cupti, &bytes, function, instruction.offset)
            {
                places.insert(instruction, place);
            }
        }
        let counts = &mut self.lock().counts;
        counts.asked += wanted.len() as u64;
        counts.unknown += unknown;
        counts.found += places.len() as u64;
        places
    }

    fn find(&self, number: u64) -> Option<(std::sync::Arc<[u8]>, bool)> {
        let loaded = self.lock();
        loaded.known.get(&number).map(|cubin| (cubin.bytes.clone(), cubin.has_lines))
    }

    /// Writes a module to `folder`, once; what the disk refuses is left out.
    fn save(&self, folder: &Path, number: u64, bytes: &[u8]) {
        let mut loaded = self.lock();
        let fits = loaded.counts.saved_bytes + bytes.len() <= MOST_BYTES;
        if !fits || !loaded.saved.insert(number) {
            return;
        }
        loaded.counts.saved_bytes += bytes.len();
        drop(loaded);
        let write = || {
            std::fs::create_dir_all(folder)?;
            std::fs::write(folder.join(format!("{number:016x}.cubin")), bytes)
        };
        let _ = hodo_record::binding::without_sigxfsz(write);
    }
}

/// An instruction of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// String id of the kernel's name.
    pub kernel: u32,
    /// Checksum of its machine code.
    pub cubin: u64,
    /// Bytes from the kernel's first.
    pub offset: u64,
}

fn contains(bytes: &[u8], text: &[u8]) -> bool {
    // SAFETY: both are as long as told.
    let found = unsafe {
        libc::memmem(bytes.as_ptr().cast(), bytes.len(), text.as_ptr().cast(), text.len())
    };
    !found.is_null()
}

fn checksum(cupti: &Cupti, bytes: &[u8]) -> Option<u64> {
    let cubin = bytes.as_ptr().cast();
    let mut params =
        Checksum { size: size_of::<Checksum>(), bytes: bytes.len(), cubin, checksum: 0 };
    // SAFETY: the module is as long as told; CUPTI fills the answer in.
    unsafe { cupti.cubin_crc((&raw mut params).cast()) }.ok()?;
    Some(params.checksum)
}

fn place(cupti: &Cupti, bytes: &[u8], function: &CStr, offset: u64) -> Option<Place> {
    let mut params = SourceLine {
        size: size_of::<SourceLine>(),
        cubin: bytes.as_ptr().cast(),
        function: function.as_ptr(),
        bytes: bytes.len(),
        line: 0,
        offset,
        file: std::ptr::null_mut(),
        folder: std::ptr::null_mut(),
    };
    // SAFETY: module and name live through the call; CUPTI fills in texts that are ours to free.
    unsafe {
        let told = cupti.source_line((&raw mut params).cast());
        let (file, folder) = (taken(params.file), taken(params.folder));
        told.ok()?;
        let file = file.filter(|file| !file.is_empty())?;
        let whole = match folder {
            Some(folder) if !file.starts_with('/') && !folder.is_empty() => {
                format!("{}/{file}", folder.trim_end_matches('/'))
            }
            _ => file,
        };
        Some(Place { file: whole, line: params.line })
    }
}

/// The text, which is freed.
///
/// # Safety
/// It is null or came from `malloc` and ends in a NUL.
unsafe fn taken(text: *mut c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: by the contract.
    unsafe {
        let copy = CStr::from_ptr(text).to_string_lossy().into_owned();
        libc::free(text.cast());
        Some(copy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_kept_once_and_up_to_the_limit() {
        let cubins = Cubins::default();
        cubins.add(b"one with .debug_line in it");
        cubins.add(b"two");
        cubins.add(b"two");
        cubins.sort(|bytes| Some(bytes.len() as u64));
        assert!(cubins.find(26).is_some_and(|(_, has_lines)| has_lines));
        assert!(cubins.find(3).is_some_and(|(_, has_lines)| !has_lines));
        assert_eq!(cubins.counts(), Counts { loaded: 3, bytes: 29, ..Counts::default() });
        cubins.add(&vec![0; MOST_BYTES]);
        assert_eq!(cubins.counts().refused, 1);
    }

    #[test]
    fn a_module_is_saved_once() {
        let cubins = Cubins::default();
        let folder = std::env::temp_dir().join(format!("hodo-cubins-{}", std::process::id()));
        cubins.save(&folder, 0xabc, b"code");
        cubins.save(&folder, 0xabc, b"other");
        let saved = std::fs::read(folder.join("0000000000000abc.cubin")).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!((saved.as_slice(), cubins.counts().saved_bytes), (&b"code"[..], 4));
        cubins.forget_saved();
        cubins.save(&folder, 0xabc, b"code");
        assert!(folder.join("0000000000000abc.cubin").is_file(), "anew for another recorder");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
