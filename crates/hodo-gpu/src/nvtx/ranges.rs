//! Ranges that a thread pushes and pops: scopes on its stack, and a stack of them per domain.

use super::registry::{DEFAULT, Domain};
use super::{event, names::Names, raw, torch};
use hodo_record::binding::{
    self, AttrsRecord, Head, INERT, Kind, Opened, Raw, SpanId, Thread, span_head, table,
};
use hodo_record::is_on;
use std::cell::{Cell, RefCell};
use std::ffi::{c_char, c_int};
use std::sync::OnceLock;

/// Most ranges kept of one thread and domain; deeper ones are only counted, so that a program which
/// never pops costs no memory without end.
const DEEPEST: usize = 4096;

/// The ranges of one domain that a thread has open, also those that are not recorded.
struct Stack {
    open: Vec<Opened>,
    deeper: u32,
}

impl Stack {
    const fn new() -> Stack {
        Stack { open: Vec::new(), deeper: 0 }
    }

    /// Its level, from 0; or the range again when there is no room.
    #[inline(always)]
    fn push(&mut self, opened: Opened) -> Result<c_int, Opened> {
        let level = self.open.len();
        if level >= DEEPEST {
            return Err(opened);
        }
        self.open.push(opened);
        Ok(level as c_int)
    }

    #[cold]
    fn push_deeper(&mut self) -> c_int {
        self.deeper += 1;
        (DEEPEST + self.deeper as usize - 1) as c_int
    }

    /// The innermost range and its level; none is open when there is none.
    #[inline(always)]
    fn pop(&mut self) -> Option<(Opened, c_int)> {
        if self.deeper > 0 {
            self.deeper -= 1;
            return Some((Opened::INERT, (DEEPEST + self.deeper as usize) as c_int));
        }
        let opened = self.open.pop()?;
        Some((opened, self.open.len() as c_int))
    }
}

/// What a thread has of its own.
pub struct Own {
    /// Its state in the recorder, as far as it is known here.
    thread: *mut Thread,
    /// Names it used.
    pub names: Names,
    default: Stack,
    others: Vec<(u32, Stack)>,
}

std::thread_local! {
    /// Null until the thread's first range. Freed by a key of the system's and by no destructor of
    /// the language's, which would run before the program's exit handlers and end recording there.
    static OWN: Cell<*const RefCell<Own>> = const { Cell::new(std::ptr::null()) };
}

/// Works on the calling thread's own; none in what the recorder calls while this is on the stack
/// already.
#[inline(always)]
pub fn own<T>(work: impl FnOnce(&mut Own) -> T) -> Option<T> {
    let known = OWN.get();
    let own = if known.is_null() { make_own() } else { known };
    // SAFETY: made for this thread, and freed when it ends.
    let mut own = unsafe { &*own }.try_borrow_mut().ok()?;
    Some(work(&mut own))
}

#[cold]
#[inline(never)]
fn make_own() -> *const RefCell<Own> {
    static KEY: OnceLock<Option<libc::pthread_key_t>> = OnceLock::new();
    let key = *KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: `key` is valid for the call to fill; the destructor never unwinds.
        let failed = unsafe { libc::pthread_key_create(&mut key, Some(free_own)) };
        (failed == 0).then_some(key)
    });
    let own = Box::into_raw(Box::new(RefCell::new(Own::new())));
    if let Some(key) = key {
        // SAFETY: the key exists; the value is only handed back to `free_own`.
        unsafe { libc::pthread_setspecific(key, own.cast()) };
    }
    OWN.set(own);
    own
}

/// Runs when a thread ends; a range in a destructor that runs later makes it anew.
unsafe extern "C" fn free_own(own: *mut libc::c_void) {
    OWN.set(std::ptr::null());
    // SAFETY: `make_own` put it there, and nothing on this thread's stack uses it any more.
    drop(unsafe { Box::from_raw(own.cast::<RefCell<Own>>()) });
}

impl Own {
    const fn new() -> Own {
        Own { thread: Thread::NONE, names: Names::new(), default: Stack::new(), others: Vec::new() }
    }

    #[inline(always)]
    fn stack(&mut self, domain: &Domain) -> &mut Stack {
        if domain.number() == 0 { &mut self.default } else { self.other(domain.number()) }
    }

    fn other(&mut self, number: u32) -> &mut Stack {
        let at = self.others.iter().position(|(known, _)| *known == number);
        let at = at.unwrap_or_else(|| {
            self.others.push((number, Stack::new()));
            self.others.len() - 1
        });
        &mut self.others[at].1
    }

    /// Pushes a range that has nothing but a text.
    ///
    /// # Safety
    /// The text ends in a NUL, or the address is null.
    #[inline(always)]
    pub unsafe fn push_text(&mut self, text: *const c_char) -> c_int {
        // SAFETY: by the contract.
        let name = unsafe { self.names.at(text) };
        let opened = self.open(name);
        if self.names.numbers.is_some() {
            self.set_numbers(opened);
        }
        self.keep(&DEFAULT, opened)
    }

    /// Pushes a range.
    #[inline(always)]
    pub fn push(&mut self, domain: &Domain, what: &raw::Event) -> c_int {
        let name = event::name(self, what);
        let opened = self.open(name);
        if opened.id != 0 && !(domain.tag.is_none() && what.is_plain()) {
            event::attributes(domain, what).with(|pairs| self.set(opened, pairs));
        }
        if self.names.numbers.is_some() {
            self.set_numbers(opened);
        }
        self.keep(domain, opened)
    }

    #[cold]
    #[inline(never)]
    fn set_numbers(&mut self, opened: Opened) {
        let pairs = self.take_numbers();
        if !pairs.is_empty() && opened.id != 0 {
            self.set(opened, &pairs);
        }
    }

    /// What the last message said besides its name.
    pub fn take_numbers(&mut self) -> Vec<event::Pair> {
        self.names.numbers.take().into_iter().flat_map(torch::Numbers::attributes).collect()
    }

    /// A range that is not recorded is kept too: its pop must find it.
    #[inline(always)]
    fn keep(&mut self, domain: &Domain, opened: Opened) -> c_int {
        match self.stack(domain).push(opened) {
            Ok(level) => level,
            Err(opened) => {
                take_back(opened);
                self.stack(domain).push_deeper()
            }
        }
    }

    /// Pops the innermost range of a domain; its level, or nothing where none was pushed.
    #[inline(always)]
    pub fn pop(&mut self, domain: &Domain) -> Option<c_int> {
        let (opened, level) = self.stack(domain).pop()?;
        self.close(opened);
        Some(level)
    }

    #[inline(always)]
    fn open(&mut self, name: u32) -> Opened {
        if name == 0 {
            return Opened::INERT;
        }
        let head = span_head(name, 0);
        // SAFETY: the state is the calling thread's own, or one that fails every check.
        match unsafe { Thread::open(self.thread, head, 0) } {
            Some(opened) => opened,
            None => self.open_slowly(head),
        }
    }

    #[cold]
    #[inline(never)]
    fn open_slowly(&mut self, head: u64) -> Opened {
        let Some(table) = table().filter(|_| is_on()) else { return Opened::INERT };
        let opened = (table.open)(head, 0);
        self.thread = binding::attach_thread();
        opened
    }

    #[inline(always)]
    fn close(&mut self, opened: Opened) {
        if opened.slot == INERT {
            return;
        }
        // SAFETY: the state is the calling thread's own; a slot that is not its innermost, also one
        // of the process before a fork, is left to the slow path.
        if !unsafe { Thread::close_if(self.thread, opened.slot, opened.id) } {
            close_slowly(opened);
        }
    }

    /// Sets attributes of the range that was just opened.
    #[inline(always)]
    fn set(&mut self, opened: Opened, pairs: &[event::Pair]) {
        let unit = AttrsRecord::unit(SpanId(opened.id), pairs);
        // SAFETY: as in `close`.
        if !unsafe { Thread::set(self.thread, opened.slot, unit) } {
            event::set_slowly(opened.slot, opened.id, pairs);
        }
    }

    /// Makes a mark.
    pub fn mark(&mut self, domain: &Domain, what: &raw::Event) {
        let name = event::name(self, what);
        self.names.numbers = None;
        if name == 0 || !is_on() {
            return;
        }
        let (code, word) = what.payload().unwrap_or(event::TRUE);
        let attributes = event::mark_attributes(domain, what);
        let head = Head { kind: Kind::Mark as u8, units: 1, flags: code, name };
        // SAFETY: as in `open`.
        if attributes.is_none() && unsafe { Thread::mark(self.thread, head.word(), word) } {
            return;
        }
        event::mark_slowly(name, &Raw { code: code.into(), key: 0, word, len: 0 }, attributes);
        self.thread = binding::attach_thread();
    }
}

#[cold]
#[inline(never)]
fn close_slowly(opened: Opened) {
    if let Some(table) = table() {
        (table.close)(opened.slot, opened.id, false);
    }
}

#[cold]
#[inline(never)]
fn take_back(opened: Opened) {
    if let Some(table) = table().filter(|_| opened.slot != INERT) {
        (table.cancel)(opened.slot, opened.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_that_is_full_still_matches_pops_with_pushes() {
        let mut stack = Stack::new();
        for level in 0..DEEPEST {
            assert_eq!(stack.push(Opened::INERT).ok(), Some(level as c_int));
        }
        assert!(stack.push(Opened::INERT).is_err());
        assert_eq!((stack.push_deeper(), stack.push_deeper()), (4096, 4097));
        let levels: Vec<c_int> =
            std::iter::from_fn(|| stack.pop().map(|(_, level)| level)).collect();
        assert!(levels.iter().copied().eq((0..DEEPEST as c_int + 2).rev()));
    }

    #[test]
    fn each_domain_has_a_stack_of_its_own() {
        let mut own = Own::new();
        own.keep(&DEFAULT, Opened::INERT);
        own.other(7).push(Opened::INERT).ok();
        own.other(9).push(Opened::INERT).ok();
        assert!(own.other(7).pop().is_some() && own.other(7).pop().is_none());
        assert!(own.other(9).pop().is_some());
        assert_eq!(own.pop(&DEFAULT), Some(0));
        assert_eq!(own.pop(&DEFAULT), None);
    }
}
