//! Which scope a forward operation of torch ran in, so that its gradient can be told by layer.
//!
//! Torch numbers the autograd nodes of a thread as it makes them, and makes a node before it
//! launches the operation's kernels. So at a launch the newest number is the operation's own, and
//! reading it there costs a call of two nanoseconds; scopes pay nothing.

use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Nodes that are remembered; a power of two.
const REMEMBERED: usize = 1 << 16;
/// A node that launched nothing has the scope of one made so shortly before or after it.
const NEAR: u64 = 32;

/// Tells the number that the calling thread's next node will get.
type NextNode = extern "C" fn() -> u64;

static NEXT_NODE: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());
static NODES: [Node; REMEMBERED] = [const { Node::new() }; REMEMBERED];

struct Node {
    /// Its number and one, so that 0 is none.
    number: AtomicU64,
    scope: AtomicU64,
}

impl Node {
    const fn new() -> Node {
        Node { number: AtomicU64::new(0), scope: AtomicU64::new(0) }
    }
}

fn node(number: u64) -> &'static Node {
    &NODES[number as usize % REMEMBERED]
}

/// Looks for torch in this process and begins to remember. False without it.
pub fn watch() -> bool {
    let flags = libc::RTLD_NOW | libc::RTLD_NOLOAD;
    // SAFETY: plain calls of the loader; the function has this type in every torch that has it.
    unsafe {
        let torch = libc::dlopen(c"libtorch_cpu.so".as_ptr(), flags);
        if torch.is_null() {
            return false;
        }
        let function = libc::dlsym(torch, c"_ZN2at15sequence_number4peekEv".as_ptr());
        NEXT_NODE.store(function.cast(), Ordering::Release);
        !function.is_null()
    }
}

/// Remembers no more.
pub fn look_away() {
    NEXT_NODE.store(std::ptr::null_mut(), Ordering::Release);
}

/// Forgets every node: their scopes are those of a recorder before.
pub fn forget() {
    let used = NODES.iter().filter(|node| node.number.load(Ordering::Relaxed) != 0);
    used.for_each(|node| node.number.store(0, Ordering::Relaxed));
}

/// The calling thread launches a kernel in `scope`, one of its own.
#[inline]
pub fn launched(scope: u64) {
    let next = NEXT_NODE.load(Ordering::Relaxed);
    if next.is_null() {
        return;
    }
    // SAFETY: only `watch` stores here, a function of this type.
    let next: NextNode = unsafe { std::mem::transmute::<*mut (), NextNode>(next) };
    let number = next();
    let node = node(number.wrapping_sub(1));
    // The first launch is the operation's own; what follows without a new node needs no gradient.
    if number != 0 && node.number.load(Ordering::Relaxed) != number {
        node.scope.store(scope, Ordering::Relaxed);
        node.number.store(number, Ordering::Release);
    }
}

/// The scope that the node with this number was made in; 0 when not known.
pub fn scope_of(number: u64) -> u64 {
    let exact = |number: u64| {
        let node = node(number);
        let known = node.number.load(Ordering::Acquire) == number.wrapping_add(1);
        known.then(|| node.scope.load(Ordering::Relaxed))
    };
    let after = (0..NEAR).filter_map(|step| number.checked_add(step)).find_map(exact);
    let before = || (1..NEAR).filter_map(|step| number.checked_sub(step)).find_map(exact);
    after.or_else(before).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    std::thread_local! {
        static NEXT: Cell<u64> = const { Cell::new(0) };
    }

    extern "C" fn next() -> u64 {
        NEXT.get()
    }

    #[test]
    fn a_node_has_the_scope_of_its_first_launch() {
        NEXT_NODE.store(next as *mut (), Ordering::Release);
        let launch = |next: u64, scope: u64| {
            NEXT.set(next);
            launched(scope);
        };
        launch(0, 3); // no node was made yet
        launch(101, 10);
        launch(101, 11); // a kernel of something that needs no gradient
        launch(104, 20);
        look_away();
        launch(105, 30);
        assert_eq!(scope_of(100), 10);
        assert_eq!(scope_of(103), 20);
        assert_eq!(scope_of(102), 20, "made just before the one that launched");
        assert_eq!(scope_of(104), 20, "nothing after it, so the one before");
        assert_eq!(scope_of(1000), 0);
        assert_eq!(scope_of(u64::MAX), 0, "nodes that accumulate gradients have this number");
    }
}
