//! GPU work in Chrome traces: as torch.profiler (Kineto) writes it, and as hodo does.

use super::event::{Args, text};
use crate::import::rows::{By, NewWork};
use crate::import::strings::Strings;
use hodo_format::gpu::{Detail, Kernel, flag, memory};
use hodo_format::record::SpanId;

/// What a category stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// A kernel.
    Kernel,
    /// A copy.
    Copy,
    /// Memory set.
    Set,
    /// A wait as the GPU's records show it.
    Sync,
    /// A call into CUDA.
    Call,
    /// An operation of torch.
    Op,
    /// What the profiler did for itself, or drew twice.
    Own(&'static str),
    /// Named by the user, or whatever else.
    Scope,
}

impl Category {
    /// Of the text in `cat`.
    pub fn of(cat: &str) -> Category {
        match cat.to_ascii_lowercase().as_str() {
            "kernel" | "gpu,kernel" => Category::Kernel,
            "gpu_memcpy" | "memcpy" | "gpu,copy" => Category::Copy,
            "gpu_memset" | "memset" | "gpu,set" => Category::Set,
            "cuda_sync" => Category::Sync,
            "cuda_runtime" | "cuda_driver" | "runtime" | "driver" => Category::Call,
            "cpu_op" | "operator" | "python_function" => Category::Op,
            "gpu_user_annotation" => {
                Category::Own("ranges that the profiler drew again on the GPU's row, left out")
            }
            "overhead" => Category::Own("slices of the profiler's own overhead, left out"),
            "trace" => Category::Own("slices around the whole recording, left out"),
            "launch" => Category::Own("arrows of launches, known from the work they lead to"),
            _ => Category::Scope,
        }
    }

    /// Whether it is GPU work.
    pub fn is_work(self) -> bool {
        matches!(self, Category::Kernel | Category::Copy | Category::Set | Category::Sync)
    }
}

/// What a call waited for, by its name: as a sync of GPU work has it.
pub fn waits(name: &str) -> Option<u8> {
    Some(match name {
        "cudaEventSynchronize" | "cuEventSynchronize" => 1,
        "cudaStreamSynchronize" | "cuStreamSynchronize" => 3,
        "cudaDeviceSynchronize" | "cuCtxSynchronize" => 4,
        _ => return None,
    })
}

/// The work that an event of such a category is.
pub fn work(
    category: Category,
    process: u32,
    name: &str,
    (start_ns, end_ns): (i64, i64),
    args: &Args<'_>,
    strings: &mut Strings,
) -> NewWork {
    let number = |key: &str| args.number(key).unwrap_or(0);
    let half = |key: &str| u32::try_from(number(key)).unwrap_or(0);
    let bytes = number("bytes");
    let detail = match category {
        Category::Kernel => {
            let full = args.get("name").map(text);
            Detail::Kernel(Kernel {
                name: strings.number(full.as_deref().unwrap_or(name)),
                grid: args.three("grid"),
                block: args.three("block"),
                registers: (number("registers per thread") | number("registers")) as u16,
                static_shared: half("static_shared_bytes"),
                // torch adds both up.
                dynamic_shared: half("shared memory") | half("dynamic_shared_bytes"),
                local: 0,
            })
        }
        Category::Copy => {
            let (direction, from, to) = copied(name);
            Detail::Copy { bytes, direction, from, to }
        }
        Category::Set => Detail::Set { bytes, memory: memory_of(name) },
        _ => Detail::Sync { what: synced(name) },
    };
    let mut work = NewWork {
        correlation: half("correlation"),
        device: half("device"),
        context: half("context"),
        // No stream is told as -1, which is no number.
        stream: half("stream"),
        ..NewWork::new(process, detail, start_ns, end_ns)
    };
    let node = number("graph node id") | number("graph_node");
    if node != 0 {
        work.flags |= flag::GRAPH;
        (work.graph, work.node) = (half("graph id") | half("graph"), node);
    }
    if args.get("scope").is_some() {
        told(&mut work, args);
    }
    work
}

/// hodo's own export says which scope launched it, and when.
fn told(work: &mut NewWork, args: &Args<'_>) {
    let scope = args.get("hodo.launch_scope_id").map(text).and_then(|id| scope_id(&id));
    let inherited = args.get("inherited").is_some();
    work.by = match scope {
        Some(scope) => By::Source(if inherited { flag::INHERITED } else { flag::BY_LAUNCH }, scope),
        None if args.get("scope").is_some_and(|s| text(s) == "(unknown launch)") => {
            By::Source(flag::UNKNOWN, SpanId::NONE)
        }
        None => By::Source(flag::NO_SCOPE, SpanId::NONE),
    };
    let latency = args.number("launch_latency_ns").and_then(|ns| i64::try_from(ns).ok());
    work.launched_ns = latency.map(|ns| work.start_ns.saturating_sub(ns));
}

/// The scope's half of one of hodo's ids, 32 hex digits or 16.
pub fn scope_id(id: &str) -> Option<SpanId> {
    let half = id.get(id.len().checked_sub(16)?..)?;
    u64::from_str_radix(half, 16).ok().filter(|&id| id != 0).map(SpanId)
}

/// Direction and memories of `Memcpy HtoD (Pinned -> Device)` or `HtoD 4 MiB`.
fn copied(name: &str) -> (u8, u8, u8) {
    const DIRECTIONS: [(&str, u8); 10] = [
        ("HtoD", 1),
        ("DtoH", 2),
        ("HtoA", 3),
        ("AtoH", 4),
        ("AtoA", 5),
        ("AtoD", 6),
        ("DtoA", 7),
        ("DtoD", 8),
        ("HtoH", 9),
        ("PtoP", 10),
    ];
    let direction = DIRECTIONS.iter().find(|(word, _)| name.contains(word)).map_or(0, |d| d.1);
    let memories = name.split_once('(').map_or("", |(_, behind)| behind);
    let (from, to) = memories.split_once("->").unwrap_or_default();
    (direction, memory_of(from), memory_of(to))
}

fn memory_of(text: &str) -> u8 {
    [
        ("Pageable", memory::PAGEABLE),
        ("Pinned", memory::PINNED),
        ("Device", memory::DEVICE),
        ("Array", memory::ARRAY),
        ("Managed", memory::MANAGED),
    ]
    .into_iter()
    .find(|(word, _)| text.contains(word))
    .map_or(0, |(_, code)| code)
}

fn synced(name: &str) -> u8 {
    match name {
        "Event Sync" => 1,
        "Stream Wait Event" => 2,
        "Stream Sync" => 3,
        "Context Sync" => 4,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_told_by_their_names() {
        let pinned = (1, memory::PINNED, memory::DEVICE);
        assert_eq!(copied("Memcpy HtoD (Pinned -> Device)"), pinned);
        assert_eq!(copied("Memcpy DtoD (Device -> Device)"), (8, memory::DEVICE, memory::DEVICE));
        assert_eq!(copied("DtoH 4 MiB"), (2, 0, 0));
        assert_eq!(copied("something"), (0, 0, 0));
        assert_eq!(memory_of("Memset (Device)"), memory::DEVICE);
    }

    #[test]
    fn ids_are_hexadecimal() {
        let id = SpanId::new(3, 9);
        assert_eq!(scope_id(&format!("{:016x}{:016x}", 77, id.0)), Some(id));
        assert_eq!(scope_id("12"), None);
        assert_eq!(scope_id(&"0".repeat(32)), None);
        assert_eq!(scope_id("ééééééééééééé"), None);
    }
}
