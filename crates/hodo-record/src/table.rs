//! The functions every copy of hodo in a process calls in the one copy that records.

use crate::attr::Raw;
use crate::context::{Entered, Suspended};
use crate::handle::Begun;
use crate::health::Numbers;
use crate::thread::{LAYOUT_VERSION, Opened, Thread};
use crate::{attach, attr, context, guarded, handle, process, scope};
use hodo_format::arena::Slot;
use hodo_format::record::SpanId;
use std::time::Duration;

/// Version of the table: functions are only ever added at its end.
pub const TABLE_VERSION: u32 = 1;

/// The table. Its functions are safe at any time: before the start, after the end, in a child.
#[derive(Debug)]
#[repr(C)]
pub struct Table {
    /// [`TABLE_VERSION`] of the copy that records.
    pub version: u32,
    /// Bytes of its table.
    pub size: u32,
    /// The calling thread's state, or null if off or if the layout version is not known.
    pub thread: extern "C" fn(u32) -> *mut Thread,
    /// Opens a scope: head of the span, index.
    pub open: extern "C" fn(u64, i64) -> Opened,
    /// Closes a scope: slot, id, whether it failed.
    pub close: extern "C" fn(*mut Slot, u64, bool),
    /// Takes a scope back, unrecorded: slot, id.
    pub cancel: extern "C" fn(*mut Slot, u64),
    /// Reads the CPU clock at the given ticks.
    pub resync: unsafe extern "C" fn(*mut Thread, u64) -> u64,
    /// The id of a string.
    pub intern: unsafe extern "C" fn(*const u8, usize) -> u32,
    /// Begins a scope that belongs to no thread: name, flags, index.
    pub begin: extern "C" fn(u32, u16, i64) -> Begun,
    /// Ends it, with more flags.
    pub end: extern "C" fn(Begun, u16),
    /// The calling thread's current scope, as something to enter elsewhere.
    pub link: extern "C" fn() -> Begun,
    /// Makes a scope current on the calling thread.
    pub enter: extern "C" fn(Begun) -> Entered,
    /// Undoes `enter`.
    pub leave: extern "C" fn(Entered),
    /// Enters a future's scope for one poll.
    pub resume: unsafe extern "C" fn(Begun, *mut *mut Suspended) -> Entered,
    /// Ends the poll.
    pub suspend: unsafe extern "C" fn(Entered, *mut *mut Suspended),
    /// Frees what a future that is dropped has suspended.
    pub drop_suspended: unsafe extern "C" fn(*mut *mut Suspended),
    /// Sets attributes of the span in a slot.
    pub set: unsafe extern "C" fn(*mut Slot, u64, *const Raw, usize),
    /// Marks an open scope as failed.
    pub fail: extern "C" fn(*mut Slot, u64),
    /// Makes a mark: name, value, whether a summary.
    pub mark: unsafe extern "C" fn(u32, *const Raw, bool),
    /// Random half of this process's ids; 0 when off.
    pub process: extern "C" fn() -> u64,
    /// Writes everything: 0 done, 1 timed out, 2 failed, 3 off.
    pub flush: extern "C" fn(u64) -> u32,
    /// Stops the recorder; answers as `flush` does.
    pub shutdown: extern "C" fn() -> u32,
    /// Says that a panic left the scope with this id.
    pub panicked: extern "C" fn(u64),
    /// Fills in as much of the numbers as both sides know.
    pub health: unsafe extern "C" fn(*mut Numbers, usize),
    /// The scope that the thread with this number is in, if the state is still its own: a link as
    /// of some moment during the call.
    pub link_of: unsafe extern "C" fn(*mut Thread, u32) -> Begun,
    /// The number of the calling thread, 0 when off.
    pub number: extern "C" fn() -> u32,
    /// The time of day at a number of ticks, in nanoseconds since 1970; 0 when off.
    pub wall_ns: extern "C" fn(u64) -> u64,
    /// Ticks as nanoseconds; 0 when off.
    pub ticks_ns: extern "C" fn(u64) -> u64,
    /// Makes a mark with attributes, which are a JSON object: name, value, whether a summary, text.
    pub mark_with: unsafe extern "C" fn(u32, *const Raw, bool, *const u8, usize),
    /// Copies the GPU capture's state, a JSON object, as far as it fits; returns its length.
    pub gpu_state: unsafe extern "C" fn(*mut u8, usize) -> usize,
    /// Names a thread by its number of the system's: number, text.
    pub name_thread: unsafe extern "C" fn(u32, *const u8, usize),
    /// Copies the state of a companion, a JSON object, as far as it fits; returns its length: name,
    /// text.
    pub companion_state: unsafe extern "C" fn(*const u8, usize, *mut u8, usize) -> usize,
    /// Asks a companion for something, 0 when done: name, words.
    pub ask_companion: unsafe extern "C" fn(*const u8, usize, *const u8, usize) -> u32,
}

/// This copy's table.
pub static TABLE: Table = Table {
    version: TABLE_VERSION,
    size: size_of::<Table>() as u32,
    thread,
    open,
    close,
    cancel,
    resync,
    intern,
    begin,
    end,
    link,
    enter,
    leave,
    resume,
    suspend,
    drop_suspended,
    set,
    fail,
    mark,
    process: process_id,
    flush,
    shutdown,
    panicked,
    health,
    link_of,
    number,
    wall_ns,
    ticks_ns,
    mark_with,
    gpu_state,
    name_thread,
    companion_state,
    ask_companion,
};

extern "C" fn thread(version: u32) -> *mut Thread {
    if version != LAYOUT_VERSION {
        return std::ptr::null_mut();
    }
    guarded(std::ptr::null_mut(), || {
        attach::attached().map_or(std::ptr::null_mut(), |(thread, _)| thread)
    })
}

extern "C" fn open(head: u64, index: i64) -> Opened {
    guarded(Opened::INERT, || scope::open(head, index))
}

extern "C" fn close(slot: *mut Slot, id: u64, failed: bool) {
    guarded((), || scope::close(slot, id, failed));
}

extern "C" fn cancel(slot: *mut Slot, id: u64) {
    guarded((), || scope::cancel(slot, id));
}

/// # Safety
/// `thread` is the calling thread's state.
unsafe extern "C" fn resync(thread: *mut Thread, now: u64) -> u64 {
    // SAFETY: by the contract.
    guarded(now, || scope::resync(unsafe { &mut *thread }, now))
}

/// # Safety
/// The bytes are those of a `str`.
unsafe extern "C" fn intern(text: *const u8, len: usize) -> u32 {
    guarded(0, || {
        // SAFETY: by the contract.
        let bytes = unsafe { std::slice::from_raw_parts(text, len) };
        crate::names::intern(&String::from_utf8_lossy(bytes), process::current_or_child())
    })
}

extern "C" fn begin(name: u32, flags: u16, index: i64) -> Begun {
    guarded(Begun::INERT, || handle::begin(name, flags, index))
}

extern "C" fn end(begun: Begun, flags: u16) {
    guarded((), || handle::end(begun, flags));
}

extern "C" fn link() -> Begun {
    guarded(Begun::INERT, || {
        let Some((thread, process)) = attach::existing() else { return Begun::INERT };
        // SAFETY: this thread's own state.
        let thread = unsafe { &*thread };
        let (slot, process) = (std::ptr::null_mut(), process.identity.process);
        Begun { slot, id: thread.current_id().0, process, depth: thread.depth() }
    })
}

extern "C" fn enter(begun: Begun) -> Entered {
    guarded(Entered::INERT, || context::enter(begun))
}

extern "C" fn leave(entered: Entered) {
    guarded((), || context::leave(entered));
}

/// Runs `with` on the box that `place` points at, and puts what is left back.
///
/// # Safety
/// `place` holds null or a box that an earlier call put there.
unsafe fn with_suspended<T>(
    place: *mut *mut Suspended,
    with: impl FnOnce(&mut Option<Box<Suspended>>) -> T,
) -> T {
    // SAFETY: by the contract.
    unsafe {
        let mut held = (!(*place).is_null()).then(|| Box::from_raw(*place));
        let result = with(&mut held);
        *place = held.map_or(std::ptr::null_mut(), Box::into_raw);
        result
    }
}

/// # Safety
/// As for [`with_suspended`].
unsafe extern "C" fn resume(begun: Begun, place: *mut *mut Suspended) -> Entered {
    guarded(Entered::INERT, || {
        // SAFETY: by the contract.
        unsafe { with_suspended(place, |held| context::resume(begun, held)) }
    })
}

/// # Safety
/// As for [`with_suspended`].
unsafe extern "C" fn suspend(entered: Entered, place: *mut *mut Suspended) {
    // SAFETY: by the contract.
    guarded((), || unsafe { with_suspended(place, |held| context::suspend(entered, held)) });
}

/// # Safety
/// As for [`with_suspended`].
unsafe extern "C" fn drop_suspended(place: *mut *mut Suspended) {
    // SAFETY: by the contract.
    guarded((), || unsafe { with_suspended(place, context::drop_suspended) });
}

/// # Safety
/// `values` points at `count` values, whose texts are live `str`s.
unsafe extern "C" fn set(slot: *mut Slot, span: u64, values: *const Raw, count: usize) {
    guarded((), || {
        // An arena that is not this process's: the scope is that of its parent, or was before a
        // restart, and its id another scope's here.
        let ours = process::current_or_child().is_some_and(|p| p.arena.holds(slot.cast()));
        if ours {
            // SAFETY: by the contract.
            unsafe { attr::set(SpanId(span), std::slice::from_raw_parts(values, count)) }
        }
    });
}

extern "C" fn fail(slot: *mut Slot, id: u64) {
    guarded((), || scope::fail(slot, id));
}

/// # Safety
/// `value` points at a value, whose text is a live `str`.
unsafe extern "C" fn mark(name: u32, value: *const Raw, summary: bool) {
    // SAFETY: by the contract.
    guarded((), || unsafe { attr::mark(name, &*value, summary) });
}

extern "C" fn process_id() -> u64 {
    guarded(0, || process::current_or_child().map_or(0, |process| process.identity.process))
}

extern "C" fn flush(timeout_ms: u64) -> u32 {
    guarded(2, || {
        let Some(process) = process::current() else { return 3 };
        process.flush(Duration::from_millis(timeout_ms)).code()
    })
}

extern "C" fn shutdown() -> u32 {
    guarded(2, || process::stop().code())
}

extern "C" fn panicked(id: u64) {
    guarded((), || scope::left_by_panic(id));
}

/// # Safety
/// `numbers` points at `size` bytes that may be written.
unsafe extern "C" fn health(numbers: *mut Numbers, size: usize) {
    guarded((), || {
        let known = Numbers::read();
        let bytes = size.min(size_of::<Numbers>());
        // SAFETY: by the contract; both sides share the beginning of the layout.
        unsafe {
            numbers.cast::<u8>().copy_from_nonoverlapping((&raw const known).cast(), bytes);
        }
    });
}

/// # Safety
/// `thread` came from a table's `thread`, on any thread.
unsafe extern "C" fn link_of(thread: *mut Thread, number: u32) -> Begun {
    // SAFETY: by the contract; states are never unmapped.
    guarded(Begun::INERT, || unsafe { context::link_of(thread, number) })
}

extern "C" fn number() -> u32 {
    guarded(0, || {
        // SAFETY: this thread's own state.
        attach::existing().map_or(0, |(thread, _)| unsafe { (*thread).number })
    })
}

extern "C" fn wall_ns(ticks: u64) -> u64 {
    guarded(0, || process::current().map_or(0, |process| process.wall_ns(ticks)))
}

extern "C" fn ticks_ns(ticks: u64) -> u64 {
    guarded(0, || process::current().map_or(0, |process| process.rate().ns(ticks)))
}

/// # Safety
/// `value` points at a value, whose text is a live `str`; so are the attributes.
unsafe extern "C" fn mark_with(
    name: u32,
    value: *const Raw,
    summary: bool,
    attributes: *const u8,
    len: usize,
) {
    // SAFETY: by the contract.
    guarded((), || unsafe {
        attr::mark(name, &*value, summary);
        attr::describe_mark(&Raw { code: attr::JSON, key: 0, word: attributes as u64, len });
    });
}

/// # Safety
/// `text` points at `size` bytes that may be written, or `size` is 0.
unsafe extern "C" fn gpu_state(text: *mut u8, size: usize) -> usize {
    let name = "gpu";
    // SAFETY: by the contract.
    unsafe { companion_state(name.as_ptr(), name.len(), text, size) }
}

/// # Safety
/// The name is a live `str`; `text` points at `size` bytes that may be written, or `size` is 0.
unsafe extern "C" fn companion_state(
    name: *const u8,
    len: usize,
    text: *mut u8,
    size: usize,
) -> usize {
    guarded(0, || {
        // SAFETY: by the contract.
        let name = unsafe { std::slice::from_raw_parts(name, len) };
        let state = crate::companion::state(&String::from_utf8_lossy(name));
        // SAFETY: by the contract.
        unsafe { text.copy_from_nonoverlapping(state.as_ptr(), state.len().min(size)) };
        state.len()
    })
}

/// # Safety
/// Both texts are live `str`s.
unsafe extern "C" fn ask_companion(
    name: *const u8,
    len: usize,
    words: *const u8,
    words_len: usize,
) -> u32 {
    guarded(crate::companion::UNKNOWN, || {
        // SAFETY: by the contract.
        let [name, words] = [(name, len), (words, words_len)]
            .map(|(text, len)| String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(text, len) }));
        crate::companion::ask(&name, &words)
    })
}

/// # Safety
/// The bytes are those of a `str`.
unsafe extern "C" fn name_thread(os_tid: u32, text: *const u8, len: usize) {
    guarded((), || {
        // SAFETY: by the contract.
        let bytes = unsafe { std::slice::from_raw_parts(text, len) };
        attach::name_thread(os_tid, &String::from_utf8_lossy(bytes));
    });
}
