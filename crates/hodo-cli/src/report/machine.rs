//! What the machine did over the run, in a few lines a GPU and two a host.

use super::{View, heading};
use crate::term::measure;
use crate::term::number;
use crate::term::style::{self, ACCENT, DIM, PLAIN};
use crate::term::text;
use hodo_trace::{Absent, Machine, Measures, SeriesMissing, SeriesStats, Source};

/// The section; empty when nobody sampled the machine.
pub fn text(view: &View<'_>) -> String {
    let of = |machine: &Machine| one(view, machine);
    view.run.machines.iter().filter(|m| !m.series.is_empty()).map(of).collect::<Vec<_>>().join("\n")
}

fn one(view: &View<'_>, machine: &Machine) -> String {
    let measures = machine.over(view.run.time_on(machine));
    let about = text::fit(&about(&measures), view.width.saturating_sub(9));
    let mut out = heading("Machine", &about);
    for uuid in machine.gpus() {
        out += &block(view, &gpu_name(machine, uuid), &gpu(view, &measures, uuid));
    }
    out += &block(view, "host", &host(&measures));
    out + &absent(view, machine)
}

/// Which machine, who sampled it, how much of the run.
pub fn about(measures: &Measures<'_>) -> String {
    let machine = measures.machine();
    let state = machine.state.as_ref();
    let cores = machine.cores().map(|cores| text::plural(cores as u64, "core"));
    let every = state.and_then(|s| s.interval_ms());
    let every = every.map(|ms| format!("every {}", number::duration(ms * 1e6)));
    let by = match (&machine.linked, state.and_then(|s| s.kind())) {
        (Some(run), _) => Some(format!("by hodo monitor in its run {}", text::safe(run))),
        (None, Some("monitor")) => Some("by hodo monitor".to_owned()),
        (None, Some("in-process")) => Some("by the program".to_owned()),
        _ => None,
    };
    let sampled = [Some("sampled".to_owned()), every, by];
    let sampled = sampled.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let covered = covered(measures).map(|share| format!("{} of the time", number::percent(share)));
    let parts = [Some(text::safe(machine.host())), cores, Some(sampled), covered];
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}

/// How much of the time was sampled: of the series that was most.
fn covered(measures: &Measures<'_>) -> Option<f64> {
    let shares = measures.machine().series.iter().filter_map(|s| Some(measures.of(s)?.covered));
    shares.max_by(f64::total_cmp)
}

fn gpu_name(machine: &Machine, uuid: &str) -> String {
    let name = machine.gpu(uuid).map(|gpu| gpu.name).unwrap_or_default();
    let source = machine.source_name(&Source::Gpu(uuid.to_owned()));
    text::safe(&format!("{source} {name}")).trim_end().to_owned()
}

/// A title and lines behind it.
fn block(view: &View<'_>, title: &str, lines: &[String]) -> String {
    const INDENT: usize = 4;
    let mut out = format!("  {}\n", style::paint(ACCENT, title));
    for line in lines.iter().filter(|line| !line.is_empty()) {
        for line in text::wrap(line, view.width.saturating_sub(INDENT)) {
            out += &format!("    {}\n", style::paint(PLAIN, &line));
        }
    }
    out
}

/// What the cores did, then what people look at first elsewhere, then what it took.
fn gpu(view: &View<'_>, measures: &Measures<'_>, uuid: &str) -> Vec<String> {
    let source = Source::Gpu(uuid.to_owned());
    let of = |metric: &str| measures.measure(&source, metric);
    let share = |title: &str, metric: &str| told(title, of(metric), mean_and_max);
    let work = [
        share("SM active", "gpu.sm.active"),
        share("tensor", "gpu.tensor.active"),
        share("DRAM", "gpu.dram.active"),
    ];
    let peak = |stats: &SeriesStats| {
        let whole = of("gpu.memory.total").map(|total| measure::value(total.last, "By"));
        let whole = whole.map(|whole| format!(" of {whole}")).unwrap_or_default();
        format!("peak {}{whole}", measure::value(stats.max, "By"))
    };
    let watts = |stats: &SeriesStats| {
        let (mean, max) = (measure::value(stats.mean, "W"), measure::value(stats.max, "W"));
        format!("{mean} (max {max})")
    };
    let usual = [
        share("any kernel resident", "gpu.utilization"),
        told("memory", of("gpu.memory.used"), peak),
        told("power", of("gpu.power").or_else(|_| of("gpu.energy")), watts),
        told("temperature", of("gpu.temperature"), |s| {
            format!("max {}", measure::value(s.max, "Cel"))
        }),
    ];
    vec![joined(&work), joined(&usual), joined(&[throttle(measures, uuid), energy(view, uuid)])]
}

fn throttle(measures: &Measures<'_>, uuid: &str) -> String {
    match measures.throttle(uuid) {
        None => "clocks held down – (not sampled)".to_owned(),
        Some(held) if held.is_empty() => "clocks never held down".to_owned(),
        Some(held) => {
            let of =
                |t: &hodo_trace::Throttle| format!("{} {}", t.reason, number::percent(t.share));
            let held: Vec<String> = held.iter().map(of).collect();
            format!("clocks held down: {} of the time", held.join(", "))
        }
    }
}

/// What the run's share of a GPU's energy was, and what it cost.
fn energy(view: &View<'_>, uuid: &str) -> String {
    let gpus = view.tree.energy.iter().flat_map(|energy| &energy.gpus);
    let Some(gpu) = gpus.into_iter().find(|gpu| gpu.uuid == uuid) else { return String::new() };
    let cost = super::energy::money(view, gpu.total_j).map(|cost| format!(" ({cost})"));
    format!("energy {}{}", measure::energy(gpu.total_j), cost.unwrap_or_default())
}

fn host(measures: &Measures<'_>) -> Vec<String> {
    let of = |metric: &str| measures.measure(&Source::Host, metric);
    let memory = |stats: &SeriesStats| {
        let whole = of("memory.total").map(|total| measure::value(total.last, "By"));
        let whole = whole.map(|whole| format!(" of {whole}")).unwrap_or_default();
        let (mean, max) = (measure::value(stats.mean, "By"), measure::value(stats.max, "By"));
        format!("{mean}{whole} (max {max})")
    };
    let first =
        [told("CPU", of("cpu.time"), mean_and_max), told("memory", of("memory.used"), memory)];
    let waiting = [
        told("waiting for a CPU", of("pressure.cpu"), mean_and_max),
        told("for memory", of("pressure.memory"), mean_and_max),
        told("for a disk", of("pressure.io"), mean_and_max),
    ];
    vec![joined(&first), joined(&container(measures)), joined(&waiting)]
}

/// What the sampler's container may use, where it has limits: the host's numbers are then not the
/// program's.
fn container(measures: &Measures<'_>) -> Vec<String> {
    let of = |metric: &str| measures.measure(&Source::Host, metric).ok();
    let memory = of("cgroup.memory.limit").map(|limit| {
        let limit = measure::value(limit.last, "By");
        match of("cgroup.memory.used") {
            Some(used) => {
                let [mean, max] = [used.mean, used.max].map(|bytes| measure::value(bytes, "By"));
                format!("the container's memory {mean} of {limit} (max {max})")
            }
            None => format!("the container's memory – of {limit}"),
        }
    });
    let cpu = of("cgroup.cpu.limit").map(|limit| {
        let stopped = of("cgroup.cpu.throttled").map_or_else(String::new, |stopped| {
            format!(", stopped for it {} of the time", number::percent(stopped.mean))
        });
        format!("its CPU limit {}{stopped}", number::digits(limit.last))
    });
    memory.into_iter().chain(cpu).collect()
}

fn mean_and_max(stats: &SeriesStats) -> String {
    format!("{} (max {})", number::percent(stats.mean), number::percent(stats.max))
}

/// A number behind its title, or why there is none.
fn told(
    title: &str,
    stats: Result<SeriesStats, SeriesMissing>,
    words: impl Fn(&SeriesStats) -> String,
) -> String {
    match stats {
        Ok(stats) => format!("{title} {}", words(&stats)),
        Err(why) => format!("{title} – ({})", text::safe(why.text())),
    }
}

/// Parts one after another; a reason that several give is said once.
fn joined(parts: &[String]) -> String {
    let mut shown: Vec<String> = Vec::new();
    let reason = |part: &str| part.find(" – (").map(|at| part[at..].to_owned());
    for part in parts.iter().filter(|part| !part.is_empty()) {
        let why = reason(part);
        match shown.last_mut().filter(|last| why.is_some() && reason(last) == why) {
            Some(last) => {
                let why = why.unwrap_or_default();
                let (before, title) = (last.len() - why.len(), part.len() - why.len());
                *last = format!("{}, {}{why}", &last[..before], &part[..title]);
            }
            None => shown.push(part.clone()),
        }
    }
    shown.join(" · ")
}

/// Parts named in one line; `hodo machine --json` has all.
const MAX_PARTS: usize = 3;

/// What could not be sampled, why, and what to do: a line for each reason.
fn absent(view: &View<'_>, machine: &Machine) -> String {
    let absent = machine.state.as_ref().map(|state| state.absent()).unwrap_or_default();
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for Absent { part, why, fix } in absent {
        let why = if fix.is_empty() { why } else { format!("{why}; {fix}") };
        let part = named(machine, part);
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, parts)) => parts.push(part),
            None => reasons.push((why, vec![part])),
        }
    }
    let line = |(why, parts): &(String, Vec<String>)| {
        let mut shown = parts[..parts.len().min(MAX_PARTS)].join(", ");
        if parts.len() > MAX_PARTS {
            shown += &format!(" and {} more", parts.len() - MAX_PARTS);
        }
        let words = text::safe(&format!("not sampled: {shown}: {why}"));
        let lines = text::wrap(&words, view.width.saturating_sub(2));
        lines.iter().map(|line| format!("  {}\n", style::paint(DIM, line))).collect::<String>()
    };
    reasons.iter().map(line).collect()
}

/// A part with the names of GPUs in place of their UUIDs.
pub fn named(machine: &Machine, part: String) -> String {
    machine.gpus().into_iter().fold(part, |part, uuid| {
        let source = Source::Gpu(uuid.to_owned());
        part.replace(&source.to_string(), &machine.source_name(&source))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_that_several_numbers_share_is_said_once() {
        let part = |text: &str| text.to_owned();
        let parts = [part("SM – (no GPM)"), part("tensor – (no GPM)"), part(""), part("power 3 W")];
        assert_eq!(joined(&parts), "SM, tensor – (no GPM) · power 3 W");
    }
}
