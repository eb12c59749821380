//! Binding an operating-system thread to its state, and letting go when it ends.

use crate::arena::Purpose;
use crate::cpu::CpuClock;
use crate::front::THREAD;
use crate::process::{self, Process};
use crate::scope::{allow_fast, finish, link_slots, unlink};
use crate::thread::Thread;
use hodo_format::arena::{
    AtomicCounts, SLAB_HEADER_BYTES, THREAD_NAME_BYTES, THREAD_SLOTS, THREAD_SLOTS_AT,
    THREAD_UNITS, THREAD_UNITS_AT, ThreadHeader, slab_kind,
};
use hodo_format::record::{SpanId, flag};
use std::sync::OnceLock;
use std::time::Duration;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

/// A live thread's state, listed so that others can send it to the slow path.
#[derive(Clone, Copy, Debug)]
pub struct Live(pub *mut Thread);
// SAFETY: only the atomic words of the state are used through this from other threads.
unsafe impl Send for Live {}

/// What the pump is told about a new thread.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The thread's number.
    pub number: u32,
    /// Its slab, which is its first segment too.
    pub slab: u32,
}

/// The calling thread's state in the running recorder, made if need be; `None` when off or full.
pub fn attached() -> Option<(*mut Thread, &'static Process)> {
    let process = process::current_or_child()?;
    let thread = THREAD.get();
    if belongs(thread, process) {
        return Some((thread, process));
    }
    let thread = attach(process)?;
    THREAD.set(thread);
    Some((thread, process))
}

/// The calling thread's state if it has one in the running recorder.
pub fn existing() -> Option<(*mut Thread, &'static Process)> {
    let process = process::current()?;
    let thread = THREAD.get();
    belongs(thread, process).then_some((thread, process))
}

fn belongs(thread: *mut Thread, process: &Process) -> bool {
    // SAFETY: a state's memory is never unmapped; `process` is a plain number in it.
    unsafe { (*thread).process == process.identity.process }
}

fn attach(process: &'static Process) -> Option<*mut Thread> {
    let slab = take_slab(process)?;
    let number = process.next_thread.fetch_add(1, Ordering::Relaxed);
    process.arena.slab(slab).thread.store(number, Ordering::Relaxed);
    let header = write_header(process, slab);
    let Some(this) = process.threads.take() else {
        process.arena.give(slab);
        return None;
    };
    let segment = process.arena.slab(slab);
    segment.capacity.store(THREAD_UNITS as u32, Ordering::Relaxed);
    let cursor = process.arena.at(slab, THREAD_UNITS_AT).cast();
    // SAFETY: `take` gave memory for one state that nobody else uses.
    unsafe {
        this.write(Thread {
            current: &raw mut (*this).root,
            next_id: SpanId::new(number, 1).0,
            cursor,
            end: cursor.add(THREAD_UNITS),
            published: &segment.len,
            scope_cost: AtomicU64::new(process.scope_cost.load(Ordering::Relaxed)),
            process: process.identity.process,
            number,
            segment,
            header,
            clock: Some(Box::new(CpuClock::attach(process.cpu))),
            ..Thread::blank()
        });
        let slots = process.arena.at(slab, THREAD_SLOTS_AT).cast();
        link_slots(&mut *this, slots, THREAD_SLOTS);
    }
    segment.kind.store(slab_kind::THREAD, Ordering::Release);
    announce(process, this, Arrival { number, slab });
    Some(this)
}

/// A slab for a new thread. Where all are taken, most hold what short threads left for the pump:
/// the first scope of a thread then waits for it, for a bounded time, and no other thread does
/// until the pump has come round.
fn take_slab(process: &'static Process) -> Option<u32> {
    const WAIT: Duration = Duration::from_millis(1);
    const WAITS: usize = 20;
    let pump = &process.pump;
    pump.nudge(&process.arena);
    let take = || process.arena.take(Purpose::Needed, 0, 0);
    let wait_and_take = |_| {
        pump.ensure_running(process);
        pump.wake();
        std::thread::sleep(WAIT);
        take()
    };
    take().or_else(|| {
        let round = pump.rounds.load(Ordering::Relaxed);
        let hopeless = !crate::lock(&pump.trouble).is_empty()
            || process.waited_in.load(Ordering::Relaxed) == round;
        let slab = (0..if hopeless { 0 } else { WAITS }).find_map(wait_and_take);
        if slab.is_none() {
            process.waited_in.store(round, Ordering::Relaxed);
        }
        slab
    })
}

fn announce(process: &Process, this: *mut Thread, arrival: Arrival) {
    let mut live = crate::lock(&process.live);
    live.push(Live(this));
    crate::lock(&process.arrivals).push(arrival);
    // SAFETY: the state was filled by the caller. Set under the lock, so that a shutdown or a
    // fork that changes all of them does not miss this one.
    unsafe { allow_fast(&(*this).fast, process) };
    drop(live);
    call_at_thread_end(this);
}

fn write_header(process: &Process, slab: u32) -> *const ThreadHeader {
    let header = process.arena.at(slab, SLAB_HEADER_BYTES).cast::<ThreadHeader>();
    // SAFETY: the slab was just taken; the header lies inside it.
    unsafe {
        header.write(ThreadHeader {
            os_tid: libc::syscall(libc::SYS_gettid) as u32,
            ended: AtomicU32::new(0),
            started: process.clock.now(),
            ended_at: AtomicU64::new(0),
            name: os_name().map(AtomicU8::new),
            lost: AtomicCounts::default(),
            depth_dropped: AtomicU64::new(0),
            out_of_order: AtomicU64::new(0),
            double_closed: AtomicU64::new(0),
            wrong_thread: AtomicU64::new(0),
            cpu_syscalls: AtomicU64::new(0),
        });
    }
    header
}

fn os_name() -> [u8; THREAD_NAME_BYTES] {
    let mut name = [0; THREAD_NAME_BYTES];
    // SAFETY: the kernel writes at most 16 bytes with the final NUL.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    name
}

/// Names a thread in reports, if it records or is the calling one. The system's name stays.
pub fn name_thread(os_tid: u32, name: &str) {
    // SAFETY: gettid has no failure.
    if unsafe { libc::syscall(libc::SYS_gettid) } as u32 == os_tid {
        attached();
    }
    let Some(process) = process::current() else { return };
    let end = crate::names::floor_boundary(name, THREAD_NAME_BYTES);
    let name = name.as_bytes()[..end].iter().copied().chain(std::iter::repeat(0));
    for live in crate::lock(&process.live).iter() {
        // SAFETY: threads leave this list, under its lock, before their slab is given back.
        let header = unsafe { (*live.0).header() };
        if header.os_tid == os_tid {
            header.name.iter().zip(name.clone()).for_each(|(to, byte)| to.store(byte, Ordering::Relaxed));
        }
    }
}

/// How often the end of a thread is put off, so that destructors which run before may still record.
const PUT_OFF: usize = 2;

fn call_at_thread_end(this: *mut Thread) {
    if let Some(key) = end_key() {
        // SAFETY: the key exists; the value is only handed back to `at_thread_end`.
        unsafe { libc::pthread_setspecific(key, this.cast()) };
    }
}

fn end_key() -> Option<libc::pthread_key_t> {
    static KEY: OnceLock<Option<libc::pthread_key_t>> = OnceLock::new();
    *KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: `key` is valid for the call to fill; the destructor never unwinds.
        let failed = unsafe { libc::pthread_key_create(&mut key, Some(at_thread_end)) };
        (failed == 0).then_some(key)
    })
}

std::thread_local! {
    static ROUND: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Runs when a thread ends, after its language-level destructors.
unsafe extern "C" fn at_thread_end(value: *mut libc::c_void) {
    let this = value.cast::<Thread>();
    let round = ROUND.get() + 1;
    ROUND.set(round);
    if round <= PUT_OFF {
        call_at_thread_end(this);
        return;
    }
    crate::guarded((), || {
        if let Some((thread, process)) = existing()
            && thread == this
        {
            detach(thread, process);
        }
        THREAD.set(Thread::NONE);
    });
}

/// Ends a thread's recording: what is open is closed as left open, and the pump is told.
pub fn detach(this: *mut Thread, process: &'static Process) {
    // SAFETY: the thread is ending and runs nothing else of hodo.
    let thread = unsafe { &mut *this };
    let now = process.clock.now();
    while thread.current != &raw mut thread.root {
        let slot = thread.current;
        unlink(thread, slot);
        // SAFETY: the slot was the top of this thread's stack.
        let is_span = unsafe { crate::context::is_span(slot) };
        if is_span {
            finish(thread, process, slot, now, flag::LEFT_OPEN);
        }
        thread.spare(slot);
    }
    crate::context::end_suspended(thread, process, now);
    thread.fast.store(0, Ordering::Relaxed);
    crate::lock(&process.live).retain(|live| live.0 != this);
    for slab in std::mem::take(&mut thread.slot_slabs) {
        process.arena.give(slab);
    }
    thread.clock = None;
    let header = thread.header;
    thread.process = 0;
    crate::companion::tell(|companion| (companion.thread_ends)(this));
    process.threads.give(this);
    // SAFETY: the slab stays this thread's until the pump sees `ended`, stored last.
    unsafe {
        (*header).ended_at.store(now, Ordering::Relaxed);
        (*header).ended.store(1, Ordering::Release);
    }
}
