//! Processors, memory, disks and networks: a line for each.

use super::spark::{level, spark};
use crate::term::style::{ACCENT, DIM, HOT, PLAIN, STRONG};
use crate::term::table::Line;
use crate::term::{number, text};
use crate::top::model::Model;
use hodo_format::machine::{Metric, Source, metric};

const LABEL: usize = 6;
const SPARK: usize = 24;
/// Disks and networks that get a line: the busiest.
const MOST_LINES: usize = 3;
const NEARLY_FULL: f64 = 0.95;

/// The lines of the host; `cores` when there is room for each of its processors.
pub fn lines(model: &Model, width: usize, cores: bool) -> Vec<Line> {
    let host = Host { model, width };
    let mut lines = vec![host.cpu()];
    if cores {
        lines.extend(host.cores());
    }
    lines.push(host.memory());
    lines.extend(host.container());
    lines.extend(host.pressure());
    lines.extend(host.processes());
    lines.extend(host.disks());
    lines.extend(host.networks());
    lines
}

struct Host<'a> {
    model: &'a Model,
    width: usize,
}

impl Host<'_> {
    fn value(&self, metric: &Metric) -> Option<f64> {
        self.model.history.value(&Source::Host, metric)
    }

    fn spark_cells(&self) -> usize {
        if self.width < 100 { SPARK / 2 } else { SPARK.max(self.width / 6) }
    }

    /// The share of all processors that worked.
    fn cpu(&self) -> Line {
        let cores = self.model.cores.or_else(|| self.value(&metric::CPU_CORES));
        let busy = self.value(&metric::CPU_TIME).zip(cores).map(|(busy, cores)| busy / cores);
        let last = self.model.history.last(&Source::Host, &metric::CPU_TIME, self.spark_cells());
        let mut line = label("CPU");
        line.push((PLAIN, format!("{:>5} ", told(busy.map(number::percent)))));
        line.push((ACCENT, spark(&last, cores, self.spark_cells())));
        if let Some(cores) = cores {
            line.push((PLAIN, format!("  {}", text::plural(cores as u64, "core"))));
        }
        if let Some(load) = self.value(&metric::LOAD) {
            line.push((PLAIN, format!("  load {load:.2}")));
        }
        let stolen = self.value(&metric::CPU_STOLEN).zip(cores).map(|(s, cores)| s / cores);
        if let Some(stolen) = stolen.filter(|&share| share >= 0.0005) {
            line.push((HOT, format!("  stolen {}", number::percent(stolen))));
        }
        line
    }

    /// Each processor as a block, a line for as many as fit.
    fn cores(&self) -> Vec<Line> {
        let of = |source: &Source| match source {
            Source::Core(_) => Some(self.model.history.value(source, &metric::CPU_TIME)),
            _ => None,
        };
        let blocks: Vec<char> = self
            .model
            .history
            .sources()
            .filter_map(of)
            .map(|busy| busy.map_or('–', |busy| level(busy, 1.0)))
            .collect();
        let line = |(at, part): (usize, &[char])| {
            let mut line = label(if at == 0 { "cores" } else { "" });
            line.push((ACCENT, format!(" {}", part.iter().collect::<String>())));
            line
        };
        let fit = self.width.saturating_sub(LABEL + 1).max(1);
        blocks.chunks(fit).enumerate().map(line).collect()
    }

    fn memory(&self) -> Line {
        let (used, total) = (self.value(&metric::MEMORY_USED), self.value(&metric::MEMORY_TOTAL));
        let last = self.model.history.last(&Source::Host, &metric::MEMORY_USED, self.spark_cells());
        let share = used.zip(total).map(|(used, total)| used / total);
        let mut line = label("memory");
        let style = if share.is_some_and(|share| share >= NEARLY_FULL) { HOT } else { PLAIN };
        line.push((style, format!("{:>5} ", told(share.map(number::percent)))));
        line.push((ACCENT, spark(&last, total, self.spark_cells())));
        if let Some((used, total)) = used.zip(total) {
            line.push((PLAIN, format!("  {}", super::of_bytes(used, total))));
        }
        if let Some(cache) = self.value(&metric::MEMORY_CACHE) {
            line.push((DIM, format!("  cache {}", number::bytes(cache as u64))));
        }
        let swap = self.value(&metric::SWAP_USED).zip(self.value(&metric::SWAP_TOTAL));
        if let Some((used, total)) = swap.filter(|(_, total)| *total > 0.0) {
            line.push((PLAIN, format!("  swap {}", super::of_bytes(used, total))));
        }
        line
    }

    /// What the container of the sampler may use, where it has limits.
    fn container(&self) -> Option<Line> {
        let limit = self.value(&metric::CGROUP_MEMORY_LIMIT);
        let used = self.value(&metric::CGROUP_MEMORY_USED);
        let processors = self.value(&metric::CGROUP_CPU_LIMIT);
        limit.or(processors)?;
        let share = used.zip(limit).map(|(used, limit)| used / limit);
        let style = if share.is_some_and(|share| share >= NEARLY_FULL) { HOT } else { PLAIN };
        let mut line = label("cgroup");
        let memory = match (used, limit) {
            (Some(used), Some(limit)) => {
                format!("{} of the container", super::of_bytes(used, limit))
            }
            (None, Some(limit)) => format!("{} for the container", number::bytes(limit as u64)),
            (_, None) => "no limit on memory".to_owned(),
        };
        line.push((style, format!("{:>5}  {memory}", told(share.map(number::percent)))));
        if let Some(processors) = processors {
            line.push((PLAIN, format!("  {} CPUs", number::digits(processors))));
        }
        let stopped = self.value(&metric::CGROUP_CPU_THROTTLED);
        if let Some(stopped) = stopped.filter(|&share| share >= 0.0005) {
            line.push((HOT, format!("  stopped {}", number::percent(stopped))));
        }
        Some(line)
    }

    /// The share of time that something waited.
    fn pressure(&self) -> Option<Line> {
        let parts = [
            ("a processor", &metric::PRESSURE_CPU),
            ("memory", &metric::PRESSURE_MEMORY),
            ("a disk", &metric::PRESSURE_IO),
        ];
        let told: Vec<String> = parts
            .iter()
            .filter_map(|(what, metric)| {
                Some(format!("{} for {what}", number::percent(self.value(metric)?)))
            })
            .collect();
        let mut line = label("waits");
        line.push((PLAIN, format!(" {}", told.join("  "))));
        (!told.is_empty()).then_some(line)
    }

    /// The processes of the run, all together.
    fn processes(&self) -> Option<Line> {
        let value = |metric: &Metric| self.model.history.value(&Source::Processes, metric);
        let count = value(&metric::PROCESS_COUNT).filter(|&count| count > 0.0)?;
        let mut parts = vec![text::plural(count as u64, "process")];
        parts.extend(value(&metric::PROCESS_CPU_TIME).map(|cpus| format!("{cpus:.2} CPUs")));
        parts.extend(value(&metric::PROCESS_MEMORY).map(|bytes| number::bytes(bytes as u64)));
        parts.extend(value(&metric::PROCESS_THREADS).map(|n| text::plural(n as u64, "thread")));
        let (read, written) = (value(&metric::PROCESS_READ), value(&metric::PROCESS_WRITTEN));
        parts.extend(read.map(|read| format!("read {}", super::rate(read))));
        parts.extend(written.map(|written| format!("written {}", super::rate(written))));
        let mut line = label("run");
        line.push((PLAIN, format!(" {}", parts.join("  "))));
        Some(line)
    }

    fn disks(&self) -> Vec<Line> {
        let busy = |source: &Source| self.model.history.value(source, &metric::DISK_BUSY);
        let is_disk = |source: &&Source| matches!(source, Source::Disk(_));
        let two = [(&metric::DISK_READ, "read"), (&metric::DISK_WRITTEN, "written")];
        self.busiest(is_disk, two, |source| {
            busy(source).map_or_else(String::new, |busy| format!("busy {}", number::percent(busy)))
        })
    }

    fn networks(&self) -> Vec<Line> {
        let is_network = |source: &&Source| matches!(source, Source::Network(_));
        let two = [(&metric::NETWORK_RECEIVED, "in"), (&metric::NETWORK_SENT, "out")];
        self.busiest(is_network, two, |_| String::new())
    }

    fn busiest(
        &self,
        is_one: impl Fn(&&Source) -> bool,
        two: [(&Metric, &str); 2],
        more: impl Fn(&Source) -> String,
    ) -> Vec<Line> {
        let history = &self.model.history;
        let sum = |source: &Source| -> f64 {
            two.iter().filter_map(|(metric, _)| history.value(source, metric)).sum()
        };
        let mut sources: Vec<&Source> = history.sources().filter(is_one).collect();
        let has_worked = |source: &Source| {
            let worked = |metric: &Metric| history.last(source, metric, usize::MAX);
            two.iter().any(|(metric, _)| worked(metric).iter().flatten().any(|&rate| rate > 0.0))
        };
        if sources.iter().any(|source| has_worked(source)) {
            sources.retain(|source| has_worked(source));
        } else {
            sources.truncate(1);
        }
        // Those that do nothing stay in the order of their names, so that lines stand still.
        sources.sort_by(|a, b| sum(b).total_cmp(&sum(a)));
        sources.truncate(if self.width < 100 { 1 } else { MOST_LINES });
        sources.iter().map(|source| self.throughput(source, &two, &more(source))).collect()
    }

    fn throughput(&self, source: &Source, two: &[(&Metric, &str); 2], more: &str) -> Line {
        let history = &self.model.history;
        let cells = self.spark_cells();
        let (what, name) = match source {
            Source::Disk(name) => ("disk", name),
            Source::Network(name) => ("net", name),
            _ => return Line::new(),
        };
        let columns = two.map(|(metric, _)| history.last(source, metric, cells));
        let sums: Vec<Option<f64>> = columns[0]
            .iter()
            .zip(&columns[1])
            .map(|(a, b)| a.zip(*b).map(|(a, b)| a + b))
            .collect();
        let mut line = label(what);
        line.push((PLAIN, " ".repeat(6)));
        line.push((ACCENT, spark(&sums, None, cells)));
        line.push((PLAIN, format!("  {}", text::fit(&text::safe(name), 16))));
        for (metric, word) in two {
            let value = history.value(source, metric).map(super::rate);
            line.push((PLAIN, format!("  {word} {:<9}", told(value))));
        }
        line.push((PLAIN, format!("  {more}")));
        line
    }
}

fn label(text: &str) -> Line {
    vec![(STRONG, format!("{text:<LABEL$}"))]
}

/// A value, or a dash for what is not known.
fn told(value: Option<String>) -> String {
    value.unwrap_or_else(|| "–".to_owned())
}
