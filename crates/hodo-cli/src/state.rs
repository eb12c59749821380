//! How a run stands, in the same words in every view.

use crate::term::style::{GOOD, HOT, PLAIN, WARM};
use crate::term::{number, text};
use anstyle::Style;
use hodo_trace::{Process, ProcessState, Run};

/// What every view says when no reading of a process's clocks is left.
pub const NOT_CALIBRATED: &str = "times not calibrated";

/// The state of a run in words; `open` counts the scopes that processes left open as they ended.
pub fn words(state: Option<ProcessState>, open: u64) -> (Style, String) {
    let Some(state) = state else { return (WARM, "nothing recorded yet".to_owned()) };
    let style = match state {
        ProcessState::Live => WARM,
        ProcessState::Finished => GOOD,
        ProcessState::Ended => PLAIN,
        ProcessState::Silent | ProcessState::Unknown => HOT,
    };
    match (state, open) {
        (ProcessState::Silent, _) => (style, "not heard from".to_owned()),
        (ProcessState::Unknown, _) => (style, "state unknown".to_owned()),
        (ProcessState::Ended, open) if open > 0 => {
            (WARM, format!("{}, {} open", state.word(), text::plural(open, "scope")))
        }
        _ => (style, state.word().to_owned()),
    }
}

/// The state of a run that has readings of machines and no process; `sampling` while they are taken.
pub fn of_readings(sampling: bool) -> (Style, String) {
    match sampling {
        true => (WARM, "sampling".to_owned()),
        false => (PLAIN, "readings only".to_owned()),
    }
}

/// How much of a run cannot be read, as the beginning of a sentence; none when all can.
pub fn damaged(run: &Run) -> Option<String> {
    let bytes = number::bytes(run.unreadable_bytes()?);
    Some(format!("{bytes} of the run cannot be read (hodo verify says where)"))
}

/// Which processes have no times and why, as a sentence; none when all have.
pub fn not_calibrated<'a>(processes: impl Iterator<Item = &'a Process>) -> Option<String> {
    let pids: Vec<String> = processes.map(|p| p.info.pid.to_string()).collect();
    let who = match pids.len() {
        0 => return None,
        1 => format!("pid {}", pids[0]),
        n => format!("{n} processes (pid {}, …)", pids[0]),
    };
    Some(format!(
        "{NOT_CALIBRATED}: no reading of the clocks is left of {who}; \
         counts are right, its times are left out"
    ))
}
