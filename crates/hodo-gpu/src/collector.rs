//! Records into files: what the GPU's own thread does with the buffers that come back.

use crate::attribute::Memory;
use crate::buffers::{Buffers, Full};
use crate::calls::Calls;
use crate::counts::Counts;
use crate::cupti::{Cupti, Record, Walk};
use crate::files::Files;
use crate::names::Names;
use crate::state::Tally;
use hodo_format::gpu::{Detail, Encoder, Sample, Work, flag, samples_frame, state_frame};
use hodo_record::binding::Recording;
use std::sync::atomic::Ordering;
use std::time::Instant;

const ZSTD_LEVEL: i32 = 1;

/// Reads buffers and writes files.
pub struct Collector {
    files: Files,
    encoder: Encoder,
    frames: Vec<u8>,
    /// Pieces of work in `frames`.
    waiting: u64,
    /// Rows of samples in `frames`.
    waiting_samples: u64,
    names: Names,
    calls: Calls,
    sequence: u64,
    /// Kernels that were read and belong to no graph.
    lone_kernels: u64,
    /// What was seen so far.
    pub tally: Tally,
    /// When the state was last written.
    pub told: Option<Instant>,
    /// Whether work was written since.
    pub has_untold: bool,
}

impl Collector {
    /// A collector for a process that records.
    pub fn new(recording: Recording) -> Collector {
        Collector {
            files: Files::new(recording),
            encoder: Encoder::new(ZSTD_LEVEL),
            frames: Vec::new(),
            waiting: 0,
            waiting_samples: 0,
            names: Names::default(),
            calls: Calls::default(),
            sequence: 0,
            lone_kernels: 0,
            tally: Tally::default(),
            told: None,
            has_untold: false,
        }
    }

    /// Reads the buffers that have come back, and makes them fit for use again.
    pub fn read(&mut self, cupti: &Cupti, buffers: &Buffers, memory: &Memory, by_time: bool) {
        let full = buffers.full();
        if by_time {
            // Calls lie in the same buffers as what they cause, not always before it.
            let records = full.iter().flat_map(|full| Walk::new(cupti, full.bytes()));
            records.filter_map(Record::call).for_each(|call| self.calls.add(call));
        }
        for full in full {
            self.read_one(cupti, &full, memory, by_time);
            buffers.give_back(full);
        }
    }

    fn read_one(&mut self, cupti: &Cupti, full: &Full, memory: &Memory, by_time: bool) {
        #[cfg(feature = "record")]
        crate::recording::buffer(cupti, full.bytes());
        for record in Walk::new(cupti, full.bytes()) {
            let Some(activity) = record.activity() else { continue };
            // SAFETY: the address comes from a record of CUPTI's, which keeps the name.
            let name = unsafe { self.names.id(activity.name) };
            if !by_time {
                self.keep(&memory.work(&activity, name));
                continue;
            }
            let launch = self.calls.launch(activity.correlation);
            let mut work = memory.work_of(&activity, name, launch);
            work.flags |= if launch.thread == 0 { 0 } else { flag::BY_TIME };
            self.keep(&work);
        }
    }

    fn keep(&mut self, work: &Work) {
        self.tally.add(work);
        self.encoder.push(work);
        if matches!(work.detail, Detail::Kernel(_)) && work.graph == 0 {
            self.lone_kernels += 1;
        }
        if self.encoder.is_full() {
            self.finish_frame();
        }
    }

    fn finish_frame(&mut self) {
        if !self.encoder.is_empty() {
            self.waiting += self.encoder.len() as u64;
            self.encoder.finish(self.sequence, &mut self.frames);
            self.sequence += 1;
        }
    }

    /// Takes samples, to be written next.
    pub fn samples(&mut self, mut samples: &[Sample]) {
        self.finish_frame();
        while !samples.is_empty() {
            let taken = samples_frame(self.sequence, samples, &mut self.frames);
            self.sequence += 1;
            self.waiting_samples += taken as u64;
            samples = &samples[taken..];
        }
    }

    /// Writes what was read, and `state`; what the disk refuses is counted as lost.
    pub fn write(&mut self, state: impl FnOnce(&Tally) -> String) {
        self.write_with(Some(state));
    }

    /// Writes what was read alone.
    pub fn write_work(&mut self) {
        self.write_with(None::<fn(&Tally) -> String>);
    }

    fn write_with(&mut self, state: Option<impl FnOnce(&Tally) -> String>) {
        self.finish_frame();
        self.tally.file_bytes = self.files.bytes();
        let records = std::mem::take(&mut self.waiting);
        // The state goes to the same file as the work it speaks of, or neither does.
        let samples = std::mem::take(&mut self.waiting_samples);
        self.tally.stored += records;
        self.tally.samples += samples;
        let tells = state.is_some();
        if let Some(state) = state {
            state_frame(self.sequence, &state(&self.tally), &mut self.frames);
            self.sequence += 1;
        }
        match self.files.append(&self.frames, records) {
            Ok(()) => {
                self.tally.trouble.clear();
                self.told = if tells { Some(Instant::now()) } else { self.told };
                self.has_untold = !tells;
            }
            Err(error) => {
                self.tally.stored -= records;
                self.tally.lost += records;
                self.tally.samples -= samples;
                self.tally.samples_lost += samples;
                self.tally.trouble = format!("cannot write GPU work: {error}");
            }
        }
        self.tally.removed = self.files.removed;
        self.tally.file_bytes = self.files.bytes();
        self.frames.clear();
    }

    /// Says in the mapped page how many records came.
    pub fn counted_by(&self, counts: &Counts) {
        counts.stored_kernels.store(self.lone_kernels, Ordering::Relaxed);
        counts.stored.store(self.tally.stored, Ordering::Relaxed);
    }

    /// Whether there is anything that was read and not written.
    pub fn has_work(&self) -> bool {
        self.waiting > 0 || self.waiting_samples > 0 || !self.encoder.is_empty()
    }
}
