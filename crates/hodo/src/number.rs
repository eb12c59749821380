//! The context number: how deep this thread is, whether or not anything is recorded.

/// Takes the context number back by one when dropped; see [`enter_new_scope`].
#[must_use = "the number is taken back when this is dropped"]
pub struct NewScope {
    _guard: hodo_record::NewScope,
}

/// The context number of this thread: 1 outside of everything, one more in each scope.
///
/// It is a depth, not an identity ([`current`](crate::current) gives that), and it is right after a
/// panic too. Scopes count while the recorder is on, also those past the depth limit; with the
/// feature `off` only [`enter_new_scope`] counts.
///
/// ```
/// assert_eq!(hodo::current_scope_id(), 1);
/// {
///     let _inner = hodo::enter_new_scope();
///     assert_eq!(hodo::current_scope_id(), 2);
/// }
/// assert_eq!(hodo::current_scope_id(), 1);
/// ```
pub fn current_scope_id() -> u64 {
    hodo_record::current_scope_id()
}

/// Adds one to the context number until the returned guard is dropped. Records nothing, works
/// before [`init`](crate::init) and has no depth limit.
///
/// ```
/// let result = std::panic::catch_unwind(|| {
///     let _inner = hodo::enter_new_scope();
///     panic!("left by a panic");
/// });
/// assert!(result.is_err());
/// assert_eq!(hodo::current_scope_id(), 1);
/// ```
pub fn enter_new_scope() -> NewScope {
    NewScope { _guard: hodo_record::enter_new_scope() }
}
