//! The recording API that languages build on: scopes, attributes, marks, numbers.
//!
//! Each copy of hodo has its own front. The fast path works on the thread's state; everything else
//! goes through the table of the copy that records.

use crate::attr::{JSON, Raw, TEXT};
use crate::rendezvous::{is_on, is_surely_off, table};
use crate::thread::{INERT, LAYOUT_VERSION, Opened, Thread, span_head};
use hodo_format::arena::Slot;
use hodo_format::record::{AttrsRecord, Head, Kind, MarkRecord, SpanId, Unit, code, flag};
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

std::thread_local! {
    /// The calling thread's state, as far as this copy knows it.
    pub(crate) static THREAD: Cell<*mut Thread> = const { Cell::new(Thread::NONE) };
}

/// The full id of a scope: unique across processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScopeId {
    /// Random half, the same for every scope of a process.
    pub process: u64,
    /// Thread and sequence.
    pub span: u64,
}

impl std::fmt::Display for ScopeId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}{:016x}", self.process, self.span)
    }
}

/// A string that is interned once: a static beside each use of a name.
#[derive(Debug)]
pub struct Site {
    text: &'static str,
    /// Head of a span with this name; 0 until interned.
    head: AtomicU64,
}

impl Site {
    /// A place where `text` is used.
    pub const fn new(text: &'static str) -> Site {
        Site { text, head: AtomicU64::new(0) }
    }

    /// The string's id; 0 while no recorder is on.
    #[inline(always)]
    pub fn id(&self) -> u32 {
        Head::from_word(self.head()).name
    }

    #[inline(always)]
    fn head(&self) -> u64 {
        let head = self.head.load(Ordering::Relaxed);
        if head != 0 || is_surely_off() { head } else { self.intern() }
    }

    #[cold]
    #[inline(never)]
    fn intern(&self) -> u64 {
        if !is_on() {
            return 0;
        }
        let head = span_head(intern(self.text), 0);
        self.head.store(head, Ordering::Relaxed);
        head
    }
}

/// The id of a string; 0 while no recorder is on.
pub fn intern(text: &str) -> u32 {
    // SAFETY: the bytes are those of a str.
    table().map_or(0, |table| unsafe { (table.intern)(text.as_ptr(), text.len()) })
}

/// A value of an attribute or a mark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A whole number.
    I64(i64),
    /// A float; NaN and infinities are kept.
    F64(f64),
    /// True or false.
    Bool(bool),
    /// An interned string.
    Name(u32),
    /// Text.
    Text(&'a str),
    /// A JSON document.
    Json(&'a str),
}

impl Value<'_> {
    #[inline(always)]
    fn raw(&self, key: u32) -> Raw {
        let (code, word, len) = match *self {
            Value::I64(v) => (u32::from(code::I64), v as u64, 0),
            Value::F64(v) => (u32::from(code::F64), v.to_bits(), 0),
            Value::Bool(v) => (u32::from(code::BOOL), u64::from(v), 0),
            Value::Name(v) => (u32::from(code::NAME), u64::from(v), 0),
            Value::Text(v) => (TEXT, v.as_ptr() as u64, v.len()),
            Value::Json(v) => (JSON, v.as_ptr() as u64, v.len()),
        };
        Raw { code, key, word, len }
    }
}

macro_rules! from_number {
    ($($from:ty => $variant:ident as $to:ty),* $(,)?) => {$(
        impl From<$from> for Value<'_> {
            #[inline(always)]
            fn from(value: $from) -> Self {
                Value::$variant(value as $to)
            }
        }
    )*};
}

from_number! {
    i8 => I64 as i64, i16 => I64 as i64, i32 => I64 as i64, i64 => I64 as i64, isize => I64 as i64,
    u8 => I64 as i64, u16 => I64 as i64, u32 => I64 as i64,
    f32 => F64 as f64, f64 => F64 as f64, bool => Bool as bool,
}

/// Numbers past `i64::MAX` are kept as floats: near, and of the right size.
impl From<u64> for Value<'_> {
    #[inline(always)]
    fn from(value: u64) -> Self {
        i64::try_from(value).map_or(Value::F64(value as f64), Value::I64)
    }
}

impl From<usize> for Value<'_> {
    #[inline(always)]
    fn from(value: usize) -> Self {
        Value::from(value as u64)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Value::Text(value)
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(value: &'a String) -> Self {
        Value::Text(value)
    }
}

/// Reads the CPU clock through the copy that records.
#[cold]
#[inline(never)]
pub(crate) unsafe fn resync(thread: *mut Thread, now: u64) -> u64 {
    // SAFETY: callers pass their own thread's state.
    table().map_or(now, |table| unsafe { (table.resync)(thread, now) })
}

/// An open scope; closes when dropped. Bound to its thread.
#[derive(Debug)]
pub struct Scope {
    opened: Opened,
    not_send: PhantomData<*mut ()>,
}

/// Opens a scope named at `site`.
#[inline(always)]
pub fn open_at(site: &Site, index: Option<i64>) -> Scope {
    // First of all, before the thread's state is looked at: a program that never starts the recorder
    // pays for two loads.
    match site.head() {
        0 => Scope::inert(),
        head => open_head(head, index),
    }
}

/// Opens a scope with [`flag`] bits and an index.
#[inline(always)]
pub fn open_with(name: u32, flags: u16, index: Option<i64>) -> Scope {
    open_head(span_head(name, flags), index)
}

#[inline(always)]
fn open_head(head: u64, index: Option<i64>) -> Scope {
    let has_index = if index.is_some() { u64::from(flag::HAS_INDEX) << 16 } else { 0 };
    let (head, index) = (head | has_index, index.unwrap_or(0));
    // SAFETY: the state is the calling thread's own.
    let opened = match unsafe { Thread::open(THREAD.get(), head, index) } {
        Some(opened) => opened,
        None if is_surely_off() => Opened::INERT,
        None => open_slowly(head, index),
    };
    Scope { opened, not_send: PhantomData }
}

#[cold]
#[inline(never)]
fn open_slowly(head: u64, index: i64) -> Opened {
    let Some(table) = table().filter(|_| is_on()) else { return Opened::INERT };
    let opened = (table.open)(head, index);
    if opened.slot != INERT {
        remember((table.thread)(LAYOUT_VERSION));
    }
    opened
}

/// Keeps what the recording copy says the calling thread's state is.
pub(crate) fn remember(thread: *mut Thread) {
    THREAD.set(if thread.is_null() { Thread::NONE } else { thread });
}

#[cold]
#[inline(never)]
fn close_slowly(slot: *mut Slot, id: u64, failed: bool) {
    if let Some(table) = table() {
        (table.close)(slot, id, failed);
    }
}

#[cold]
#[inline(never)]
fn left_by_panic(id: u64) {
    if let Some(table) = table() {
        (table.panicked)(id);
    }
}

impl Scope {
    /// A scope that records nothing.
    pub const fn inert() -> Scope {
        Scope { opened: Opened::INERT, not_send: PhantomData }
    }

    /// Whether it is being recorded: a recorder is on and it is not too deep.
    #[inline(always)]
    pub fn is_recorded(&self) -> bool {
        self.opened.id != 0
    }

    /// Sets an attribute.
    #[inline]
    pub fn set(&self, key: u32, value: Value<'_>) {
        self.set_all([(key, value)]);
    }

    /// Sets several attributes at once.
    #[inline(always)]
    pub fn set_all<const N: usize>(&self, values: [(u32, Value<'_>); N]) {
        let Opened { slot, id } = self.opened;
        if id == 0 {
            return;
        }
        // SAFETY: the state is the calling thread's own, the slot was opened on it.
        let done = fixed(id, &values)
            .is_some_and(|unit| unsafe { Thread::set(THREAD.get(), slot, unit) });
        if !done {
            set_on(slot, id, values);
        }
    }

    /// Marks the scope as failed.
    pub fn fail(&mut self) {
        let thread = THREAD.get();
        if !self.is_recorded() {
            return;
        }
        let Opened { slot, id } = self.opened;
        // SAFETY: the state is the calling thread's own; its current slot is too.
        unsafe {
            if (*thread).current == slot {
                (*slot).head |= u64::from(flag::FAILED) << 16;
            } else if let Some(table) = table() {
                (table.fail)(slot, id);
            }
        }
    }

    /// Its id, when it is recorded.
    pub fn id(&self) -> Option<ScopeId> {
        scope_id(self.opened.id)
    }

    /// Closes it now.
    pub fn close(self) {}

    /// Takes it back: nothing is recorded.
    pub fn cancel(mut self) {
        let Opened { slot, id, .. } = std::mem::replace(&mut self.opened, Opened::INERT);
        if let Some(table) = table().filter(|_| !slot.is_null()) {
            (table.cancel)(slot, id);
        }
    }
}

impl Drop for Scope {
    #[inline(always)]
    fn drop(&mut self) {
        if self.opened.slot != INERT {
            close(self.opened);
        }
    }
}

/// Out of line: a scope's place in the program then holds the opening and a call.
#[inline(never)]
fn close(opened: Opened) {
    let Opened { slot, id } = opened;
    // SAFETY: the state is the calling thread's own. A slot that is not its current one, also a
    // pointer that stands for none, is left to the slow path.
    if !unsafe { Thread::close(THREAD.get(), slot) } {
        close_slowly(slot, id, false);
    } else if std::thread::panicking() {
        left_by_panic(id);
    }
}

/// The record of attributes that all have a fixed size and fit one unit.
#[inline(always)]
fn fixed<const N: usize>(span: u64, values: &[(u32, Value<'_>); N]) -> Option<Unit> {
    if N == 0 || N > AttrsRecord::CAPACITY {
        return None;
    }
    let mut pairs = [(0, code::NONE, 0); N];
    for (pair, (key, value)) in pairs.iter_mut().zip(values) {
        let Raw { code, word, .. } = value.raw(*key);
        if code >= TEXT {
            return None;
        }
        *pair = (*key, code as u16, word);
    }
    Some(AttrsRecord::unit(SpanId(span), &pairs))
}

#[cold]
#[inline(never)]
pub(crate) fn set_on<const N: usize>(
    slot: *mut Slot,
    span: u64,
    values: [(u32, Value<'_>); N],
) {
    let values = values.map(|(key, value)| value.raw(key));
    if let Some(table) = table() {
        // SAFETY: the values borrow their texts until the call returns.
        unsafe { (table.set)(slot, span, values.as_ptr(), values.len()) };
    }
}

/// The full id of one of this process's scopes.
pub fn scope_id(span: u64) -> Option<ScopeId> {
    let process = (span != 0).then(|| table().map(|table| (table.process)()))??;
    Some(ScopeId { process, span })
}

/// Makes a mark in the current scope.
#[inline(always)]
pub fn mark(name: u32, value: Value<'_>, summary: bool) {
    let raw = value.raw(0);
    if raw.code < TEXT {
        let flags = raw.code as u16 | if summary { MarkRecord::SUMMARY } else { 0 };
        let head = Head { kind: Kind::Mark as u8, units: 1, flags, name };
        // SAFETY: the state is the calling thread's own.
        if unsafe { Thread::mark(THREAD.get(), head.word(), raw.word) } {
            return;
        }
    }
    if is_on() {
        mark_slowly(name, &raw, summary);
    }
}

#[cold]
#[inline(never)]
fn mark_slowly(name: u32, value: &Raw, summary: bool) {
    if let Some(table) = table() {
        // SAFETY: the value borrows its text until the call returns.
        unsafe { (table.mark)(name, value, summary) };
    }
}

/// The id of the current scope of this thread.
pub fn current() -> Option<ScopeId> {
    table().and_then(|table| scope_id((table.link)().id))
}

/// Variables that make a child process join this run, under the current scope.
pub fn child_env() -> Vec<(&'static str, String)> {
    let health = crate::health();
    let run = health.run.map(|run| ("HODO_RUN", run.to_string_lossy().into_owned()));
    let parent = current().map(|id| ("HODO_PARENT", id.to_string()));
    run.into_iter().chain(parent).collect()
}
