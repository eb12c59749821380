//! Lexical scopes.

use crate::backend;
use crate::value::ToValue;
use hodo_record::{ScopeId, Value};
use std::fmt::Display;

/// An open scope of this thread; it closes when dropped.
///
/// Made by [`scope!`](crate::scope!) and [`scope()`]. A scope dropped by a panic that began inside
/// it is recorded as failed. Scopes dropped out of order each close themselves and nothing else.
///
/// It stays on its thread, so a future that keeps one across an `.await` cannot move between
/// threads: use [`FutureExt::scoped`](crate::FutureExt::scoped) there.
///
/// ```compile_fail
/// let s = hodo::scope!("here");
/// std::thread::spawn(move || drop(s));
/// ```
#[must_use = "the scope closes when this is dropped: bind it, `let _s = hodo::scope!(..)`"]
pub struct Scope(backend::Scope);

/// Opens a scope whose name is made at run time; `scope!` is cheaper for names that are literals.
///
/// ```
/// for layer in ["conv1", "conv2", "head"] {
///     let _s = hodo::scope(layer);
/// }
/// ```
#[inline]
pub fn scope(name: &str) -> Scope {
    if backend::is_on() { open(backend::intern(name), None) } else { Scope::inert() }
}

/// The innermost open scope of this thread, if the recorder is on and one is open.
///
/// ```
/// let _s = hodo::scope!("request");
/// match hodo::current() {
///     Some(id) => println!("scope {id}"), // 32 hex digits, as the report and exports show it
///     None => println!("not recording"),
/// }
/// ```
pub fn current() -> Option<ScopeId> {
    backend::current()
}

#[doc(hidden)]
#[inline(always)]
pub fn open(name: u32, index: Option<i64>) -> Scope {
    open_with(name, 0, index)
}

#[doc(hidden)]
#[inline(always)]
pub fn open_at(name: &backend::Site, index: Option<i64>) -> Scope {
    Scope(backend::open_at(name, index))
}

#[inline(always)]
pub(crate) fn open_with(name: u32, flags: u16, index: Option<i64>) -> Scope {
    Scope(backend::open_with(name, flags, index))
}

impl Scope {
    #[doc(hidden)]
    #[inline(always)]
    pub const fn inert() -> Scope {
        Scope(backend::Scope::inert())
    }

    /// Sets an attribute; [`set!`](crate::set!) is cheaper for keys that are known.
    ///
    /// ```
    /// let s = hodo::scope!("load");
    /// s.set("rows", 32);
    /// ```
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
    ///
    /// ```
    /// let mut s = hodo::scope!("fetch");
    /// s.fail();
    /// ```
    pub fn fail(&mut self) {
        self.0.fail();
    }

    /// Marks the scope as failed and keeps why as the attribute `error`.
    ///
    /// ```
    /// let mut s = hodo::scope!("parse");
    /// if let Err(error) = "seven".parse::<u32>() {
    ///     s.fail_with(&error);
    /// }
    /// ```
    pub fn fail_with(&mut self, error: &dyn Display) {
        if self.is_recorded() {
            self.0.fail();
            self.set("error", error.to_string());
        }
    }

    /// Whether this pass is recorded: the recorder is on and the scope is not too deep.
    #[inline(always)]
    pub fn is_recorded(&self) -> bool {
        self.0.is_recorded()
    }

    /// Its id, which no other scope of any process has.
    pub fn id(&self) -> Option<ScopeId> {
        self.0.id()
    }

    /// Closes it now.
    ///
    /// ```
    /// let s = hodo::scope!("setup");
    /// s.close();
    /// ```
    #[inline(always)]
    pub fn close(self) {}

    /// Gives it up: nothing is recorded.
    pub(crate) fn cancel(self) {
        self.0.cancel();
    }
}
