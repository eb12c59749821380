//! Readings of the machine while the program records.

use crate::{guarded, text};
use std::ffi::c_char;

/// Reads the machine from now on, whether or not a scope is open, until `hodo_telemetry_stop` was
/// called as often. `interval` is the time between readings, such as "50ms"; null for what
/// `hodo_init` was told, else a second. Where readings are under way already their interval stays.
///
/// Returns 0; 1 for an interval that makes no sense; 2 when nothing records; 4294967295 where this
/// copy of hodo has no readings.
///
/// # Safety
/// `interval` is null or ends in a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hodo_telemetry_start(interval: *const c_char) -> u32 {
    guarded(2, || {
        // SAFETY: by the contract.
        let interval = unsafe { text::words(interval) };
        ask(format!("start {interval}").trim_end())
    })
}

/// Ends what `hodo_telemetry_start` began; what `hodo_init` asked for goes on. Returns 0, or 2 when
/// nothing was begun.
#[unsafe(no_mangle)]
pub extern "C" fn hodo_telemetry_stop() -> u32 {
    guarded(2, || ask("stop"))
}

/// Copies the state of the readings, a JSON object, NUL-terminated and cut to `size` bytes; returns
/// the bytes the whole text has, 0 when nothing records.
///
/// # Safety
/// `text` points at `size` bytes that may be written; null with `size` 0 only asks for the length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hodo_telemetry_state(text: *mut c_char, size: usize) -> usize {
    guarded(0, || {
        let state = hodo_record::binding::companion_state("telemetry");
        // SAFETY: by the contract.
        unsafe { text::copy(&state, text, size) }
    })
}

pub(crate) fn ask(words: &str) -> u32 {
    hodo_record::binding::ask_companion("telemetry", words)
}
