//! What the recorder knows about itself: numbers, and why anything is not as it should be.

use crate::clock::ClockSource;
use crate::cpu::CpuMethod;
use crate::drain::load;
use crate::process::{self, Process};
use hodo_format::arena::{
    Counts, Loss, SLAB_BYTES, SLAB_UNITS, SLAB_UNITS_AT, THREAD_UNITS, THREAD_UNITS_AT, ThreadHeader, slab_kind,
};
use hodo_format::record::{Head, Kind, Unit};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

const TEXT_BYTES: usize = 512;

/// The state of the recorder.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Health {
    /// Whether a recorder is on.
    pub on: bool,
    /// Records made: `produced = stored + in_ring + lost`.
    pub produced: Counts,
    /// Records in the spool.
    pub stored: Counts,
    /// Records in the rings, on their way to the spool; safe from a kill if `crash_safe`.
    pub in_ring: Counts,
    /// Records lost, by reason.
    pub lost: [Counts; Loss::COUNT],
    /// Scopes past the depth limit: run, counted, not recorded.
    pub depth_dropped: u64,
    /// Scopes closed while one inside them was open.
    pub out_of_order: u64,
    /// Closes of a scope that was closed already.
    pub double_closed: u64,
    /// Closes refused because the scope belongs to another thread.
    pub wrong_thread: u64,
    /// Names refused because there were too many.
    pub names_refused: u64,
    /// Panics caught inside hodo.
    pub internal_errors: u64,
    /// Threads recording now.
    pub threads: u64,
    /// System calls made to read CPU time.
    pub cpu_syscalls: u64,
    /// Bytes of rings in use.
    pub ring_bytes: u64,
    /// Bytes of memory for rings in all.
    pub memory_bytes: u64,
    /// Bytes of spool on disk.
    pub spool_bytes: u64,
    /// How long the pump's last round took.
    pub pump_lag_ns: u64,
    /// What one scope costs here.
    pub scope_cost_ns: u64,
    /// Whether a killed process leaves everything it recorded.
    pub crash_safe: bool,
    /// Where ticks come from: "counter" or "monotonic".
    pub clock: &'static str,
    /// How CPU time is read: "rseq", "perf", "syscall" or "off".
    pub cpu_time: &'static str,
    /// The run's folder.
    pub run: Option<PathBuf>,
    /// What does not work as it should, and why; empty when all is well.
    pub degraded: String,
}

impl Health {
    /// Records lost for any reason.
    pub fn lost_records(&self) -> u64 {
        self.lost.iter().map(Counts::records).sum()
    }
}

/// [`Health`] as it crosses between copies of hodo; fields are only ever added at the end.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Numbers {
    on: u64,
    stored: Counts,
    in_ring: Counts,
    lost: [Counts; Loss::COUNT],
    depth_dropped: u64,
    out_of_order: u64,
    double_closed: u64,
    wrong_thread: u64,
    names_refused: u64,
    internal_errors: u64,
    threads: u64,
    cpu_syscalls: u64,
    ring_bytes: u64,
    memory_bytes: u64,
    spool_bytes: u64,
    pump_lag_ns: u64,
    scope_cost_ns: u64,
    crash_safe: u64,
    clock: u64,
    cpu_time: u64,
    run: [u8; TEXT_BYTES],
    degraded: [u8; TEXT_BYTES],
}

const CPU_METHODS: [CpuMethod; 4] =
    [CpuMethod::Rseq, CpuMethod::Perf, CpuMethod::Syscall, CpuMethod::Off];

impl Numbers {
    /// Nothing is on.
    pub fn off() -> Numbers {
        // SAFETY: every field is a number or bytes, for which zero is a value.
        unsafe { std::mem::zeroed() }
    }

    /// This copy's numbers.
    pub fn read() -> Numbers {
        let mut numbers = Numbers::off();
        numbers.names_refused = crate::names::refused();
        numbers.internal_errors = crate::internal_errors();
        match process::current() {
            Some(process) => numbers.fill(process),
            None => {
                if let Some(last) = *crate::lock(&LAST) {
                    numbers = last;
                }
            }
        }
        numbers
    }

    fn fill(&mut self, process: &Process) {
        let arena = &process.arena;
        let header = arena.header();
        self.on = 1;
        self.stored = load(&header.stored);
        for (i, lost) in self.lost.iter_mut().enumerate() {
            *lost = load(&header.lost[i]);
            *lost += load(&header.ended_lost[i]);
        }
        for slab in 1..=arena.slabs() {
            self.add_slab(process, slab);
        }
        self.add_buried(process);
        for reason in [Loss::SpoolCap, Loss::SpoolGone] {
            take(&mut self.stored, self.lost[reason as usize]);
        }
        self.threads = crate::lock(&process.live).len() as u64;
        self.ring_bytes = u64::from(arena.slabs().saturating_sub(arena.free())) * SLAB_BYTES as u64;
        self.memory_bytes = arena.bytes() as u64;
        self.spool_bytes = process.pump.spool_bytes.load(Ordering::Relaxed);
        self.pump_lag_ns = process.pump.lag_ns.load(Ordering::Relaxed);
        self.scope_cost_ns = process.rate().ns(process.scope_cost.load(Ordering::Relaxed));
        self.crash_safe = arena.is_on_disk().into();
        self.clock = process.clock.code().into();
        self.cpu_time = CPU_METHODS.iter().position(|&m| m == process.cpu).unwrap_or(0) as u64;
        put(&mut self.run, &process.identity.run.to_string_lossy());
        put(&mut self.degraded, &degraded(process));
    }

    fn add_slab(&mut self, process: &Process, slab: u32) {
        let header = process.arena.slab(slab);
        let (at, capacity) = match header.kind.load(Ordering::Acquire) {
            slab_kind::THREAD => {
                self.add_thread(process, slab);
                (THREAD_UNITS_AT, THREAD_UNITS)
            }
            slab_kind::RING => (SLAB_UNITS_AT, SLAB_UNITS),
            _ => return,
        };
        let mut unit = header.drained.load(Ordering::Acquire) as usize;
        let end = (header.len.load(Ordering::Acquire) as usize).min(capacity);
        let units = process.arena.at(slab, at).cast_const().cast::<Unit>();
        while unit < end {
            // SAFETY: below the published length; the slab may be given back meanwhile, then the
            // count is a moment old, and the loop still ends.
            let head = Head::from_word(unsafe { (*units.add(unit)).0[0] });
            count(&mut self.in_ring, head.kind);
            unit += usize::from(head.units).max(1);
        }
    }

    fn add_thread(&mut self, process: &Process, slab: u32) {
        let at = process.arena.at(slab, hodo_format::arena::SLAB_HEADER_BYTES);
        // SAFETY: a thread slab holds a thread header; its counters are atomic.
        let thread = unsafe { &*at.cast::<ThreadHeader>() };
        let get = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        self.lost[Loss::RingFull as usize] += load(&thread.lost);
        self.depth_dropped += get(&thread.depth_dropped);
        self.out_of_order += get(&thread.out_of_order);
        self.double_closed += get(&thread.double_closed);
        self.wrong_thread += get(&thread.wrong_thread);
        self.cpu_syscalls += get(&thread.cpu_syscalls);
    }

    fn add_buried(&mut self, process: &Process) {
        let buried = crate::lock(&process.buried);
        self.depth_dropped += buried.depth_dropped;
        self.out_of_order += buried.out_of_order;
        self.double_closed += buried.double_closed;
        self.wrong_thread += buried.wrong_thread;
        self.cpu_syscalls += buried.cpu_syscalls;
    }

    /// The numbers as people read them.
    pub fn health(&self) -> Health {
        let mut produced = self.stored;
        produced += self.in_ring;
        self.lost.iter().for_each(|lost| produced += *lost);
        let on = self.on != 0;
        let counter = ClockSource::Counter;
        let clock = if self.clock == counter.code().into() { counter } else { ClockSource::Monotonic };
        let run = text(&self.run);
        Health {
            on,
            produced,
            stored: self.stored,
            in_ring: self.in_ring,
            lost: self.lost,
            depth_dropped: self.depth_dropped,
            out_of_order: self.out_of_order,
            double_closed: self.double_closed,
            wrong_thread: self.wrong_thread,
            names_refused: self.names_refused,
            internal_errors: self.internal_errors,
            threads: self.threads,
            cpu_syscalls: self.cpu_syscalls,
            ring_bytes: self.ring_bytes,
            memory_bytes: self.memory_bytes,
            spool_bytes: self.spool_bytes,
            pump_lag_ns: self.pump_lag_ns,
            scope_cost_ns: self.scope_cost_ns,
            crash_safe: self.crash_safe != 0,
            clock: if on { clock.name() } else { "" },
            cpu_time: if on { CPU_METHODS[self.cpu_time as usize & 3].name() } else { "" },
            run: (!run.is_empty()).then(|| run.into()),
            degraded: text(&self.degraded),
        }
    }
}

/// The numbers of the recorder that was stopped last.
static LAST: Mutex<Option<Numbers>> = Mutex::new(None);

/// Keeps the numbers of a recorder that stops; what is still in its rings is lost with them,
/// unless a file keeps them.
pub fn keep_last(process: &Process) {
    let mut numbers = Numbers::off();
    numbers.fill(process);
    numbers.on = 0;
    if !process.arena.is_on_disk() {
        let left = std::mem::take(&mut numbers.in_ring);
        numbers.lost[Loss::NotStored as usize] += left;
    }
    *crate::lock(&LAST) = Some(numbers);
}

fn degraded(process: &Process) -> String {
    let mut reasons = process.shortcomings.clone();
    let trouble = crate::lock(&process.pump.trouble).clone();
    reasons.extend((!trouble.is_empty()).then_some(trouble));
    if process.arena.has_file() && !process.arena.is_on_disk() {
        reasons.push("the arena's file was deleted: a kill loses what is not yet written".into());
    }
    reasons.extend(crate::shipper::trouble());
    reasons.join("; ")
}

fn count(counts: &mut Counts, kind: u8) {
    match Kind::from_byte(kind) {
        Some(Kind::Span) => counts.spans += 1,
        Some(Kind::Mark | Kind::MarkText) => counts.marks += 1,
        Some(Kind::Attrs | Kind::Text) => counts.attrs += 1,
        Some(Kind::Pad) | None => {}
    }
}

fn take(from: &mut Counts, less: Counts) {
    from.spans = from.spans.saturating_sub(less.spans);
    from.marks = from.marks.saturating_sub(less.marks);
    from.attrs = from.attrs.saturating_sub(less.attrs);
}

fn put(bytes: &mut [u8; TEXT_BYTES], text: &str) {
    let end = crate::names::floor_boundary(text, TEXT_BYTES - 1);
    bytes[..end].copy_from_slice(&text.as_bytes()[..end]);
}

fn text(bytes: &[u8; TEXT_BYTES]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(TEXT_BYTES);
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
