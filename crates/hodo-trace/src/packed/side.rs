//! What the tables do not hold and a run is not whole without: one JSON file.
//!
//! Its structures mirror those of the model and of the format, which change for reasons of their
//! own.

use crate::gpu::GpuState;
use crate::read::Brief;
use crate::{
    Account, Clock, Damage, Names, Place, Process, ProcessInfo, ProcessState, Run, Thread,
};
use hodo_format::arena::{Anchor, Counts, Loss};
use hodo_format::gpu::{Live, Sample};
use hodo_format::record::SpanId;
use serde::{Deserialize, Serialize};
use std::path::{Component, Path, PathBuf};

/// The side file.
#[derive(Debug, Serialize, Deserialize)]
pub struct Side {
    /// Version of the tables and of this file, see [`super::SCHEMA`].
    pub schema: u32,
    /// Version of hodo that packed the run.
    pub hodo: String,
    pub(crate) processes: Vec<SideProcess>,
    pub(crate) machines: Vec<SideMachine>,
    /// The files beside it.
    pub files: Vec<SideFile>,
}

impl Side {
    /// Whether all it names lies in the run's folder: the file may have come from anywhere.
    pub(crate) fn stays_inside(&self) -> bool {
        let is_plain =
            |name: &str| Path::new(name).components().all(is_step) && !name.contains('/');
        let is_within = |file: &SideFile| file.path.components().all(is_step);
        self.processes.iter().all(|process| is_plain(&process.folder))
            && self.machines.iter().all(|machine| is_plain(&machine.file))
            && self.machines.iter().all(|machine| is_plain(&machine.folder))
            && self.files.iter().all(is_within)
    }
}

fn is_step(part: Component<'_>) -> bool {
    matches!(part, Component::Normal(_))
}

/// A file as it was written.
#[derive(Debug, Serialize, Deserialize)]
pub struct SideFile {
    /// Where it lies in the run's folder.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Its CRC-32C.
    pub crc32c: u32,
}

/// A process without the rows of its tables.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SideProcess {
    /// The name of its folder, which its files have too.
    pub(crate) folder: String,
    pub(crate) info: ProcessInfo,
    pub(crate) state: String,
    /// Random half of its ids.
    pub(crate) process: u64,
    pub(crate) last_tick: u64,
    pub(crate) anchors: Vec<[u64; 3]>,
    /// The bits of the nanoseconds of a tick.
    pub(crate) ns_per_tick: Option<u64>,
    pub(crate) names: Vec<(u32, String)>,
    /// Names of scopes that are lost, as they are shown.
    pub(crate) lost_names: Vec<(u32, String)>,
    pub(crate) threads: Vec<SideThread>,
    pub(crate) account: SideAccount,
    pub(crate) damage: SideDamage,
    pub(crate) rows: SideRows,
    /// Scopes from here on were open.
    pub(crate) first_open: u64,
    pub(crate) open: u64,
    pub(crate) gpu: SideGpu,
}

/// Rows that its tables have.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SideRows {
    pub(crate) spans: u64,
    pub(crate) marks: u64,
    pub(crate) attrs: u64,
    pub(crate) work: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SideThread {
    number: u32,
    os_tid: u32,
    name: String,
    started: u64,
    ended: Option<u64>,
    produced: [u64; 3],
    lost: Vec<[u64; 3]>,
    /// Read, unexplained, too deep, out of order, closed twice, wrong thread, calls of the clock.
    counts: [u64; 7],
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SideAccount {
    produced: [u64; 3],
    stored: [u64; 3],
    in_ring: [u64; 3],
    lost: Vec<[u64; 3]>,
    unexplained: u64,
    newer: u64,
    depth_dropped: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct SideDamage {
    bytes: u64,
    frames: u64,
    places: Vec<(PathBuf, u64, String)>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SideGpu {
    state: Option<serde_json::Value>,
    live: Option<[u64; 10]>,
    newer: u64,
    samples: Vec<[u64; 9]>,
}

/// A machine without its readings.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SideMachine {
    /// What its files are named by.
    pub(crate) file: String,
    /// The name of its folder.
    pub(crate) folder: String,
    pub(crate) host: String,
    pub(crate) booted_ns: Option<i64>,
    pub(crate) offset_ns: i64,
    pub(crate) linked: Option<String>,
    pub(crate) state: Option<serde_json::Value>,
    pub(crate) damage: SideDamage,
    /// Source, metric, unit, whether it is a counter, places where that started anew.
    pub(crate) series: Vec<(String, String, String, bool, Vec<usize>)>,
    pub(crate) rows: u64,
}

impl Side {
    /// The side file of `run`, whose files are yet to be written.
    pub fn of(run: &Run) -> Side {
        Side {
            schema: super::SCHEMA,
            hodo: env!("CARGO_PKG_VERSION").to_owned(),
            processes: run.processes.iter().map(|p| SideProcess::of(p, &run.folder)).collect(),
            machines: run.machines.iter().map(|machine| machine.side(&run.folder)).collect(),
            files: Vec::new(),
        }
    }

    pub(crate) fn processes(&self) -> &[SideProcess] {
        &self.processes
    }

    /// Machines of the run's own that are not among `folders`.
    pub(crate) fn machines_besides(&self, folders: &[PathBuf]) -> usize {
        let own = self.machines.iter().filter(|machine| machine.linked.is_none());
        let is_new = |machine: &&SideMachine| {
            folders.iter().all(|f| f.file_name() != Some(machine.folder.as_ref()))
        };
        own.filter(is_new).count()
    }

    /// As text.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }
}

impl SideProcess {
    fn of(process: &Process, run: &Path) -> SideProcess {
        let folder = process.folder.file_name().unwrap_or_default();
        let open = process.spans.rows().rev().take_while(|&row| process.spans.is_slot(row));
        SideProcess {
            folder: folder.to_string_lossy().into_owned(),
            info: process.info.clone(),
            state: process.state.word().to_owned(),
            process: process.process,
            last_tick: process.last_tick,
            anchors: process.clock.anchors().iter().map(anchor_words).collect(),
            ns_per_tick: process.clock.ns_per_tick().map(f64::to_bits),
            names: process.names.iter().map(|(id, text)| (id, text.to_owned())).collect(),
            lost_names: lost_names(process),
            threads: process.threads.iter().map(SideThread::of).collect(),
            account: SideAccount::of(&process.account),
            damage: SideDamage::of(&process.damage, run),
            rows: SideRows {
                spans: process.spans.len() as u64,
                marks: process.marks.len() as u64,
                attrs: process.attrs.all().len() as u64,
                work: process.gpu.work.len() as u64,
            },
            first_open: process.spans.len() as u64 - open.count() as u64,
            open: process.open_count(),
            gpu: SideGpu {
                state: process.gpu.state.as_ref().map(|state| state.value().clone()),
                live: process.gpu.live().map(|live| live_words(&live)),
                newer: process.gpu.newer,
                samples: process.gpu.samples.iter().map(sample_words).collect(),
            },
        }
    }

    pub(crate) fn clock(&self) -> Clock {
        let anchors = self.anchors.iter().map(anchor).collect();
        Clock::again(anchors, self.ns_per_tick.map(f64::from_bits))
    }

    /// What is known of it without reading its rows.
    pub(crate) fn brief(&self) -> Brief {
        let (clock, account) = (self.clock(), self.account.again());
        let SideRows { spans, marks, .. } = self.rows;
        Brief {
            state: self.state(),
            start_ns: clock.start_ns().or(self.info.started()),
            end_ns: clock.is_calibrated().then(|| clock.steady_ns(self.last_tick)),
            spans: Some(spans),
            open: self.open,
            lost: Some(account.lost_records() + account.unexplained),
            is_timed: clock.is_calibrated() || spans + marks == 0,
            rank: self.info.rank,
        }
    }

    /// Pieces of GPU work that the process stored.
    pub(crate) fn gpu_work(&self) -> u64 {
        self.gpu.live().map_or(0, |live| live.stored)
    }

    /// A run that was live when it was exported is not known to be now.
    pub(crate) fn state(&self) -> ProcessState {
        match self.state.as_str() {
            "finished" => ProcessState::Finished,
            "ended" => ProcessState::Ended,
            "silent" => ProcessState::Silent,
            _ => ProcessState::Unknown,
        }
    }

    pub(crate) fn names(&self) -> Names {
        let mut names = Names::default();
        self.names.iter().for_each(|(id, text)| names.insert(*id, text));
        names
    }

    pub(crate) fn threads(&self) -> Vec<Thread> {
        self.threads.iter().map(SideThread::again).collect()
    }
}

fn lost_names(process: &Process) -> Vec<(u32, String)> {
    let names = process.spans.rows().map(|row| process.spans.name(row));
    let mut lost: Vec<u32> = names.filter(|&name| process.names.get(name).is_none()).collect();
    lost.sort_unstable();
    lost.dedup();
    lost.into_iter().map(|name| (name, process.names.text(name).into_owned())).collect()
}

impl SideThread {
    fn of(thread: &Thread) -> SideThread {
        SideThread {
            number: thread.number,
            os_tid: thread.os_tid,
            name: thread.name.clone(),
            started: thread.started,
            ended: thread.ended,
            produced: count_words(&thread.produced),
            lost: thread.lost.iter().map(count_words).collect(),
            counts: [
                thread.read,
                thread.unexplained,
                thread.depth_dropped,
                thread.out_of_order,
                thread.double_closed,
                thread.wrong_thread,
                thread.cpu_syscalls,
            ],
        }
    }

    fn again(&self) -> Thread {
        let [read, unexplained, depth_dropped, out_of_order, double_closed, wrong_thread, calls] =
            self.counts;
        Thread {
            number: self.number,
            os_tid: self.os_tid,
            name: self.name.clone(),
            started: self.started,
            ended: self.ended,
            produced: counts(&self.produced),
            lost: losses(&self.lost),
            read,
            unexplained,
            depth_dropped,
            out_of_order,
            double_closed,
            wrong_thread,
            cpu_syscalls: calls,
        }
    }
}

impl SideAccount {
    fn of(account: &Account) -> SideAccount {
        SideAccount {
            produced: count_words(&account.produced),
            stored: count_words(&account.stored),
            in_ring: count_words(&account.in_ring),
            lost: account.lost.iter().map(count_words).collect(),
            unexplained: account.unexplained,
            newer: account.newer,
            depth_dropped: account.depth_dropped,
        }
    }

    pub(crate) fn again(&self) -> Account {
        Account {
            produced: counts(&self.produced),
            stored: counts(&self.stored),
            in_ring: counts(&self.in_ring),
            lost: losses(&self.lost),
            unexplained: self.unexplained,
            newer: self.newer,
            depth_dropped: self.depth_dropped,
        }
    }
}

impl SideDamage {
    /// Files of the run are named inside it: they are shown where it is.
    pub(crate) fn of(damage: &Damage, run: &Path) -> SideDamage {
        let file = |file: &PathBuf| file.strip_prefix(run).unwrap_or(file).to_owned();
        let place = |p: &Place| (file(&p.file), p.offset, p.why.clone());
        let places = damage.places.iter().map(place).collect();
        SideDamage { bytes: damage.bytes, frames: damage.frames, places }
    }

    pub(crate) fn again(&self, run: &Path) -> Damage {
        let place = |(file, offset, why): &(PathBuf, u64, String)| Place {
            file: run.join(file),
            offset: *offset,
            why: why.clone(),
        };
        let places = self.places.iter().map(place).collect();
        Damage { bytes: self.bytes, frames: self.frames, places }
    }
}

impl SideGpu {
    pub(crate) fn state(&self) -> Option<GpuState> {
        self.state.clone().and_then(GpuState::again)
    }

    pub(crate) fn newer(&self) -> u64 {
        self.newer
    }

    pub(crate) fn live(&self) -> Option<Live> {
        let [kernels, graphs, copies, sets, captured, refused, stored_kernels, stored, more @ ..] =
            self.live?;
        let [captured_others, refused_others] = more;
        Some(Live {
            kernels,
            graphs,
            copies,
            sets,
            captured,
            refused,
            stored_kernels,
            stored,
            captured_others,
            refused_others,
        })
    }

    pub(crate) fn samples(&self) -> Vec<Sample> {
        let sample =
            |&[kernel, cubin, pc, stall, samples, span, correlation, file, line]: &[u64; 9]| {
                Sample {
                    kernel: kernel as u32,
                    cubin,
                    pc,
                    stall: stall as u32,
                    samples,
                    span: SpanId(span),
                    correlation: correlation as u32,
                    file: file as u32,
                    line: line as u32,
                }
            };
        self.samples.iter().map(sample).collect()
    }
}

fn live_words(live: &Live) -> [u64; 10] {
    [
        live.kernels,
        live.graphs,
        live.copies,
        live.sets,
        live.captured,
        live.refused,
        live.stored_kernels,
        live.stored,
        live.captured_others,
        live.refused_others,
    ]
}

fn sample_words(sample: &Sample) -> [u64; 9] {
    [
        sample.kernel.into(),
        sample.cubin,
        sample.pc,
        sample.stall.into(),
        sample.samples,
        sample.span.0,
        sample.correlation.into(),
        sample.file.into(),
        sample.line.into(),
    ]
}

fn anchor_words(anchor: &Anchor) -> [u64; 3] {
    [anchor.ticks, anchor.monotonic_ns, anchor.wall_ns]
}

fn anchor(&[ticks, monotonic_ns, wall_ns]: &[u64; 3]) -> Anchor {
    Anchor { ticks, monotonic_ns, wall_ns }
}

fn count_words(counts: &Counts) -> [u64; 3] {
    [counts.spans, counts.marks, counts.attrs]
}

fn counts(&[spans, marks, attrs]: &[u64; 3]) -> Counts {
    crate::account::possible(Counts { spans, marks, attrs })
}

fn losses(words: &[[u64; 3]]) -> [Counts; Loss::COUNT] {
    std::array::from_fn(|reason| words.get(reason).map(counts).unwrap_or_default())
}
