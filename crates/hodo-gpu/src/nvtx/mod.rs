//! NVTX: the ranges and marks of a program that knows nothing of hodo become scopes and marks.
//!
//! Every library of a process has its own instance of NVTX. Each looks at its first call for a tool
//! to attach, and then calls the tool's functions instead of doing nothing. Ranges that are pushed
//! and popped are scopes of their thread, with a stack for each domain; ranges that are started and
//! ended may end on another thread. A domain is the scope's tag, category and payload are the
//! attributes `nvtx.category` and `nvtx.payload`.

mod calls;
mod event;
mod names;
mod ranges;
mod raw;
mod registry;
mod started;
mod threads;
mod torch;

use hodo_record::binding::table;
use hodo_record::{Config, is_on};
pub use raw::GetExportTable;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What a range without a message is called.
const NO_MESSAGE: &str = "(no message)";

/// Makes an instance of NVTX call hodo, and starts the recorder where a launcher asked for it.
///
/// # Safety
/// `tables` is what NVTX passes to a tool that it attaches.
pub unsafe fn attach(tables: GetExportTable) {
    registry::survive_forks();
    start_if_asked();
    // SAFETY: by the contract.
    unsafe {
        fill(tables, raw::CORE, &calls::core());
        fill(tables, raw::CORE2, &calls::core2());
    }
}

/// # Safety
/// As for [`attach`].
unsafe fn fill(tables: GetExportTable, module: c_int, calls: &[(usize, raw::Function)]) {
    // SAFETY: NVTX gives a table of this type, and as many places as it says.
    unsafe {
        let callbacks = tables(raw::CALLBACKS).cast::<raw::Callbacks>();
        let ask =
            callbacks.as_ref().filter(|table| table.struct_size >= size_of::<raw::Callbacks>());
        let Some(ask) = ask.and_then(|table| table.module) else { return };
        let (mut places, mut size) = (std::ptr::null_mut(), 0);
        if ask(module, &mut places, &mut size) == 0 || places.is_null() {
            return;
        }
        for &(number, call) in calls.iter().filter(|(number, _)| *number < size as usize) {
            let place = *places.add(number);
            if !place.is_null() {
                *place = call;
            }
        }
    }
}

/// Starts the recorder if `HODO_INJECT` says that a launcher wants this process recorded, and
/// nobody in it has started or stopped one. At most once.
fn start_if_asked() {
    static ASKED: AtomicBool = AtomicBool::new(false);
    if is_on() || table().is_some() || ASKED.swap(true, Ordering::Relaxed) {
        return;
    }
    if std::env::var("HODO_INJECT").is_ok_and(|word| is_yes(&word)) {
        // The run is in the environment already; writing to it would race with threads of the
        // program that read it.
        hodo_record::init(Config { share_run: false, ..Config::from_env() });
    }
}

fn is_yes(word: &str) -> bool {
    matches!(word, "1" | "on" | "true" | "yes")
}

/// Calls of NVTX that had nothing to work on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pops without a push, such as of ranges pushed before the recorder was there.
    pub pops_without_push: u64,
    /// Ends of a range that was not started, or had ended.
    pub ends_without_start: u64,
    /// Ranges ended at once since too many were open.
    pub too_many_started: u64,
}

#[derive(Debug)]
struct Counters {
    pops_without_push: AtomicU64,
    ends_without_start: AtomicU64,
    too_many_started: AtomicU64,
}

static COUNTERS: Counters = Counters {
    pops_without_push: AtomicU64::new(0),
    ends_without_start: AtomicU64::new(0),
    too_many_started: AtomicU64::new(0),
};

#[cold]
#[inline(never)]
fn count(which: impl Fn(&Counters) -> &AtomicU64) {
    which(&COUNTERS).fetch_add(1, Ordering::Relaxed);
}

/// What was counted so far in this process.
pub fn counts() -> Counts {
    let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    Counts {
        pops_without_push: get(&COUNTERS.pops_without_push),
        ends_without_start: get(&COUNTERS.ends_without_start),
        too_many_started: get(&COUNTERS.too_many_started),
    }
}

/// Runs `work`; a panic stays here and gives `otherwise`.
#[inline(always)]
fn guarded<T>(otherwise: T, work: impl FnOnce() -> T) -> T {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or(otherwise)
}
