//! What the callbacks counted, in a mapped page that outlives the process: so that what a kill
//! took from CUPTI's buffers is known.

use crate::cupti::code::Call;
use crate::state::Launched;
use hodo_format::gpu::Live;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// The page `gpu.live` beside the spool, in the order that [`Live`] reads.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Counts {
    magic: AtomicU64,
    version: AtomicU64,
    /// Kernels launched one by one.
    pub kernels: AtomicU64,
    /// Graphs launched.
    pub graphs: AtomicU64,
    /// Copies asked for.
    pub copies: AtomicU64,
    /// Sets asked for.
    pub sets: AtomicU64,
    /// Of the kernels: those that were captured into a graph, so did not run.
    pub captured: AtomicU64,
    /// Of the kernels: those that the driver refused.
    pub refused: AtomicU64,
    /// Records of kernels that were stored and belong to no graph.
    pub stored_kernels: AtomicU64,
    /// Records of any work that were stored.
    pub stored: AtomicU64,
    /// Of the copies and sets: those that were captured into a graph.
    pub captured_others: AtomicU64,
    /// Of the copies and sets: those that the driver refused.
    pub refused_others: AtomicU64,
}

impl Counts {
    /// All zero.
    pub const fn new() -> Counts {
        // SAFETY: zero is a value of every field.
        unsafe { std::mem::zeroed() }
    }

    /// A page in `folder`; in memory alone where that is not possible.
    pub fn make(folder: &Path) -> &'static Counts {
        let counts: &'static Counts = match map(&folder.join(Live::FILE)) {
            // SAFETY: the mapping is as large as a page, zeroed, aligned, and never unmapped.
            Some(page) => unsafe { &*page },
            None => Box::leak(Box::default()),
        };
        counts.version.store(Live::VERSION, Ordering::Relaxed);
        counts.magic.store(Live::MAGIC, Ordering::Release);
        counts
    }

    /// Counts a call.
    #[inline]
    pub fn call(&self, call: Call) {
        let counter = match call {
            Call::Kernel => &self.kernels,
            Call::Graph => &self.graphs,
            Call::Copy => &self.copies,
            Call::Set => &self.sets,
            Call::Sync | Call::Memory | Call::ContextEnd => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// The numbers as they are now.
    pub fn launched(&self) -> Launched {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Launched {
            kernels: get(&self.kernels),
            graphs: get(&self.graphs),
            copies: get(&self.copies),
            sets: get(&self.sets),
            captured: get(&self.captured) + get(&self.captured_others),
            refused: get(&self.refused) + get(&self.refused_others),
            under_way: self.kernels_under_way(),
            ..Launched::default()
        }
    }

    /// Kernels that were launched one by one and run, or will.
    pub fn launched_kernels(&self) -> u64 {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        get(&self.kernels).saturating_sub(get(&self.captured) + get(&self.refused))
    }

    /// Kernels that were launched one by one and have no record yet.
    pub fn kernels_under_way(&self) -> u64 {
        self.launched_kernels().saturating_sub(self.stored_kernels.load(Ordering::Relaxed))
    }
}

fn map(path: &Path) -> Option<*const Counts> {
    let file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)
        .ok()?;
    // SAFETY: plain calls on our own file; its blocks are there before it is mapped.
    unsafe {
        if libc::posix_fallocate(file.as_raw_fd(), 0, Live::BYTES as libc::off_t) != 0 {
            return None;
        }
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED;
        let page =
            libc::mmap(std::ptr::null_mut(), Live::BYTES, protection, flags, file.as_raw_fd(), 0);
        (page != libc::MAP_FAILED).then_some(page.cast_const().cast())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_finds_what_was_counted() {
        let folder = std::env::temp_dir().join(format!("hodo-counts-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let counts = Counts::make(&folder);
        let all = [
            (&counts.kernels, 9),
            (&counts.graphs, 8),
            (&counts.copies, 7),
            (&counts.sets, 6),
            (&counts.captured, 2),
            (&counts.refused, 1),
            (&counts.stored_kernels, 5),
            (&counts.stored, 4),
            (&counts.captured_others, 3),
            (&counts.refused_others, 11),
        ];
        all.iter().for_each(|(counter, value)| counter.store(*value, Ordering::Relaxed));
        let page = std::fs::read(folder.join(Live::FILE)).expect("the page");
        let expected = Live {
            kernels: 9,
            graphs: 8,
            copies: 7,
            sets: 6,
            captured: 2,
            refused: 1,
            stored_kernels: 5,
            stored: 4,
            captured_others: 3,
            refused_others: 11,
        };
        assert_eq!(Live::parse(&page), Some(expected));
        assert_eq!(counts.kernels_under_way(), expected.launched_kernels() - 5);
        let _ = std::fs::remove_dir_all(&folder);
    }
}
