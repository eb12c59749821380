//! GPU files by hand.

use super::Records;
use hodo_format::gpu::{self, Detail, Encoder, Kernel, Sample, Work, flag, memory};
use hodo_format::record::SpanId;
use hodo_format::spool;
use std::path::Path;

/// GPU work of a process in the making.
pub struct Works {
    pub all: Vec<Work>,
    pub state: String,
    pub samples: Vec<Sample>,
}

impl Works {
    pub fn new() -> Works {
        let state = r#"{"level":"trace","tier":"callbacks"}"#.into();
        Works { all: Vec::new(), state, samples: Vec::new() }
    }

    /// A kernel of `span` on stream 7 of device 0, launched 10 ticks before it starts.
    pub fn kernel(
        &mut self,
        r: &mut Records,
        span: SpanId,
        name: &str,
        start: u64,
        end: u64,
    ) -> &mut Work {
        let name = r.name(name);
        let kernel = Kernel {
            name,
            grid: [8, 1, 1],
            block: [128, 1, 1],
            registers: 32,
            ..Kernel::default()
        };
        self.add(span, Detail::Kernel(kernel), start, end)
    }

    pub fn copy(&mut self, span: SpanId, bytes: u64, start: u64, end: u64) -> &mut Work {
        let (from, to) = (memory::PINNED, memory::DEVICE);
        self.add(span, Detail::Copy { bytes, direction: 1, from, to }, start, end)
    }

    pub fn add(&mut self, span: SpanId, detail: Detail, start: u64, end: u64) -> &mut Work {
        let flags = if span.is_none() { flag::NO_SCOPE } else { flag::BY_LAUNCH };
        self.all.push(Work {
            flags,
            device: 0,
            context: 1,
            stream: 7,
            start,
            end,
            correlation: self.all.len() as u32 + 1,
            span,
            launched: start.saturating_sub(10),
            thread: 0,
            graph: 0,
            node: 0,
            captured: SpanId::NONE,
            forward: SpanId::NONE,
            detail,
        });
        let last = self.all.len() - 1;
        &mut self.all[last]
    }

    /// Frames of a few pieces each, behind one with the state.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = spool::file_header(1, 1).to_vec();
        gpu::state_frame(0, &self.state, &mut out);
        let mut encoder = Encoder::new(1);
        for (sequence, chunk) in (1..).zip(self.all.chunks(5)) {
            chunk.iter().for_each(|work| assert!(encoder.push(work)));
            encoder.finish(sequence, &mut out);
        }
        if !self.samples.is_empty() {
            gpu::samples_frame(1 + self.all.len().div_ceil(5) as u64, &self.samples, &mut out);
        }
        out
    }

    pub fn write(&self, folder: &Path) {
        std::fs::write(folder.join("gpu-000001.hodo"), self.bytes()).expect("a GPU file");
    }
}
