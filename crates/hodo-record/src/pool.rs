//! Memory for thread states: private, and wiped by the kernel in a forked child.

use crate::thread::Thread;
use std::sync::Mutex;

const CHUNK_BYTES: usize = 64 << 10;

/// Private memory that reads as zero in a forked child. Never unmapped.
pub fn wiped_on_fork(bytes: usize) -> *mut u8 {
    // SAFETY: a new private mapping; advice about it cannot harm. Where the kernel does not know
    // the advice, the fork handler does the same for the one thread that lives on in the child.
    unsafe {
        let memory = libc::mmap(
            std::ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        if memory == libc::MAP_FAILED {
            return std::ptr::null_mut();
        }
        libc::madvise(memory, bytes, libc::MADV_WIPEONFORK);
        memory.cast()
    }
}

/// Free thread states.
#[derive(Debug, Default)]
pub struct Pool {
    free: Mutex<Chain>,
}

#[derive(Debug)]
struct Chain(*mut Thread);
// SAFETY: a free state is owned by the chain.
unsafe impl Send for Chain {}

impl Default for Chain {
    fn default() -> Self {
        Chain(std::ptr::null_mut())
    }
}

impl Pool {
    /// Memory for one state; `None` when the system has none.
    pub fn take(&self) -> Option<*mut Thread> {
        let mut free = crate::lock(&self.free);
        if free.0.is_null() {
            let chunk = wiped_on_fork(CHUNK_BYTES).cast::<Thread>();
            if chunk.is_null() {
                return None;
            }
            for i in 0..CHUNK_BYTES / size_of::<Thread>() {
                let state = chunk.wrapping_add(i);
                // SAFETY: inside the new chunk, which is ours.
                unsafe { (*state).next_free = free.0 };
                free.0 = state;
            }
        }
        let state = free.0;
        // SAFETY: a state on the chain is ours and was linked by us.
        free.0 = unsafe { (*state).next_free };
        Some(state)
    }

    /// Takes back a state that nobody uses.
    pub fn give(&self, state: *mut Thread) {
        let mut free = crate::lock(&self.free);
        // SAFETY: the caller gives the state up.
        unsafe { (*state).next_free = free.0 };
        free.0 = state;
    }
}
