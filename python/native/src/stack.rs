//! The stack of scopes of one context, as a Python object that a context variable holds.
//!
//! A thread's own context uses the thread's stack as it is. Any other context's stack is put on top
//! of it while the context runs, and taken aside when another context records on that thread.

use crate::api;
use crate::gil::Gil;
use crate::nodes::{self, MOST_NODES};
use crate::on_thread::{ON_THREAD, give_up_left_behind, hold, installed, on_thread};
use crate::probe::{CONTEXT_AT, VARS_AT, word};
use hodo_record::binding::{Begun, Entered, Suspended, Thread, swap_entered, table};
use pyo3::ffi::{self, PyObject};
use std::collections::HashMap;

#[repr(C)]
pub struct Stack {
    base: PyObject,
    /// Weak reference to the context whose stack this is; null once only copies hold it.
    owner: *mut PyObject,
    /// That context's address.
    context: usize,
    /// The context's table of variables when this stack was put into it, held: while it is, no
    /// other table has its address. The table holds the stack in turn, until the context dies.
    vars: *mut PyObject,
    /// The nodes of that table that lead to the stack, from its root.
    nodes: [*mut PyObject; MOST_NODES],
    node_count: u8,
    /// A thread's own stack.
    is_base: bool,
    /// On top of its thread's own now; for a thread's own, under another.
    is_installed: bool,
    is_covered: bool,
    thread: *mut Thread,
    number: u32,
    /// The scope that was innermost when this was last taken aside, or given to copies.
    link: Begun,
    /// Contexts entered by `enter_new_scope` at that time.
    entered_numbers: u64,
    /// The scope that what opens here first is inside of.
    parent: Begun,
    aside: *mut Suspended,
}

/// Who holds a stack that records: the table of its context, its thread, and the place in `here`.
const HOLDERS: u32 = 3;

static TYPE: Gil<*mut ffi::PyTypeObject> = Gil::new(std::ptr::null_mut());
static VARIABLE: Gil<*mut PyObject> = Gil::new(std::ptr::null_mut());
/// The function that is called when a context dies.
static ON_DEATH: Gil<*mut PyObject> = Gil::new(std::ptr::null_mut());
/// Stacks by the address of their context, and of the weak reference to it.
static BY_ADDRESS: Gil<Option<HashMap<usize, *mut Stack>>> = Gil::new(None);

/// Makes the type and the variable.
///
/// # Safety
/// The lock is held.
pub unsafe fn prepare() -> Result<(), ()> {
    let slots = &mut [
        ffi::PyType_Slot { slot: ffi::Py_tp_dealloc, pfunc: dealloc as *mut _ },
        ffi::PyType_Slot { slot: ffi::Py_tp_traverse, pfunc: traverse as *mut _ },
        ffi::PyType_Slot { slot: ffi::Py_tp_clear, pfunc: clear as *mut _ },
        ffi::PyType_Slot { slot: 0, pfunc: std::ptr::null_mut() },
    ];
    let mut spec = ffi::PyType_Spec {
        name: c"hodo._hodo.Stack".as_ptr(),
        basicsize: size_of::<Stack>() as i32,
        itemsize: 0,
        flags: api::COLLECTED,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: by the contract; the slots are complete.
    unsafe {
        let made = ffi::PyType_FromSpec(&mut spec).cast();
        let variable = api::PyContextVar_New(c"hodo.stack".as_ptr(), std::ptr::null_mut());
        static DEATH: Gil<ffi::PyMethodDef> = Gil::new(ffi::PyMethodDef {
            ml_name: c"on_death".as_ptr(),
            ml_meth: ffi::PyMethodDefPointer { PyCFunction: on_death },
            ml_flags: ffi::METH_O,
            ml_doc: c"".as_ptr(),
        });
        let none = std::ptr::null_mut();
        let on_death = ffi::PyCFunction_NewEx(DEATH.get(), none, none);
        (*TYPE.get(), *VARIABLE.get(), *ON_DEATH.get()) = (made, variable, on_death);
        let failed = made.is_null() || variable.is_null() || on_death.is_null();
        if failed { Err(()) } else { Ok(()) }
    }
}

fn new(is_base: bool, thread: *mut Thread, parent: Begun) -> *mut Stack {
    let number = table().map_or(0, |table| (table.number)());
    // SAFETY: the lock is held; the object is filled before anybody sees it.
    unsafe {
        give_up_left_behind();
        let stack = api::new_collected::<Stack>(*TYPE.get());
        if stack.is_null() {
            ffi::PyErr_Clear();
            return stack;
        }
        (*stack).is_base = is_base;
        (*stack).thread = thread;
        (*stack).number = number;
        (*stack).link = Begun::INERT;
        (*stack).parent = parent;
        api::PyObject_GC_Track(stack.cast());
        stack
    }
}

unsafe extern "C" fn dealloc(object: *mut PyObject) {
    // SAFETY: the interpreter calls this once, with the lock, on an object of this type.
    unsafe {
        api::PyObject_GC_UnTrack(object.cast());
        let stack = object.cast::<Stack>();
        if !(*stack).aside.is_null()
            && let Some(table) = table()
        {
            (table.drop_suspended)(&mut (*stack).aside);
        }
        disown(stack);
        api::free_collected(object);
    }
}

unsafe extern "C" fn traverse(
    object: *mut PyObject,
    visit: ffi::visitproc,
    argument: *mut std::ffi::c_void,
) -> i32 {
    // SAFETY: the collector calls this with the lock, on an object of this type.
    unsafe {
        let stack = object.cast::<Stack>();
        for held in [(*stack).owner, (*stack).vars, ffi::Py_TYPE(object).cast()] {
            if !held.is_null() {
                let stop = visit(held, argument);
                if stop != 0 {
                    return stop;
                }
            }
        }
    }
    0
}

unsafe extern "C" fn clear(object: *mut PyObject) -> i32 {
    // SAFETY: as for `traverse`.
    unsafe { disown(object.cast()) };
    0
}

/// Gives up the context of a stack, and its table of variables, whose values may run code of the
/// program's as they go: the last thing to be done.
unsafe fn disown(stack: *mut Stack) {
    // SAFETY: the lock is held.
    unsafe {
        let owner = std::mem::replace(&mut (*stack).owner, std::ptr::null_mut());
        let context = std::mem::take(&mut (*stack).context);
        if let Some(by_address) = (*BY_ADDRESS.get()).as_mut() {
            for address in [owner as usize, context] {
                if by_address.get(&address) == Some(&stack) {
                    by_address.remove(&address);
                }
            }
        }
        let vars = std::mem::replace(&mut (*stack).vars, std::ptr::null_mut());
        (*stack).node_count = 0;
        ffi::Py_XDECREF(owner);
        ffi::Py_XDECREF(vars);
    }
}

unsafe fn by_address(address: usize) -> Option<*mut Stack> {
    // SAFETY: the lock is held.
    unsafe { (*BY_ADDRESS.get()).as_ref()?.get(&address).copied() }
}

/// A context has died: nobody needs its table any more.
unsafe extern "C" fn on_death(_: *mut PyObject, owner: *mut PyObject) -> *mut PyObject {
    // SAFETY: the interpreter calls this with the lock; stacks leave the list before they go.
    unsafe {
        if let Some(stack) = by_address(owner as usize) {
            ffi::Py_INCREF(stack.cast());
            (*stack).link = link(stack);
            disown(stack);
            ffi::Py_DECREF(stack.cast());
        }
    }
    crate::record::none()
}

/// The stack of `context`, a new reference; made if need be. `None` when memory ran out.
///
/// # Safety
/// The lock is held; `context` is the calling thread's, or null for none.
pub unsafe fn of_context(
    context: *mut PyObject,
    is_base: bool,
    thread: *mut Thread,
) -> Option<*mut Stack> {
    // SAFETY: by the contract.
    unsafe {
        // Its own first: a framework may copy variables from one context into another.
        let own_stack = by_address(context as usize).filter(|&stack| owns(context, stack));
        if let Some(stack) = own_stack.filter(|&stack| is_usable(stack, thread)) {
            ffi::Py_INCREF(stack.cast());
            return Some(stack);
        }
        let mut inherited = std::ptr::null_mut();
        if api::PyContextVar_Get(*VARIABLE.get(), std::ptr::null_mut(), &mut inherited) != 0 {
            ffi::PyErr_Clear();
        }
        let inherited = inherited.cast::<Stack>();
        let from = own_stack.unwrap_or(inherited);
        let parent = if is_base { Begun::INERT } else { parent_for(from) };
        let numbers = inherited_numbers(from);
        let stack = new(is_base, thread, parent);
        if stack.is_null() || !own(stack) {
            ffi::Py_XDECREF(inherited.cast());
            return None;
        }
        (*stack).entered_numbers = numbers;
        if is_base {
            hold(|held| &held.base, stack);
        }
        // A context that another thread ran before goes on with a stack of this thread's.
        if let Some(before) = own_stack {
            ffi::Py_INCREF(before.cast());
            (*before).link = parent;
            disown(before);
            ffi::Py_DECREF(before.cast());
        }
        ffi::Py_XDECREF(inherited.cast());
        Some(stack)
    }
}

/// Whether a context's stack can be used on this thread: not while it is on top of another's.
unsafe fn is_usable(stack: *mut Stack, thread: *mut Thread) -> bool {
    // SAFETY: the lock is held; the stack is alive.
    unsafe {
        let bound = (*stack).is_base || (*stack).is_installed;
        !bound || (*stack).thread == thread
    }
}

/// What a context that was copied from the one of `inherited` starts inside of.
unsafe fn parent_for(inherited: *mut Stack) -> Begun {
    let Some(table) = table() else { return Begun::INERT };
    // SAFETY: the lock is held; the stack is alive.
    unsafe {
        if inherited.is_null() {
            // Copied from a context that had recorded nothing: inside of what the thread itself is
            // in, and of no other context.
            take_aside();
            return (table.link)();
        }
        link(inherited)
    }
}

/// The innermost scope of a stack: as its copies were given it, else as it is.
unsafe fn link(stack: *mut Stack) -> Begun {
    let Some(table) = table() else { return Begun::INERT };
    // SAFETY: the lock is held; the thread's state is never unmapped.
    unsafe {
        if !is_live(stack) {
            return (*stack).link;
        }
        (table.link_of)((*stack).thread, (*stack).number)
    }
}

/// Whether a stack is what its thread records on now.
unsafe fn is_live(stack: *mut Stack) -> bool {
    // SAFETY: the lock is held; the stack is alive.
    unsafe {
        let on_thread = if (*stack).is_base { !(*stack).is_covered } else { (*stack).is_installed };
        !(*stack).owner.is_null() && on_thread
    }
}

/// How many contexts entered by `enter_new_scope` a copy of this stack's context is inside of.
unsafe fn inherited_numbers(stack: *mut Stack) -> u64 {
    // SAFETY: the lock is held; the stack is alive or null.
    unsafe {
        if stack.is_null() {
            return 0;
        }
        let is_here = is_live(stack) && (*stack).thread == hodo_record::binding::thread();
        if is_here { numbers() } else { (*stack).entered_numbers }
    }
}

/// The running context's count of `enter_new_scope`.
fn numbers() -> u64 {
    let count = swap_entered(0);
    swap_entered(count);
    count
}

/// Whether `stack` is that of `context`, not one it was copied with.
unsafe fn owns(context: *mut PyObject, stack: *mut Stack) -> bool {
    // SAFETY: the lock is held.
    unsafe {
        let owner = (*stack).owner;
        !owner.is_null() && ffi::PyWeakref_GetObject(owner) == context
    }
}

/// Makes `stack` that of the running context.
unsafe fn own(stack: *mut Stack) -> bool {
    // SAFETY: the lock is held; setting the variable makes a context where there was none.
    unsafe {
        let token = api::PyContextVar_Set(*VARIABLE.get(), stack.cast());
        ffi::Py_XDECREF(token);
        let state = api::PyThreadState_Get();
        let context = word(state, *CONTEXT_AT.get());
        let owner = ffi::PyWeakref_NewRef(context as *mut PyObject, *ON_DEATH.get());
        if token.is_null() || owner.is_null() {
            ffi::PyErr_Clear();
            ffi::Py_XDECREF(owner);
            ffi::Py_DECREF(stack.cast());
            return false;
        }
        (*stack).owner = owner;
        (*stack).context = context;
        let by_address = (*BY_ADDRESS.get()).get_or_insert_default();
        by_address.insert(owner as usize, stack);
        by_address.insert(context, stack);
        (*stack).vars = word(context as *const u8, VARS_AT) as *mut PyObject;
        ffi::Py_INCREF((*stack).vars);
        // Where no way is found, the stack always counts as shared.
        let (nodes, count) = nodes::way_to(stack.cast(), (*stack).vars);
        (*stack).nodes = nodes;
        (*stack).node_count = count as u8;
        true
    }
}

/// The running context was copied: the copies keep `stack` with the scope that is innermost now,
/// and the context goes on with a new one, which is returned. The caller gives up `stack` with
/// [`release`], when it no longer uses it.
///
/// # Safety
/// The lock is held; `stack` is the running context's and on its thread.
pub unsafe fn renew(stack: *mut Stack) -> Option<*mut Stack> {
    // SAFETY: by the contract.
    unsafe {
        let (is_base, thread, parent) = ((*stack).is_base, (*stack).thread, (*stack).parent);
        let renewed = new(is_base, thread, parent);
        if renewed.is_null() || !own(renewed) {
            return None;
        }
        (*stack).link = table().map_or(Begun::INERT, |table| (table.link)());
        (*stack).entered_numbers = numbers();
        (*renewed).aside = std::mem::replace(&mut (*stack).aside, std::ptr::null_mut());
        (*renewed).is_installed = std::mem::take(&mut (*stack).is_installed);
        (*renewed).is_covered = (*stack).is_covered;
        if is_base {
            hold(|held| &held.base, renewed);
        } else if (*renewed).is_installed {
            hold(|held| &held.top, renewed);
        }
        Some(renewed)
    }
}

/// Gives up a stack that was renewed.
///
/// # Safety
/// The lock is held; the caller holds the stack.
pub unsafe fn release(stack: *mut Stack) {
    // SAFETY: by the contract.
    unsafe {
        disown(stack);
        ffi::Py_DECREF(stack.cast());
    }
}

impl Stack {
    /// The address of the context's table of variables when this stack was put into it.
    pub fn vars(&self) -> usize {
        self.vars as usize
    }

    /// Whether no other context leads to this stack: neither by the same table, nor by one that
    /// has parts in common with it.
    ///
    /// # Safety
    /// The lock is held, and the context is the running one.
    #[inline(always)]
    pub unsafe fn is_unshared(&self) -> bool {
        // SAFETY: by the contract; the table and so its nodes are held.
        unsafe {
            let count = usize::from(self.node_count);
            count > 0
                && references(self.vars) == 2
                && references(&raw const self.base) == HOLDERS
                && references(self.nodes[0]) == 1
                && (count == 1 || self.nodes[1..count].iter().all(|&node| references(node) == 1))
        }
    }
}

/// The references to an object: its first word, of which later versions use the lower half.
#[inline(always)]
unsafe fn references(object: *const PyObject) -> u32 {
    // SAFETY: the lock is held, and the object is alive.
    unsafe { object.cast::<u32>().read() }
}

/// Puts a stack on the calling thread, and aside what was there.
///
/// # Safety
/// The lock is held; `stack` is that of the running context.
pub unsafe fn install(stack: *mut Stack) {
    // SAFETY: by the contract.
    unsafe {
        let wanted = if (*stack).is_base { std::ptr::null_mut() } else { stack };
        if installed() == wanted {
            return;
        }
        take_aside();
        let Some(table) = table().filter(|_| !wanted.is_null()) else { return };
        if let Some(base) = on_thread(|held| &held.base).as_mut() {
            base.link = (table.link)();
            base.is_covered = true;
            base.entered_numbers = numbers();
        }
        let parent = here_or_outside((*stack).parent, (table.process)());
        let entered = (table.resume)(parent, &mut (*stack).aside);
        (*stack).thread = hodo_record::binding::thread();
        (*stack).number = (table.number)();
        (*stack).is_installed = true;
        let outside = swap_entered((*stack).entered_numbers);
        let _ = ON_THREAD.try_with(|held| {
            held.base_numbers.set(outside);
            held.entered.set(entered);
        });
        hold(|held| &held.top, stack);
    }
}

/// A scope of this process, or none at all: a stack of its own in either case.
fn here_or_outside(parent: Begun, process: u64) -> Begun {
    let is_here = parent.id != 0 && parent.process == process;
    if is_here { parent } else { Begun { depth: parent.depth, ..Begun::OUTSIDE } }
}

/// Takes the stack that is on top of the thread's own aside.
unsafe fn take_aside() {
    let stack = installed();
    let Some(table) = table().filter(|_| !stack.is_null()) else { return };
    // SAFETY: the lock is held, and the thread holds the stacks.
    unsafe {
        (*stack).link = (table.link)();
        (*stack).is_installed = false;
        let entered = ON_THREAD.try_with(|held| held.entered.replace(Entered::INERT));
        let entered = entered.unwrap_or(Entered::INERT);
        (table.suspend)(entered, &mut (*stack).aside);
        let outside = ON_THREAD.try_with(|held| held.base_numbers.get()).unwrap_or(0);
        (*stack).entered_numbers = swap_entered(outside);
        if let Some(base) = on_thread(|held| &held.base).as_mut() {
            base.is_covered = false;
        }
        hold(|held| &held.top, std::ptr::null_mut());
    }
}
