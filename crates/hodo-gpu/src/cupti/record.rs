//! Activity records as they lie in a buffer.

use super::code::kind;
use super::{Cupti, size_of_record};
use hodo_format::gpu::{Detail, Kernel};

/// One record, as long as its kind says.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a>(&'a [u8]);

/// Where each field lies, in every version that has it.
pub(super) mod at {
    pub mod kernel {
        pub const REGISTERS: usize = 6;
        pub const START: usize = 16;
        pub const END: usize = 24;
        pub const DEVICE: usize = 40;
        pub const CONTEXT: usize = 44;
        pub const STREAM: usize = 48;
        pub const GRID: usize = 52;
        pub const BLOCK: usize = 64;
        pub const STATIC_SHARED: usize = 76;
        pub const DYNAMIC_SHARED: usize = 80;
        pub const LOCAL: usize = 84;
        pub const CORRELATION: usize = 92;
        pub const NAME: usize = 104;
        pub const GRAPH_NODE: usize = 144;
        pub const GRAPH: usize = 156;
    }
    /// Copies and sets have these in common.
    pub mod transfer {
        pub const DIRECTION: usize = 4;
        pub const FROM: usize = 5;
        pub const TO: usize = 6;
        pub const FLAGS: usize = 7;
        pub const BYTES: usize = 8;
        pub const START: usize = 16;
        pub const END: usize = 24;
        pub const DEVICE: usize = 32;
        pub const CONTEXT: usize = 36;
        pub const STREAM: usize = 40;
        pub const CORRELATION: usize = 44;
        pub const SET_MEMORY: usize = 50;
        pub const SET_FLAGS: usize = 48;
        pub const GRAPH_NODE: usize = 64;
        pub const GRAPH: usize = 72;
        pub const PEER_CORRELATION: usize = 60;
        pub const PEER_GRAPH_NODE: usize = 72;
        pub const PEER_GRAPH: usize = 80;
    }
    pub mod sync {
        pub const WHAT: usize = 4;
        pub const START: usize = 8;
        pub const END: usize = 16;
        pub const CORRELATION: usize = 24;
        pub const CONTEXT: usize = 28;
        pub const STREAM: usize = 32;
    }
    pub mod memory {
        pub const OPERATION: usize = 4;
        pub const MEMORY: usize = 8;
        pub const CORRELATION: usize = 12;
        pub const ADDRESS: usize = 16;
        pub const BYTES: usize = 24;
        pub const TIME: usize = 32;
        pub const DEVICE: usize = 52;
        pub const CONTEXT: usize = 56;
        pub const STREAM: usize = 60;
    }
    pub mod call {
        pub const START: usize = 8;
        pub const THREAD: usize = 28;
        pub const CORRELATION: usize = 32;
    }
}

pub(super) const RELEASED: u32 = 2;
pub(super) const ASYNC: u8 = 1;

/// What a record says, before its scope is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    /// Device.
    pub device: u32,
    /// Context.
    pub context: u32,
    /// Stream.
    pub stream: u32,
    /// When it began.
    pub start: u64,
    /// When it ended.
    pub end: u64,
    /// The call that caused it.
    pub correlation: u32,
    /// Executable graph, 0 for none.
    pub graph: u32,
    /// Node of the graph, 0 for none.
    pub node: u64,
    /// Whether the host went on meanwhile.
    pub is_async: bool,
    /// Address of a kernel's name, 0 for others.
    pub name: u64,
    /// What it is; a kernel's name is still to be put in.
    pub detail: Detail,
}

/// A call of the API, for launches whose callback hodo does not get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiCall {
    /// When it began.
    pub start: u64,
    /// The calling thread, as the operating system numbers it.
    pub thread: u32,
    /// Its number.
    pub correlation: u32,
}

impl<'a> Record<'a> {
    /// A record at the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Record<'a> {
        Record(bytes)
    }

    fn u8(self, at: usize) -> u8 {
        self.0.get(at).copied().unwrap_or(0)
    }

    fn u16(self, at: usize) -> u16 {
        self.0.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u16::from_le_bytes(*bytes))
    }

    fn u32(self, at: usize) -> u32 {
        self.0.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    fn u64(self, at: usize) -> u64 {
        self.0.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    fn triple(self, at: usize) -> [u32; 3] {
        [self.u32(at), self.u32(at + 4), self.u32(at + 8)]
    }

    /// Its kind.
    pub fn kind(self) -> u32 {
        self.u32(0)
    }

    /// The work it describes; none for other kinds.
    pub fn activity(self) -> Option<Activity> {
        match self.kind() {
            kind::CONCURRENT_KERNEL => Some(self.kernel()),
            kind::MEMCPY | kind::MEMCPY2 | kind::MEMSET => Some(self.transfer()),
            kind::SYNCHRONIZATION => Some(self.sync()),
            kind::MEMORY2 => Some(self.memory()),
            _ => None,
        }
    }

    /// The call it describes; none for other kinds.
    pub fn call(self) -> Option<ApiCall> {
        matches!(self.kind(), kind::DRIVER | kind::RUNTIME).then(|| ApiCall {
            start: self.u64(at::call::START),
            thread: self.u32(at::call::THREAD),
            correlation: self.u32(at::call::CORRELATION),
        })
    }

    fn kernel(self) -> Activity {
        use at::kernel::*;
        Activity {
            device: self.u32(DEVICE),
            context: self.u32(CONTEXT),
            stream: self.u32(STREAM),
            start: self.u64(START),
            end: self.u64(END),
            correlation: self.u32(CORRELATION),
            graph: self.u32(GRAPH),
            node: self.u64(GRAPH_NODE),
            is_async: false,
            name: self.u64(NAME),
            detail: Detail::Kernel(Kernel {
                name: 0,
                grid: self.triple(GRID),
                block: self.triple(BLOCK),
                registers: self.u16(REGISTERS),
                static_shared: self.u32(STATIC_SHARED),
                dynamic_shared: self.u32(DYNAMIC_SHARED),
                local: self.u32(LOCAL),
            }),
        }
    }

    fn transfer(self) -> Activity {
        use at::transfer::*;
        let bytes = self.u64(BYTES);
        let direction = self.u8(DIRECTION);
        let copy = Detail::Copy { bytes, direction, from: self.u8(FROM), to: self.u8(TO) };
        let set = Detail::Set { bytes, memory: self.u16(SET_MEMORY) as u8 };
        let peer = self.kind() == kind::MEMCPY2;
        let is_set = self.kind() == kind::MEMSET;
        let flags = if is_set { self.u16(SET_FLAGS) as u8 } else { self.u8(FLAGS) };
        Activity {
            device: self.u32(DEVICE),
            context: self.u32(CONTEXT),
            stream: self.u32(STREAM),
            start: self.u64(START),
            end: self.u64(END),
            correlation: self.u32(if peer { PEER_CORRELATION } else { CORRELATION }),
            graph: self.u32(if peer { PEER_GRAPH } else { GRAPH }),
            node: self.u64(if peer { PEER_GRAPH_NODE } else { GRAPH_NODE }),
            is_async: flags & ASYNC != 0,
            name: 0,
            detail: if is_set { set } else { copy },
        }
    }

    fn sync(self) -> Activity {
        use at::sync::*;
        Activity {
            device: 0,
            context: self.u32(CONTEXT),
            stream: self.u32(STREAM),
            start: self.u64(START),
            end: self.u64(END),
            correlation: self.u32(CORRELATION),
            graph: 0,
            node: 0,
            is_async: false,
            name: 0,
            detail: Detail::Sync { what: self.u32(WHAT) as u8 },
        }
    }

    fn memory(self) -> Activity {
        use at::memory::*;
        let time = self.u64(TIME);
        Activity {
            device: self.u32(DEVICE),
            context: self.u32(CONTEXT),
            stream: self.u32(STREAM),
            start: time,
            end: time,
            correlation: self.u32(CORRELATION),
            graph: 0,
            node: 0,
            is_async: false,
            name: 0,
            detail: Detail::Memory {
                freed: self.u32(OPERATION) == RELEASED,
                bytes: self.u64(BYTES),
                address: self.u64(ADDRESS),
                memory: self.u32(MEMORY) as u8,
            },
        }
    }
}

/// Longest part of a record that hodo looks at.
const LOOKED_AT: usize = 208;

/// Walks a buffer with the help of the library that filled it.
#[derive(Debug)]
pub struct Walk<'a> {
    cupti: &'a Cupti,
    bytes: &'a [u8],
    record: *mut u8,
}

impl<'a> Walk<'a> {
    /// The records in `bytes`, which `cupti` filled.
    pub fn new(cupti: &'a Cupti, bytes: &'a [u8]) -> Walk<'a> {
        Walk { cupti, bytes, record: std::ptr::null_mut() }
    }

    /// Where the last record begins in the buffer.
    pub fn offset(&self) -> usize {
        (self.record as usize).saturating_sub(self.bytes.as_ptr() as usize)
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Record<'a>;

    fn next(&mut self) -> Option<Record<'a>> {
        let buffer = self.bytes.as_ptr().cast_mut();
        // SAFETY: the buffer is one that CUPTI completed, and is only read.
        unsafe { self.cupti.next_record(buffer, self.bytes.len(), &mut self.record) }.ok()?;
        let offset = (self.record as usize).checked_sub(buffer as usize)?;
        let rest = self.bytes.get(offset..)?;
        Some(Record(&rest[..rest.len().min(LOOKED_AT)]))
    }
}

/// The records in `bytes`, which CUPTI `version` filled, by the lengths hodo knows. Ends at a
/// record of another kind.
pub fn walk_sized(version: u32, bytes: &[u8]) -> impl Iterator<Item = Record<'_>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let size = size_of_record(version, Record(rest).kind())?;
        let (record, behind) = rest.split_at_checked(size)?;
        rest = behind;
        Some(Record(record))
    })
}
