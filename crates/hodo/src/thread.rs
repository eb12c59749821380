//! Threads whose scopes belong under the scope that started them.

use crate::Link;
use std::thread::JoinHandle;

/// Like [`std::thread::spawn`]; the scope current here is the parent of what the thread opens.
///
/// ```
/// let _s = hodo::scope!("load");
/// let worker = hodo::thread::spawn(|| {
///     let _s = hodo::scope!("decode"); // a child of `load`
///     42
/// });
/// assert_eq!(worker.join().unwrap(), 42);
/// ```
pub fn spawn<F, T>(work: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    std::thread::spawn(inherit(work))
}

/// `work` with the scope current here as its parent, for any way of running it elsewhere: a
/// thread builder, a scoped thread, a pool.
///
/// ```
/// let _s = hodo::scope!("step");
/// let mut shards = [1, 2, 3];
/// std::thread::scope(|threads| {
///     for shard in &mut shards {
///         threads.spawn(hodo::thread::inherit(move || {
///             let _s = hodo::scope!("shard"); // a child of `step`
///             *shard *= 2;
///         }));
///     }
/// });
/// assert_eq!(shards, [2, 4, 6]);
/// ```
pub fn inherit<F, T>(work: F) -> impl FnOnce() -> T
where
    F: FnOnce() -> T,
{
    let parent = Link::current();
    move || {
        let _current = parent.attach();
        work()
    }
}
