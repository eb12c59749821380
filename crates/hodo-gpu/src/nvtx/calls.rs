//! The functions that NVTX calls: each converts and hands over, and no panic leaves one.

use super::ranges::own;
use super::raw::{DomainHandle, Event, Function, NOT_TRACKED, StringHandle, bytes, wide};
use super::registry::{self, DEFAULT, Domain};
use super::{count, guarded, started, threads};
use libc::wchar_t;
use std::ffi::{c_char, c_int, c_void};

/// Functions without a domain, by their number.
pub fn core() -> [(usize, Function); 15] {
    [
        (1, mark_ex as Function),
        (2, mark_a as Function),
        (3, mark_w as Function),
        (4, range_start_ex as Function),
        (5, range_start_a as Function),
        (6, range_start_w as Function),
        (7, range_end as Function),
        (8, range_push_ex as Function),
        (9, range_push_a as Function),
        (10, range_push_w as Function),
        (11, range_pop as Function),
        (12, name_category_a as Function),
        (13, name_category_w as Function),
        (14, name_os_thread_a as Function),
        (15, name_os_thread_w as Function),
    ]
}

/// Functions with one. A resource is nothing that is recorded, and a domain is never forgotten.
pub fn core2() -> [(usize, Function); 12] {
    [
        (1, domain_mark_ex as Function),
        (2, domain_range_start_ex as Function),
        (3, domain_range_end as Function),
        (4, domain_range_push_ex as Function),
        (5, domain_range_pop as Function),
        (8, domain_name_category_a as Function),
        (9, domain_name_category_w as Function),
        (10, domain_register_string_a as Function),
        (11, domain_register_string_w as Function),
        (12, domain_create_a as Function),
        (13, domain_create_w as Function),
        (15, initialize as Function),
    ]
}

// These two are every range's way. What in them could panic is guarded where it is, for a guard
// around the whole would cost as much as the rest.

#[inline(always)]
fn push(domain: &Domain, event: &Event) -> c_int {
    own(|own| own.push(domain, event)).unwrap_or(NOT_TRACKED)
}

#[inline(always)]
fn pop(domain: &Domain) -> c_int {
    match own(|own| own.pop(domain)) {
        Some(Some(level)) => level,
        Some(None) => {
            count(|counts| &counts.pops_without_push);
            NOT_TRACKED
        }
        None => NOT_TRACKED,
    }
}

fn mark(domain: &Domain, event: &Event) {
    guarded((), || own(|own| own.mark(domain, event)).unwrap_or_default());
}

fn start(domain: &Domain, event: &Event) -> u64 {
    guarded(0, || own(|own| started::start(own, domain, event)).unwrap_or(0))
}

fn end(id: u64) {
    guarded((), || {
        // 0 is what a range gets that is not recorded.
        if id != 0 && !started::end(id) {
            count(|counts| &counts.ends_without_start);
        }
    });
}

/// An event that has nothing but a message.
fn only(message_type: i32, message: *const c_void) -> Event {
    Event { message_type, message, ..Event::NONE }
}

fn ascii(message: *const c_char) -> Event {
    only(super::raw::message::ASCII, message.cast())
}

fn wide_event(message: *const wchar_t) -> Event {
    only(super::raw::message::WIDE, message.cast())
}

/// Declares functions of which NVTX says that texts end in a NUL and that events have the size
/// they say.
macro_rules! calls {
    ($(fn $name:ident($($argument:ident: $type:ty),*) $(-> $answer:ty)? $body:block)*) => {$(
        unsafe extern "C" fn $name($($argument: $type),*) $(-> $answer)? $body
    )*};
}

// SAFETY of every block below: by what NVTX promises of its arguments, see `calls`.
calls! {
    fn mark_ex(event: *const Event) {
        // SAFETY: by the promise.
        unsafe { Event::with(event, |event| mark(&DEFAULT, event)) };
    }

    fn mark_a(message: *const c_char) {
        mark(&DEFAULT, &ascii(message));
    }

    fn mark_w(message: *const wchar_t) {
        mark(&DEFAULT, &wide_event(message));
    }

    fn range_start_ex(event: *const Event) -> u64 {
        // SAFETY: by the promise.
        unsafe { Event::with(event, |event| start(&DEFAULT, event)) }
    }

    fn range_start_a(message: *const c_char) -> u64 {
        start(&DEFAULT, &ascii(message))
    }

    fn range_start_w(message: *const wchar_t) -> u64 {
        start(&DEFAULT, &wide_event(message))
    }

    fn range_end(id: u64) {
        end(id);
    }

    fn range_push_ex(event: *const Event) -> c_int {
        // SAFETY: by the promise.
        unsafe { Event::with(event, |event| push(&DEFAULT, event)) }
    }

    fn range_push_a(message: *const c_char) -> c_int {
        // SAFETY: by the promise.
        own(|own| unsafe { own.push_text(message) }).unwrap_or(NOT_TRACKED)
    }

    fn range_push_w(message: *const wchar_t) -> c_int {
        push(&DEFAULT, &wide_event(message))
    }

    fn range_pop() -> c_int {
        pop(&DEFAULT)
    }

    fn name_category_a(category: u32, name: *const c_char) {
        // SAFETY: by the promise.
        name_category(&DEFAULT, category, &String::from_utf8_lossy(unsafe { bytes(name) }));
    }

    fn name_category_w(category: u32, name: *const wchar_t) {
        // SAFETY: by the promise.
        name_category(&DEFAULT, category, &unsafe { wide(name) });
    }

    fn name_os_thread_a(thread: u32, name: *const c_char) {
        // SAFETY: by the promise.
        name_thread(thread, &String::from_utf8_lossy(unsafe { bytes(name) }));
    }

    fn name_os_thread_w(thread: u32, name: *const wchar_t) {
        // SAFETY: by the promise.
        name_thread(thread, &unsafe { wide(name) });
    }

    fn domain_mark_ex(domain: DomainHandle, event: *const Event) {
        // SAFETY: by the promise.
        unsafe { Event::with(event, |event| mark(registry::domain(domain), event)) };
    }

    fn domain_range_start_ex(domain: DomainHandle, event: *const Event) -> u64 {
        // SAFETY: by the promise.
        unsafe { Event::with(event, |event| start(registry::domain(domain), event)) }
    }

    fn domain_range_end(_domain: DomainHandle, id: u64) {
        end(id);
    }

    fn domain_range_push_ex(domain: DomainHandle, event: *const Event) -> c_int {
        // SAFETY: by the promise.
        unsafe { Event::with(event, |event| push(registry::domain(domain), event)) }
    }

    fn domain_range_pop(domain: DomainHandle) -> c_int {
        pop(registry::domain(domain))
    }

    fn domain_name_category_a(domain: DomainHandle, category: u32, name: *const c_char) {
        // SAFETY: by the promise.
        let name = String::from_utf8_lossy(unsafe { bytes(name) });
        name_category(registry::domain(domain), category, &name);
    }

    fn domain_name_category_w(domain: DomainHandle, category: u32, name: *const wchar_t) {
        // SAFETY: by the promise.
        name_category(registry::domain(domain), category, &unsafe { wide(name) });
    }

    fn domain_register_string_a(_domain: DomainHandle, text: *const c_char) -> StringHandle {
        // SAFETY: by the promise.
        register(&String::from_utf8_lossy(unsafe { bytes(text) }))
    }

    fn domain_register_string_w(_domain: DomainHandle, text: *const wchar_t) -> StringHandle {
        // SAFETY: by the promise.
        register(&unsafe { wide(text) })
    }

    fn domain_create_a(name: *const c_char) -> DomainHandle {
        // SAFETY: by the promise.
        create(&String::from_utf8_lossy(unsafe { bytes(name) }))
    }

    fn domain_create_w(name: *const wchar_t) -> DomainHandle {
        // SAFETY: by the promise.
        create(&unsafe { wide(name) })
    }

    fn initialize(_reserved: *const c_void) {
        guarded((), super::start_if_asked);
    }
}

fn name_category(domain: &Domain, category: u32, name: &str) {
    guarded((), || registry::name_category(domain, category, name));
}

fn name_thread(thread: u32, name: &str) {
    guarded((), || threads::name(thread, name));
}

fn register(text: &str) -> StringHandle {
    guarded(std::ptr::null(), || registry::string_handle(text))
}

fn create(name: &str) -> DomainHandle {
    guarded(std::ptr::null(), || registry::domain_handle(name))
}
