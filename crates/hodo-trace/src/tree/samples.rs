//! Samples of where kernels stood: by kernel, by scope, by instruction.

use super::gpu::{GpuSummary, described};
use super::kernels::{OUTSIDE, Place, UNKNOWN, path, place_of};
use super::paths::Paths;
use crate::links::Links;
use crate::select::{Selection, select};
use crate::{Filter, GpuAbsence, Process, Run};
use hodo_format::gpu::Sample;
use serde::Serialize;
use std::collections::HashMap;

/// Instructions that a table holds; all of them are counted.
const MAX_INSTRUCTIONS: usize = 1000;
/// Ends reasons that tell a sample again: those where the scheduler issued for no warp at all.
const AGAIN: &str = "_not_issued";

/// The samples of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SampleTable {
    /// How often any kernel was seen.
    pub samples: u64,
    /// Why the warps stood, most samples first.
    pub stalls: Vec<StallSum>,
    /// By short name of the kernel, most samples first.
    pub kernels: Vec<SampledKernel>,
    /// By path of the scope that launched the kernel, most samples first.
    pub scopes: Vec<SampledScope>,
    /// By instruction, most samples first; the first 1,000.
    pub instructions: Vec<SampledInstruction>,
    /// How many instructions were seen.
    pub instruction_count: u64,
    /// Why processes captured no GPU.
    pub missing: Vec<GpuAbsence>,
}

/// Samples with one reason.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StallSum {
    /// Why the warp stood.
    pub reason: String,
    /// How often.
    pub samples: u64,
    /// Of the samples here.
    pub share: f64,
}

/// Samples of kernels of one short name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SampledKernel {
    /// The name.
    pub name: String,
    /// How often.
    pub samples: u64,
    /// Of all samples.
    pub share: f64,
    /// Why, most samples first.
    pub stalls: Vec<StallSum>,
}

/// Samples of kernels that one path launched.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SampledScope {
    /// Names from the outermost scope to this; one in brackets for kernels of no scope.
    pub path: Vec<String>,
    /// How often.
    pub samples: u64,
    /// Of all samples.
    pub share: f64,
    /// Why, most samples first.
    pub stalls: Vec<StallSum>,
}

/// Samples of one instruction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SampledInstruction {
    /// Short name of its kernel.
    pub kernel: String,
    /// Checksum of the machine code it is in.
    pub cubin: u64,
    /// Where it is, in bytes from the kernel's first.
    pub pc: u64,
    /// The source file; none when not known.
    pub file: Option<String>,
    /// The line there.
    pub line: Option<u32>,
    /// How often.
    pub samples: u64,
    /// Of all samples.
    pub share: f64,
    /// Why, most samples first.
    pub stalls: Vec<StallSum>,
}

/// Samples by reason, in the making.
type Stalls = HashMap<String, u64>;
/// An instruction: its kernel, its machine code, its place there, and its place in the source.
type Instruction = (String, u64, u64, Option<String>, u32);

/// The samples of `run` whose kernels were launched in scopes that `filter` keeps.
pub fn samples(run: &Run, filter: &Filter) -> SampleTable {
    let links = Links::new(&run.processes);
    let kept = select(run, &links, filter);
    let GpuSummary { missing, .. } = described(run, &kept);
    if run.processes.iter().all(|process| process.gpu.samples.is_empty()) {
        return SampleTable { missing, ..SampleTable::default() };
    }
    let paths = Paths::new(run, &links, &kept);
    let mut all = Stalls::new();
    let mut kernels: HashMap<String, Stalls> = HashMap::new();
    let mut scopes: HashMap<Place, Stalls> = HashMap::new();
    let mut instructions: HashMap<Instruction, Stalls> = HashMap::new();
    for (at, process) in run.processes.iter().enumerate() {
        for sample in &process.gpu.samples {
            let Some(place) = launched_in(at, process, sample, &kept[at], &paths) else { continue };
            let reason = process.names.text(sample.stall);
            if reason.ends_with(AGAIN) {
                continue;
            }
            let add = |stalls: &mut Stalls| match stalls.get_mut(reason.as_ref()) {
                Some(samples) => *samples += sample.samples,
                None => drop(stalls.insert(reason.to_string(), sample.samples)),
            };
            let kernel = process.gpu.kernel_name(sample.kernel).short.to_string();
            let file = (sample.file != 0).then(|| process.names.text(sample.file).into_owned());
            add(&mut all);
            add(scopes.entry(place).or_default());
            add(kernels.entry(kernel.clone()).or_default());
            let instruction = (kernel, sample.cubin, sample.pc, file, sample.line);
            add(instructions.entry(instruction).or_default());
        }
    }
    let whole = all.values().sum();
    let instruction_count = instructions.len() as u64;
    SampleTable {
        samples: whole,
        stalls: finish(all).1,
        kernels: ranked(kernels, |name, stalls| {
            let (samples, stalls) = finish(stalls);
            SampledKernel { name, samples, share: share(samples, whole), stalls }
        }),
        scopes: ranked(scopes, |place, stalls| {
            let (samples, stalls) = finish(stalls);
            let path = path(place, &paths);
            SampledScope { path, samples, share: share(samples, whole), stalls }
        }),
        instructions: busiest(instructions, whole),
        instruction_count,
        missing,
    }
}

/// Where the kernel of a sample was launched; none when a filter dropped it.
fn launched_in(
    at: usize,
    process: &Process,
    sample: &Sample,
    kept: &Selection,
    paths: &Paths,
) -> Option<Place> {
    match process.spans.row_of(sample.span) {
        Some(scope) => kept.keeps(scope).then(|| place_of(at, scope, paths)),
        None if !matches!(kept, Selection::All) => None,
        None if sample.correlation == 0 => Some(Place::None(UNKNOWN)),
        None => Some(Place::None(OUTSIDE)),
    }
}

fn busiest(instructions: HashMap<Instruction, Stalls>, whole: u64) -> Vec<SampledInstruction> {
    let sum = |stalls: &Stalls| stalls.values().sum::<u64>();
    let mut all: Vec<(Instruction, Stalls)> = instructions.into_iter().collect();
    all.sort_by(|a, b| sum(&b.1).cmp(&sum(&a.1)).then_with(|| a.0.cmp(&b.0)));
    all.truncate(MAX_INSTRUCTIONS);
    let row = |((kernel, cubin, pc, file, line), stalls): (Instruction, Stalls)| {
        let (samples, stalls) = finish(stalls);
        let line = (line != 0).then_some(line);
        let share = share(samples, whole);
        SampledInstruction { kernel, cubin, pc, file, line, samples, share, stalls }
    };
    all.into_iter().map(row).collect()
}

/// Rows made of what was gathered, most samples first.
fn ranked<K, R: Ranked>(gathered: HashMap<K, Stalls>, row: impl Fn(K, Stalls) -> R) -> Vec<R> {
    let mut rows: Vec<R> = gathered.into_iter().map(|(key, stalls)| row(key, stalls)).collect();
    rows.sort_by(|a, b| b.samples().cmp(&a.samples()).then_with(|| a.title().cmp(&b.title())));
    rows
}

/// What rows are ordered by.
trait Ranked {
    fn samples(&self) -> u64;
    fn title(&self) -> Vec<&str>;
}

impl Ranked for SampledKernel {
    fn samples(&self) -> u64 {
        self.samples
    }

    fn title(&self) -> Vec<&str> {
        vec![&self.name]
    }
}

impl Ranked for SampledScope {
    fn samples(&self) -> u64 {
        self.samples
    }

    fn title(&self) -> Vec<&str> {
        self.path.iter().map(String::as_str).collect()
    }
}

/// All samples, and how many for each reason.
fn finish(stalls: Stalls) -> (u64, Vec<StallSum>) {
    let whole = stalls.values().sum();
    let sum = |(reason, samples)| StallSum { reason, samples, share: share(samples, whole) };
    let mut sums: Vec<StallSum> = stalls.into_iter().map(sum).collect();
    sums.sort_by(|a, b| b.samples.cmp(&a.samples).then_with(|| a.reason.cmp(&b.reason)));
    (whole, sums)
}

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}
