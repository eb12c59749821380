//! The state of the recorder, as C reads it.

use crate::guarded;
use hodo_record::Counts as Recorded;
use std::ffi::c_char;

/// Longest text in `hodo_health`, with its NUL.
pub const HODO_HEALTH_TEXT: usize = 512;

/// Records by kind.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Counts {
    /// Closed scopes.
    pub spans: u64,
    /// Marks.
    pub marks: u64,
    /// Attribute records; one may hold four attributes.
    pub attrs: u64,
}

impl From<Recorded> for Counts {
    fn from(counts: Recorded) -> Counts {
        Counts { spans: counts.spans, marks: counts.marks, attrs: counts.attrs }
    }
}

/// The state of the recorder. Fields are only ever added at the end.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Health {
    /// `sizeof(hodo_health)` as the caller knows it.
    pub struct_size: usize,
    /// Whether a recorder is on.
    pub on: bool,
    /// Whether a killed process leaves everything it recorded.
    pub crash_safe: bool,
    /// Records made: produced = stored + in_ring + lost.
    pub produced: Counts,
    /// Records on disk.
    pub stored: Counts,
    /// Records in memory, on their way to the disk.
    pub in_ring: Counts,
    /// Records lost, for any reason.
    pub lost: Counts,
    /// Scopes past the depth limit.
    pub depth_dropped: u64,
    /// Scopes closed while one inside them was open.
    pub out_of_order: u64,
    /// Closes of a scope that was closed already.
    pub double_closed: u64,
    /// Closes refused because the scope belongs to another thread.
    pub wrong_thread: u64,
    /// Errors inside hodo that were caught.
    pub internal_errors: u64,
    /// Threads recording now.
    pub threads: u64,
    /// What one scope costs here.
    pub scope_cost_ns: u64,
    /// The run's folder, NUL-terminated.
    pub run: [c_char; HODO_HEALTH_TEXT],
    /// What does not work as it should, and why; empty when all is well.
    pub degraded: [c_char; HODO_HEALTH_TEXT],
    /// NVTX ranges that were popped or ended without having been opened, or could not be kept.
    pub nvtx_unmatched: u64,
}

/// Fills in as much as both sides know.
///
/// # Safety
/// `health` points at a struct whose `struct_size` is right.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hodo_get_health(health: *mut Health) {
    guarded((), || {
        if health.is_null() {
            return;
        }
        // SAFETY: every field is a number or bytes, for which zero is a value.
        let mut known: Health = unsafe { std::mem::zeroed() };
        fill(&mut known);
        // SAFETY: by the contract; no more is written than the caller has room for.
        unsafe {
            known.struct_size = (*health).struct_size;
            let bytes = known.struct_size.min(size_of::<Health>());
            health.cast::<u8>().copy_from_nonoverlapping((&raw const known).cast(), bytes);
        }
    });
}

fn fill(known: &mut Health) {
    let health = hodo_record::health();
    known.on = health.on;
    known.crash_safe = health.crash_safe;
    known.produced = health.produced.into();
    known.stored = health.stored.into();
    known.in_ring = health.in_ring.into();
    let mut lost = Recorded::default();
    health.lost.iter().for_each(|some| lost += *some);
    known.lost = lost.into();
    known.depth_dropped = health.depth_dropped;
    known.out_of_order = health.out_of_order;
    known.double_closed = health.double_closed;
    known.wrong_thread = health.wrong_thread;
    known.internal_errors = health.internal_errors;
    known.threads = health.threads;
    known.scope_cost_ns = health.scope_cost_ns;
    let run = health.run.map(|run| run.to_string_lossy().into_owned()).unwrap_or_default();
    put(&mut known.run, &run);
    put(&mut known.degraded, &health.degraded);
    let nvtx = hodo_gpu::nvtx::counts();
    known.nvtx_unmatched = nvtx.pops_without_push + nvtx.ends_without_start + nvtx.too_many_started;
}

fn put(bytes: &mut [c_char; HODO_HEALTH_TEXT], text: &str) {
    let end = text.floor_char_boundary(HODO_HEALTH_TEXT - 1);
    for (to, from) in bytes.iter_mut().zip(&text.as_bytes()[..end]) {
        *to = *from as c_char;
    }
}
