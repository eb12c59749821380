//! Scopes that are not lexical, and parents on other threads.

use crate::backend;
use crate::value::ToValue;
use hodo_record::{ScopeId, Value};
use std::fmt::Display;

/// A scope that begins here and ends anywhere, on any thread; it ends when dropped.
///
/// Made by [`begin!`](crate::begin!) and [`begin()`].
///
/// ```
/// let upload = hodo::begin("upload");
/// let worker = std::thread::spawn(move || {
///     let _current = upload.attach();
///     let _s = hodo::scope!("compress"); // a child of `upload`
/// });
/// # worker.join().unwrap();
/// ```
#[must_use = "the scope ends when this is dropped"]
pub struct Handle(backend::Handle);

/// A reference to a scope that can be copied to other threads and made the parent there.
///
/// ```
/// let _s = hodo::scope!("step");
/// let step = hodo::Link::current();
/// std::thread::scope(|threads| {
///     threads.spawn(move || {
///         let _current = step.attach();
///         let _s = hodo::scope!("shard"); // a child of `step`
///     });
/// });
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Link(backend::Link);

/// While it lives, new scopes of this thread are children of the scope it was made from.
///
/// ```compile_fail
/// let attached = hodo::Link::current().attach();
/// std::thread::spawn(move || drop(attached));
/// ```
#[must_use = "the scope stays current only while this lives"]
pub struct Attached {
    _guard: backend::Attached,
}

/// Begins a scope whose name is made at run time; [`begin!`](crate::begin!) takes attributes too.
///
/// ```
/// let copy = hodo::begin("copy");
/// copy.set("bytes", 4096);
/// copy.end();
/// ```
#[inline]
pub fn begin(name: &str) -> Handle {
    if backend::is_on() { begin_with(backend::intern(name), None) } else { Handle::inert() }
}

#[doc(hidden)]
#[inline(always)]
pub fn begin_with(name: u32, index: Option<i64>) -> Handle {
    Handle(backend::begin(name, 0, index))
}

impl Handle {
    #[doc(hidden)]
    #[inline(always)]
    pub const fn inert() -> Handle {
        Handle(backend::Handle::inert())
    }

    pub(crate) fn into_inner(self) -> backend::Handle {
        self.0
    }

    /// Sets an attribute; [`set!`](crate::set!) is cheaper for keys that are known.
    pub fn set(&self, key: &str, value: impl ToValue) {
        if self.is_recorded() {
            self.0.set(backend::intern(key), value.to_value());
        }
    }

    #[doc(hidden)]
    #[inline(always)]
    pub fn set_all<const N: usize>(&self, pairs: [(u32, Value<'_>); N]) {
        self.0.set_all(pairs);
    }

    /// Marks the scope as failed.
    pub fn fail(&self) {
        self.0.fail();
    }

    /// Marks the scope as failed and keeps why as the attribute `error`.
    ///
    /// ```
    /// let fetch = hodo::begin("fetch");
    /// fetch.fail_with(&"connection reset");
    /// fetch.end();
    /// ```
    pub fn fail_with(&self, error: &dyn Display) {
        fail_with(&self.0, error);
    }

    /// Makes it the current scope of this thread until the returned guard is dropped.
    ///
    /// ```
    /// let step = hodo::begin("step");
    /// {
    ///     let _current = step.attach();
    ///     let _s = hodo::scope!("forward"); // a child of `step`
    /// }
    /// step.end();
    /// ```
    pub fn attach(&self) -> Attached {
        Attached { _guard: self.0.attach() }
    }

    /// A copyable reference to it, for attaching on several threads.
    pub fn link(&self) -> Link {
        Link(self.0.link())
    }

    /// Whether it is recorded: the recorder was on when it began.
    #[inline(always)]
    pub fn is_recorded(&self) -> bool {
        self.0.is_recorded()
    }

    /// Its id, which no other scope of any process has.
    pub fn id(&self) -> Option<ScopeId> {
        self.0.id()
    }

    /// Ends it now.
    #[inline(always)]
    pub fn end(self) {}
}

/// Marks a scope as failed with the error as text.
pub(crate) fn fail_with(handle: &backend::Handle, error: &dyn Display) {
    if handle.is_recorded() {
        handle.fail();
        let text = error.to_string();
        handle.set(backend::intern("error"), Value::Text(&text));
    }
}

impl Link {
    /// A link to the current scope of this thread; to nothing when there is none.
    #[inline]
    pub fn current() -> Link {
        Link(backend::Link::current())
    }

    /// A link to no scope: what opens while it is attached has no parent.
    ///
    /// ```
    /// let _s = hodo::scope!("request");
    /// let _apart = hodo::Link::none().attach();
    /// let _s = hodo::scope!("housekeeping"); // not a child of `request`
    /// ```
    pub fn none() -> Link {
        Link(backend::Link::NONE)
    }

    /// Makes the scope current on this thread until the returned guard is dropped.
    pub fn attach(&self) -> Attached {
        Attached { _guard: self.0.attach() }
    }
}
