//! GPU work to feed the encoder: a training loop as CUPTI tells of it, and arbitrary records.

use crate::made::{Random, word};
use hodo_format::gpu::{Detail, Kernel, Sample, Work, flag, memory};
use hodo_format::record::SpanId;
use proptest::prelude::*;

const LAYERS: u64 = 24;
/// Name, blocks, registers and ticks of the kernels of a layer's forward pass.
const LAYER: [(u32, u32, u16, u64); 12] = [
    (100, 4096, 32, 21_000),
    (101, 1056, 168, 180_000),
    (102, 2048, 40, 9_000),
    (103, 512, 255, 240_000),
    (104, 264, 168, 75_000),
    (105, 8192, 24, 15_000),
    (100, 4096, 32, 21_000),
    (106, 2112, 168, 310_000),
    (107, 16384, 26, 34_000),
    (104, 264, 168, 290_000),
    (105, 8192, 24, 15_000),
    (108, 1, 16, 2_500),
];

/// Steps of a training loop: a copy in, layers forward and backward, an optimiser, a copy out.
pub struct Steps {
    random: Random,
    correlation: u32,
    sequence: u64,
    launched: u64,
    end: u64,
}

impl Steps {
    pub fn new() -> Steps {
        let start = 81_234_567_890_123;
        Steps { random: Random(5), correlation: 900, sequence: 0, launched: start, end: start }
    }

    pub fn step(&mut self) -> Vec<Work> {
        let mut out = Vec::new();
        let step = self.open();
        let pinned = (memory::PINNED, memory::DEVICE);
        let copy = Detail::Copy { bytes: 1 << 20, direction: 1, from: pinned.0, to: pinned.1 };
        out.push(self.work(step, flag::ASYNC, 40_000, copy));
        let mut forwards = Vec::new();
        for _ in 0..LAYERS {
            let layer = self.open();
            forwards.push(layer);
            for (name, blocks, registers, ticks) in LAYER {
                let detail = kernel(name, blocks, registers);
                out.push(self.work(layer, flag::BY_LAUNCH, ticks, detail));
            }
        }
        let backward = self.open();
        for forward in forwards.into_iter().rev() {
            for (name, blocks, registers, ticks) in LAYER.into_iter().flat_map(|row| [row; 2]) {
                let detail = kernel(name + 50, blocks, registers);
                let mut work = self.work(backward, flag::INHERITED, ticks, detail);
                work.forward = forward;
                out.push(work);
            }
        }
        let optimiser = self.open();
        for i in 0..40 {
            out.push(self.work(optimiser, flag::BY_LAUNCH, 60_000, kernel(200, 300 + i, 64)));
        }
        let back = Detail::Copy { bytes: 4, direction: 2, from: pinned.1, to: pinned.0 };
        out.push(self.work(step, flag::ASYNC, 3_000, back));
        let mut sync = self.work(step, 0, 50_000, Detail::Sync { what: 3 });
        sync.launched = 0;
        out.push(sync);
        out
    }

    fn open(&mut self) -> SpanId {
        self.sequence += 1;
        SpanId::new(1, self.sequence)
    }

    fn work(&mut self, span: SpanId, flags: u16, ticks: u64, detail: Detail) -> Work {
        self.correlation += 1 + self.random.below(2) as u32;
        self.launched += 9_000 + self.random.below(4_000);
        let gap = 2_000 + self.random.below(800);
        let start = (self.end + gap).max(self.launched + 6_000 + self.random.below(1_000));
        self.end = start + ticks + self.random.below(ticks / 20 + 1);
        Work {
            flags,
            device: 0,
            context: 1,
            stream: 7,
            start,
            end: self.end,
            correlation: self.correlation,
            span,
            launched: self.launched,
            thread: 47,
            graph: 0,
            node: 0,
            captured: SpanId::NONE,
            forward: SpanId::NONE,
            detail,
        }
    }
}

pub fn kernel(name: u32, blocks: u32, registers: u16) -> Detail {
    Detail::Kernel(Kernel {
        name,
        grid: [blocks, 1, 1],
        block: [128, 1, 1],
        registers,
        static_shared: 1024,
        dynamic_shared: blocks * 16,
        local: 0,
    })
}

fn half() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), 0..4u32, any::<u32>()]
}

fn detail() -> impl Strategy<Value = Detail> {
    let three = || [half(), half(), half()];
    let kernel = (half(), three(), three(), any::<u16>(), three()).prop_map(
        |(name, grid, block, registers, [static_shared, dynamic_shared, local])| {
            let shared = (static_shared, dynamic_shared);
            let (static_shared, dynamic_shared) = shared;
            Detail::Kernel(Kernel {
                name,
                grid,
                block,
                registers,
                static_shared,
                dynamic_shared,
                local,
            })
        },
    );
    let copy = (word(), any::<[u8; 3]>()).prop_map(|(bytes, [direction, from, to])| Detail::Copy {
        bytes,
        direction,
        from,
        to,
    });
    let set = (word(), any::<u8>()).prop_map(|(bytes, memory)| Detail::Set { bytes, memory });
    let sync = any::<u8>().prop_map(|what| Detail::Sync { what });
    let memory =
        (any::<bool>(), word(), word(), any::<u8>()).prop_map(|(freed, bytes, address, memory)| {
            Detail::Memory { freed, bytes, address, memory }
        });
    prop_oneof![kernel, copy, set, sync, memory]
}

/// Any work at all.
pub fn any_work() -> impl Strategy<Value = Work> {
    let words = [word(), word(), word(), word(), word(), word(), word()];
    ((any::<u16>(), half(), half(), half()), words, (half(), half()), detail()).prop_map(
        |((flags, device, context, stream), w, (correlation, graph), detail)| Work {
            flags,
            device,
            context,
            stream,
            start: w[0],
            end: w[1],
            correlation,
            span: SpanId(w[2]),
            launched: w[3],
            thread: w[3] as u32,
            graph,
            node: w[4],
            captured: SpanId(w[5]),
            forward: SpanId(w[6]),
            detail,
        },
    )
}

/// Any sample at all.
pub fn any_sample() -> impl Strategy<Value = Sample> {
    ([half(), half(), half(), half(), half()], [word(), word(), word(), word()]).prop_map(
        |([kernel, stall, correlation, file, line], [cubin, pc, samples, span])| Sample {
            kernel,
            cubin,
            pc,
            stall,
            samples,
            span: SpanId(span),
            correlation,
            file,
            line,
        },
    )
}
