//! The functions as one table, for a program that finds the library at run time or does without.

use crate::health::{Health, hodo_health};
use crate::options::Options;
use crate::scope::{Scope, ThreadState};
use crate::{control, scope};
use hodo_record::binding::{Begun, Entered, Raw};
use std::sync::atomic::AtomicU32;

/// Version of [`Api`]: functions are only ever added at its end.
pub const API_VERSION: u32 = 1;

/// Every function of the library.
#[repr(C)]
pub struct Api {
    /// [`API_VERSION`] of the library.
    pub version: u32,
    /// Bytes of its table.
    pub size: u32,
    /// Non-zero while a recorder is on.
    pub on: *const AtomicU32,
    /// `hodo_init`
    pub init: unsafe extern "C" fn(*const Options) -> u32,
    /// `hodo_shutdown`
    pub shutdown: extern "C" fn() -> u32,
    /// `hodo_flush`
    pub flush: extern "C" fn(u64) -> u32,
    /// `hodo_health`
    pub health: unsafe extern "C" fn(*mut Health),
    /// `hodo_name`
    pub name: unsafe extern "C" fn(*const u8, usize) -> u32,
    /// `hodo_head`
    pub head: extern "C" fn(u32, u16) -> u64,
    /// `hodo_open`
    pub open: unsafe extern "C" fn(*mut ThreadState, u64, i64) -> Scope,
    /// `hodo_close`
    pub close: unsafe extern "C" fn(*mut ThreadState, Scope),
    /// `hodo_fail`
    pub fail: extern "C" fn(Scope),
    /// `hodo_cancel`
    pub cancel: extern "C" fn(Scope),
    /// `hodo_set`
    pub set: unsafe extern "C" fn(Scope, *const Raw, usize),
    /// `hodo_mark`
    pub mark: unsafe extern "C" fn(*const Raw, bool),
    /// `hodo_id`
    pub id: unsafe extern "C" fn(u64, *mut u8),
    /// `hodo_begin`
    pub begin: extern "C" fn(u32, u16, i64) -> Begun,
    /// `hodo_end`
    pub end: extern "C" fn(Begun, u16),
    /// `hodo_set_begun`
    pub set_begun: unsafe extern "C" fn(Begun, *const Raw, usize),
    /// `hodo_current`
    pub current: extern "C" fn() -> Begun,
    /// `hodo_attach`
    pub attach: extern "C" fn(Begun) -> Entered,
    /// `hodo_detach`
    pub detach: extern "C" fn(Entered),
    /// `hodo_current_scope_id`
    pub current_scope_id: extern "C" fn() -> u64,
    /// `hodo_enter_new_scope`
    pub enter_new_scope: extern "C" fn(),
    /// `hodo_leave_new_scope`
    pub leave_new_scope: extern "C" fn(),
    /// `hodo_reason`
    pub reason: unsafe extern "C" fn(*mut std::ffi::c_char, usize) -> usize,
}

/// The table; null for a version that this library does not have.
#[unsafe(no_mangle)]
pub extern "C" fn hodo_api(version: u32) -> *const Api {
    static API: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    if version != API_VERSION {
        return std::ptr::null();
    }
    *API.get_or_init(|| Box::into_raw(Box::new(table())) as usize) as *const Api
}

fn table() -> Api {
    Api {
        version: API_VERSION,
        size: size_of::<Api>() as u32,
        on: hodo_record::binding::on_word(),
        init: control::hodo_init,
        shutdown: control::hodo_shutdown,
        flush: control::hodo_flush,
        health: hodo_health,
        name: scope::hodo_name,
        head: scope::hodo_head,
        open: scope::hodo_open,
        close: scope::hodo_close,
        fail: scope::hodo_fail,
        cancel: scope::hodo_cancel,
        set: scope::hodo_set,
        mark: scope::hodo_mark,
        id: scope::hodo_id,
        begin: scope::hodo_begin,
        end: scope::hodo_end,
        set_begun: scope::hodo_set_begun,
        current: scope::hodo_current,
        attach: scope::hodo_attach,
        detach: scope::hodo_detach,
        current_scope_id: scope::hodo_current_scope_id,
        enter_new_scope: scope::hodo_enter_new_scope,
        leave_new_scope: scope::hodo_leave_new_scope,
        reason: control::hodo_reason,
    }
}
