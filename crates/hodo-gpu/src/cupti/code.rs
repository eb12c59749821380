//! CUPTI's numbers.

/// Results of CUPTI calls.
pub mod result {
    /// All is well.
    pub const SUCCESS: i32 = 0;
    /// No record is left in a buffer.
    pub const MAX_LIMIT_REACHED: i32 = 12;
    /// What was asked for does not fit the state things are in.
    pub const INVALID_OPERATION: i32 = 7;
    /// No memory; while sampling, the hardware's buffer is full.
    pub const OUT_OF_MEMORY: i32 = 8;
    /// Two APIs that exclude each other.
    pub const NOT_COMPATIBLE: i32 = 14;
    /// CUDA is not usable.
    pub const NOT_INITIALIZED: i32 = 15;
    /// A record of no known kind, as in the unused part of a buffer.
    pub const INVALID_KIND: i32 = 21;
    /// Another tool uses the hardware.
    pub const HARDWARE_BUSY: i32 = 26;
    /// Not with this device, driver or mode.
    pub const NOT_SUPPORTED: i32 = 27;
    /// Profiling needs rights that this process has not.
    pub const INSUFFICIENT_PRIVILEGES: i32 = 35;
    /// Another tool holds the callbacks.
    pub const MULTIPLE_SUBSCRIBERS: i32 = 39;
    /// A virtual GPU without the right to be profiled.
    pub const VIRTUALIZED_PRIVILEGES: i32 = 40;
    /// Stands for a function that this CUPTI does not have.
    pub const MISSING_FUNCTION: i32 = -1;
}

/// Kinds of activity records.
pub mod kind {
    /// A copy.
    pub const MEMCPY: u32 = 1;
    /// Memory set to a value.
    pub const MEMSET: u32 = 2;
    /// A call of the driver API.
    pub const DRIVER: u32 = 4;
    /// A call of the runtime API.
    pub const RUNTIME: u32 = 5;
    /// A device.
    pub const DEVICE: u32 = 8;
    /// A kernel.
    pub const CONCURRENT_KERNEL: u32 = 10;
    /// A copy between devices.
    pub const MEMCPY2: u32 = 22;
    /// A host thread or a stream waiting.
    pub const SYNCHRONIZATION: u32 = 38;
    /// Memory taken or given back.
    pub const MEMORY2: u32 = 49;
}

/// Domains of callbacks.
pub mod domain {
    /// Calls of the driver API. Calls of the runtime API make these, with the same number.
    pub const DRIVER: u32 = 1;
    /// Contexts, modules, graphs coming and going.
    pub const RESOURCE: u32 = 3;
    /// The state of CUPTI itself.
    pub const STATE: u32 = 6;
}

/// Callbacks in the resource domain.
pub mod resource {
    /// A context was made.
    pub const CONTEXT_CREATED: u32 = 1;
    /// A context is about to go.
    pub const CONTEXT_DESTROY_STARTING: u32 = 2;
    /// A module was loaded.
    pub const MODULE_LOADED: u32 = 6;
    /// A node was added to a graph.
    pub const GRAPH_NODE_CREATED: u32 = 13;
    /// A node was copied from another, as when a graph is made executable.
    pub const GRAPH_NODE_CLONED: u32 = 20;
}

/// CUPTI met an error from which it does not recover, and has detached itself.
pub const STATE_FATAL_ERROR: u32 = 1;

/// Attributes of the activity API.
pub mod attribute {
    /// `u8`: buffers are handed over zeroed.
    pub const ZEROED_BUFFER: u32 = 5;
    /// `u8`: each thread has a buffer of its own.
    pub const PER_THREAD_BUFFER: u32 = 9;
    /// `usize`: bytes of a buffer on the device.
    pub const DEVICE_BUFFER_BYTES: u32 = 0;
    /// `usize`: most buffers on the device.
    pub const DEVICE_BUFFER_LIMIT: u32 = 2;
}

/// What a call of the driver does that hodo counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Launches a kernel.
    Kernel,
    /// Launches a graph.
    Graph,
    /// Copies.
    Copy,
    /// Sets memory.
    Set,
    /// Waits.
    Sync,
    /// Takes or gives back memory.
    Memory,
    /// Ends a context: what CUPTI holds must be fetched before.
    ContextEnd,
}

/// The driver calls that hodo listens to, as ranges of CUPTI's numbers. What lies in between is
/// always of the same sort, or a call that is long gone.
const CALLS: &[(std::ops::RangeInclusive<u32>, Call)] = &[
    // cuLaunchKernel, cuLaunchKernelEx, cooperative; cuLaunch, cuLaunchGrid of old.
    (307..=307, Call::Kernel),
    (442..=442, Call::Kernel),
    (652..=653, Call::Kernel),
    (477..=478, Call::Kernel),
    (480..=480, Call::Kernel),
    (115..=117, Call::Kernel),
    // cuGraphLaunch, cuGraphLaunchWithArguments
    (514..=515, Call::Graph),
    (819..=819, Call::Graph),
    // cuMemcpyHtoD_v2 to cuMemcpyHtoAAsync_v2, cuMemcpy, peers; batches; with attributes; with
    // per-thread streams
    (248..=248, Call::Copy),
    (276..=293, Call::Copy),
    (305..=306, Call::Copy),
    (318..=321, Call::Copy),
    (397..=410, Call::Copy),
    (418..=427, Call::Copy),
    (776..=779, Call::Copy),
    (796..=799, Call::Copy),
    (837..=840, Call::Copy),
    // cuMemsetD8_v2 to cuMemsetD2D32_v2, asynchronous, with per-thread streams
    (249..=254, Call::Set),
    (216..=227, Call::Set),
    (411..=416, Call::Set),
    (428..=433, Call::Set),
    // cuMemAlloc, Pitch, Managed, Async, FromPool; cuMemFree, Async; cuMemCreate, cuMemRelease
    (243..=245, Call::Memory),
    (371..=371, Call::Memory),
    (598..=601, Call::Memory),
    (611..=612, Call::Memory),
    (549..=550, Call::Memory),
    // cuStreamSynchronize, cuEventSynchronize, cuCtxSynchronize, cuStreamWaitEvent
    (126..=126, Call::Sync),
    (440..=440, Call::Sync),
    (121..=121, Call::Sync),
    (17..=17, Call::Sync),
    (800..=800, Call::Sync),
    (295..=295, Call::Sync),
    (436..=436, Call::Sync),
    // cuCtxDestroy_v2, cuDevicePrimaryCtxReset
    (322..=322, Call::ContextEnd),
    (389..=389, Call::ContextEnd),
    (545..=545, Call::ContextEnd),
];

/// Every call that hodo listens to, by its number.
pub fn calls() -> impl Iterator<Item = (u32, Call)> {
    CALLS.iter().flat_map(|(numbers, call)| numbers.clone().map(move |number| (number, *call)))
}

/// One past the highest number in [`calls`].
pub const CALL_LIMIT: usize = 1024;
