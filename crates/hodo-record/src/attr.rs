//! Attributes and marks: records of their own, written when they are set.

use crate::attach::attached;
use crate::names::floor_boundary;
use crate::process::Process;
use crate::scope::charge;
use crate::thread::Thread;
use crate::write::{Sort, append};
use hodo_format::record::{
    AttrsRecord, Head, Kind, MAX_TEXT_BYTES, MarkRecord, SpanId, TextRecord, UNIT_BYTES, Unit, code,
};
use std::mem::MaybeUninit;
use std::sync::atomic::Ordering;

/// A value as it crosses between copies of hodo: a code with a word, or text.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Raw {
    /// A code of [`code`], [`TEXT`] or [`JSON`].
    pub code: u32,
    /// String id of the attribute's key; unused in marks.
    pub key: u32,
    /// The value's word, or the address of the text.
    pub word: u64,
    /// Bytes of the text.
    pub len: usize,
}

/// Code of text in a [`Raw`].
pub const TEXT: u32 = 16;
/// Code of JSON in a [`Raw`].
pub const JSON: u32 = 17;

impl Raw {
    /// The text, cut to what a record takes, and whether it was cut.
    ///
    /// # Safety
    /// `word` and `len` are those of a live `str`.
    unsafe fn text(&self) -> (&str, bool) {
        // SAFETY: by the contract.
        let text = unsafe {
            let bytes = std::slice::from_raw_parts(self.word as *const u8, self.len);
            std::str::from_utf8_unchecked(bytes)
        };
        let end = floor_boundary(text, MAX_TEXT_BYTES);
        (&text[..end], end < text.len())
    }
}

/// Sets attributes of `span`.
///
/// # Safety
/// Values that are text point at live `str`s.
pub unsafe fn set(span: SpanId, values: &[Raw]) {
    let Some((this, process)) = attached() else {
        crate::process::count_unattached(Sort::Attr);
        return;
    };
    // SAFETY: `attached` gave this thread's own state.
    let thread = unsafe { &mut *this };
    let mut pairs = [(0, 0, 0); AttrsRecord::CAPACITY];
    let mut count = 0;
    for value in values {
        if value.code >= TEXT {
            // SAFETY: by the contract.
            unsafe { set_text(thread, process, span, value, 0) };
            continue;
        }
        pairs[count] = (value.key, value.code as u16, value.word);
        count += 1;
        if count == pairs.len() {
            put(thread, process, &[AttrsRecord::unit(span, &pairs)], Sort::Attr);
            count = 0;
        }
    }
    if count > 0 {
        put(thread, process, &[AttrsRecord::unit(span, &pairs[..count])], Sort::Attr);
    }
}

fn put(thread: &mut Thread, process: &Process, units: &[Unit], sort: Sort) {
    append(thread, process, units, sort);
    charge(thread.current, thread.scope_cost.load(Ordering::Relaxed) / 2);
}

/// # Safety
/// As for [`set`].
unsafe fn set_text(
    thread: &mut Thread,
    process: &Process,
    span: SpanId,
    value: &Raw,
    of_mark: u16,
) {
    // SAFETY: by the contract.
    let (text, cut) = unsafe { value.text() };
    let json = if value.code == JSON { TextRecord::JSON } else { 0 };
    let flags = of_mark | json | if cut { TextRecord::CUT } else { 0 };
    let units = TextRecord::units(text.len());
    let mut memory: Memory = [MaybeUninit::uninit(); LONGEST];
    let head = Head { kind: Kind::Text as u8, units: units as u8, flags, name: value.key };
    let mut buffer = TextBuffer::new(head, span, &mut memory);
    buffer.put(TextRecord::LENGTH_AT, &(text.len() as u32).to_le_bytes());
    buffer.put(TextRecord::BYTES_AT, text.as_bytes());
    put(thread, process, buffer.units, Sort::Attr);
}

/// Makes a mark in the calling thread's current scope.
///
/// # Safety
/// As for [`set`].
pub unsafe fn mark(name: u32, value: &Raw, summary: bool) {
    let Some((this, process)) = attached() else {
        crate::process::count_unattached(Sort::Mark);
        return;
    };
    process.pump.ensure_running(process);
    // SAFETY: `attached` gave this thread's own state.
    let thread = unsafe { &mut *this };
    let span = thread.current_id();
    let now = process.clock.now();
    let summary = if summary { MarkRecord::SUMMARY } else { 0 };
    if value.code < TEXT {
        let flags = summary | value.code as u16 & MarkRecord::CODE_MASK;
        let head = Head { kind: Kind::Mark as u8, units: 1, flags, name };
        let unit = Unit([head.word(), span.0, now, value.word, 0, 0, 0, 0]);
        put(thread, process, &[unit], Sort::Mark);
        return;
    }
    // SAFETY: by the contract.
    let (text, cut) = unsafe { value.text() };
    let units = MarkRecord::units(text.len());
    let flags = summary | if cut { MarkRecord::CUT } else { code::NONE };
    let mut memory: Memory = [MaybeUninit::uninit(); LONGEST];
    let head = Head { kind: Kind::MarkText as u8, units: units as u8, flags, name };
    let mut buffer = TextBuffer::new(head, span, &mut memory);
    buffer.units[0].0[2] = now;
    buffer.units[0].0[3] = text.len() as u64;
    buffer.put(MarkRecord::BYTES_AT, text.as_bytes());
    put(thread, process, buffer.units, Sort::Mark);
}

/// Gives the mark that the calling thread just made its attributes: a JSON object.
///
/// # Safety
/// As for [`set`].
pub unsafe fn describe_mark(attributes: &Raw) {
    let Some((this, process)) = attached() else {
        crate::process::count_unattached(Sort::Attr);
        return;
    };
    // SAFETY: `attached` gave this thread's own state; the text by the contract.
    unsafe {
        let thread = &mut *this;
        let span = thread.current_id();
        set_text(thread, process, span, attributes, TextRecord::OF_MARK);
    }
}

/// Units of the longest record.
const LONGEST: usize = MarkRecord::units(MAX_TEXT_BYTES);
/// Room for it; only what a record needs is ever written.
type Memory = [MaybeUninit<Unit>; LONGEST];

/// A record that carries text, being put together on the stack.
struct TextBuffer<'a> {
    units: &'a mut [Unit],
}

impl<'a> TextBuffer<'a> {
    fn new(head: Head, span: SpanId, memory: &'a mut Memory) -> Self {
        let needed = &mut memory[..usize::from(head.units)];
        needed.fill(MaybeUninit::new(Unit::ZERO));
        // SAFETY: the units were just filled.
        let units = unsafe { &mut *(std::ptr::from_mut(needed) as *mut [Unit]) };
        units[0].0[0] = head.word();
        units[0].0[1] = span.0;
        TextBuffer { units }
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        debug_assert!(at + bytes.len() <= self.units.len() * UNIT_BYTES);
        // SAFETY: units are plain bytes, and the range lies inside: the head's number of units
        // was computed from the text's length.
        unsafe {
            let start = self.units.as_mut_ptr().cast::<u8>().add(at);
            start.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
    }
}

const _: () = assert!(LONGEST <= u8::MAX as usize);
const _: () = assert!(LONGEST <= hodo_format::arena::THREAD_UNITS);
