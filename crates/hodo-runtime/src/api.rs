//! The functions as one table, for a program that finds the library at run time or does without.

use crate::handle::{Entered, Handle};
use crate::health::{Health, hodo_get_health};
use crate::layout::{HODO_LAYOUT, ThreadState};
use crate::options::Options;
use crate::scope::Scope;
use crate::value::Value;
use crate::{control, gpu, handle, scope, telemetry};
use std::ffi::c_char;

/// Version of `hodo_api_table`: functions are only ever added at its end.
pub const HODO_API_VERSION: u32 = 1;

/// The functions of the library that a header calls.
#[repr(C)]
pub struct Api {
    /// `HODO_API_VERSION` of the library.
    pub version: u32,
    /// Bytes of its table.
    pub size: u32,
    /// `HODO_LAYOUT` of the library.
    pub layout: u32,
    /// Non-zero while a recorder is on; it may change at any time.
    pub on: *const u32,
    /// `hodo_init`
    pub init: unsafe extern "C" fn(options: *const Options) -> u32,
    /// `hodo_reason`
    pub reason: unsafe extern "C" fn(text: *mut c_char, size: usize) -> usize,
    /// `hodo_shutdown`
    pub shutdown: extern "C" fn() -> u32,
    /// `hodo_flush`
    pub flush: extern "C" fn(timeout_ms: u64) -> u32,
    /// `hodo_get_health`
    pub get_health: unsafe extern "C" fn(health: *mut Health),
    /// `hodo_name`
    pub name: unsafe extern "C" fn(text: *const c_char, length: usize) -> u32,
    /// `hodo_head`
    pub head: extern "C" fn(name: u32, flags: u16) -> u64,
    /// `hodo_open`
    pub open: unsafe extern "C" fn(thread: *mut *mut ThreadState, head: u64, index: i64) -> Scope,
    /// `hodo_close`
    pub close: unsafe extern "C" fn(thread: *mut *mut ThreadState, scope: Scope),
    /// `hodo_resync`
    pub resync: unsafe extern "C" fn(state: *mut ThreadState, now: u64) -> u64,
    /// `hodo_fail`
    pub fail: extern "C" fn(scope: Scope),
    /// `hodo_cancel`
    pub cancel: extern "C" fn(scope: Scope),
    /// `hodo_set`
    pub set: unsafe extern "C" fn(
        thread: *mut *mut ThreadState,
        scope: Scope,
        values: *const Value,
        count: usize,
    ),
    /// `hodo_mark`
    pub mark:
        unsafe extern "C" fn(thread: *mut *mut ThreadState, value: *const Value, summary: bool),
    /// `hodo_id`
    pub id: unsafe extern "C" fn(id: u64, text: *mut c_char),
    /// `hodo_begin`
    pub begin: extern "C" fn(name: u32, flags: u16, index: i64) -> Handle,
    /// `hodo_end`
    pub end: extern "C" fn(handle: Handle, flags: u16),
    /// `hodo_set_begun`
    pub set_begun: unsafe extern "C" fn(handle: Handle, values: *const Value, count: usize),
    /// `hodo_current`
    pub current: extern "C" fn() -> Handle,
    /// `hodo_outside`
    pub outside: extern "C" fn() -> Handle,
    /// `hodo_attach`
    pub attach: extern "C" fn(handle: Handle) -> Entered,
    /// `hodo_detach`
    pub detach: extern "C" fn(entered: Entered),
    /// `hodo_current_scope_id`
    pub current_scope_id: extern "C" fn() -> u64,
    /// `hodo_enter_new_scope`
    pub enter_new_scope: extern "C" fn(),
    /// `hodo_leave_new_scope`
    pub leave_new_scope: extern "C" fn(),
    /// `hodo_gpu_state`
    pub gpu_state: unsafe extern "C" fn(text: *mut c_char, size: usize) -> usize,
    /// `hodo_gpu_window_begin`
    pub gpu_window_begin:
        unsafe extern "C" fn(kind: *const c_char, mode: *const c_char, scope: *const c_char) -> u32,
    /// `hodo_gpu_window_end`
    pub gpu_window_end: extern "C" fn() -> u32,
    /// `hodo_gpu_window_reason`
    pub gpu_window_reason: unsafe extern "C" fn(text: *mut c_char, size: usize) -> usize,
    /// `hodo_telemetry_start`
    pub telemetry_start: unsafe extern "C" fn(interval: *const c_char) -> u32,
    /// `hodo_telemetry_stop`
    pub telemetry_stop: extern "C" fn() -> u32,
    /// `hodo_telemetry_state`
    pub telemetry_state: unsafe extern "C" fn(text: *mut c_char, size: usize) -> usize,
}

/// The table; null for a version that this library does not have.
#[unsafe(no_mangle)]
pub extern "C" fn hodo_api(version: u32) -> *const Api {
    static API: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    if version != HODO_API_VERSION {
        return std::ptr::null();
    }
    *API.get_or_init(|| Box::into_raw(Box::new(table())) as usize) as *const Api
}

fn table() -> Api {
    Api {
        version: HODO_API_VERSION,
        size: size_of::<Api>() as u32,
        layout: HODO_LAYOUT,
        on: hodo_record::binding::on_word().cast(),
        init: control::hodo_init,
        reason: control::hodo_reason,
        shutdown: control::hodo_shutdown,
        flush: control::hodo_flush,
        get_health: hodo_get_health,
        name: scope::hodo_name,
        head: scope::hodo_head,
        open: scope::hodo_open,
        close: scope::hodo_close,
        resync: scope::hodo_resync,
        fail: scope::hodo_fail,
        cancel: scope::hodo_cancel,
        set: scope::hodo_set,
        mark: scope::hodo_mark,
        id: scope::hodo_id,
        begin: handle::hodo_begin,
        end: handle::hodo_end,
        set_begun: handle::hodo_set_begun,
        current: handle::hodo_current,
        outside: handle::hodo_outside,
        attach: handle::hodo_attach,
        detach: handle::hodo_detach,
        current_scope_id: scope::hodo_current_scope_id,
        enter_new_scope: scope::hodo_enter_new_scope,
        leave_new_scope: scope::hodo_leave_new_scope,
        gpu_state: gpu::hodo_gpu_state,
        gpu_window_begin: gpu::hodo_gpu_window_begin,
        gpu_window_end: gpu::hodo_gpu_window_end,
        gpu_window_reason: gpu::hodo_gpu_window_reason,
        telemetry_start: telemetry::hodo_telemetry_start,
        telemetry_stop: telemetry::hodo_telemetry_stop,
        telemetry_state: telemetry::hodo_telemetry_state,
    }
}
