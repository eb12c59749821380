//! Encoding allocates nothing once its buffers have grown.

use hodo_format::gpu;
use hodo_format::record::{Span, SpanId, Unit};
use hodo_format::spool::Encoder;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn spans(frame: u64) -> Vec<Unit> {
    let span = |i: u64| Span {
        flags: 0,
        name: (i % 50) as u32,
        id: SpanId::new(1, frame * 4096 + i),
        parent: SpanId(0),
        start: frame * 10_000_000 + i * 2000,
        end: frame * 10_000_000 + i * 2000 + 1000 + i * i % 500,
        cpu: 900,
        index: 0,
        overhead: i % 7,
    };
    (0..4096).map(|i| span(i).to_unit()).collect()
}

fn main() {
    let frames: Vec<_> = (0..20).map(spans).collect();
    let mut encoder = Encoder::new(1);
    let mut out = Vec::with_capacity(4 << 20);
    let mut after_warm_up = 0;
    for (number, units) in frames.iter().enumerate() {
        if number == 2 {
            after_warm_up = ALLOCATIONS.load(Ordering::Relaxed);
        }
        encoder.push(1, number as u64 * 4096, units);
        encoder.finish(number as u64, &mut out);
    }
    let more = ALLOCATIONS.load(Ordering::Relaxed) - after_warm_up;
    assert!(after_warm_up > 0, "the counter counts");
    assert_eq!(more, 0, "allocations while encoding 18 frames");
    gpu_work();
}

fn gpu_work() {
    let mut encoder = gpu::Encoder::new(1);
    let mut out = Vec::with_capacity(4 << 20);
    let mut after_warm_up = 0;
    for frame in 0..20u64 {
        if frame == 2 {
            after_warm_up = ALLOCATIONS.load(Ordering::Relaxed);
        }
        for i in 0..4096 {
            assert!(encoder.push(&work(frame * 4096 + i)));
        }
        encoder.finish(frame, &mut out);
    }
    let more = ALLOCATIONS.load(Ordering::Relaxed) - after_warm_up;
    assert_eq!(more, 0, "allocations while encoding 18 frames of GPU work");
}

fn work(i: u64) -> gpu::Work {
    let kernel = gpu::Kernel { name: (i % 60) as u32, grid: [4, 1, 1], ..Default::default() };
    gpu::Work {
        flags: 0,
        device: 0,
        context: 1,
        stream: (i % 3) as u32,
        start: i * 9000,
        end: i * 9000 + 5000 + i * i % 500,
        correlation: i as u32,
        span: SpanId::new(1, i / 12),
        launched: i * 9000 - i % 11,
        thread: 0,
        graph: 0,
        node: 0,
        captured: SpanId::NONE,
        forward: SpanId::NONE,
        detail: gpu::Detail::Kernel(kernel),
    }
}
