//! The memory CUPTI writes records into: handed out zeroed, taken back full, used again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// Bytes of a buffer: some thousand records. Larger ones cost more, in cache misses.
pub const BUFFER_BYTES: usize = 1 << 20;
/// Buffers there may be; then CUPTI drops records, and counts them.
const MOST_BUFFERS: usize = 96;

/// A buffer that CUPTI has filled.
#[derive(Debug)]
pub struct Full {
    start: *mut u8,
    valid: usize,
}

// SAFETY: a full buffer belongs to whoever holds it.
unsafe impl Send for Full {}

impl Full {
    /// Its valid bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the buffer is ours, and CUPTI is done with it.
        unsafe { std::slice::from_raw_parts(self.start, self.valid) }
    }
}

#[derive(Debug, Default)]
struct Inner {
    free: Vec<usize>,
    full: Vec<Full>,
    /// Every buffer there is, sorted.
    made: Vec<usize>,
    asked: bool,
}

/// All buffers.
#[derive(Debug, Default)]
pub struct Buffers {
    inner: Mutex<Inner>,
    came: Condvar,
    /// Requests that were answered with nothing.
    pub refused: AtomicU64,
    /// Buffers that came back and are another tool's.
    pub foreign: AtomicU64,
}

impl Buffers {
    /// No buffers yet.
    pub const fn new() -> Buffers {
        Buffers {
            inner: Mutex::new(Inner {
                free: Vec::new(),
                full: Vec::new(),
                made: Vec::new(),
                asked: false,
            }),
            came: Condvar::new(),
            refused: AtomicU64::new(0),
            foreign: AtomicU64::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        crate::lock(&self.inner)
    }

    /// An empty buffer, zeroed; null when there are too many and that is allowed.
    pub fn take(&self, may_refuse: bool) -> *mut u8 {
        let mut inner = self.lock();
        if let Some(free) = inner.free.pop() {
            return free as *mut u8;
        }
        let buffer = match inner.made.len() < MOST_BUFFERS || !may_refuse {
            true => map(),
            false => std::ptr::null_mut(),
        };
        match buffer.is_null() {
            true => _ = self.refused.fetch_add(1, Ordering::Relaxed),
            false => {
                let at = inner.made.partition_point(|&made| made < buffer as usize);
                inner.made.insert(at, buffer as usize);
            }
        }
        buffer
    }

    /// Takes back a buffer of which `valid` bytes were filled. CUPTI hands all buffers to whoever
    /// registered last: those of a tool before us are not ours to read, to write or to keep.
    pub fn completed(&self, buffer: *mut u8, valid: usize) {
        if buffer.is_null() {
            return;
        }
        let full = Full { start: buffer, valid: valid.min(BUFFER_BYTES) };
        let mut inner = self.lock();
        if inner.made.binary_search(&(buffer as usize)).is_err() {
            self.foreign.fetch_add(1, Ordering::Relaxed);
            return;
        }
        inner.full.push(full);
        drop(inner);
        self.came.notify_one();
    }

    /// The buffers that have come back.
    pub fn full(&self) -> Vec<Full> {
        std::mem::take(&mut self.lock().full)
    }

    /// Makes a buffer that was read fit to be handed out again.
    pub fn give_back(&self, full: Full) {
        // SAFETY: the buffer is ours alone; what was valid is all that was written.
        unsafe { full.start.write_bytes(0, full.valid) };
        self.lock().free.push(full.start as usize);
    }

    /// Waits until a buffer has come back, somebody rings, or the time is over.
    pub fn wait(&self, time: Duration) {
        let inner = self.lock();
        let nothing = |inner: &mut Inner| inner.full.is_empty() && !inner.asked;
        match self.came.wait_timeout_while(inner, time, nothing) {
            Ok((mut inner, _)) => inner.asked = false,
            Err(poisoned) => poisoned.into_inner().0.asked = false,
        }
    }

    /// Ends a wait.
    pub fn ring(&self) {
        self.lock().asked = true;
        self.came.notify_all();
    }
}

fn map() -> *mut u8 {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: new memory, which is kept.
    let mapped =
        unsafe { libc::mmap(std::ptr::null_mut(), BUFFER_BYTES, protection, flags, -1, 0) };
    if mapped == libc::MAP_FAILED { std::ptr::null_mut() } else { mapped.cast() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_of_another_tool_is_left_alone() {
        let buffers = Buffers::new();
        let mut foreign = [7u8; 64];
        buffers.completed(foreign.as_mut_ptr(), 32);
        assert!(buffers.full().is_empty() && foreign == [7; 64]);
        assert_eq!(buffers.foreign.load(Ordering::Relaxed), 1);
        let own: Vec<*mut u8> = (0..3).map(|_| buffers.take(true)).collect();
        own.iter().for_each(|&buffer| buffers.completed(buffer, 8));
        let full = buffers.full();
        assert_eq!(full.iter().map(|full| full.start).collect::<Vec<_>>(), own);
        full.into_iter().for_each(|full| buffers.give_back(full));
        assert!(own.contains(&buffers.take(true)));
    }
}
