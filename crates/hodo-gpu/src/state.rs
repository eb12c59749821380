//! What the capture is doing and what it has seen, for `health()` and for the file.

use crate::cupti::Device;
use hodo_format::gpu::{Detail, Work, flag};
use hodo_record::binding::Object;

/// What the records said.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Kernels.
    pub kernels: u64,
    /// Those that were nodes of graphs.
    pub graph_kernels: u64,
    /// Copies.
    pub copies: u64,
    /// Sets.
    pub sets: u64,
    /// Waits.
    pub syncs: u64,
    /// Memory taken or given back.
    pub memory: u64,
    /// Work whose scope was inherited.
    pub inherited: u64,
    /// Work launched outside any scope.
    pub no_scope: u64,
    /// Work whose launch is not known.
    pub unknown: u64,
    /// Work whose scope is to be found by thread and time.
    pub by_time: u64,
    /// Work without times, for lack of memory on the device.
    pub unstamped: u64,
    /// Work that had not ended.
    pub unfinished: u64,
    /// Records that CUPTI dropped.
    pub dropped: u64,
    /// Rows of samples on disk.
    pub samples: u64,
    /// Rows of samples that the disk refused.
    pub samples_lost: u64,
    /// Pieces of work on disk.
    pub stored: u64,
    /// Pieces of work that the disk refused.
    pub lost: u64,
    /// Pieces of work that were removed to stay under the cap.
    pub removed: u64,
    /// Bytes of files.
    pub file_bytes: u64,
    /// Why the last write failed; empty when it did not.
    pub trouble: String,
}

impl Tally {
    /// Counts a piece of work.
    pub fn add(&mut self, work: &Work) {
        let count = match work.detail {
            Detail::Kernel(_) => &mut self.kernels,
            Detail::Copy { .. } => &mut self.copies,
            Detail::Set { .. } => &mut self.sets,
            Detail::Sync { .. } => &mut self.syncs,
            Detail::Memory { .. } => &mut self.memory,
        };
        *count += 1;
        let is = |bit: u16| u64::from(work.flags & bit != 0);
        let is_kernel = matches!(work.detail, Detail::Kernel(_));
        self.graph_kernels += if is_kernel { is(flag::GRAPH) } else { 0 };
        self.unstamped += is(flag::UNSTAMPED);
        self.unfinished += is(flag::UNFINISHED);
        self.by_time += is(flag::BY_TIME);
        match work.flags & flag::SCOPE {
            flag::INHERITED => self.inherited += 1,
            flag::NO_SCOPE => self.no_scope += 1,
            flag::UNKNOWN if work.flags & flag::BY_TIME == 0 => self.unknown += 1,
            _ => {}
        }
    }
}

/// How the capture stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Not asked for.
    Off,
    /// The program has not started CUDA yet.
    Waiting,
    /// Capturing, with the callbacks.
    Capturing,
    /// Capturing without them: another tool has them, so scopes are found by thread and time.
    ByTime,
    /// Another tool has CUPTI for now.
    Yielded,
    /// Not capturing, and why.
    Unavailable,
    /// Stopped with the recorder.
    Stopped,
}

impl Standing {
    /// The one word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Standing::Off => "off",
            Standing::Waiting => "waiting",
            Standing::Capturing => "capturing",
            Standing::ByTime => "capturing by time",
            Standing::Yielded => "yielded",
            Standing::Unavailable => "unavailable",
            Standing::Stopped => "stopped",
        }
    }
}

/// Why nothing is captured, as files and views name it.
pub mod missing {
    /// The machine has no GPU, or no driver for it.
    pub const NO_GPU: &str = "no_gpu";
    /// The program did not use CUDA.
    pub const NO_CUDA: &str = "no_cuda";
    /// CUPTI was not found, or cannot be opened.
    pub const NO_LIBRARY: &str = "no_library";
    /// Another tool held CUPTI.
    pub const OTHER_TOOL: &str = "other_tool";
    /// CUPTI refused.
    pub const FAILED: &str = "failed";
}

/// Gaps that are told one by one.
const MOST_GAPS: usize = 256;

/// What stays the same for a capture, and how it stands.
#[derive(Clone, Debug)]
pub struct State {
    /// What was asked for.
    pub level: &'static str,
    /// How it stands.
    pub standing: Standing,
    /// One of [`missing`] while nothing is captured that was asked for.
    pub missing: Option<&'static str>,
    /// Why it stands so, and what to do; empty when all is well.
    pub why: String,
    /// How scopes are found: by `callbacks` or by `time`.
    pub tier: Option<&'static str>,
    /// The libcupti in use.
    pub library: String,
    /// Its version.
    pub version: String,
    /// The CUDA version of the driver, as 13000.
    pub driver: u32,
    /// The devices, in CUDA's order.
    pub devices: Vec<Device>,
    /// Whether CUDA was running when the capture began: what ran before is not known.
    pub late: bool,
    /// Kinds of work that are captured.
    pub kinds: Vec<&'static str>,
    /// Times without capture: ticks of start and end, and why. The last may be open, with end 0.
    pub gaps: Vec<(u64, u64, String)>,
    /// What is said of windows of sampling, as JSON; none when none was asked for.
    pub sampling: Option<String>,
}

impl State {
    /// Nothing asked for.
    pub const OFF: State = State {
        level: "off",
        standing: Standing::Off,
        missing: None,
        why: String::new(),
        tier: None,
        library: String::new(),
        version: String::new(),
        driver: 0,
        devices: Vec::new(),
        late: false,
        kinds: Vec::new(),
        gaps: Vec::new(),
        sampling: None,
    };

    /// Adds a gap. Where there are many, the two that lie closest become one: the state is written
    /// again and again, and must not grow with the time a program runs.
    pub fn gap(&mut self, start: u64, end: u64, why: String) {
        self.gaps.push((start, end, why));
        if self.gaps.len() <= MOST_GAPS {
            return;
        }
        // The newest may be open, and stays by itself.
        let apart = |pair: &[(u64, u64, String)]| pair[1].0.saturating_sub(pair[0].1);
        let closed = &self.gaps[..self.gaps.len() - 1];
        let closest = closed.windows(2).enumerate().min_by_key(|(_, pair)| apart(pair));
        if let Some((at, _)) = closest {
            let (_, end, _) = self.gaps.remove(at + 1);
            self.gaps[at].1 = end;
        }
    }

    /// As JSON, with the numbers of `tally` and of the callbacks.
    pub fn json(&self, tally: &Tally, launched: &Launched) -> String {
        let kinds: Vec<String> = self.kinds.iter().map(|kind| (*kind).to_string()).collect();
        let driver = match self.driver {
            0 => None,
            driver => Some(format!("CUDA {}.{}", driver / 1000, driver % 1000 / 10)),
        };
        Object::default()
            .text("level", self.level)
            .text("state", self.standing.word())
            .maybe_text("missing", self.missing)
            .text("why", &self.why)
            .maybe_text("tier", self.tier)
            .text("library", &self.library)
            .text("version", &self.version)
            .maybe_text("driver", driver.as_deref())
            .raw("devices", &self.devices())
            .raw("late", if self.late { "true" } else { "false" })
            .texts("kinds", &kinds)
            .raw("gaps", &self.gaps())
            .raw("sampling", self.sampling.as_deref().unwrap_or("null"))
            .number("launches", launched.all())
            .number("kept", tally.stored)
            .number("dropped", tally.dropped)
            .number("unstamped", tally.unstamped)
            .number("unfinished", tally.unfinished)
            .number("lost", tally.lost + tally.removed)
            .raw("launched", &launched.json())
            .raw("records", &records(tally))
            .number("buffers_refused", launched.buffers_refused)
            .number("nodes_refused", launched.nodes_refused)
            .number("bytes", tally.file_bytes)
            .text("trouble", &tally.trouble)
            .finish()
    }

    fn devices(&self) -> String {
        let device = |(number, device): (usize, &Device)| {
            let object = Object::default().number("device", number as u64);
            object.text("name", &device.name).maybe_text("uuid", device.uuid.as_deref()).finish()
        };
        let devices: Vec<String> = self.devices.iter().enumerate().map(device).collect();
        format!("[{}]", devices.join(", "))
    }

    fn gaps(&self) -> String {
        let gap = |(start, end, why): &(u64, u64, String)| {
            Object::default().number("start", *start).number("end", *end).text("why", why).finish()
        };
        format!("[{}]", self.gaps.iter().map(gap).collect::<Vec<_>>().join(", "))
    }
}

/// What the callbacks counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Launched {
    /// Kernels launched one by one.
    pub kernels: u64,
    /// Graphs.
    pub graphs: u64,
    /// Copies.
    pub copies: u64,
    /// Sets.
    pub sets: u64,
    /// Of the kernels, copies and sets: captured into a graph instead of run.
    pub captured: u64,
    /// Refused by the driver.
    pub refused: u64,
    /// Requests for buffers that got none.
    pub buffers_refused: u64,
    /// Graph nodes that were too many to remember.
    pub nodes_refused: u64,
    /// Kernels launched one by one whose record has not come.
    pub under_way: u64,
}

impl Launched {
    /// All calls that launch work.
    fn all(&self) -> u64 {
        self.kernels + self.graphs + self.copies + self.sets
    }

    fn json(&self) -> String {
        Object::default()
            .number("kernels", self.kernels)
            .number("graphs", self.graphs)
            .number("copies", self.copies)
            .number("sets", self.sets)
            .number("captured", self.captured)
            .number("refused", self.refused)
            .number("kernels_under_way", self.under_way)
            .finish()
    }
}

fn records(tally: &Tally) -> String {
    Object::default()
        .number("kernels", tally.kernels)
        .number("graph_kernels", tally.graph_kernels)
        .number("copies", tally.copies)
        .number("sets", tally.sets)
        .number("syncs", tally.syncs)
        .number("memory", tally.memory)
        .number("inherited", tally.inherited)
        .number("no_scope", tally.no_scope)
        .number("unknown", tally.unknown)
        .number("by_time", tally.by_time)
        .number("samples", tally.samples)
        .number("samples_lost", tally.samples_lost)
        .finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_gaps_are_told_as_fewer_that_cover_them() {
        let mut state = State::OFF;
        for n in 0..10_000u64 {
            state.gap(n * 100, n * 100 + 50, "x".into());
        }
        assert_eq!(state.gaps.len(), MOST_GAPS);
        assert_eq!(state.gaps.last().map(|gap| (gap.0, gap.1)), Some((999_900, 999_950)));
        assert_eq!(state.gaps[0].0, 0);
        assert!(state.gaps.windows(2).all(|pair| pair[0].1 < pair[1].0));
    }
}
