//! Which scope a forward operation of torch ran in, so that its gradient can be told by layer.
//!
//! Torch numbers the autograd nodes of a thread as it makes them, and makes a node before it
//! launches the operation's kernels. So at a launch the newest number is the operation's own, and
//! reading it there costs a call of two nanoseconds; scopes pay nothing.
//!
//! Each thread numbers its nodes by itself. Where two threads of a program made nodes of one number,
//! the number alone does not tell which is meant, and its scope is not known rather than wrong.

use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

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
    /// 0 when it is not known.
    scope: AtomicU64,
    /// The thread that made it.
    thread: AtomicUsize,
}

/// The calling thread, by the address of something that only it has.
fn this_thread() -> usize {
    std::thread_local! {
        static OWN: u8 = const { 0 };
    }
    OWN.try_with(|own| std::ptr::from_ref(own).addr()).unwrap_or(0)
}

impl Node {
    const fn new() -> Node {
        Node { number: AtomicU64::new(0), scope: AtomicU64::new(0), thread: AtomicUsize::new(0) }
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
    let Some(before) = number.checked_sub(1) else { return };
    let node = node(before);
    if node.number.load(Ordering::Relaxed) != number {
        node.thread.store(this_thread(), Ordering::Relaxed);
        node.scope.store(scope, Ordering::Relaxed);
        node.number.store(number, Ordering::Release);
    } else if node.thread.load(Ordering::Relaxed) != this_thread() {
        node.scope.store(0, Ordering::Relaxed);
    }
    // Else the first launch was the operation's own; what follows needs no gradient.
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
        launch(501, 40);
        std::thread::scope(|threads| {
            threads.spawn(|| launch(501, 50));
            threads.spawn(|| launch(601, 60));
        });
        look_away();
        launch(105, 30);
        assert_eq!(scope_of(100), 10);
        assert_eq!(scope_of(103), 20);
        assert_eq!(scope_of(102), 20, "made just before the one that launched");
        assert_eq!(scope_of(104), 20, "nothing after it, so the one before");
        assert_eq!(scope_of(500), 0, "two threads made one of this number");
        assert_eq!(scope_of(600), 60);
        assert_eq!(scope_of(1000), 0);
        assert_eq!(scope_of(u64::MAX), 0, "nodes that accumulate gradients have this number");
    }
}
