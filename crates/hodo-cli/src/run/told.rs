//! What is said at the end: where the run is, what is in it, and how to look at it.

use crate::term::{number, text};
use hodo::Config;
use hodo_machine::{Standing, Status};
use hodo_trace::{ProcessState, Run, RunSummary};
use std::path::Path;

/// One line; `hooked` is whether the frameworks of a Python program were to be hooked.
pub fn line(run: &Path, hooked: bool) -> String {
    let summary = Run::summary(run);
    let folder = shown(run).display();
    if summary.processes == 0 {
        let readings = match summary.machines > 0 {
            true => format!(
                "; readings of the machine are in {folder}, `hodo report {folder}` shows them"
            ),
            false => String::new(),
        };
        return format!("hodo: {}{readings}", nothing(Config::from_env().enabled, hooked));
    }
    let run = folder;
    format!("hodo: recorded {} in {run}; `hodo report {run}` shows it", contents(&summary))
}

/// What kept the machine from being read, in a line; none when nothing did.
pub fn trouble(status: &Status) -> Option<String> {
    let why = match &status.standing {
        Standing::Failed(why) => why.clone(),
        _ if status.kept.lost_rows > 0 => {
            format!("{} lost", text::plural(status.kept.lost_rows, "row"))
        }
        _ if status.cost.rounds == 0 => match &status.standing {
            Standing::Linked(holder) => {
                format!("pid {} ({}) read it into this run", holder.pid, holder.kind)
            }
            _ => "the program had ended before the first reading".to_owned(),
        },
        _ => return None,
    };
    Some(format!("hodo: readings of the machine: {why}"))
}

/// Why there is nothing.
fn nothing(enabled: bool, hooked: bool) -> &'static str {
    match (enabled, hooked) {
        (false, _) => "nothing was recorded: HODO switches recording off; unset it",
        (true, false) => {
            "nothing was recorded: the program used no NVTX, no CUDA and no hodo of its own, or took \
             HODO_RUN and what goes with it out of its environment. For Python with torch, \
             transformers, lightning, keras, jax or scikit-learn: `hodo run --hooks -- ...`, or \
             hodo.profile() in the program"
        }
        (true, true) => {
            "nothing was recorded: no framework that was to be hooked ran, and nothing used NVTX, \
             CUDA or hodo itself; or its Python could not be hooked (python -I, -E and -S keep hooks \
             out), or it took HODO_RUN, PYTHONPATH and what goes with them out of its environment"
        }
    }
}

fn contents(run: &RunSummary) -> String {
    let mut parts = vec![text::plural(run.processes as u64, "process")];
    parts.push(match run.spans {
        Some(0) => "no scopes".to_owned(),
        Some(1) => "1 scope".to_owned(),
        Some(spans) => format!("{} scopes", number::count(spans)),
        None => "scopes that could not be counted".to_owned(),
    });
    if run.gpu_work > 0 {
        let work = number::count(run.gpu_work);
        parts.push(format!("{work} kernels, copies and sets of the GPU"));
    }
    if run.open > 0 {
        parts.push(format!("{} of them left open", number::count(run.open)));
    }
    if let Some(lost) = run.lost.filter(|&lost| lost > 0) {
        parts.push(format!("{} records lost", number::count(lost)));
    }
    if run.state == Some(ProcessState::Live) {
        parts.push("some still running".to_owned());
    }
    parts.join(", ")
}

/// The folder as one would type it here.
fn shown(run: &Path) -> &Path {
    let here = std::env::current_dir().unwrap_or_default();
    run.strip_prefix(here).unwrap_or(run)
}
