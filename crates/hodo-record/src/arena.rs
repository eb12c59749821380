//! The arena: one preallocated mapping per process, carved into slabs.

use crate::clock::ClockSource;
use crate::ring::FreeList;
use hodo_format::arena::{
    ANCHORS, ARENA_MAGIC, ARENA_VERSION, Anchor, ArenaHeader, SLAB_BYTES, SLAB_UNITS,
    SLAB_UNITS_AT, SlabHeader, slab_kind,
};
use hodo_format::record::Unit;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The smallest arena that is worth having.
pub const MIN_BYTES: usize = 64 * SLAB_BYTES;

/// What a slab is taken for; the last tenth of the arena is kept for threads and strings, so that
/// a burst of records cannot keep a new thread from recording.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Records.
    Ring,
    /// Threads, slots, strings.
    Needed,
}

/// The mapping.
#[derive(Debug)]
pub struct Arena {
    base: *mut u8,
    slabs: u32,
    free: FreeList,
    /// The first slab that was never used; slabs are touched only when they are first needed.
    fresh: AtomicU32,
    /// Fresh slabs end here; lower once the arena was trimmed.
    end: AtomicU32,
    reserve: AtomicU32,
    file: Mutex<Option<File>>,
    from_file: bool,
    anchors: Mutex<()>,
    /// In a forked child, and in its children: the descriptor is not ours to close again.
    closed: AtomicBool,
}

// SAFETY: the mapping lives as long as the process; what it holds is atomic or owned by one thread
// at a time by the protocol of `ring`.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    /// Maps `file`, whose blocks are allocated first: writing to a hole of a full disk would kill
    /// the host with SIGBUS.
    pub fn on_file(file: File, bytes: usize) -> std::io::Result<Arena> {
        let slabs = (bytes / SLAB_BYTES) as u32;
        let bytes = slabs as usize * SLAB_BYTES;
        refuse_past_limit(bytes)?;
        // SAFETY: a plain call on an open descriptor.
        let failed = unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, bytes as libc::off_t) };
        if failed != 0 {
            return Err(std::io::Error::from_raw_os_error(failed));
        }
        let base = map(bytes, libc::MAP_SHARED, file.as_raw_fd())?;
        Ok(Arena::carve(base, slabs, Some(file)))
    }

    /// An arena in plain memory, for a recorder without a folder: lost when the process dies.
    pub fn in_memory(bytes: usize) -> std::io::Result<Arena> {
        let slabs = (bytes / SLAB_BYTES) as u32;
        let base = map(slabs as usize * SLAB_BYTES, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)?;
        Ok(Arena::carve(base, slabs, None))
    }

    fn carve(base: *mut u8, slabs: u32, file: Option<File>) -> Arena {
        Arena {
            base,
            slabs,
            free: FreeList::default(),
            fresh: AtomicU32::new(1),
            end: AtomicU32::new(slabs),
            reserve: AtomicU32::new(slabs / 10),
            from_file: file.is_some(),
            file: Mutex::new(file),
            anchors: Mutex::new(()),
            closed: AtomicBool::new(false),
        }
    }

    /// Fills the header; the magic goes last, so that a reader never takes half a header for one.
    pub fn publish(&self, process: u64, clock: ClockSource) {
        let header = self.base.cast::<ArenaHeader>();
        // SAFETY: slab 0 is ours alone until the magic is stored; the fields are plain numbers.
        unsafe {
            (*header).version = ARENA_VERSION;
            (*header).slab_bytes = SLAB_BYTES as u32;
            (*header).slabs = self.slabs;
            (*header).clock = clock.code();
            (*header).process = process;
            (*header).pid = std::process::id();
            (*header).magic.store(ARENA_MAGIC, Ordering::Release);
        }
    }

    /// The header.
    pub fn header(&self) -> &ArenaHeader {
        // SAFETY: slab 0 is mapped and holds a header; shared fields are atomic.
        unsafe { &*self.base.cast() }
    }

    /// Keeps an anchor in the header.
    pub fn keep(&self, anchor: Anchor) {
        let _one_writer = crate::lock(&self.anchors);
        let taken = self.header().anchors_taken.load(Ordering::Relaxed);
        let at = if taken == 0 { 0 } else { 1 + (taken as usize - 1) % (ANCHORS - 1) };
        // SAFETY: the lock makes this the only writer; a reader tolerates the oldest being torn.
        unsafe { (*self.base.cast::<ArenaHeader>()).anchors[at] = anchor };
        self.header().anchors_taken.store(taken + 1, Ordering::Release);
    }

    /// The header of a slab.
    pub fn slab(&self, slab: u32) -> &SlabHeader {
        // SAFETY: slab numbers come from this arena; every slab begins with a header.
        unsafe { &*self.at(slab, 0).cast() }
    }

    /// An address inside a slab.
    pub fn at(&self, slab: u32, offset: usize) -> *mut u8 {
        debug_assert!(slab < self.slabs && offset <= SLAB_BYTES);
        // SAFETY: inside the mapping, as checked.
        unsafe { self.base.add(slab as usize * SLAB_BYTES + offset) }
    }

    /// The units of a ring slab.
    pub fn units(&self, slab: u32) -> *mut Unit {
        self.at(slab, SLAB_UNITS_AT).cast()
    }

    /// Takes a free slab and prepares its header; the caller stores the kind when it is ready.
    pub fn take(&self, purpose: Purpose, thread: u32, first: u64) -> Option<u32> {
        if purpose == Purpose::Ring && self.free() <= self.reserve.load(Ordering::Relaxed) {
            return None;
        }
        let slab = self.free.take(|slab| &self.slab(slab).next).or_else(|| self.take_fresh())?;
        let header = self.slab(slab);
        header.len.store(0, Ordering::Relaxed);
        header.drained.store(0, Ordering::Relaxed);
        header.drained_records.store(0, Ordering::Relaxed);
        header.next.store(0, Ordering::Relaxed);
        header.thread.store(thread, Ordering::Relaxed);
        header.first.store(first, Ordering::Relaxed);
        header.capacity.store(SLAB_UNITS as u32, Ordering::Relaxed);
        Some(slab)
    }

    fn take_fresh(&self) -> Option<u32> {
        let end = self.end.load(Ordering::Relaxed);
        let next = |slab| (slab < end).then_some(slab + 1);
        self.fresh.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()
    }

    /// Gives a slab back.
    pub fn give(&self, slab: u32) {
        self.slab(slab).kind.store(slab_kind::FREE, Ordering::Release);
        self.free.give(slab, |slab| &self.slab(slab).next);
    }

    /// Whether an address lies in this arena.
    pub fn holds(&self, address: *const u8) -> bool {
        (address as usize).wrapping_sub(self.base as usize) < self.bytes()
    }

    /// Slabs that are free.
    pub fn free(&self) -> u32 {
        let fresh = self.fresh.load(Ordering::Relaxed);
        self.free.count() + self.end.load(Ordering::Relaxed).saturating_sub(fresh)
    }

    /// All slabs but the header's.
    pub fn slabs(&self) -> u32 {
        self.slabs - 1
    }

    /// Bytes of the mapping.
    pub fn bytes(&self) -> usize {
        self.slabs as usize * SLAB_BYTES
    }

    /// Whether the mapping outlives the process, and its file is still there.
    pub fn is_on_disk(&self) -> bool {
        use std::os::unix::fs::MetadataExt;
        let file = crate::lock(&self.file);
        file.as_ref().and_then(|file| file.metadata().ok()).is_some_and(|m| m.nlink() > 0)
    }

    /// Whether the arena was mapped from a file.
    pub fn has_file(&self) -> bool {
        self.from_file
    }

    /// Gives the disk back what was never used, but for some slabs that late records may take.
    pub fn trim(&self) {
        const KEPT: u32 = 32;
        let end = (self.fresh.load(Ordering::Relaxed) + KEPT).min(self.slabs);
        self.end.store(end, Ordering::Relaxed);
        self.reserve.store(0, Ordering::Relaxed);
        let (from, to) = (end as usize * SLAB_BYTES, self.bytes());
        let how = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        if let Some(file) = &*crate::lock(&self.file) {
            // SAFETY: a plain call on an open descriptor; nobody takes slabs of that range now.
            unsafe { libc::fallocate(file.as_raw_fd(), how, from as i64, (to - from) as i64) };
        }
    }

    /// The spool holds everything.
    pub fn set_finished(&self) {
        self.header().finished.store(1, Ordering::Release);
    }

    /// Whether the spool holds everything.
    pub fn is_finished(&self) -> bool {
        self.header().finished.load(Ordering::Acquire) != 0
    }

    /// Gives the file up: what threads may still look at is copied into plain memory of the same
    /// address, the rest becomes empty memory. Late closers find slots and rings, never a fault.
    pub fn retire(&self) {
        let mut empty_from = 0;
        for slab in 0..=self.slabs {
            let kept = slab < self.slabs && self.holds_state(slab);
            if kept || slab == self.slabs {
                self.empty(empty_from, slab);
                empty_from = slab + 1;
            }
            if kept {
                self.privatise(slab);
            }
        }
        *crate::lock(&self.file) = None;
    }

    fn holds_state(&self, slab: u32) -> bool {
        use slab_kind::{SLOTS, THREAD, THREAD_SLOTS};
        let is_used = slab > 0 && slab < self.fresh.load(Ordering::Relaxed);
        is_used
            && matches!(
                self.slab(slab).kind.load(Ordering::Relaxed),
                THREAD | THREAD_SLOTS | SLOTS
            )
    }

    /// Replaces slabs by empty memory.
    fn empty(&self, from: u32, to: u32) {
        if from < to {
            let bytes = (to - from) as usize * SLAB_BYTES;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let address = self.at(from, 0).cast();
            // SAFETY: the range is this arena's own; nobody reads it for records any more.
            unsafe { libc::mmap(address, bytes, protection, flags | libc::MAP_FIXED, -1, 0) };
        }
    }

    /// Replaces a slab by a copy of it in one step, so that nobody sees it empty.
    fn privatise(&self, slab: u32) {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let Ok(copy) = map(SLAB_BYTES, flags, -1) else { return };
        let here = self.at(slab, 0);
        // SAFETY: copies one slab into a mapping of our own and moves that over the slab.
        unsafe {
            copy.copy_from_nonoverlapping(here, SLAB_BYTES);
            let how = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
            libc::mremap(copy.cast(), SLAB_BYTES, SLAB_BYTES, how, here);
        }
    }

    /// Marks the file as owned by a living process, for readers that ask with `F_GETLK`.
    pub fn lock_for_life(&self) {
        let file = crate::lock(&self.file);
        let Some(file) = &*file else { return };
        // SAFETY: a zeroed flock is valid; the call only reads it.
        unsafe {
            let mut lock: libc::flock = std::mem::zeroed();
            lock.l_type = libc::F_WRLCK as libc::c_short;
            lock.l_whence = libc::SEEK_SET as libc::c_short;
            lock.l_len = 1;
            libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &lock);
        }
    }

    /// A child that kept the file open would keep its dead parent looking alive.
    pub fn close_file_in_child(&self) {
        // Another thread of the parent may have held the lock: then the descriptor stays open.
        let Ok(file) = self.file.try_lock() else { return };
        let Some(file) = &*file else { return };
        if !self.closed.swap(true, Ordering::Relaxed) {
            // SAFETY: in the child nobody uses the parent's descriptor again; the recorder that
            // owns it is abandoned and never dropped.
            unsafe { libc::close(file.as_raw_fd()) };
        }
    }
}

/// A file longer than `RLIMIT_FSIZE` would bring SIGXFSZ upon the host: refuse before trying.
fn refuse_past_limit(bytes: usize) -> std::io::Result<()> {
    match file_size_limit() {
        Some(limit) if (bytes as u64) > limit => Err(std::io::Error::from_raw_os_error(libc::EFBIG)),
        _ => Ok(()),
    }
}

/// The process's limit on the size of a file, if it has one.
pub fn file_size_limit() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid for the call to fill.
    let failed = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) };
    (failed == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

fn map(bytes: usize, flags: libc::c_int, fd: libc::c_int) -> std::io::Result<*mut u8> {
    // SAFETY: a new mapping at an address of the kernel's choice.
    let base = unsafe {
        libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, fd, 0)
    };
    if base == libc::MAP_FAILED {
        return Err(std::io::Error::last_os_error());
    }
    Ok(base.cast())
}

/// Whether files in `folder` may be mapped: never on network or user-space file systems, whose
/// servers can go away under a mapping.
pub fn fit_for_mapping(folder: &Path) -> Result<(), String> {
    const UNFIT: [(i64, &str); 6] = [
        (0x6969, "NFS"),
        (0x6573_5546, "FUSE"),
        (0x0102_1997, "9p"),
        (0xff53_4d42, "CIFS"),
        (0xfe53_4d42, "SMB2"),
        (0x00c3_6400, "Ceph"),
    ];
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(folder.as_os_str().as_bytes()).map_err(|e| e.to_string())?;
    // SAFETY: a zeroed statfs is valid to be filled; the path ends in NUL.
    let kind = unsafe {
        let mut info: libc::statfs = std::mem::zeroed();
        if libc::statfs(path.as_ptr(), &mut info) != 0 {
            return Err(std::io::Error::last_os_error().to_string());
        }
        info.f_type as i64
    };
    match UNFIT.iter().find(|(magic, _)| *magic == kind & 0xffff_ffff) {
        Some((_, name)) => Err(format!("{} lies on {name}", folder.display())),
        None => Ok(()),
    }
}

/// Bytes free for this user where `folder` lies.
pub fn free_bytes(folder: &Path) -> Option<u64> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(folder.as_os_str().as_bytes()).ok()?;
    // SAFETY: a zeroed statvfs is valid to be filled; the path ends in NUL.
    unsafe {
        let mut info: libc::statvfs = std::mem::zeroed();
        (libc::statvfs(path.as_ptr(), &mut info) == 0)
            .then(|| info.f_bavail as u64 * info.f_frsize as u64)
    }
}
