//! The number of the current context: per thread, from 1, also when nothing is recorded.

use crate::front::THREAD;
use std::cell::Cell;
use std::marker::PhantomData;

std::thread_local! {
    /// Contexts entered by [`enter_new_scope`]: counted apart from recorded scopes, since they
    /// work before a recorder is started and outlive it.
    static ENTERED: Cell<u64> = const { Cell::new(0) };
}

/// The number of the innermost context of this thread: 1 outside every scope, one more inside each
/// scope and each [`enter_new_scope`].
pub fn current_scope_id() -> u64 {
    let thread = THREAD.get();
    // SAFETY: the state is the calling thread's own, and states are never unmapped.
    let scopes = if crate::is_on() { unsafe { (*thread).context_number() } } else { 1 };
    ENTERED.get() + scopes
}

/// A numbered context that records nothing; left when dropped.
#[derive(Debug)]
pub struct NewScope {
    not_send: PhantomData<*mut ()>,
}

/// Enters a new context: adds one to [`current_scope_id`] until dropped.
pub fn enter_new_scope() -> NewScope {
    ENTERED.set(ENTERED.get() + 1);
    NewScope { not_send: PhantomData }
}

impl Drop for NewScope {
    fn drop(&mut self) {
        ENTERED.set(ENTERED.get().saturating_sub(1));
    }
}

/// Takes the contexts entered so far aside, so that a future has its own count.
pub fn swap_entered(entered: u64) -> u64 {
    ENTERED.replace(entered)
}
