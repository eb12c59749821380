//! GPU work as hodo keeps it: one record per kernel, copy, set, synchronisation or allocation.
//!
//! It is written by the GPU's own thread into files of its own (`gpu-000001.hodo`) beside the
//! spool, in the same framing. Times are raw clock ticks, as in spans.

mod decode;
mod encode;
mod frames;
mod live;
mod shape;

pub(crate) use decode::Rows;
pub use encode::Encoder;
pub(crate) use frames::samples;
pub use frames::{samples_frame, state_frame};
pub use live::Live;

use crate::record::SpanId;

/// Frames of GPU files. Readers skip kinds they do not know.
pub mod frame_kind {
    /// Work records.
    pub const WORK: u8 = 16;
    /// What the capture is and what it counted, a JSON object; the newest counts.
    pub const STATE: u8 = 17;
    /// Samples of where kernels stood, by instruction and stall reason.
    pub const SAMPLES: u8 = 18;
}

/// One piece of GPU work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// [`flag`] bits.
    pub flags: u16,
    /// Device, as CUDA numbers it in this process.
    pub device: u32,
    /// CUDA context.
    pub context: u32,
    /// Stream, unique in its context only.
    pub stream: u32,
    /// Ticks when it began; 0 with [`flag::UNSTAMPED`]. A memory operation has only this.
    pub start: u64,
    /// Ticks when it ended; 0 while [`flag::UNFINISHED`].
    pub end: u64,
    /// CUPTI's number of the call that caused it; shared by all kernels of one graph launch.
    pub correlation: u32,
    /// The scope that launched it, or [`SpanId::NONE`].
    pub span: SpanId,
    /// Ticks when the call that caused it began; 0 when not known.
    pub launched: u64,
    /// The thread that made the call, as the operating system numbers it; 0 when not known.
    pub thread: u32,
    /// The executable graph it is a node of; 0 for none.
    pub graph: u32,
    /// Its node in that graph; 0 for none.
    pub node: u64,
    /// The scope that was innermost when the node was captured, or [`SpanId::NONE`].
    pub captured: SpanId,
    /// The scope of the forward operation whose gradient this is, or [`SpanId::NONE`].
    pub forward: SpanId,
    /// What it is.
    pub detail: Detail,
}

/// What a piece of work is, with what only its kind has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Detail {
    /// A kernel.
    Kernel(Kernel),
    /// A copy.
    Copy {
        /// Bytes copied.
        bytes: u64,
        /// CUPTI's code of the direction: 1 host to device, 2 device to host, 8 device to device.
        direction: u8,
        /// [`memory`] it reads.
        from: u8,
        /// [`memory`] it writes.
        to: u8,
    },
    /// Memory set to a value.
    Set {
        /// Bytes set.
        bytes: u64,
        /// [`memory`] it writes.
        memory: u8,
    },
    /// A host thread or a stream waiting: 1 event, 2 stream for event, 3 stream, 4 context.
    Sync {
        /// What for.
        what: u8,
    },
    /// Memory taken or given back at `start`.
    Memory {
        /// Whether it was given back.
        freed: bool,
        /// Bytes.
        bytes: u64,
        /// Where.
        address: u64,
        /// What [`memory`].
        memory: u8,
    },
}

/// A kernel's name and shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Kernel {
    /// String id of its name, mangled as the compiler wrote it.
    pub name: u32,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads in a block.
    pub block: [u32; 3],
    /// Registers a thread.
    pub registers: u16,
    /// Bytes of shared memory a block, set when compiled.
    pub static_shared: u32,
    /// Bytes of shared memory a block, set when launched.
    pub dynamic_shared: u32,
    /// Bytes of local memory a thread.
    pub local: u32,
}

/// How often kernels stood at one instruction for one reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// String id of the kernel's name, mangled as the compiler wrote it.
    pub kernel: u32,
    /// Checksum of the machine code the instruction is in.
    pub cubin: u64,
    /// Where the instruction is, in bytes from the kernel's first.
    pub pc: u64,
    /// String id of the reason the warp stood.
    pub stall: u32,
    /// How often it was seen there.
    pub samples: u64,
    /// The scope that launched the kernel, or [`SpanId::NONE`].
    pub span: SpanId,
    /// CUPTI's number of the launch, the first of several; 0 when not known.
    pub correlation: u32,
    /// String id of the source file; 0 for none.
    pub file: u32,
    /// Line in that file; 0 for none.
    pub line: u32,
}

/// Flags of a piece of work.
pub mod flag {
    /// Two bits: how its scope is known.
    pub const SCOPE: u16 = 3;
    /// The launching thread's innermost scope.
    pub const BY_LAUNCH: u16 = 0;
    /// The launching thread had no scope open: the innermost of the thread that last launched
    /// inside one.
    pub const INHERITED: u16 = 1;
    /// No scope was open.
    pub const NO_SCOPE: u16 = 2;
    /// Nothing is known about the launch: it was before hodo attached, or too long ago.
    pub const UNKNOWN: u16 = 3;
    /// It had not ended when the capture did.
    pub const UNFINISHED: u16 = 1 << 2;
    /// The device had no memory left for its times.
    pub const UNSTAMPED: u16 = 1 << 3;
    /// A node of a CUDA graph.
    pub const GRAPH: u16 = 1 << 4;
    /// Copies: asynchronous to the host.
    pub const ASYNC: u16 = 1 << 5;
    /// Another tool held the callbacks, so its scope is not told here: it is the innermost of
    /// `thread` at `launched`, or the ambient one then.
    pub const BY_TIME: u16 = 1 << 6;
}

/// Kinds of memory, with CUPTI's codes.
pub mod memory {
    /// Host memory that may be paged out.
    pub const PAGEABLE: u8 = 1;
    /// Host memory that stays.
    pub const PINNED: u8 = 2;
    /// Device memory.
    pub const DEVICE: u8 = 3;
    /// A CUDA array.
    pub const ARRAY: u8 = 4;
    /// Managed memory.
    pub const MANAGED: u8 = 5;
}
