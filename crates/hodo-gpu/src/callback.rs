//! What runs inside the program's CUDA calls: a few nanoseconds, no lock, no allocation.

use crate::cupti::code::{Call, STATE_FATAL_ERROR, domain, resource};
use crate::engine::{Engine, counts, engine, guarded};
use crate::pc::contexts::IN_USE;
use crate::{ambient, forward, window};
use hodo_format::gpu::flag;
#[cfg(feature = "record")]
use hodo_format::record::SpanId;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;

/// The part of CUPTI's `CUpti_CallbackData` that is looked at.
#[repr(C)]
pub struct CallData {
    pub site: u32,
    function_name: *const c_void,
    parameters: *const c_void,
    pub returned: *const c_int,
    symbol_name: *const c_void,
    context: *mut c_void,
    context_id: u32,
    correlation_data: *mut c_void,
    pub correlation: u32,
}

/// CUPTI's `CUpti_ResourceData`, which leads to what its number is about.
#[repr(C)]
pub struct ResourceData {
    context: *mut c_void,
    handle: *const c_void,
    pub descriptor: *const c_void,
}

/// CUPTI's `CUpti_ModuleResourceData`.
#[repr(C)]
struct ModuleData {
    module: u32,
    bytes: usize,
    cubin: *const u8,
}

/// The part of CUPTI's `CUpti_GraphData` that is looked at.
#[repr(C)]
pub struct GraphData {
    graph: *const c_void,
    original_graph: *const c_void,
    pub node: *mut c_void,
    pub original_node: *mut c_void,
}

pub const ENTER: u32 = 0;

std::thread_local! {
    /// Whether this thread's call added a node to a graph instead of launching.
    static CAPTURED: Cell<bool> = const { Cell::new(false) };
}

/// CUPTI's callback.
///
/// # Safety
/// CUPTI passes the data that belongs to the domain and the number.
pub unsafe extern "C" fn called(_: *mut c_void, what: u32, number: u32, data: *const c_void) {
    let Some(engine) = engine() else { return };
    // SAFETY: by the contract.
    unsafe {
        match what {
            domain::DRIVER => driver_call(engine, number, &*data.cast()),
            domain::RESOURCE => guarded((), || resource(engine, number, &*data.cast())),
            domain::STATE if number == STATE_FATAL_ERROR => {
                engine.fatal.store(1, Ordering::Release)
            }
            _ => {}
        }
    }
}

#[inline]
fn driver_call(engine: &Engine, number: u32, data: &CallData) {
    let Some(counts) = counts() else { return };
    let Some(call) = engine.calls.get(number as usize).copied().flatten() else { return };
    if data.site == ENTER {
        // Nodes are made by other calls too, which hodo does not listen to.
        CAPTURED.set(false);
        let launch = ambient::launch(engine.clock.now());
        if call == Call::Kernel && launch.how == flag::BY_LAUNCH {
            forward::launched(launch.span.0);
        }
        engine.memory.launches.put(data.correlation, launch);
        #[cfg(feature = "record")]
        crate::recording::called(number, data, Some(launch), launch.launched);
        counts.call(call);
        match call {
            Call::Kernel | Call::Graph => {
                IN_USE.add(data.context);
                window::launched(data.correlation);
            }
            Call::ContextEnd => engine.flush(false),
            _ => {}
        }
        return;
    }
    #[cfg(feature = "record")]
    crate::recording::called(number, data, None, engine.clock.now());
    let is_counted = matches!(call, Call::Kernel | Call::Copy | Call::Set);
    if CAPTURED.replace(false) && is_counted {
        let counter = if call == Call::Kernel { &counts.captured } else { &counts.captured_others };
        counter.fetch_add(1, Ordering::Relaxed);
    } else if is_counted {
        // SAFETY: at the exit of a call its result is there.
        let refused = unsafe { data.returned.as_ref() }.is_some_and(|result| *result != 0);
        if refused {
            let counter =
                if call == Call::Kernel { &counts.refused } else { &counts.refused_others };
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// # Safety
/// `data` is what CUPTI passes with these numbers.
unsafe fn resource(engine: &Engine, number: u32, data: &ResourceData) {
    match number {
        resource::CONTEXT_CREATED => window::context_made(engine, data.context),
        resource::CONTEXT_DESTROY_STARTING => window::context_ends(engine, data.context),
        // SAFETY: by the contract; a module's code is there during the call.
        resource::MODULE_LOADED => unsafe {
            if let Some(module) = data.descriptor.cast::<ModuleData>().as_ref()
                && !module.cubin.is_null()
            {
                engine.cubins.add(std::slice::from_raw_parts(module.cubin, module.bytes));
            }
        },
        // SAFETY: by the contract.
        _ => unsafe { graph_node(engine, number, data) },
    }
}

/// # Safety
/// `data` is what CUPTI passes with the numbers of nodes.
unsafe fn graph_node(engine: &Engine, number: u32, data: &ResourceData) {
    // SAFETY: by the contract; only asks CUPTI for numbers of nodes.
    unsafe {
        let Some(graph) = data.descriptor.cast::<GraphData>().as_ref() else { return };
        let id = |node: *mut c_void| {
            let mut id = 0;
            engine.cupti.graph_node_id(node, &mut id).ok().map(|()| id)
        };
        let Some(node) = id(graph.node) else { return };
        match number {
            resource::GRAPH_NODE_CREATED => {
                CAPTURED.set(true);
                let scope = ambient::scope().0;
                engine.memory.graphs.created(node, scope);
                #[cfg(feature = "record")]
                crate::recording::node(number, node, 0, scope);
            }
            resource::GRAPH_NODE_CLONED => {
                if let Some(original) = id(graph.original_node) {
                    engine.memory.graphs.cloned(node, original);
                    #[cfg(feature = "record")]
                    crate::recording::node(number, node, original, SpanId::NONE);
                }
            }
            _ => {}
        }
    }
}
