//! The verdict: what a run is bound by, why, and what to try.
//!
//! Where the GPU was captured, every nanosecond in which it computed nothing is given to one cause
//! and one scope. Where it was not, the time of the scopes themselves is. `docs/verdict.md` has the
//! rules.

mod gap;
mod host;
mod input;
mod ledger;
mod timeline;
mod waits;

use crate::tree::paths::shortened;
use crate::{GpuMissing, Process, Row, Run, Tree};
use serde::Serialize;

/// What a run is bound by, and where its time went.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// What it is bound by.
    pub bound: Bound,
    /// That as a share of the time looked at: the time the GPU computes, or the time it lost to that
    /// cause; without a GPU the time in scopes.
    pub share: f64,
    /// Where most of it was; none when no scope was open there, and for a run bound by the GPU.
    pub scope: Option<Vec<String>>,
    /// What to try.
    pub advice: &'static [&'static str],
    /// The GPU's time; none when it was not captured.
    pub gpu: Option<GpuLedger>,
    /// The time of the scopes; none when the GPU was captured.
    pub host: Option<HostLedger>,
    /// Why the GPU was not captured.
    pub gpu_missing: Option<GpuAbsent>,
}

/// What a run can be bound by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// It waits for its input.
    Input,
    /// The host cannot launch small pieces of work as fast as the GPU is through with them.
    Launch,
    /// The GPU computes nearly all the time.
    Gpu,
    /// The host waits for the GPU before it goes on, and the GPU for the host afterwards.
    Sync,
    /// The host computes; the GPU, where there is one, waits for it.
    Cpu,
    /// Copies run while nothing is computed.
    Copy,
    /// Threads wait, for what is not known.
    Waiting,
    /// The records do not tell.
    Unknown,
}

/// Why the GPU computed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The launching thread waited for input.
    Input,
    /// The launching thread was busy with something else.
    Host,
    /// A launch was under way, or one followed another as fast as the host can.
    Launch,
    /// The launching thread had waited for the GPU, and so was late.
    Sync,
    /// Only copies ran.
    Copy,
    /// Nothing tells.
    Unknown,
    /// Scopes without a GPU: on a CPU.
    Cpu,
    /// Scopes without a GPU: off the CPU, not for input.
    Waiting,
}

/// A cause and its time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CauseSum {
    /// The cause.
    pub cause: Cause,
    /// Its time, nanoseconds.
    pub ns: u64,
    /// Its share of the time that was given to causes.
    pub share: f64,
}

/// A cause in one path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CauseScope {
    /// The cause.
    pub cause: Cause,
    /// Names from the outermost scope to this; empty where none was open.
    pub path: Vec<String>,
    /// Its time, nanoseconds.
    pub ns: u64,
}

/// The time of the outermost scopes of threads that launch work, as the GPU saw it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GpuLedger {
    /// The time looked at, over all processes.
    pub window_ns: u64,
    /// Of it, the time in which kernels or sets ran.
    pub computing_ns: u64,
    /// The rest, in which none did; all of it is given to causes.
    pub idle_ns: u64,
    /// Time in those scopes that was left out, since nothing was captured then.
    pub not_captured_ns: u64,
    /// Every cause, most time first.
    pub causes: Vec<CauseSum>,
    /// The same by path, most time first.
    pub scopes: Vec<CauseScope>,
    /// Whether waits for the GPU were recorded. Where not, only those that read a result are known.
    pub waits_recorded: bool,
}

/// The time of scopes where no GPU was captured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostLedger {
    /// The time looked at, in the scopes' own code.
    pub scopes_ns: u64,
    /// Every cause, most time first.
    pub causes: Vec<CauseSum>,
    /// The same by path, most time first.
    pub scopes: Vec<CauseScope>,
}

/// Why the GPU was not captured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GpuAbsent {
    /// The reason.
    pub reason: GpuMissing,
    /// The same in words.
    pub why: String,
}

/// A GPU that computes so much of the time is what the run is bound by.
const GPU_BOUND: f64 = 0.8;

/// The verdict on a run, whose tree has all its scopes; none when no scope has a time.
pub fn verdict(run: &Run, tree: &Tree) -> Option<Verdict> {
    if tree.gpu.captured > 0
        && let Some(gpu) = ledger::ledger(run)
    {
        return Some(by_gpu(gpu));
    }
    let absence = tree.gpu.missing.first();
    let gpu_missing = absence.map(|a| GpuAbsent { reason: a.reason, why: a.why.clone() });
    let host = host::ledger(run, tree)?;
    let largest = host.causes.first()?;
    let bound = Bound::of(largest.cause);
    Some(Verdict {
        bound,
        share: largest.share,
        scope: largest_scope(&host.scopes, largest.cause),
        advice: bound.advice(false),
        gpu: None,
        host: Some(host),
        gpu_missing,
    })
}

fn by_gpu(gpu: GpuLedger) -> Verdict {
    let of_window = |ns: u64| ns as f64 / gpu.window_ns.max(1) as f64;
    let computing = of_window(gpu.computing_ns);
    let largest = gpu.causes.first().filter(|_| computing < GPU_BOUND);
    let (bound, share, scope) = match largest {
        None => (Bound::Gpu, computing, None),
        Some(sum) => {
            (Bound::of(sum.cause), of_window(sum.ns), largest_scope(&gpu.scopes, sum.cause))
        }
    };
    let advice = bound.advice(true);
    Verdict { bound, share, scope, advice, gpu: Some(gpu), host: None, gpu_missing: None }
}

fn largest_scope(scopes: &[CauseScope], cause: Cause) -> Option<Vec<String>> {
    let largest = scopes.iter().find(|scope| scope.cause == cause)?;
    Some(largest.path.clone()).filter(|path| !path.is_empty())
}

impl Bound {
    fn of(cause: Cause) -> Bound {
        match cause {
            Cause::Input => Bound::Input,
            Cause::Launch => Bound::Launch,
            Cause::Sync => Bound::Sync,
            Cause::Copy => Bound::Copy,
            Cause::Host | Cause::Cpu => Bound::Cpu,
            Cause::Waiting => Bound::Waiting,
            Cause::Unknown => Bound::Unknown,
        }
    }

    /// The one word for it, the same in every view.
    pub fn word(self) -> &'static str {
        match self {
            Bound::Input => "input-bound",
            Bound::Launch => "launch-bound",
            Bound::Gpu => "GPU-bound",
            Bound::Sync => "sync-bound",
            Bound::Cpu => "CPU-bound",
            Bound::Copy => "copy-bound",
            Bound::Waiting => "waiting",
            Bound::Unknown => "unknown",
        }
    }

    /// What to try, with or without a GPU.
    fn advice(self, has_gpu: bool) -> &'static [&'static str] {
        match self {
            Bound::Input => &[
                "load ahead of use: more loader workers, a larger prefetch",
                "do less for each item: decode and transform once, store the result",
            ],
            Bound::Cpu if !has_gpu => &[
                "open scopes inside the largest one to see what it does",
                "move its work to other threads or processes",
            ],
            Bound::Launch => &[
                "launch less: torch.compile, fused optimizers, larger batches",
                "launch at once: CUDA graphs",
            ],
            Bound::Gpu => &[
                "hodo report --kernels: which kernels take the time",
                "lower precision, fused kernels, a window of pc-sampling on the largest one",
            ],
            Bound::Sync => &[
                "read results less often: .item(), .cpu(), print and if on a tensor wait for the GPU",
                "copy results with non_blocking=True and look at them a step later",
            ],
            Bound::Cpu => &[
                "open scopes inside the largest one to see what it does",
                "move its work to other threads or processes, or to the GPU",
                "torch.compile and CUDA graphs take Python out of a step",
            ],
            Bound::Copy => &[
                "copy while computing: pinned memory, non_blocking=True, a stream of its own",
                "copy less: keep data on the device, use a smaller type",
            ],
            Bound::Waiting => {
                &["open scopes around what waits: files, the network, locks, other processes"]
            }
            Bound::Unknown => &["open scopes around the steps and their parts"],
        }
    }
}

impl Cause {
    /// The words for it, the same in every view.
    pub fn words(self) -> &'static str {
        match self {
            Cause::Input => "input wait",
            Cause::Host => "host work",
            Cause::Launch => "launch",
            Cause::Sync => "sync",
            Cause::Copy => "copy",
            Cause::Unknown => "unknown",
            Cause::Cpu => "CPU",
            Cause::Waiting => "waiting",
        }
    }
}

/// Sums by cause and by path, each most time first; every cause of `all` is there.
fn summed(rows: Vec<CauseScope>, all: &[Cause]) -> (u64, Vec<CauseSum>, Vec<CauseScope>) {
    let whole: u64 = rows.iter().map(|row| row.ns).sum();
    let sum = |&cause: &Cause| {
        let ns = rows.iter().filter(|row| row.cause == cause).map(|row| row.ns).sum();
        CauseSum { cause, ns, share: ns as f64 / whole.max(1) as f64 }
    };
    let mut causes: Vec<CauseSum> = all.iter().map(sum).collect();
    causes.sort_by_key(|sum| std::cmp::Reverse(sum.ns));
    let mut rows: Vec<CauseScope> = rows.into_iter().filter(|row| row.ns > 0).collect();
    rows.sort_by(|a, b| b.ns.cmp(&a.ns).then_with(|| a.path.cmp(&b.path)));
    (whole, causes, rows)
}

/// Names from the outermost scope of its process to a scope.
fn path(process: &Process, scope: Row) -> Vec<String> {
    let up = |&row: &Row| process.spans.parent_row(row);
    let rows: Vec<Row> = std::iter::successors(Some(scope), up).collect();
    let name = |row: Row| process.span(row).name().into_owned();
    shortened(rows.into_iter().rev(), name)
}
