//! What a program registers once and then names by number: domains, strings, categories.
//!
//! Handles are numbers of a table that only grows, so that a wrong one is found out and never
//! followed. Everything is kept by content: a program that registers the same again and again
//! gets the same handle.

use hodo_record::{intern, is_on};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, Once};

/// A string, and its name in the recorder once it is known.
#[derive(Debug)]
pub struct Registered {
    text: &'static str,
    name: AtomicU32,
}

impl Registered {
    fn new(text: &'static str) -> Registered {
        Registered { text, name: AtomicU32::new(0) }
    }

    /// Its text.
    pub fn text(&self) -> &'static str {
        self.text
    }

    /// Its name in the recorder; 0 while none is on.
    #[inline(always)]
    pub fn name(&self) -> u32 {
        let known = self.name.load(Ordering::Relaxed);
        if known != 0 || !is_on() { known } else { self.ask() }
    }

    #[cold]
    fn ask(&self) -> u32 {
        let name = intern(self.text);
        self.name.store(name, Ordering::Relaxed);
        name
    }
}

/// Categories whose names are found without a lock.
const SMALL_CATEGORIES: usize = 256;

/// A domain.
#[derive(Debug)]
pub struct Domain {
    /// Its name; none for one that stands for the default.
    pub tag: Option<Registered>,
    number: u32,
    /// Numbers of the strings that name its first categories; 0 for none.
    categories: [AtomicU32; SMALL_CATEGORIES],
}

impl Domain {
    const fn new(tag: Option<Registered>, number: u32) -> Domain {
        Domain { tag, number, categories: [const { AtomicU32::new(0) }; SMALL_CATEGORIES] }
    }
}

/// The domain of the functions that have none.
pub static DEFAULT: Domain = Domain::new(None, 0);
/// What the Python package `nvtx` calls the domain of a program that asks for none.
const PYTHON_DEFAULT: &str = "NVTX";

const CHUNK: usize = 1024;
const CHUNKS: usize = 1024;

/// A list of things that are never freed, numbered from 1; reading it takes no lock.
struct Numbered<T: 'static> {
    chunks: [AtomicPtr<[AtomicPtr<T>; CHUNK]>; CHUNKS],
}

impl<T> Numbered<T> {
    const fn new() -> Numbered<T> {
        Numbered { chunks: [const { AtomicPtr::new(std::ptr::null_mut()) }; CHUNKS] }
    }

    #[inline(always)]
    fn get(&self, number: usize) -> Option<&'static T> {
        let chunk = self.chunks.get(number / CHUNK)?.load(Ordering::Acquire);
        // SAFETY: null, or chunks and things that are leaked once they are whole.
        unsafe { chunk.as_ref()?[number % CHUNK].load(Ordering::Acquire).as_ref() }
    }

    /// Puts a thing in a place that is empty; the caller holds the registry's lock.
    fn put(&self, number: usize, thing: T) {
        let place = &self.chunks[number / CHUNK];
        let mut chunk = place.load(Ordering::Acquire);
        if chunk.is_null() {
            let empty = [const { AtomicPtr::new(std::ptr::null_mut()) }; CHUNK];
            chunk = Box::into_raw(Box::new(empty));
            place.store(chunk, Ordering::Release);
        }
        // SAFETY: as in `get`.
        let chunk = unsafe { &*chunk };
        chunk[number % CHUNK].store(Box::into_raw(Box::new(thing)), Ordering::Release);
    }
}

static DOMAINS: Numbered<Domain> = Numbered::new();
static STRINGS: Numbered<Registered> = Numbered::new();

/// Most domains told apart; a program has a handful, and later ones are the default one.
const MOST_DOMAINS: usize = 4096;
const MOST_STRINGS: usize = CHUNK * CHUNKS - 1;

#[derive(Default)]
struct Known {
    domains: HashMap<&'static str, u32>,
    strings: HashMap<&'static str, u32>,
    categories: HashMap<(u32, u32), u32>,
}

static KNOWN: Mutex<Option<Known>> = Mutex::new(None);

fn lock() -> MutexGuard<'static, Option<Known>> {
    crate::lock(&KNOWN)
}

/// A domain's handle: the same for the same name. Null, the default one, for too many.
pub fn domain_handle(name: &str) -> *const c_void {
    let mut known = lock();
    let domains = &mut known.get_or_insert_default().domains;
    if let Some(&number) = domains.get(name) {
        return handle(number);
    }
    if domains.len() >= MOST_DOMAINS {
        return std::ptr::null();
    }
    let number = domains.len() as u32 + 1;
    let name: &'static str = Box::leak(name.into());
    domains.insert(name, number);
    let tag = (name != PYTHON_DEFAULT && !name.is_empty()).then(|| Registered::new(name));
    DOMAINS.put(number as usize, Domain::new(tag, number));
    handle(number)
}

/// The domain with this handle; the default one for null and for what is no handle.
#[inline(always)]
pub fn domain(handle: *const c_void) -> &'static Domain {
    if handle.is_null() {
        return &DEFAULT;
    }
    DOMAINS.get(handle.addr()).unwrap_or(&DEFAULT)
}

impl Domain {
    /// Its number; 0 for the default one.
    #[inline(always)]
    pub fn number(&self) -> u32 {
        self.number
    }
}

fn handle(number: u32) -> *const c_void {
    std::ptr::without_provenance(number as usize)
}

/// A string's handle: the same for the same text. Null, no string, for too many.
pub fn string_handle(text: &str) -> *const c_void {
    handle(register(&mut lock(), text))
}

fn register(known: &mut Option<Known>, text: &str) -> u32 {
    let text = if text.is_empty() { super::NO_MESSAGE } else { text };
    let strings = &mut known.get_or_insert_default().strings;
    if let Some(&number) = strings.get(text) {
        return number;
    }
    if strings.len() >= MOST_STRINGS {
        return 0;
    }
    let number = strings.len() as u32 + 1;
    let text: &'static str = Box::leak(text.into());
    strings.insert(text, number);
    STRINGS.put(number as usize, Registered::new(text));
    number
}

/// The string with this handle.
#[inline(always)]
pub fn string(handle: *const c_void) -> Option<&'static Registered> {
    STRINGS.get(handle.addr())
}

/// Names a category of a domain; a later name replaces it.
pub fn name_category(domain: &Domain, category: u32, text: &str) {
    let mut known = lock();
    let string = register(&mut known, text);
    match domain.categories.get(category as usize) {
        Some(place) => place.store(string, Ordering::Release),
        None => {
            let categories = &mut known.get_or_insert_default().categories;
            if categories.len() < MOST_DOMAINS {
                categories.insert((domain.number, category), string);
            }
        }
    }
}

/// The name of a category, if it has one.
pub fn category(domain: &Domain, category: u32) -> Option<&'static Registered> {
    let string = match domain.categories.get(category as usize) {
        Some(place) => place.load(Ordering::Acquire),
        None => *lock().as_ref()?.categories.get(&(domain.number, category))?,
    };
    STRINGS.get(string as usize)
}

/// A thread that forks holds this, so that the child finds the lock free and what it guards whole.
/// No function here calls the recorder meanwhile, which holds locks of its own.
pub fn survive_forks() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handlers have the signature that is asked for and never unwind.
        unsafe { libc::pthread_atfork(Some(before_fork), Some(after_fork), Some(after_fork)) };
    });
}

type Held = (MutexGuard<'static, Option<Known>>, super::started::Held);

std::thread_local! {
    static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
}

extern "C" fn before_fork() {
    super::guarded((), || {
        let held = (lock(), super::started::hold());
        // A thread so late in its life that it has no such place forks at its own risk.
        let _ = HELD.try_with(|cell| cell.replace(Some(held)));
    });
}

extern "C" fn after_fork() {
    super::guarded((), || drop(HELD.try_with(RefCell::take)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_text_has_the_same_handle() {
        let one = string_handle("registry-one");
        assert_eq!(one, string_handle("registry-one"));
        assert_ne!(one, string_handle("registry-two"));
        assert_eq!(string(one).map(Registered::text), Some("registry-one"));
        let domain_one = domain_handle("registry-domain");
        assert_eq!(domain_one, domain_handle("registry-domain"));
        assert_eq!(domain(domain_one).tag.as_ref().map(Registered::text), Some("registry-domain"));
    }

    #[test]
    fn what_is_no_handle_is_never_followed() {
        for wrong in [0, 900_000, usize::MAX / 2, usize::MAX] {
            let wrong = std::ptr::without_provenance(wrong);
            assert!(string(wrong).is_none());
            assert_eq!(domain(wrong).number(), 0);
        }
    }

    #[test]
    fn categories_are_named_per_domain() {
        let (a, b) = (domain(domain_handle("categories-a")), domain(domain_handle("categories-b")));
        for number in [3, 70_000] {
            name_category(a, number, "io");
            assert_eq!(category(a, number).map(Registered::text), Some("io"));
            name_category(a, number, "network");
            assert_eq!(category(a, number).map(Registered::text), Some("network"));
            assert!(category(b, number).is_none());
        }
    }

    #[test]
    fn pythons_default_domain_is_no_tag() {
        assert!(domain(domain_handle("NVTX")).tag.is_none());
    }
}
