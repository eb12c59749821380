//! `hodo.scope`: the object behind `with`.
//!
//! `__enter__` and `__exit__` are found as one descriptor that gives the scope itself, which is
//! called with no argument to enter and with three to leave: the interpreter then makes no bound
//! methods. The objects are used again, and their attributes lie in them.

use crate::api::{self, Vectorcall};
use crate::gil::Gil;
use crate::names::{self, Role};
use crate::values::{self, Value};
use crate::{here, record};
use hodo_record::binding::{AttrsRecord, INERT, Opened, SpanId, Thread, span_head};
use hodo_record::{flag, is_on};
use pyo3::ffi::{self, PyObject};

/// A scope, open or not.
#[repr(C)]
pub struct Scope {
    base: PyObject,
    call: Vectorcall,
    /// What is open; [`Opened::INERT`] when nothing is.
    pub opened: Opened,
    /// Id of the span, also when it is closed; 0 when none was recorded.
    pub span: u64,
    /// Ticks when it opened.
    pub start: u64,
    /// Head of the span; 0 until a recorder is on.
    head: u64,
    index: i64,
    /// Flags of the span; [`flag::HAS_INDEX`] among them.
    flags: u16,
    /// How many attributes lie here.
    count: u8,
    codes: [u16; AttrsRecord::CAPACITY],
    keys: [u32; AttrsRecord::CAPACITY],
    words: [u64; AttrsRecord::CAPACITY],
    name: *mut PyObject,
    /// What few scopes have; null for nothing.
    more: *mut More,
}

/// What few scopes have.
#[derive(Default)]
pub struct More {
    /// Attributes that are converted when the scope opens: held keys and values.
    late: Vec<(*mut PyObject, *mut PyObject)>,
    /// Openings that were not closed when the same object was entered again.
    outer: Vec<(Opened, u64, u64)>,
    pub repeat: Option<i64>,
    pub warmup: i64,
}

/// The attributes of a scope: those of a fixed size, and borrowed keys and values.
pub struct Attributes {
    pub fixed: Vec<(u32, u16, u64)>,
    pub late: Vec<(*mut PyObject, *mut PyObject)>,
}

pub static TYPE: Gil<*mut ffi::PyTypeObject> = Gil::new(std::ptr::null_mut());

/// Scopes to use again.
struct Spare {
    scopes: [*mut Scope; Self::MOST],
    count: usize,
}

impl Spare {
    const MOST: usize = 64;
}

static SPARE: Gil<Spare> =
    Gil::new(Spare { scopes: [std::ptr::null_mut(); Spare::MOST], count: 0 });

/// A scope with a name, nothing else said.
///
/// # Safety
/// The lock is held; `name` is an exact `str`.
#[inline(always)]
unsafe fn new(name: *mut PyObject) -> *mut Scope {
    // SAFETY: by the contract; a spare scope's memory and type are ours.
    unsafe {
        let spare = SPARE.get();
        let scope = if (*spare).count > 0 {
            (*spare).count -= 1;
            let scope = (&(*spare).scopes)[(*spare).count];
            scope.cast::<isize>().write(1);
            scope
        } else {
            allocate()
        };
        if !scope.is_null() {
            ffi::Py_INCREF(name);
            (*scope).name = name;
        }
        scope
    }
}

#[cold]
unsafe fn allocate() -> *mut Scope {
    // SAFETY: the lock is held; the object is filled before anybody sees it.
    unsafe {
        let scope = ffi::PyObject_Malloc(size_of::<Scope>()).cast::<Scope>();
        if scope.is_null() {
            ffi::PyErr_NoMemory();
            return scope;
        }
        scope.write_bytes(0, 1);
        ffi::PyObject_Init(scope.cast(), *TYPE.get());
        (*scope).call = call;
        (*scope).opened = Opened::INERT;
        scope
    }
}

/// Gives the object back; one that is still open can never be closed by anybody else.
pub unsafe extern "C" fn dealloc(object: *mut PyObject) {
    // SAFETY: the interpreter calls this once, with the lock, on an object of this type.
    unsafe {
        let scope = object.cast::<Scope>();
        if (*scope).opened.slot != INERT {
            leave(scope, std::ptr::null_mut());
        }
        ffi::Py_DECREF((*scope).name);
        if !(*scope).more.is_null() {
            drop_more(scope);
        }
        (*scope).head = 0;
        (*scope).span = 0;
        (*scope).flags = 0;
        (*scope).count = 0;
        let spare = SPARE.get();
        if (*spare).count < Spare::MOST {
            (&mut (*spare).scopes)[(*spare).count] = scope;
            (*spare).count += 1;
        } else {
            let kind = ffi::Py_TYPE(object);
            ffi::PyObject_Free(object.cast());
            ffi::Py_DECREF(kind.cast());
        }
    }
}

#[cold]
unsafe fn drop_more(scope: *mut Scope) {
    // SAFETY: the lock is held; the box is the scope's own, the attributes held.
    unsafe {
        let more = Box::from_raw(std::mem::replace(&mut (*scope).more, std::ptr::null_mut()));
        for (key, value) in more.late {
            ffi::Py_DECREF(key);
            ffi::Py_DECREF(value);
        }
    }
}

/// What few scopes have, made if need be.
unsafe fn more<'a>(scope: *mut Scope) -> &'a mut More {
    // SAFETY: the lock is held; the box lives as long as the scope.
    unsafe {
        if (*scope).more.is_null() {
            (*scope).more = Box::into_raw(Box::default());
        }
        &mut *(*scope).more
    }
}

/// `hodo.scope(name, index=None, *, tag=None, repeat=None, warmup=0, **attrs)`.
pub unsafe extern "C" fn scope(
    _module: *mut PyObject,
    args: *const *mut PyObject,
    count: ffi::Py_ssize_t,
    keywords: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: the interpreter passes the arguments as it says, and holds the lock.
    unsafe {
        let count = count as usize;
        let is_plain =
            (1..=2).contains(&count) && ffi::Py_TYPE(*args) == &raw mut ffi::PyUnicode_Type;
        if !is_plain {
            return unusual(args, count, keywords);
        }
        let scope = new(*args);
        if scope.is_null() {
            return std::ptr::null_mut();
        }
        if is_on() {
            (*scope).head = span_head(names::known(*args).id, 0);
        }
        if count == 2 {
            set_index(scope, *args.add(1));
        }
        if !keywords.is_null() && !set_keywords(scope, args.add(count), keywords) {
            ffi::Py_DECREF(scope.cast());
            return std::ptr::null_mut();
        }
        scope.cast()
    }
}

/// Anything but a name that is a plain string, and perhaps an index.
#[cold]
#[inline(never)]
unsafe fn unusual(
    args: *const *mut PyObject,
    count: usize,
    keywords: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: as for `scope`.
    unsafe {
        if count == 0 {
            return keyword_name(args, keywords);
        }
        if count > 2 {
            return raise_type("scope() takes a name and an index; everything else by keyword");
        }
        let first = *args;
        if count == 1 && keywords.is_null() && ffi::PyCallable_Check(first) != 0 {
            return record::call_python(c"hodo._decorate", c"bare", &[first]);
        }
        let name = text_object(first);
        if name.is_null() {
            return name;
        }
        let mut all = Vec::with_capacity(8);
        all.push(name);
        all.extend((1..count + keyword_count(keywords)).map(|i| *args.add(i)));
        let made = scope(std::ptr::null_mut(), all.as_ptr(), count as isize, keywords);
        ffi::Py_DECREF(name);
        made
    }
}

unsafe fn keyword_count(keywords: *mut PyObject) -> usize {
    // SAFETY: the lock is held; keywords are a tuple or null.
    if keywords.is_null() { 0 } else { unsafe { ffi::PyTuple_Size(keywords) as usize } }
}

/// `scope(name="x")`: the name is among the keywords.
unsafe fn keyword_name(args: *const *mut PyObject, keywords: *mut PyObject) -> *mut PyObject {
    // SAFETY: as for `scope`.
    unsafe {
        let count = keyword_count(keywords);
        let at = (0..count).find(|&i| {
            let key = ffi::PyTuple_GetItem(keywords, i as isize);
            names::with_text(key, |text| text == "name")
        });
        let Some(at) = at else { return raise_type("scope() needs a name") };
        let name = text_object(*args.add(at));
        if name.is_null() {
            return name;
        }
        let others = (0..count).filter(|&i| i != at);
        let mut all = vec![name];
        all.extend(others.clone().map(|i| *args.add(i)));
        let rest = ffi::PyTuple_New(count as isize - 1);
        for (to, from) in others.enumerate() {
            let key = ffi::PyTuple_GetItem(keywords, from as isize);
            ffi::Py_INCREF(key);
            ffi::PyTuple_SetItem(rest, to as isize, key);
        }
        let made = scope(std::ptr::null_mut(), all.as_ptr(), 1, rest);
        ffi::Py_DECREF(rest);
        ffi::Py_DECREF(name);
        made
    }
}

/// A plain string that says what `value` is: itself, or its text, counted.
unsafe fn text_object(value: *mut PyObject) -> *mut PyObject {
    // SAFETY: the lock is held.
    unsafe {
        if ffi::Py_TYPE(value) == &raw mut ffi::PyUnicode_Type {
            ffi::Py_INCREF(value);
            return value;
        }
        if ffi::PyUnicode_Check(value) == 0 {
            *values::STORED_AS_TEXT.get() += 1;
        }
        record::text(&values::shown(value))
    }
}

pub unsafe fn raise_type(message: &str) -> *mut PyObject {
    // SAFETY: the lock is held; the message is copied.
    unsafe {
        if let Ok(message) = std::ffi::CString::new(message) {
            ffi::PyErr_SetString(ffi::PyExc_TypeError, message.as_ptr());
        }
        std::ptr::null_mut()
    }
}

#[inline(always)]
unsafe fn set_index(scope: *mut Scope, index: *mut PyObject) {
    // SAFETY: the lock is held.
    unsafe {
        if ffi::Py_TYPE(index) == &raw mut ffi::PyLong_Type {
            let mut overflow = 0;
            (*scope).index = ffi::PyLong_AsLongLongAndOverflow(index, &mut overflow);
            if overflow == 0 {
                (*scope).flags |= flag::HAS_INDEX;
                return;
            }
        }
        if index != ffi::Py_None() {
            set_unusual_index(scope, index);
        }
    }
}

/// An index of numpy's or the like is one; anything else becomes an attribute called so.
#[cold]
unsafe fn set_unusual_index(scope: *mut Scope, index: *mut PyObject) {
    // SAFETY: the lock is held.
    unsafe {
        if let Value::Fixed(hodo_record::binding::code::I64, word) = values::convert(index) {
            (*scope).index = word as i64;
            (*scope).flags |= flag::HAS_INDEX;
            return;
        }
        *values::STORED_AS_TEXT.get() += 1;
        let key = record::text("index");
        if !key.is_null() {
            keep_late(scope, key, index);
            ffi::Py_DECREF(key);
        }
    }
}

unsafe fn keep_late(scope: *mut Scope, key: *mut PyObject, value: *mut PyObject) {
    // SAFETY: the lock is held; `drop_more` gives both back.
    unsafe {
        ffi::Py_INCREF(key);
        ffi::Py_INCREF(value);
        more(scope).late.push((key, value));
    }
}

/// Takes the keywords; false with an exception set when one makes no sense.
#[inline(always)]
unsafe fn set_keywords(
    scope: *mut Scope,
    given: *const *mut PyObject,
    keywords: *mut PyObject,
) -> bool {
    // SAFETY: as for `scope`; there are as many values as keywords.
    unsafe {
        let on = (*scope).head != 0;
        for i in 0..ffi::PyTuple_Size(keywords) {
            let (key, value) = (ffi::PyTuple_GetItem(keywords, i), *given.offset(i));
            if on {
                let known = names::known(key);
                if known.role == Role::Attribute {
                    set_attribute(scope, key, known.id, value);
                    continue;
                }
            }
            if !set_late_keyword(scope, key, value) {
                return false;
            }
        }
        true
    }
}

#[inline(always)]
unsafe fn set_attribute(scope: *mut Scope, key: *mut PyObject, id: u32, value: *mut PyObject) {
    // SAFETY: the lock is held; the place is within bounds.
    unsafe {
        let place = usize::from((*scope).count);
        match values::fixed(value) {
            Some((code, word)) if place < AttrsRecord::CAPACITY => {
                (&mut (*scope).codes)[place] = code;
                (&mut (*scope).keys)[place] = id;
                (&mut (*scope).words)[place] = word;
                (*scope).count += 1;
            }
            _ => keep_late(scope, key, value),
        }
    }
}

/// A keyword with a meaning of its own, or any keyword while no recorder is on.
#[inline(never)]
unsafe fn set_late_keyword(scope: *mut Scope, key: *mut PyObject, value: *mut PyObject) -> bool {
    // SAFETY: the lock is held.
    unsafe {
        let is_none = value == ffi::Py_None();
        match names::with_text(key, names::role) {
            Role::Index => set_index(scope, value),
            Role::Repeat if is_none => {}
            Role::Repeat => match whole(value) {
                Some(repeat) => more(scope).repeat = Some(repeat),
                None => return !raise_type("scope(repeat=...) takes a whole number").is_null(),
            },
            Role::Warmup => match whole(value) {
                Some(0) => {}
                Some(warmup) => more(scope).warmup = warmup,
                None => return !raise_type("scope(warmup=...) takes a whole number").is_null(),
            },
            Role::Tag if is_none => {}
            Role::Tag | Role::Attribute => keep_late(scope, key, value),
        }
        true
    }
}

unsafe fn whole(value: *mut PyObject) -> Option<i64> {
    // SAFETY: the lock is held.
    match unsafe { values::convert(value) } {
        Value::Fixed(hodo_record::binding::code::I64, word) if (word as i64) >= 0 => {
            Some(word as i64)
        }
        _ => None,
    }
}

/// No argument enters, three leave, one makes a decorator.
unsafe extern "C" fn call(
    object: *mut PyObject,
    args: *const *mut PyObject,
    nargsf: usize,
    keywords: *mut PyObject,
) -> *mut PyObject {
    let scope = object.cast::<Scope>();
    // SAFETY: the interpreter passes the arguments as it says, and holds the lock.
    unsafe {
        if keywords.is_null() {
            match api::positional(nargsf) {
                0 => {
                    enter(scope);
                    ffi::Py_INCREF(object);
                    return object;
                }
                3 => {
                    let kind = *args;
                    let raised = if kind == ffi::Py_None() { std::ptr::null_mut() } else { kind };
                    leave(scope, raised);
                    return record::none();
                }
                1 if ffi::PyCallable_Check(*args) != 0 => {
                    return record::call_python(c"hodo._decorate", c"decorate", &[object, *args]);
                }
                _ => {}
            }
        }
        raise_type("a scope is used with `with`, or called with the function it decorates")
    }
}

/// Opens the scope, with the attributes it was made with.
///
/// # Safety
/// The lock is held.
#[inline(always)]
pub unsafe fn enter(scope: *mut Scope) {
    // SAFETY: by the contract; the thread's state is the calling thread's own.
    unsafe {
        if !is_on() {
            return;
        }
        if (*scope).head == 0 || (*scope).opened.slot != INERT {
            prepare_again(scope);
        }
        let thread = here::to_change();
        let head = (*scope).head | u64::from((*scope).flags) << 16;
        let index = (*scope).index;
        let Some(opened) = Thread::open(thread, || head, index) else {
            enter_slowly(scope, thread, head);
            return;
        };
        (*scope).opened = opened;
        (*scope).span = opened.id;
        (*scope).start = (*opened.slot).start;
        let count = usize::from((*scope).count);
        if count > 0 && !Thread::set(thread, opened.slot, attributes(scope, count)) {
            record::set_fixed(opened, pairs(scope, count).as_slice());
        }
        if !(*scope).more.is_null() {
            set_late(scope);
        }
    }
}

#[inline(always)]
unsafe fn attributes(scope: *mut Scope, count: usize) -> hodo_record::binding::Unit {
    // SAFETY: the caller has the scope; as many attributes as counted lie in it.
    unsafe {
        let scope = &*scope;
        AttrsRecord::unit_of(SpanId(scope.span), count, &scope.keys, &scope.codes, &scope.words)
    }
}

unsafe fn pairs(scope: *mut Scope, count: usize) -> Vec<(u32, u16, u64)> {
    // SAFETY: as in `attributes`.
    let scope = unsafe { &*scope };
    (0..count).map(|i| (scope.keys[i], scope.codes[i], scope.words[i])).collect()
}

/// A scope that was made before a recorder was on, or that is entered again while it is open.
#[cold]
#[inline(never)]
unsafe fn prepare_again(scope: *mut Scope) {
    // SAFETY: the lock is held.
    unsafe {
        (*scope).head = span_head(names::known((*scope).name).id, 0);
        let opened = std::mem::replace(&mut (*scope).opened, Opened::INERT);
        if opened.slot != INERT {
            let entry = (opened, (*scope).span, (*scope).start);
            more(scope).outer.push(entry);
        }
    }
}

#[cold]
#[inline(never)]
unsafe fn enter_slowly(scope: *mut Scope, thread: *mut Thread, head: u64) {
    // SAFETY: the lock is held.
    unsafe {
        let (opened, start) = record::open(thread, head, (*scope).index);
        (*scope).opened = opened;
        (*scope).span = opened.id;
        (*scope).start = start;
        let count = usize::from((*scope).count);
        if count > 0 {
            record::set_fixed(opened, pairs(scope, count).as_slice());
        }
        if !(*scope).more.is_null() {
            set_late(scope);
        }
    }
}

#[cold]
#[inline(never)]
unsafe fn set_late(scope: *mut Scope) {
    // SAFETY: the lock is held. Conversion may run user code, which may even use this scope: what
    // is converted is held, and looked at by number.
    unsafe {
        let opened = (*scope).opened;
        let mut i = 0;
        while let Some(&(key, value)) = (*scope).more.as_ref().and_then(|m| m.late.get(i)) {
            ffi::Py_INCREF(key);
            ffi::Py_INCREF(value);
            record::set(opened, key, value);
            ffi::Py_DECREF(key);
            ffi::Py_DECREF(value);
            i += 1;
        }
    }
}

/// Closes the scope; `raised` is the type of the exception that leaves it, or null.
///
/// # Safety
/// The lock is held.
#[inline(always)]
pub unsafe fn leave(scope: *mut Scope, raised: *mut PyObject) {
    // SAFETY: by the contract.
    unsafe {
        let opened = std::mem::replace(&mut (*scope).opened, Opened::INERT);
        if opened.slot == INERT || !is_on() {
            return;
        }
        let thread = here::to_change();
        if !raised.is_null() {
            record::fail(opened, raised);
        }
        let plain = (*scope).more.is_null();
        if !plain || !Thread::close(thread, opened.slot) {
            leave_slowly(scope, opened);
        }
    }
}

#[cold]
#[inline(never)]
unsafe fn leave_slowly(scope: *mut Scope, opened: Opened) {
    // SAFETY: the lock is held.
    unsafe {
        let outer = (*scope).more.as_mut().map(|more| &mut more.outer);
        let Some(outer) = outer.filter(|outer| !outer.is_empty()) else {
            record::close(opened);
            return;
        };
        // Entered several times, perhaps by several threads: the latest of this one is left.
        outer.push((opened, (*scope).span, (*scope).start));
        let number = record::thread_number();
        let is_ours = |&(opened, ..): &(Opened, u64, u64)| SpanId(opened.id).thread() == number;
        let at = outer.iter().rposition(is_ours).unwrap_or(outer.len() - 1);
        let (leaving, ..) = outer.remove(at);
        if let Some((opened, span, start)) = outer.pop() {
            ((*scope).opened, (*scope).span, (*scope).start) = (opened, span, start);
        }
        record::close(leaving);
    }
}

/// Another scope that says the same, for a decorated function's next call.
///
/// # Safety
/// The lock is held; `object` is a scope.
pub unsafe fn again(object: *mut PyObject) -> *mut PyObject {
    // SAFETY: by the contract.
    unsafe {
        let template = object.cast::<Scope>();
        let scope = new((*template).name);
        if scope.is_null() {
            return std::ptr::null_mut();
        }
        if (*template).head == 0 && is_on() {
            (*template).head = span_head(names::known((*template).name).id, 0);
        }
        (*scope).head = (*template).head;
        (*scope).index = (*template).index;
        (*scope).flags = (*template).flags;
        copy_attributes(template, scope);
        scope.cast()
    }
}

/// A scope with flags of its own, for benchmark loops, and the attributes of `like`.
///
/// # Safety
/// The lock is held; `name` is an exact `str`, `like` a scope or null.
pub unsafe fn flagged(
    name: *mut PyObject,
    flags: u16,
    index: Option<i64>,
    like: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: by the contract.
    unsafe {
        let scope = new(name);
        if scope.is_null() {
            return std::ptr::null_mut();
        }
        if !like.is_null() {
            copy_attributes(like.cast(), scope);
        }
        (*scope).flags = flags | if index.is_some() { flag::HAS_INDEX } else { 0 };
        (*scope).index = index.unwrap_or(0);
        scope.cast()
    }
}

unsafe fn copy_attributes(from: *mut Scope, to: *mut Scope) {
    // SAFETY: the lock is held.
    unsafe {
        (*to).count = (*from).count;
        (*to).codes = (*from).codes;
        (*to).keys = (*from).keys;
        (*to).words = (*from).words;
        if let Some(more) = (*from).more.as_ref() {
            for &(key, value) in &more.late {
                keep_late(to, key, value);
            }
        }
    }
}

impl Scope {
    /// Its name, borrowed.
    pub fn name(&self) -> *mut PyObject {
        self.name
    }

    /// Its index.
    pub fn index(&self) -> Option<i64> {
        (self.flags & flag::HAS_INDEX != 0).then_some(self.index)
    }

    /// The numbers of a benchmark loop.
    pub fn loop_numbers(&self) -> Option<(i64, i64)> {
        // SAFETY: the box lives as long as the scope.
        let more = unsafe { self.more.as_ref() }?;
        more.repeat.map(|repeat| (repeat, more.warmup))
    }

    /// All attributes it was made with.
    pub fn all_attributes(&self) -> Attributes {
        let pair = |i: usize| (self.keys[i], self.codes[i], self.words[i]);
        let fixed = (0..usize::from(self.count)).map(pair).collect();
        Attributes { fixed, late: self.late().to_vec() }
    }

    /// Attributes kept as objects, borrowed.
    pub fn late(&self) -> &[(*mut PyObject, *mut PyObject)] {
        // SAFETY: the box lives as long as the scope.
        unsafe { self.more.as_ref() }.map_or(&[], |more| &more.late)
    }
}
