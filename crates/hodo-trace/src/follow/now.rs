//! What a followed run does now, as a view shows it.

use super::paths::{PathId, ROOT};
use super::window::{SECOND, SECONDS};
use super::{Follow, monotonic_now_ns};
use crate::{Counts, Loss, ProcessState};

/// A flush comes every second unless it is set otherwise; until then nothing is known.
const FLUSHED_WITHIN_NS: u64 = 2 * SECOND;

/// A run at one moment. Rates, means and the slowest are of the last ten seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Now {
    /// The application's name.
    pub app: String,
    /// The run's id.
    pub id: String,
    /// Nanoseconds since 1970 when it began; 0 when not known.
    pub start_ns: u64,
    /// Processes on this host that were met.
    pub processes: Vec<NowProcess>,
    /// Processes on other hosts, which are not shown.
    pub elsewhere: usize,
    /// Nanoseconds that rates are over.
    pub window_ns: u64,
    /// Scopes by path: each behind its parent.
    pub scopes: Vec<NowScope>,
    /// The slowest scope of each path, those farthest above their path's mean first.
    pub slowest: Vec<NowSlow>,
    /// GPU work by name, most time first.
    pub kernels: Vec<NowKernel>,
    /// Marks by name, the newest first.
    pub marks: Vec<NowMark>,
    /// Records lost so far, by [`Loss`].
    pub lost: [Counts; Loss::COUNT],
    /// Scopes past the depth limit.
    pub depth_dropped: u64,
    /// Pieces of GPU work that were dropped or could not be written.
    pub gpu_lost: u64,
    /// Bytes of the run's files that were left out, since more came than a look should take. Counts
    /// and times are then estimates: what was read stands for what was not.
    pub skipped_bytes: u64,
    /// Frames that were damaged.
    pub damaged_frames: u64,
    /// Scopes whose path found no room: too many different names.
    pub left_out: u64,
}

/// A process of a followed run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NowProcess {
    /// Its pid.
    pub pid: u32,
    /// Its rank.
    pub rank: Option<u32>,
    /// Whether it runs.
    pub state: ProcessState,
    /// Whether its times are known.
    pub is_timed: bool,
}

/// The scopes of one path, over all processes and threads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NowScope {
    /// The name.
    pub name: String,
    /// Scopes around it.
    pub depth: usize,
    /// Open now.
    pub open: u64,
    /// How long the oldest of them has been open.
    pub open_ns: Option<u64>,
    /// Closed since following began.
    pub closed: u64,
    /// Closed lately.
    pub count: u64,
    /// Closed a second, lately.
    pub rate: f64,
    /// Time in those that closed lately.
    pub total_ns: u64,
    /// Mean of those.
    pub mean_ns: Option<u64>,
    /// The longest of those.
    pub max_ns: Option<u64>,
    /// How long the last one took.
    pub last_ns: Option<u64>,
}

/// The slowest scope of a path lately.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NowSlow {
    /// Names from the outermost.
    pub path: Vec<String>,
    /// Its index.
    pub index: Option<i64>,
    /// How long it took.
    pub ns: u64,
    /// The mean of its path, itself included.
    pub mean_ns: u64,
    /// How long ago it ended.
    pub ago_ns: u64,
}

/// GPU work of one name lately.
#[derive(Clone, Debug, PartialEq)]
pub struct NowKernel {
    /// Its short name.
    pub name: String,
    /// Launched a second.
    pub rate: f64,
    /// Time in it.
    pub total_ns: u64,
    /// The same as a share of the time there was.
    pub share: f64,
    /// Mean.
    pub mean_ns: u64,
    /// Longest.
    pub max_ns: u64,
    /// Bytes a second, of copies and sets.
    pub bytes_per_s: f64,
}

/// A mark's newest value.
#[derive(Clone, Debug, PartialEq)]
pub struct NowMark {
    /// Its name.
    pub name: String,
    /// The value as text.
    pub value: String,
    /// The last values that are numbers, oldest first.
    pub values: Vec<f64>,
    /// Marks of this name since following began.
    pub count: u64,
    /// How long ago the newest was made.
    pub ago_ns: u64,
}

/// Moments that a view is made for.
struct Moments {
    now_ns: u64,
    /// Where the files end.
    edge_ns: u64,
    window_ns: u64,
}

impl Moments {
    fn new(follow: &Follow, now_ns: u64) -> Moments {
        let edge_ns = follow.last_ns.max(now_ns.saturating_sub(FLUSHED_WITHIN_NS));
        let begin = (edge_ns / SECOND).saturating_sub(SECONDS) * SECOND;
        let begin = begin.max(follow.first_ns.unwrap_or(edge_ns));
        Moments { now_ns, edge_ns, window_ns: edge_ns.saturating_sub(begin).max(SECOND) }
    }

    fn per_second(&self, count: u64) -> f64 {
        count as f64 * SECOND as f64 / self.window_ns as f64
    }
}

impl Follow {
    /// What the run does now, as of the last look.
    pub fn now(&self) -> Now {
        let moments = Moments::new(self, monotonic_now_ns());
        let mut now = Now {
            app: self.info.app.clone(),
            id: self.info.id.clone(),
            start_ns: self.info.start_ns,
            elsewhere: self.elsewhere,
            window_ns: moments.window_ns,
            skipped_bytes: self.total.skipped,
            damaged_frames: self.total.damaged,
            left_out: self.paths.left_out,
            ..Now::default()
        };
        self.put_processes(&mut now);
        self.put_children(ROOT, &mut Vec::new(), &moments, &mut now);
        now.slowest.sort_by_key(|s| std::cmp::Reverse(s.ns.saturating_sub(s.mean_ns)));
        self.put_kernels(&moments, &mut now);
        self.put_marks(&moments, &mut now);
        now
    }

    fn put_processes(&self, now: &mut Now) {
        for process in &self.processes {
            now.processes.push(NowProcess {
                pid: process.info.pid,
                rank: process.info.rank,
                state: process.state,
                is_timed: process.clock.is_calibrated(),
            });
            for (sum, lost) in now.lost.iter_mut().zip(process.lost) {
                *sum += lost;
            }
            now.depth_dropped += process.depth_dropped;
            let counts = process.heard.gpu.as_ref().map(|state| state.counts());
            now.gpu_lost += counts.map_or(0, |counts| counts.dropped + counts.lost);
        }
    }

    fn put_children(&self, of: PathId, way: &mut Vec<String>, at: &Moments, now: &mut Now) {
        for &path in &self.paths.node(of).children {
            let node = self.paths.node(path);
            let lately = node.window.lately(at.edge_ns);
            let name = self.paths.name(path).to_owned();
            way.push(name.clone());
            now.scopes.push(NowScope {
                name,
                depth: way.len() - 1,
                open: node.open,
                open_ns: node.oldest_ns.map(|oldest| at.now_ns.saturating_sub(oldest)),
                closed: node.closed,
                count: lately.count,
                rate: at.per_second(lately.count),
                total_ns: lately.total_ns,
                mean_ns: lately.mean_ns(),
                max_ns: (lately.count > 0).then_some(lately.max_ns),
                last_ns: node.last_ns,
            });
            if let Some(mean_ns) = lately.mean_ns() {
                now.slowest.push(NowSlow {
                    path: way.clone(),
                    index: lately.max_index,
                    ns: lately.max_ns,
                    mean_ns,
                    ago_ns: at.now_ns.saturating_sub(lately.max_end_ns),
                });
            }
            self.put_children(path, way, at, now);
            way.pop();
        }
    }

    fn put_kernels(&self, at: &Moments, now: &mut Now) {
        let rows = self.kernels.lately(at.edge_ns).into_iter();
        now.kernels.extend(rows.map(|(name, lately)| NowKernel {
            name: name.to_owned(),
            rate: at.per_second(lately.count),
            total_ns: lately.total_ns,
            share: lately.total_ns as f64 / at.window_ns as f64,
            mean_ns: lately.mean_ns().unwrap_or(0),
            max_ns: lately.max_ns,
            bytes_per_s: at.per_second(lately.bytes),
        }));
    }

    fn put_marks(&self, at: &Moments, now: &mut Now) {
        now.marks.extend(self.marks.of.iter().map(|(name, latest)| NowMark {
            name: name.to_string(),
            value: latest.text.clone(),
            values: latest.values.iter().copied().collect(),
            count: latest.count,
            ago_ns: at.now_ns.saturating_sub(latest.at_ns),
        }));
        now.marks.sort_by(|a, b| a.ago_ns.cmp(&b.ago_ns).then(a.name.cmp(&b.name)));
    }
}
