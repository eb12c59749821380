//! Scopes that are not lexical: handles, links to them, and the stacks of futures.

use crate::context::{Entered, Suspended};
use crate::front::{ScopeId, Value, scope_id, set_on};
use crate::handle::Begun;
use crate::numbers::swap_entered;
use crate::rendezvous::table;
use hodo_format::record::flag;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};

/// A scope that may end on another thread than it began; ends when dropped.
#[derive(Debug)]
pub struct Handle {
    begun: Begun,
    failed: AtomicBool,
}

// SAFETY: the slot of a begun scope is claimed atomically by whoever ends it.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

/// Begins a scope inside the current one; it does not become current itself.
pub fn begin(name: u32, flags: u16, index: Option<i64>) -> Handle {
    let flags = flags | if index.is_some() { flag::HAS_INDEX } else { 0 };
    let begin = |table: &crate::table::Table| (table.begin)(name, flags, index.unwrap_or(0));
    let begun = if crate::is_on() { table().map_or(Begun::INERT, begin) } else { Begun::INERT };
    Handle { begun, failed: AtomicBool::new(false) }
}

impl Handle {
    /// A handle that records nothing.
    pub const fn inert() -> Handle {
        Handle { begun: Begun::INERT, failed: AtomicBool::new(false) }
    }

    /// Whether it is being recorded.
    pub fn is_recorded(&self) -> bool {
        self.begun.id != 0
    }

    /// Sets an attribute.
    pub fn set(&self, key: u32, value: Value<'_>) {
        self.set_all([(key, value)]);
    }

    /// Sets several attributes at once.
    pub fn set_all<const N: usize>(&self, values: [(u32, Value<'_>); N]) {
        if self.is_recorded() {
            set_on(self.begun.slot, self.begun.id, values);
        }
    }

    /// Marks the scope as failed.
    pub fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    /// Its id, when it is recorded.
    pub fn id(&self) -> Option<ScopeId> {
        scope_id(self.begun.id)
    }

    /// A reference to it, to attach elsewhere.
    pub fn link(&self) -> Link {
        Link { begun: self.begun }
    }

    /// Makes it the current scope of this thread until the guard is dropped.
    pub fn attach(&self) -> Attached {
        self.link().attach()
    }

    /// Ends it now.
    pub fn end(self) {}
}

impl Drop for Handle {
    fn drop(&mut self) {
        if !self.is_recorded() {
            return;
        }
        let failed = *self.failed.get_mut() || std::thread::panicking();
        if let Some(table) = table() {
            (table.end)(self.begun, if failed { flag::FAILED } else { 0 });
        }
    }
}

/// A reference to a scope, to make it the parent of scopes on another thread.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    begun: Begun,
}

// SAFETY: a link is an id and a depth; the slot is shared memory that is only touched atomically.
unsafe impl Send for Link {}
// SAFETY: as above.
unsafe impl Sync for Link {}

impl Link {
    /// No scope: what opens while this is attached has no parent.
    pub const NONE: Link = Link { begun: Begun::OUTSIDE };

    /// The current scope of this thread.
    pub fn current() -> Link {
        Link { begun: table().map_or(Begun::INERT, |table| (table.link)()) }
    }

    /// Makes the scope current on this thread until the guard is dropped.
    pub fn attach(&self) -> Attached {
        let entered = table().map_or(Entered::INERT, |table| (table.enter)(self.begun));
        Attached { entered, not_send: PhantomData }
    }
}

/// A scope from elsewhere is current on this thread while this lives.
#[derive(Debug)]
pub struct Attached {
    entered: Entered,
    not_send: PhantomData<*mut ()>,
}

impl Drop for Attached {
    fn drop(&mut self) {
        if let Some(table) = table() {
            (table.leave)(self.entered);
        }
    }
}

/// The scope stack of a future: its own scope, and those open in it while it waits.
#[derive(Debug)]
pub struct Context {
    handle: Handle,
    suspended: *mut Suspended,
    entered: u64,
}

// SAFETY: the suspended stack names its thread and is only used there; elsewhere it is left alone.
unsafe impl Send for Context {}

impl Context {
    /// The stack of a future whose scope is `handle`.
    pub fn new(handle: Handle) -> Context {
        Context { handle, suspended: std::ptr::null_mut(), entered: 0 }
    }

    /// The future's scope.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Makes the stack current for one poll.
    pub fn enter(&mut self) -> Polling<'_> {
        let begun = self.handle.begun;
        let entered = table().map_or(Entered::INERT, |table| {
            // SAFETY: `suspended` is null or what the table put there.
            unsafe { (table.resume)(begun, &mut self.suspended) }
        });
        let outside = swap_entered(self.entered);
        Polling { context: self, entered, outside }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if !self.suspended.is_null()
            && let Some(table) = table()
        {
            // SAFETY: as in `enter`.
            unsafe { (table.drop_suspended)(&mut self.suspended) };
        }
    }
}

/// A future is being polled; its stack is current until this is dropped.
#[derive(Debug)]
pub struct Polling<'a> {
    context: &'a mut Context,
    entered: Entered,
    outside: u64,
}

impl Drop for Polling<'_> {
    fn drop(&mut self) {
        self.context.entered = swap_entered(self.outside);
        if let Some(table) = table() {
            // SAFETY: as in `Context::enter`.
            unsafe { (table.suspend)(self.entered, &mut self.context.suspended) };
        }
    }
}
