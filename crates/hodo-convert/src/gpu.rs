//! GPU work as slices: a row for every stream, and what a slice says of itself.

use crate::timeline::Timeline;
use hodo_format::gpu::{Detail, Kernel, Work, flag};
use hodo_trace::{GpuState, Process, SpanId, WorkRow};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Work that runs one after another, but for that of graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stream {
    /// Device, as CUDA numbers it in the process.
    pub device: u32,
    /// CUDA context.
    pub context: u32,
    /// Stream, unique in its context only.
    pub stream: u32,
}

/// A piece of work to draw.
#[derive(Clone, Debug)]
pub struct Piece {
    /// It.
    pub work: Work,
    /// Row of its stream, counted from 0: kernels of a graph run at the same time.
    pub lane: usize,
    /// When it began.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// The call that launched it, if an arrow should lead from there.
    pub launch: Option<Launch>,
}

/// A call that launched work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The thread that made it.
    pub by: Launcher,
    /// When.
    pub at_ns: u64,
}

/// A thread that launched work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Launcher {
    /// One that recorded, by number.
    Thread(u32),
    /// One that did not, by the operating system's number.
    Silent(u32),
}

/// The work of a process that has times and keeps a device busy, by stream in order of start.
pub fn streams(process: &Process) -> BTreeMap<Stream, Vec<WorkRow>> {
    let work = &process.gpu.work;
    let mut streams: BTreeMap<Stream, Vec<WorkRow>> = BTreeMap::new();
    for row in work.rows().filter(|&row| work.is_busy(row) && work.interval(row).is_some()) {
        let Work { device, context, stream, .. } = work.get(row);
        streams.entry(Stream { device, context, stream }).or_default().push(row);
    }
    streams
}

/// What is drawn so far of the work of a process.
pub struct Pieces<'a> {
    process: &'a Process,
    timeline: Timeline<'a>,
    /// Numbers of threads by the operating system's.
    threads: HashMap<u32, u32>,
    /// Ends of the lanes of the stream.
    ends: Vec<u64>,
    /// Launches of graphs from which an arrow leads: to the first of its nodes.
    graphs: HashSet<(u32, u64)>,
}

impl<'a> Pieces<'a> {
    /// Nothing yet.
    pub fn new(process: &'a Process, timeline: Timeline<'a>) -> Pieces<'a> {
        let threads = process.threads.iter().map(|thread| (thread.os_tid, thread.number)).collect();
        Pieces { process, timeline, threads, ends: Vec::new(), graphs: HashSet::new() }
    }

    /// Begins with the next stream.
    pub fn next_stream(&mut self) {
        self.ends.clear();
    }

    /// Places the next piece of the stream.
    pub fn place(&mut self, row: WorkRow) -> Piece {
        let work = self.process.gpu.work.get(row);
        let (start_ns, end_ns) = (self.timeline.ns(work.start), self.timeline.ns(work.end));
        let free = self.ends.iter().position(|&end| end <= start_ns);
        let lane = free.unwrap_or(self.ends.len());
        if lane == self.ends.len() {
            self.ends.push(0);
        }
        self.ends[lane] = end_ns;
        let is_first =
            work.flags & flag::GRAPH == 0 || self.graphs.insert((work.correlation, work.launched));
        let launch = self.launch(&work).filter(|_| is_first);
        Piece { work, lane, start_ns, end_ns, launch }
    }

    fn launch(&self, work: &Work) -> Option<Launch> {
        if work.launched == 0 {
            return None;
        }
        let by_launch = work.flags & flag::SCOPE == flag::BY_LAUNCH && !work.span.is_none();
        let by = match (work.thread, self.threads.get(&work.thread)) {
            (0, _) if by_launch => Launcher::Thread(work.span.thread()),
            (0, _) => return None,
            (_, Some(&number)) => Launcher::Thread(number),
            (silent, None) => Launcher::Silent(silent),
        };
        Some(Launch { by, at_ns: self.timeline.ns(work.launched) })
    }
}

/// `GPU 0 (NVIDIA H200)`.
pub fn device_name(process: &Process, device: u32) -> String {
    let devices = process.gpu.state.as_ref().map(GpuState::devices).unwrap_or_default();
    match devices.into_iter().find(|d| d.device == device && !d.name.is_empty()) {
        Some(known) => format!("GPU {device} ({})", known.name),
        None => format!("GPU {device}"),
    }
}

/// `stream 7`, with its context where the device has several, and its row past the first.
pub fn stream_name(process: &Process, of: Stream, lane: usize) -> String {
    let mut name = format!("stream {}", of.stream);
    let contexts = process.gpu.work.contexts(of.device);
    if contexts.len() > 1 {
        name += &format!(", context {}", of.context);
    }
    if lane > 0 {
        name += &format!(", overlap {lane}");
    }
    name
}

/// What a slice is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Title {
    /// The kernel whose name has this string id, in short.
    Kernel(u32),
    /// A copy, by CUPTI's code of the direction and bytes.
    Copy(u8, u64),
    /// Memory set, in bytes.
    Set(u64),
}

impl Title {
    /// The title of a piece of work that is drawn.
    pub fn of(work: &Work) -> Title {
        match work.detail {
            Detail::Kernel(Kernel { name, .. }) => Title::Kernel(name),
            Detail::Copy { bytes, direction, .. } => Title::Copy(direction, bytes),
            Detail::Set { bytes, .. } | Detail::Memory { bytes, .. } => Title::Set(bytes),
            Detail::Sync { .. } => Title::Set(0),
        }
    }

    /// In words: `sgemm`, `HtoD 4 MiB`, `set 512 B`.
    pub fn text(self, process: &Process) -> Cow<'_, str> {
        match self {
            Title::Kernel(name) => Cow::Borrowed(&process.gpu.kernel_name(name).short),
            Title::Copy(direction, size) => {
                Cow::Owned(format!("{} {}", short_direction(direction), bytes(size)))
            }
            Title::Set(size) => Cow::Owned(format!("set {}", bytes(size))),
        }
    }

    /// What sort of work it is.
    pub fn sort(self) -> &'static str {
        match self {
            Title::Kernel(_) => "kernel",
            Title::Copy(..) => "copy",
            Title::Set(_) => "set",
        }
    }
}

pub fn short_direction(code: u8) -> &'static str {
    match code {
        1 => "HtoD",
        2 => "DtoH",
        3 => "HtoA",
        4 => "AtoH",
        5 => "AtoA",
        6 => "AtoD",
        7 => "DtoA",
        8 => "DtoD",
        9 => "HtoH",
        10 => "PtoP",
        _ => "copy",
    }
}

/// `512 B`, `4 MiB`, `1.5 GiB`.
fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut size = n as f64;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    let text = format!("{size:.1}");
    format!("{} {}", text.strip_suffix(".0").unwrap_or(&text), UNITS[unit])
}

/// What a slice says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u64)]
pub enum Key {
    /// The kernel's name in full.
    Name = 1,
    /// Blocks.
    Grid,
    /// Threads of a block.
    Block,
    /// Registers a thread.
    Registers,
    /// Bytes of shared memory a block, set when compiled.
    StaticShared,
    /// Bytes of shared memory a block, set when launched.
    DynamicShared,
    /// Bytes copied or set.
    Bytes,
    /// CUPTI's number of the call.
    Correlation,
    /// The path of the scope that launched it.
    Scope,
    /// That scope's id.
    ScopeId,
    /// Its launching thread had no scope open.
    Inherited,
    /// From the launch to the start.
    Latency,
    /// The executable graph it is a node of.
    Graph,
    /// Its node there.
    Node,
    /// The path of the scope that captured the node.
    CapturedIn,
    /// The path of the scope whose gradient it is.
    Forward,
}

impl Key {
    /// Its name.
    pub fn text(self) -> &'static str {
        match self {
            Key::Name => "name",
            Key::Grid => "grid",
            Key::Block => "block",
            Key::Registers => "registers",
            Key::StaticShared => "static_shared_bytes",
            Key::DynamicShared => "dynamic_shared_bytes",
            Key::Bytes => "bytes",
            Key::Correlation => "correlation",
            Key::Scope => "scope",
            Key::ScopeId => "hodo.launch_scope_id",
            Key::Inherited => "inherited",
            Key::Latency => "launch_latency_ns",
            Key::Graph => "graph",
            Key::Node => "graph_node",
            Key::CapturedIn => "captured_in",
            Key::Forward => "gradient_of",
        }
    }
}

/// A value of a [`Key`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arg<'a> {
    /// Text of which there are few different ones.
    Text(Cow<'a, str>),
    /// A number.
    Number(u64),
    /// A scope's id.
    Id(SpanId),
    /// It holds.
    Yes,
}

/// What a piece says of itself.
pub fn args<'a>(process: &'a Process, piece: &Piece) -> Vec<(Key, Arg<'a>)> {
    let work = &piece.work;
    let mut args = Vec::with_capacity(12);
    match work.detail {
        Detail::Kernel(kernel) => {
            let full = &process.gpu.kernel_name(kernel.name).full;
            args.push((Key::Name, Arg::Text(Cow::Borrowed(full))));
            args.push((Key::Grid, size(kernel.grid)));
            args.push((Key::Block, size(kernel.block)));
            args.push((Key::Registers, Arg::Number(kernel.registers.into())));
            args.push((Key::StaticShared, Arg::Number(kernel.static_shared.into())));
            args.push((Key::DynamicShared, Arg::Number(kernel.dynamic_shared.into())));
        }
        Detail::Copy { bytes, .. } | Detail::Set { bytes, .. } => {
            args.push((Key::Bytes, Arg::Number(bytes)));
        }
        Detail::Sync { .. } | Detail::Memory { .. } => {}
    }
    args.push((Key::Correlation, Arg::Number(work.correlation.into())));
    args.push((Key::Scope, Arg::Text(scope(process, work))));
    if !work.span.is_none() {
        args.push((Key::ScopeId, Arg::Id(work.span)));
    }
    if work.flags & flag::SCOPE == flag::INHERITED {
        args.push((Key::Inherited, Arg::Yes));
    }
    if work.flags & flag::GRAPH != 0 {
        args.push((Key::Graph, Arg::Number(work.graph.into())));
        args.push((Key::Node, Arg::Number(work.node)));
    } else if work.launched != 0 {
        let ticks = work.start.saturating_sub(work.launched);
        args.push((Key::Latency, Arg::Number(process.clock.duration_ns(ticks))));
    }
    for (key, span) in [(Key::CapturedIn, work.captured), (Key::Forward, work.forward)] {
        if !span.is_none() {
            args.push((key, Arg::Text(path(process, span))));
        }
    }
    args
}

fn size([x, y, z]: [u32; 3]) -> Arg<'static> {
    Arg::Text(Cow::Owned(format!("{x}, {y}, {z}")))
}

fn scope<'a>(process: &'a Process, work: &Work) -> Cow<'a, str> {
    match work.flags & flag::SCOPE {
        _ if !work.span.is_none() => path(process, work.span),
        flag::UNKNOWN => Cow::Borrowed("(unknown launch)"),
        _ => Cow::Borrowed("(outside any scope)"),
    }
}

/// `epoch/step/forward`.
fn path(process: &Process, span: SpanId) -> Cow<'_, str> {
    let Some(row) = process.spans.row_of(span) else { return Cow::Borrowed("(lost scope)") };
    let name = |row| process.names.text(process.spans.name(row));
    let mut names = vec![name(row)];
    let mut next = process.spans.parent_row(row);
    while let Some(row) = next {
        names.push(name(row));
        next = process.spans.parent_row(row);
    }
    if names.len() == 1 {
        return names.swap_remove(0);
    }
    names.reverse();
    Cow::Owned(names.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        for (n, text) in [
            (0, "0 B"),
            (512, "512 B"),
            (4 << 20, "4 MiB"),
            (3 << 29, "1.5 GiB"),
            (1_600, "1.6 KiB"),
        ] {
            assert_eq!(bytes(n), text);
        }
    }
}
