//! Readings of a sidecar that recorded a run of its own beside this one.

use super::read::{Window, read};
use super::{Machine, machine_folders};
use crate::read::run_info;
use crate::{Process, Run, RunInfo};
use hodo_format::machine::Source;
use std::path::{Path, PathBuf};

/// The application's name in the runs that `hodo monitor` makes.
const SIDECAR: &str = "hodo monitor";
/// Kept before and after the run, so that its edges lie between two readings.
const MARGIN_NS: u64 = 120_000_000_000;

/// Machines that ran processes of `run`, which it has no readings of, as sidecars sampled them
/// meanwhile.
pub(super) fn machines(run: &Run) -> Vec<Machine> {
    let lonely: Vec<&Process> =
        run.processes.iter().filter(|p| run.machine_of(p).is_none()).collect();
    let Some(window) = window(&lonely).filter(|_| run.info.app != SIDECAR) else {
        return Vec::new();
    };
    let mut found: Vec<Machine> = Vec::new();
    for (sidecar, info) in sidecars(run) {
        for folder in machine_folders(&sidecar) {
            let mut machine = read(&folder, Some(window.clone()), &run.processes);
            let is_wanted = lonely.iter().any(|p| machine.boot.distance(p).is_some());
            // Its processes are those of the sidecar's run.
            machine.series.retain(|series| series.source != Source::Processes);
            if is_wanted && machine.extent().is_some() {
                machine.linked = Some(info.id.clone());
                found.push(machine);
            }
        }
    }
    longest(found)
}

/// Of several sidecars on one host the one that has most of the time.
fn longest(mut found: Vec<Machine>) -> Vec<Machine> {
    let length = |machine: &Machine| machine.extent().map_or(0, |(from, to)| to - from);
    found.sort_by(|a, b| a.host().cmp(b.host()).then_with(|| length(b).cmp(&length(a))));
    found.dedup_by(|later, first| later.host() == first.host());
    found
}

/// From the first start to the last end of `processes`, with a margin, by the monotonic clock.
/// Hosts have each their own; a window over all of them is only too wide.
fn window(processes: &[&Process]) -> Option<Window> {
    let moment = |p: &Process, ticks| u64::try_from(p.clock.monotonic_ns(ticks)?).ok();
    let first = |p: &&&Process| moment(p, p.clock.anchors().first()?.ticks);
    let from = processes.iter().filter_map(|p| first(&p)).min()?;
    let to = processes.iter().filter_map(|p| moment(p, p.last_tick)).max()?;
    Some(from.saturating_sub(MARGIN_NS)..=to.saturating_add(MARGIN_NS))
}

/// Runs of sidecars in the folder that `run` is in, as far as they may have been on at its time.
fn sidecars(run: &Run) -> Vec<(PathBuf, RunInfo)> {
    let Some(store) = run.folder.parent() else { return Vec::new() };
    let Ok(entries) = std::fs::read_dir(store) else { return Vec::new() };
    let end_ns = run.start_ns().zip(run.wall_ns()).map(|(start, wall)| start as u64 + wall);
    let is_in_time = |info: &RunInfo| end_ns.is_none_or(|end| info.start_ns <= end);
    let mut found: Vec<(PathBuf, RunInfo)> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|folder| *folder != run.folder && folder.join("run.json").is_file())
        .map(|folder| (folder.clone(), run_info(&folder)))
        .filter(|(folder, info)| {
            info.app == SIDECAR && is_in_time(info) && !ended_before(folder, run)
        })
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

/// Whether nothing was written in `sidecar` since `run` began.
fn ended_before(sidecar: &Path, run: &Run) -> bool {
    let Some(start) = run.start_ns().and_then(|ns| u64::try_from(ns).ok()) else { return false };
    let written = |path: PathBuf| {
        let time = path.metadata().ok()?.modified().ok()?;
        time.duration_since(std::time::UNIX_EPOCH).ok()
    };
    let files = machine_folders(sidecar).into_iter().filter_map(|f| std::fs::read_dir(f).ok());
    let newest = files.flatten().filter_map(|entry| written(entry.ok()?.path())).max();
    newest.is_none_or(|newest| newest.as_nanos() < u128::from(start))
}
