//! Threads, cells and counts that are loom's or the standard library's.

#[cfg(loom)]
pub use loom::{
    cell::UnsafeCell,
    sync::Arc,
    sync::atomic::{AtomicU32, AtomicU64},
    thread,
};
#[cfg(not(loom))]
pub use std::{
    sync::Arc,
    sync::atomic::{AtomicU32, AtomicU64},
    thread,
};

/// Plain memory with loom's interface, so that Miri and ThreadSanitizer see a bare access.
#[cfg(not(loom))]
#[derive(Debug, Default)]
pub struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    pub fn new(value: T) -> Self {
        UnsafeCell(std::cell::UnsafeCell::new(value))
    }

    pub fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    pub fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}

/// Runs `body` over every interleaving (loom) or `times` times (real threads), and checks that
/// it was more than one: a model that explores a single order has shown nothing.
pub fn explore(times: usize, body: impl Fn() + Send + Sync + 'static) {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let ran = std::sync::Arc::new(AtomicUsize::new(0));
    let counted = std::sync::Arc::clone(&ran);
    let body = move || {
        counted.fetch_add(1, Ordering::Relaxed);
        body();
    };
    #[cfg(loom)]
    {
        let _ = times;
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(4);
        model.check(body);
    }
    #[cfg(not(loom))]
    (0..times).for_each(|_| body());
    let ran = ran.load(Ordering::Relaxed);
    println!("{ran} executions");
    assert!(ran > 1, "only one execution was explored");
}

/// Lets another thread go on; loom needs to be told in a loop that waits.
pub fn pause() {
    thread::yield_now();
}
