//! Where the copies of hodo in one process find each other, without an exported symbol.
//!
//! An executable with the crate linked in, a plugin with its own, an injected library: the first
//! copy that is used maps a page whose name shows in `/proc/self/maps`; every later one, of any
//! version, finds it there. Whichever copy starts recording puts its function table into it.

use crate::table::Table;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

const MAGIC: u64 = u64::from_le_bytes(*b"hodo.rdv");
const NAME: &std::ffi::CStr = c"hodo.rendezvous.1";
const PAGE_BYTES: usize = 4096;

/// The page.
#[derive(Debug)]
#[repr(C)]
pub struct Page {
    magic: AtomicU64,
    /// Non-zero while a recorder is on: [`ON`].
    pub on: AtomicU32,
    reserved: u32,
    /// The recording copy's table; null until one starts.
    pub table: AtomicPtr<Table>,
}

impl Page {
    const fn new(magic: u64, on: u32) -> Page {
        Page {
            magic: AtomicU64::new(magic),
            on: AtomicU32::new(on),
            reserved: 0,
            table: AtomicPtr::new(std::ptr::null_mut()),
        }
    }
}

const ON: u32 = 1;

/// Stands for the page until this copy has looked for it: neither off nor [`ON`], so that whoever
/// asks looks.
static NOT_MET: Page = Page::new(0, u32::MAX);
/// The page of a copy that could not map one: no other copy finds it.
static ALONE: Page = Page::new(MAGIC, 0);
static PAGE: AtomicPtr<Page> = AtomicPtr::new((&raw const NOT_MET).cast_mut());

/// The table of the copy that records, if one has started.
#[inline(always)]
pub fn table() -> Option<&'static Table> {
    // SAFETY: a table is a static of a library that stays.
    unsafe { page().table.load(Ordering::Acquire).as_ref() }
}

/// Whether a recorder is on in this process.
#[inline(always)]
pub fn is_on() -> bool {
    let on = known().on.load(Ordering::Relaxed);
    on == ON || (on != 0 && page_is_on())
}

#[cold]
#[inline(never)]
fn page_is_on() -> bool {
    page().on.load(Ordering::Relaxed) != 0
}

/// Whether no recorder is on, as far as can be told without looking for the page.
#[inline(always)]
pub(crate) fn is_surely_off() -> bool {
    known().on.load(Ordering::Relaxed) == 0
}

/// Where it stands whether a recorder is on in this process: non-zero while one is.
pub fn on_word() -> *const AtomicU32 {
    &raw const page().on
}

#[inline(always)]
fn known() -> &'static Page {
    // SAFETY: never null; statics, and mappings that stay.
    unsafe { &*PAGE.load(Ordering::Acquire) }
}

#[inline(always)]
fn page() -> &'static Page {
    let page = known();
    if std::ptr::eq(page, &raw const NOT_MET) { meet() } else { page }
}

/// Publishes this copy's table; false when another copy was first.
pub fn publish(table: &'static Table) -> bool {
    let own = std::ptr::from_ref(table).cast_mut();
    let (none, relaxed) = (std::ptr::null_mut(), Ordering::AcqRel);
    match page().table.compare_exchange(none, own, relaxed, Ordering::Acquire) {
        Ok(_) => true,
        Err(first) => first == own,
    }
}

/// Says whether a recorder is on.
pub fn set_on(on: bool) {
    page().on.store(if on { ON } else { 0 }, Ordering::Release);
}

/// Finds the page of an earlier copy, or makes it.
#[cold]
fn meet() -> &'static Page {
    static MEETING: Mutex<()> = Mutex::new(());
    let _in_this_copy = crate::lock(&MEETING);
    if !std::ptr::eq(known(), &raw const NOT_MET) {
        return known();
    }
    let _among_copies = ProcessLock::take();
    let page = find().or_else(make).unwrap_or(&ALONE);
    PAGE.store(std::ptr::from_ref(page).cast_mut(), Ordering::Release);
    page
}

fn find() -> Option<&'static Page> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let name = format!("/memfd:{}", NAME.to_string_lossy());
    let line = maps.lines().find(|line| line.contains(&name))?;
    let address = usize::from_str_radix(line.split('-').next()?, 16).ok()?;
    // SAFETY: the mapping has our name, is readable and stays; the magic tells whether it is what
    // it says.
    let page = unsafe { &*(address as *const Page) };
    (page.magic.load(Ordering::Acquire) == MAGIC).then_some(page)
}

/// Maps a new page; a private one, so that a forked child has its own. Without a name, and so
/// unknown to other copies, where a limit on file sizes would bring a signal upon the host.
fn make() -> Option<&'static Page> {
    let limited = crate::arena::file_size_limit().is_some_and(|limit| limit < PAGE_BYTES as u64);
    // SAFETY: plain calls; the descriptor is closed when it goes out of scope. A page of zeroes is
    // a valid one, and is never unmapped.
    unsafe {
        let fd = if limited { -1 } else { libc::memfd_create(NAME.as_ptr(), libc::MFD_CLOEXEC) };
        let (fd, flags) = if fd < 0 {
            (None, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS)
        } else {
            libc::ftruncate(fd, PAGE_BYTES as libc::off_t);
            (Some(OwnedFd::from_raw_fd(fd)), libc::MAP_PRIVATE)
        };
        let raw = fd.as_ref().map_or(-1, std::os::fd::AsRawFd::as_raw_fd);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let page = libc::mmap(std::ptr::null_mut(), PAGE_BYTES, protection, flags, raw, 0);
        if page == libc::MAP_FAILED {
            return None;
        }
        let page = &*page.cast::<Page>();
        page.magic.store(MAGIC, Ordering::Release);
        Some(page)
    }
}

/// Excludes other copies in this process: a socket name can be bound once.
struct ProcessLock {
    _socket: Option<OwnedFd>,
}

impl ProcessLock {
    /// Waits at most this often for a millisecond; then goes on, for a host must never hang.
    const TRIES: usize = 500;

    fn take() -> ProcessLock {
        let name = format!("\0hodo.rendezvous.{}.{}", std::process::id(), start_time());
        for _ in 0..Self::TRIES {
            match bind(&name) {
                Ok(socket) => return ProcessLock { _socket: Some(socket) },
                Err(error) if error.raw_os_error() == Some(libc::EADDRINUSE) => {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
                Err(_) => break,
            }
        }
        ProcessLock { _socket: None }
    }
}

fn bind(name: &str) -> std::io::Result<OwnedFd> {
    // SAFETY: the address is zeroed, filled within its bounds, and its length is told.
    unsafe {
        let fd = libc::socket(libc::AF_UNIX, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if fd < 0 {
            return Err(std::io::Error::last_os_error());
        }
        let socket = OwnedFd::from_raw_fd(fd);
        let mut address: libc::sockaddr_un = std::mem::zeroed();
        address.sun_family = libc::AF_UNIX as libc::sa_family_t;
        for (to, from) in address.sun_path.iter_mut().zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        let length = std::mem::offset_of!(libc::sockaddr_un, sun_path) + name.len();
        if libc::bind(fd, (&raw const address).cast(), length as libc::socklen_t) != 0 {
            return Err(std::io::Error::last_os_error());
        }
        Ok(socket)
    }
}

/// When this process started, in the kernel's ticks: tells it from an earlier one with its pid.
fn start_time() -> String {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    after_name.split_whitespace().nth(19).unwrap_or("0").to_string()
}
