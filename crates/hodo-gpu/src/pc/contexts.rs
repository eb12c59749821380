//! The CUDA contexts in use, as launches and CUPTI tell of them.

use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Contexts that are remembered; a program has one a device, seldom more.
const MOST: usize = 32;

/// A list that launches read and nothing locks.
#[derive(Debug)]
pub struct Contexts([AtomicPtr<c_void>; MOST]);

/// Those of this process.
pub static IN_USE: Contexts = Contexts::new();

impl Contexts {
    const fn new() -> Contexts {
        Contexts([const { AtomicPtr::new(std::ptr::null_mut()) }; MOST])
    }

    /// A context is in use. A load and a comparison for a program with one.
    #[inline]
    pub fn add(&self, context: *mut c_void) {
        if self.0[0].load(Ordering::Relaxed) != context {
            self.add_other(context);
        }
    }

    #[cold]
    fn add_other(&self, context: *mut c_void) {
        if context.is_null() || self.all().contains(&context) {
            return;
        }
        for place in &self.0 {
            let free = std::ptr::null_mut();
            match place.compare_exchange(free, context, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return,
                Err(taken) if taken == context => return,
                Err(_) => {}
            }
        }
    }

    /// A context goes.
    pub fn remove(&self, context: *mut c_void) {
        for place in &self.0 {
            let none = std::ptr::null_mut();
            let _ = place.compare_exchange(context, none, Ordering::AcqRel, Ordering::Relaxed);
        }
    }

    /// All of them.
    pub fn all(&self) -> Vec<*mut c_void> {
        let contexts = self.0.iter().map(|place| place.load(Ordering::Acquire));
        contexts.filter(|context| !context.is_null()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_there_once_until_it_goes() {
        let contexts = Contexts::new();
        let context = |number: usize| (number * 16) as *mut c_void;
        [1, 2, 2, 1, 3].into_iter().for_each(|number| contexts.add(context(number)));
        contexts.add(std::ptr::null_mut());
        assert_eq!(contexts.all(), [context(1), context(2), context(3)]);
        contexts.remove(context(1));
        contexts.add(context(3));
        assert_eq!(contexts.all(), [context(2), context(3)]);
        (0..2 * MOST).for_each(|number| contexts.add(context(number + 9)));
        assert_eq!(contexts.all().len(), MOST);
    }
}
