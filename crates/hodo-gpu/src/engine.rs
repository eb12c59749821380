//! The one attachment to CUPTI of a process: made once, kept for its life.
//!
//! Attaching and detaching again costs more than leaving it, and older CUPTIs number calls wrongly
//! after the first time. A recorder that stops switches the records off and forgets nothing else.

use crate::attribute::Memory;
use crate::buffers::{BUFFER_BYTES, Buffers};
use crate::callback;
use crate::counts::Counts;
use crate::cupti::code::{self, attribute, domain, kind, resource, result};
use crate::cupti::{CudaDriver, Cupti, Problem};
use crate::pc::Cubins;
use hodo_record::ClockSource;
use hodo_record::binding::counter;
use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

/// What CUPTI calls back into.
#[derive(Debug)]
pub struct Engine {
    /// The library.
    pub cupti: Cupti,
    /// The CUDA version of the driver.
    pub driver: u32,
    /// What the callbacks remember.
    pub memory: Memory,
    /// The memory it writes into.
    pub buffers: Buffers,
    /// What every driver call is, by its number.
    pub calls: [Option<code::Call>; code::CALL_LIMIT],
    /// The clock that stamps.
    pub clock: ClockSource,
    /// Our hold on the callbacks; null without one.
    subscriber: AtomicPtr<c_void>,
    /// Whether scopes are found by thread and time, for lack of callbacks.
    pub by_time: AtomicBool,
    /// Not 0 once CUPTI has given up.
    pub fatal: AtomicU32,
    /// Whether modules are copied when they are loaded.
    pub with_modules: AtomicBool,
    /// Those that were.
    pub cubins: Cubins,
}

static ENGINE: OnceLock<Engine> = OnceLock::new();
/// Where the callbacks count while a recorder is on; null otherwise.
static COUNTS: AtomicPtr<Counts> = AtomicPtr::new(std::ptr::null_mut());

/// The engine, once it was made.
pub fn engine() -> Option<&'static Engine> {
    ENGINE.get()
}

/// Where to count; none while no recorder is on.
#[inline]
pub fn counts() -> Option<&'static Counts> {
    // SAFETY: counts are never unmapped.
    unsafe { COUNTS.load(Ordering::Acquire).as_ref() }
}

/// Says where to count.
pub fn set_counts(counts: Option<&'static Counts>) {
    let pointer = counts.map_or(std::ptr::null(), std::ptr::from_ref);
    COUNTS.store(pointer.cast_mut(), Ordering::Release);
}

/// Makes the engine with an open library; the first stays.
pub fn make(cupti: Cupti, clock: ClockSource) -> &'static Engine {
    ENGINE.get_or_init(|| {
        let mut calls = [None; code::CALL_LIMIT];
        code::calls().for_each(|(number, call)| calls[number as usize] = Some(call));
        Engine {
            cupti,
            driver: CudaDriver::mapped().map_or(0, CudaDriver::version),
            memory: Memory::default(),
            buffers: Buffers::new(),
            calls,
            clock,
            subscriber: AtomicPtr::new(std::ptr::null_mut()),
            by_time: AtomicBool::new(false),
            fatal: AtomicU32::new(0),
            with_modules: AtomicBool::new(false),
            cubins: Cubins::default(),
        }
    })
}

/// A kind of work, by the word users know it by, and its records.
pub const KINDS: [(&str, &[u32]); 5] = [
    ("kernels", &[kind::CONCURRENT_KERNEL]),
    ("copies", &[kind::MEMCPY, kind::MEMCPY2]),
    ("sets", &[kind::MEMSET]),
    ("syncs", &[kind::SYNCHRONIZATION]),
    ("memory", &[kind::MEMORY2]),
];

unsafe extern "C" fn counter_clock() -> u64 {
    counter()
}

unsafe extern "C" fn monotonic_clock() -> u64 {
    ClockSource::Monotonic.now()
}

unsafe extern "C" fn buffer_requested(buffer: *mut *mut u8, size: *mut usize, most: *mut usize) {
    let take = || {
        engine().map_or(std::ptr::null_mut(), |engine| {
            engine.buffers.take(engine.cupti.may_refuse_buffers())
        })
    };
    let taken = guarded(std::ptr::null_mut(), take);
    // SAFETY: CUPTI passes places for the answers.
    unsafe {
        *buffer = taken;
        *size = if taken.is_null() { 0 } else { BUFFER_BYTES };
        *most = 0;
    }
}

unsafe extern "C" fn buffer_completed(
    _: *mut c_void,
    _: u32,
    buffer: *mut u8,
    _: usize,
    valid: usize,
) {
    guarded((), || {
        if let Some(engine) = engine() {
            engine.buffers.completed(buffer, valid);
        }
    });
}

/// Runs `work`; a panic stays here, for beyond CUPTI it would end the program.
pub fn guarded<T>(otherwise: T, work: impl FnOnce() -> T) -> T {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or(otherwise)
}

impl Engine {
    /// Takes the callbacks. False when another tool has them.
    pub fn subscribe(&self) -> Result<bool, Problem> {
        let mut subscriber = std::ptr::null_mut();
        // SAFETY: the callback has the type that is asked for and lives as long as the process.
        let subscribed = unsafe {
            self.cupti.subscribe(&mut subscriber, callback::called, std::ptr::null_mut())
        };
        match subscribed {
            Err(problem) if problem.code == result::MULTIPLE_SUBSCRIBERS => return Ok(false),
            other => other?,
        }
        self.subscriber.store(subscriber, Ordering::Release);
        self.listen(true)?;
        Ok(true)
    }

    /// Switches the callbacks that hodo wants.
    pub fn listen(&self, on: bool) -> Result<(), Problem> {
        let subscriber = self.subscriber.load(Ordering::Acquire);
        if subscriber.is_null() {
            return Ok(());
        }
        let cupti = &self.cupti;
        let switch = u32::from(on);
        // SAFETY: the subscriber is ours.
        unsafe {
            let mut known = 0;
            for (number, _) in code::calls() {
                // Numbers that are newer than this CUPTI are refused.
                known += u32::from(
                    cupti.enable_callback(switch, subscriber, domain::DRIVER, number).is_ok(),
                );
            }
            for number in [resource::GRAPH_NODE_CREATED, resource::GRAPH_NODE_CLONED] {
                cupti.enable_callback(switch, subscriber, domain::RESOURCE, number)?;
            }
            for number in [resource::CONTEXT_CREATED, resource::CONTEXT_DESTROY_STARTING] {
                let _ = cupti.enable_callback(switch, subscriber, domain::RESOURCE, number);
            }
            if !on || self.with_modules.load(Ordering::Acquire) {
                let number = resource::MODULE_LOADED;
                let _ = cupti.enable_callback(switch, subscriber, domain::RESOURCE, number);
            }
            let _ = cupti.enable_domain(switch, subscriber, domain::STATE);
            if known == 0 {
                cupti.enable_callback(switch, subscriber, domain::DRIVER, 307)?;
            }
        }
        Ok(())
    }

    /// Gives the callbacks up, for a tool that needs them.
    pub fn unsubscribe(&self) -> Result<(), Problem> {
        let subscriber = self.subscriber.swap(std::ptr::null_mut(), Ordering::AcqRel);
        if subscriber.is_null() {
            return Ok(());
        }
        // SAFETY: it was ours.
        unsafe { self.cupti.unsubscribe(subscriber) }
    }

    /// Whether CUPTI has given up since this was last asked; then nothing of it is held any more.
    pub fn has_given_up(&self) -> bool {
        let has = self.fatal.swap(0, Ordering::AcqRel) != 0;
        if has {
            self.subscriber.store(std::ptr::null_mut(), Ordering::Release);
        }
        has
    }

    /// Whether the callbacks are ours.
    pub fn has_callbacks(&self) -> bool {
        !self.subscriber.load(Ordering::Acquire).is_null()
    }

    /// Says which clock stamps and who hands out buffers, and switches records on.
    pub fn capture(&self, kinds: &[u32]) -> Result<(), Problem> {
        let cupti = &self.cupti;
        let clock = match self.clock {
            ClockSource::Counter => counter_clock,
            ClockSource::Monotonic => monotonic_clock,
        };
        // SAFETY: the functions have the types asked for; attributes have the sizes told.
        unsafe {
            set(cupti, attribute::ZEROED_BUFFER, &mut 1u8);
            set(cupti, attribute::PER_THREAD_BUFFER, &mut 1u8);
            if let Some(mut limit) = device_buffers() {
                set(cupti, attribute::DEVICE_BUFFER_LIMIT, &mut limit);
            }
            let _ = cupti.thread_id_type(1);
            cupti.register_clock(clock)?;
            cupti.register_buffers(buffer_requested, buffer_completed)?;
            for &kind in kinds {
                cupti.activity_enable(kind)?;
            }
            let _ = cupti.all_sync_records(0);
        }
        Ok(())
    }

    /// Switches records off.
    pub fn release(&self, kinds: &[u32]) {
        for &kind in kinds {
            // SAFETY: a plain call.
            let _ = unsafe { self.cupti.activity_disable(kind) };
        }
    }

    /// Makes CUPTI hand over what is complete, or with `all` everything.
    pub fn flush(&self, all: bool) {
        // SAFETY: not called from CUPTI's own callbacks, and no lock of ours is held.
        let _ = unsafe { self.cupti.flush_all(all.into()) };
    }

    /// Records that CUPTI dropped since the last call.
    pub fn dropped(&self) -> u64 {
        let mut dropped = 0;
        // SAFETY: the number is filled in.
        let _ = unsafe { self.cupti.dropped_records(std::ptr::null_mut(), 0, &mut dropped) };
        dropped as u64
    }
}

/// Sets an attribute; one that this CUPTI does not have stays as it is.
///
/// # Safety
/// The attribute has the type of `value`.
unsafe fn set<T>(cupti: &Cupti, attribute: u32, value: &mut T) {
    let mut size = size_of::<T>();
    // SAFETY: by the contract.
    let _ = unsafe { cupti.set_attribute(attribute, &mut size, std::ptr::from_mut(value).cast()) };
}

/// Most buffers on the device, as `HODO_GPU_BUFFERS` says.
fn device_buffers() -> Option<usize> {
    std::env::var("HODO_GPU_BUFFERS").ok()?.parse().ok()
}
