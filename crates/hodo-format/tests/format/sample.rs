//! A spool file of about 64 KiB whose frames, and what each must give, are known.

use crate::collect::{Seen, from_units};
use crate::made::{Loop, Random, text_units};
use crate::made_gpu::Steps;
use hodo_format::arena::{Anchor, Counts};
use hodo_format::gpu;
use hodo_format::record::SpanId;
use hodo_format::spool::{
    Encoder, FILE_HEADER_BYTES, Losses, ThreadInfo, anchors_frame, end_frame, file_header,
    losses_frame, strings_frame, thread_frame,
};
use std::ops::Range;

pub struct Frame {
    pub bytes: Range<usize>,
    pub records: u64,
    pub seen: Vec<Seen>,
}

pub struct Sample {
    pub file: Vec<u8>,
    pub frames: Vec<Frame>,
    sequence: u64,
}

/// Totals with a different number in each place.
pub fn losses() -> Losses {
    let counts = |n| Counts { spans: n, marks: n + 1, attrs: n + 2 };
    let lost = [counts(7), counts(10), counts(13), counts(16)];
    Losses { produced: counts(1), stored: counts(4), lost }
}

pub fn thread(number: u32) -> ThreadInfo {
    ThreadInfo {
        number,
        os_tid: 4711,
        name: format!("worker größe {number}"),
        started: 5,
        ended: number.is_multiple_of(2).then_some(6),
        produced: losses().produced,
        lost: losses().lost,
        depth_dropped: 20,
        out_of_order: 21,
        double_closed: 22,
        wrong_thread: 23,
        cpu_syscalls: 24,
    }
}

impl Sample {
    pub fn new(bytes: usize) -> Sample {
        let file = file_header(0x1234_5678_9abc_def0, 3).to_vec();
        let mut sample = Sample { file, frames: Vec::new(), sequence: 40 };
        let mut loops = [Loop::new(1), Loop::new(2), Loop::new(3)];
        let mut numbers = [0, 100, 1 << 33];
        let mut random = Random(1);
        let mut steps = Steps::new();
        while sample.file.len() < bytes {
            sample.records(&mut loops, &mut numbers, &mut random);
            if random.below(5) == 0 {
                sample.others();
            }
            if random.below(6) == 0 {
                sample.gpu(&mut steps, &mut random);
            }
        }
        sample.push(0, vec![Seen::End(losses())], |seq, out| end_frame(seq, &losses(), out));
        sample
    }

    /// A frame with a step of some threads and text that does not compress.
    fn records(&mut self, loops: &mut [Loop; 3], numbers: &mut [u64; 3], random: &mut Random) {
        let mut encoder = Encoder::new(1);
        let mut seen = Vec::new();
        let threads = 1 + random.below(3) as usize;
        for (i, source) in loops.iter_mut().enumerate().take(threads) {
            let thread = i as u32 + 1;
            let mut units = source.step();
            let noise: Vec<u8> = (0..random.below(3000)).map(|_| random.next() as u8).collect();
            units.extend(text_units(SpanId::new(thread, 1), 5, 1, &noise));
            let count = encoder.push(thread, numbers[i], &units).records();
            seen.push(Seen::Run { thread, first: numbers[i], count });
            seen.extend(from_units(&units));
            numbers[i] += count;
        }
        let records = encoder.len() as u64;
        self.push(records, seen, |sequence, out| encoder.finish(sequence, out));
    }

    fn others(&mut self) {
        let strings = ["step", "", "größe"];
        let seen = Seen::Strings(9, strings.map(String::from).to_vec());
        self.push(0, vec![seen], |seq, out| strings_frame(seq, 9, &strings, out));
        let info = thread(self.sequence as u32);
        self.push(0, vec![Seen::Thread(info.clone())], |seq, out| thread_frame(seq, &info, out));
        let anchors = [Anchor { ticks: 1, monotonic_ns: 2, wall_ns: 3 }; 3];
        let seen = vec![Seen::Anchors(anchors.to_vec())];
        self.push(0, seen, |seq, out| anchors_frame(seq, &anchors, out));
        let seen = vec![Seen::Losses(losses())];
        self.push(0, seen, |seq, out| losses_frame(seq, &losses(), out));
    }

    fn gpu(&mut self, steps: &mut Steps, random: &mut Random) {
        let works = steps.step();
        let works = &works[..random.below(works.len() as u64) as usize];
        let mut encoder = gpu::Encoder::new(1);
        works.iter().for_each(|work| assert!(encoder.push(work)));
        let seen = works.iter().map(|work| Seen::Work(*work)).collect();
        self.push(works.len() as u64, seen, |sequence, out| encoder.finish(sequence, out));
        let state = r#"{"level":"trace"}"#;
        self.push(0, vec![Seen::GpuState(state.into())], |seq, out| {
            gpu::state_frame(seq, state, out);
        });
        let sample = gpu::Sample { kernel: 4, pc: random.next(), ..Default::default() };
        self.push(2, vec![Seen::GpuSample(sample); 2], |seq, out| {
            gpu::samples_frame(seq, &[sample; 2], out);
        });
    }

    fn push(&mut self, records: u64, seen: Vec<Seen>, write: impl FnOnce(u64, &mut Vec<u8>)) {
        let begin = self.file.len();
        write(self.sequence, &mut self.file);
        self.sequence += 1;
        self.frames.push(Frame { bytes: begin..self.file.len(), records, seen });
    }

    /// What the frames that `intact` picks must give.
    pub fn expected<'a>(
        &'a self,
        intact: impl Fn(usize) -> bool + 'a,
    ) -> impl Iterator<Item = &'a Seen> {
        let frames = self.frames.iter().enumerate().filter(move |(i, _)| intact(*i));
        frames.flat_map(|(_, frame)| &frame.seen)
    }

    /// The frame a byte lies in; `None` in the file header.
    pub fn frame_at(&self, at: usize) -> Option<usize> {
        (at >= FILE_HEADER_BYTES)
            .then(|| self.frames.partition_point(|frame| frame.bytes.end <= at))
    }
}
