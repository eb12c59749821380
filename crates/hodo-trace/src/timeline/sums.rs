//! What a stretch of time is made of: scopes cut to it, kernels, marks.

use super::Timeline;
use super::detail::work_name;
use crate::gpu::{Devices, Unions};
use crate::links::Links;
use crate::select::{Selection, select};
use crate::tree::children::own_times_within;
use crate::tree::paths::{NodeId, Paths, ROOT};
use crate::{Cpu, Filter, Process, Run};
use std::collections::BTreeMap;

/// The sums of a stretch of time.
pub(super) struct Sums<'a> {
    pub(super) paths: &'a Paths,
    /// By node.
    pub(super) scopes: Vec<ScopeSum>,
    /// GPU work by name.
    pub(super) work: BTreeMap<String, WorkSum>,
    /// Time in which a device was busy, over devices and processes.
    pub(super) gpu_busy_ns: Option<u64>,
    /// Those devices that did any work, counted by process.
    pub(super) gpu_devices: usize,
    /// Why nothing is known of the GPU.
    pub(super) gpu_why: Option<&'static str>,
    pub(super) kept: Vec<Selection>,
}

/// Scopes of one path, as far as they lie in the stretch.
#[derive(Clone, Debug, Default)]
pub(super) struct ScopeSum {
    pub(super) count: u64,
    pub(super) total_ns: u64,
    pub(super) self_ns: u64,
    pub(super) cpu_ns: u64,
    /// Scopes whose CPU time is not known, and of one of them why.
    pub(super) without_cpu: u64,
    pub(super) cpu_why: Option<&'static str>,
    /// None where it was not captured.
    pub(super) gpu_ns: Option<u64>,
    /// The same of work that scopes of this path launched themselves.
    pub(super) gpu_self_ns: u64,
}

/// GPU work of one name in the stretch.
#[derive(Clone, Debug, Default)]
pub(super) struct WorkSum {
    pub(super) is_kernel: bool,
    pub(super) count: u64,
    pub(super) total_ns: u64,
    pub(super) max_ns: u64,
    pub(super) bytes: Option<u64>,
}

const CUT: &str = "a scope reaches beyond the range";

impl Timeline {
    /// Sums over `range`, in nanoseconds from the start of the run, of what `filter` keeps.
    pub(super) fn sums(&self, run: &Run, filter: &Filter, range: Option<[i64; 2]>) -> Sums<'_> {
        let links = Links::new(&run.processes);
        let paths = self.paths(run);
        let mut sums = Sums {
            paths,
            scopes: vec![ScopeSum::default(); paths.nodes.len()],
            work: BTreeMap::new(),
            gpu_busy_ns: None,
            gpu_devices: 0,
            gpu_why: None,
            kept: select(run, &links, filter),
        };
        for (at, process) in run.processes.iter().enumerate().filter(|(_, p)| p.is_timed()) {
            let window = self.window(process, range);
            sums.add_scopes(run, &links, at, window);
            match process.gpu.missing_times(&process.clock) {
                None => sums.add_work(process, at, window),
                Some(missing) => sums.gpu_why = Some(missing.text()),
            }
        }
        sums
    }

    /// By node, the CPU time of its scopes that was in scopes inside them, of what `sums` counts.
    /// What ran on another thread is no part of the CPU time of the scope around it.
    pub(super) fn cpu_inside(&self, run: &Run, sums: &Sums, range: Option<[i64; 2]>) -> Vec<u64> {
        let mut inside = vec![0; sums.scopes.len()];
        for (at, process) in run.processes.iter().enumerate().filter(|(_, p)| p.is_timed()) {
            let (spans, window) = (&process.spans, self.window(process, range));
            let mut scan = spans.scan();
            let cpu = |row| match spans.cpu(row) {
                Cpu::Captured(ticks)
                    if spans.start(row) >= window.0 && spans.end(row) <= window.1 =>
                {
                    Some(ticks)
                }
                _ => None,
            };
            for row in spans.rows().filter(|&row| sums.kept[at].keeps(row)) {
                let thread = scan.thread(row);
                let around = scan.parent_row(row).filter(|&up| spans.thread(up) == thread);
                let around = around.filter(|&up| sums.kept[at].keeps(up) && cpu(up).is_some());
                let node = around.and_then(|up| sums.paths.node(at, up));
                if let Some((node, ticks)) = node.zip(cpu(row)) {
                    inside[node as usize] += process.clock.duration_ns(ticks);
                }
            }
        }
        inside
    }

    /// A range in a process's ticks.
    pub(super) fn window(&self, process: &Process, range: Option<[i64; 2]>) -> (u64, u64) {
        let Some([from, to]) = range else { return (0, u64::MAX) };
        let back = process.clock.backwards();
        let ticks = |ns: i64| match ns {
            i64::MAX => u64::MAX,
            ns => back.moment_or_end(ns.saturating_add(self.start_ns)),
        };
        (ticks(from), ticks(to))
    }
}

impl Sums<'_> {
    fn add_scopes(&mut self, run: &Run, links: &Links, at: usize, window: (u64, u64)) {
        let process = &run.processes[at];
        let clock = &process.clock;
        let (kept, paths, sums) = (&self.kept[at], self.paths, &mut self.scopes);
        own_times_within(run, links, at, window, |row, times, scan| {
            let is_inside =
                times.end > times.start || times.start > window.0 && times.start < window.1;
            let node = paths.node(at, row).filter(|_| is_inside && kept.keeps(row));
            let Some(sum) = node.map(|node| &mut sums[node as usize]) else { return };
            sum.count += 1;
            sum.total_ns += clock.duration_ns(times.end - times.start);
            sum.self_ns += clock.duration_ns(times.own);
            let flags = scan.flags(row);
            let is_open = scan.is_open_by(row, flags);
            let is_cut = scan.times(row) != (times.start, times.end);
            match scan.cpu(row, flags, is_open) {
                Cpu::Captured(ticks) if !is_cut => sum.cpu_ns += clock.duration_ns(ticks),
                Cpu::Captured(_) => sum.no_cpu(CUT),
                Cpu::Missing(why) => sum.no_cpu(why.text()),
            }
        });
    }

    fn add_work(&mut self, process: &Process, at: usize, window: (u64, u64)) {
        let (rows, clock, spans) = (&process.gpu.work, &process.clock, &process.spans);
        let devices = Devices::of(rows);
        self.gpu_devices += devices.len();
        let mut busy = Unions::new(self.scopes.len(), devices.len());
        let mut own = Unions::new(self.scopes.len(), devices.len());
        let is_all = matches!(self.kept[at], Selection::All);
        for row in rows.rows() {
            let Some((start, end)) = rows.interval(row) else { continue };
            let (start, end) = (start.clamp(window.0, window.1), end.clamp(window.0, window.1));
            let scope = spans.row_of(rows.span(row));
            let is_kept = scope.map_or(is_all, |scope| self.kept[at].keeps(scope));
            if end <= start || !is_kept {
                continue;
            }
            self.count(process, row, clock.duration_ns(end - start));
            if !rows.is_busy(row) {
                continue;
            }
            let device = devices.place(rows.device(row));
            let mut next = scope.and_then(|scope| self.paths.node(at, scope)).unwrap_or(ROOT);
            own.add(next as usize, device, (start, end));
            loop {
                busy.add(next as usize, device, (start, end));
                if next == ROOT {
                    break;
                }
                next = self.paths.nodes[next as usize].parent;
            }
        }
        for (node, sum) in self.scopes.iter_mut().enumerate() {
            let ns = clock.duration_ns(busy.ticks(node));
            sum.gpu_ns = Some(sum.gpu_ns.unwrap_or(0) + ns);
            sum.gpu_self_ns += clock.duration_ns(own.ticks(node));
        }
        let all = clock.duration_ns(busy.ticks(ROOT as usize));
        self.gpu_busy_ns = Some(self.gpu_busy_ns.unwrap_or(0) + all);
    }

    fn count(&mut self, process: &Process, row: u32, ns: u64) {
        use hodo_format::gpu::Detail;
        let sum = self.work.entry(work_name(process, row)).or_default();
        sum.count += 1;
        sum.total_ns += ns;
        sum.max_ns = sum.max_ns.max(ns);
        match process.gpu.work.detail(row) {
            Detail::Kernel(_) => sum.is_kernel = true,
            Detail::Copy { bytes, .. } | Detail::Set { bytes, .. } => {
                sum.bytes = Some(sum.bytes.unwrap_or(0) + bytes);
            }
            Detail::Sync { .. } | Detail::Memory { .. } => {}
        }
    }

    /// Nodes that scopes are in, those above them too.
    pub(super) fn parent(&self, node: NodeId) -> NodeId {
        self.paths.nodes[node as usize].parent
    }
}

impl ScopeSum {
    fn no_cpu(&mut self, why: &'static str) {
        self.without_cpu += 1;
        self.cpu_why = Some(why);
    }

    /// CPU time, where every scope has it.
    pub(super) fn cpu_ns(&self) -> Option<u64> {
        (self.without_cpu == 0).then_some(self.cpu_ns)
    }
}
