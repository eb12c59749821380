//! Starting, stopping, asking.

use crate::options::Options;
use crate::text::words;
use crate::{guarded, telemetry};
use hodo_record::{Flushed, Started};
use std::ffi::c_char;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How the last start went, in words; empty when all is well.
static REASON: Mutex<String> = Mutex::new(String::new());

fn keep_reason(reason: &str) {
    *REASON.lock().unwrap_or_else(PoisonError::into_inner) = reason.into();
}

/// Starts recording. 0 on, 1 on but something does not work as it should, 2 off, 3 on already;
/// `hodo_reason` says why.
///
/// # Safety
/// `options` is null or points at options whose `struct_size` is right and whose texts end in a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hodo_init(options: *const Options) -> u32 {
    guarded(2, || {
        hodo_gpu::install();
        hodo_machine::install();
        // SAFETY: by the contract.
        let (options, config) = unsafe {
            let options = Options::read(options);
            (options, options.config())
        };
        let started = hodo_record::init(config);
        if started == Started::Already && !options.telemetry.is_null() {
            // SAFETY: by the contract.
            telemetry::ask(&format!("start {}", unsafe { words(options.telemetry) }));
        }
        let (code, reason) = match started {
            Started::On => (0, String::new()),
            Started::Degraded(why) => (1, why),
            Started::Off(why) => (2, why),
            Started::Already => (3, String::new()),
        };
        keep_reason(&reason);
        code
    })
}

/// Copies why the last start was not a plain success, NUL-terminated and cut to `size` bytes;
/// returns the bytes the whole text has.
///
/// # Safety
/// `text` points at `size` bytes that may be written; null with `size` 0 only asks for the length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hodo_reason(text: *mut c_char, size: usize) -> usize {
    guarded(0, || {
        let reason = REASON.lock().unwrap_or_else(PoisonError::into_inner);
        if !text.is_null() && size > 0 {
            let bytes = reason.len().min(size - 1);
            // SAFETY: by the contract; one byte is left for the NUL.
            unsafe {
                text.cast::<u8>().copy_from_nonoverlapping(reason.as_ptr(), bytes);
                *text.add(bytes) = 0;
            }
        }
        reason.len()
    })
}

/// Whether a recorder is on in this process, whichever copy of hodo it is.
#[unsafe(no_mangle)]
pub extern "C" fn hodo_is_on() -> bool {
    guarded(false, hodo_record::is_on)
}

/// Waits until everything recorded so far is on disk: 0 done, 1 timed out, 2 failed, 3 off.
#[unsafe(no_mangle)]
pub extern "C" fn hodo_flush(timeout_ms: u64) -> u32 {
    guarded(2, || code(&hodo_record::flush(Duration::from_millis(timeout_ms))))
}

/// Stops recording: everything is written, scopes from now on are inert. Answers as `hodo_flush`.
#[unsafe(no_mangle)]
pub extern "C" fn hodo_shutdown() -> u32 {
    guarded(2, || code(&hodo_record::shutdown()))
}

fn code(flushed: &Flushed) -> u32 {
    flushed.code()
}
