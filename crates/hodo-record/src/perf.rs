//! Seeing a context switch through the page of a perf event.
//!
//! A software event that counts nothing still has a page, whose sequence count the kernel moves
//! each time the thread is scheduled in or out.

use std::sync::atomic::{AtomicU64, Ordering};

const PERF_TYPE_SOFTWARE: u32 = 1;
const PERF_COUNT_SW_DUMMY: u64 = 9;
const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 8;
/// `exclude_kernel | exclude_hv`, which an unprivileged process must set.
const EXCLUDE: u64 = 1 << 5 | 1 << 6;
/// Offset of the sequence count in the kernel's `perf_event_mmap_page`.
const SEQUENCE_AT: usize = 8;

/// The start of the kernel's `perf_event_attr`, its first published size.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    bp_type: u32,
    config1: u64,
}

/// The event's page, mapped for the calling thread.
#[derive(Debug)]
pub struct Page {
    address: *mut libc::c_void,
    bytes: usize,
}

impl Page {
    /// Opens the event for the calling thread and maps its page; the descriptor is closed again.
    pub fn open() -> Result<Page, String> {
        let attributes = Attributes {
            kind: PERF_TYPE_SOFTWARE,
            size: size_of::<Attributes>() as u32,
            config: PERF_COUNT_SW_DUMMY,
            flags: EXCLUDE,
            ..Attributes::default()
        };
        // SAFETY: the attributes are valid for the stated size; the rest are plain numbers.
        let fd = unsafe {
            libc::syscall(libc::SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)
        };
        if fd < 0 {
            return Err(format!("perf_event_open: {}", std::io::Error::last_os_error()));
        }
        Self::map(fd as libc::c_int)
    }

    fn map(fd: libc::c_int) -> Result<Page, String> {
        // SAFETY: sysconf takes a constant.
        let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        // SAFETY: maps a new region; the kernel chooses the address. The mapping keeps the event
        // alive, so the descriptor can go.
        let address = unsafe {
            let address = libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ,
                libc::MAP_SHARED,
                fd,
                0,
            );
            libc::close(fd);
            address
        };
        if address == libc::MAP_FAILED {
            return Err(format!("mmap of the perf page: {}", std::io::Error::last_os_error()));
        }
        Ok(Page { address, bytes })
    }

    /// The sequence count and the word after it, which never changes for such an event.
    pub fn sequence(&self) -> *const AtomicU64 {
        self.address.cast::<u8>().wrapping_add(SEQUENCE_AT).cast()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: the region was mapped by `map` and is not used after this.
        unsafe { libc::munmap(self.address, self.bytes) };
    }
}

/// Whether the sequence count moves when the thread blocks.
pub fn self_test() -> Result<(), String> {
    let page = Page::open()?;
    // SAFETY: the page is mapped until the end of this function.
    let read = || unsafe { (*page.sequence()).load(Ordering::Acquire) };
    let before = read();
    std::thread::sleep(std::time::Duration::from_millis(1));
    if read() == before {
        return Err("the page's sequence count does not move when the thread sleeps".into());
    }
    Ok(())
}
