//! A row a process.

use super::{Rows, hex};
use crate::packed::values::Values;
use crate::{ParentLink, Process, Run};
use std::ops::Range;

/// The processes of a run.
pub(super) struct Processes<'a>(pub(super) &'a Run);

fn parent(process: &Process, part: fn(&ParentLink) -> &str) -> Option<u64> {
    u64::from_str_radix(part(process.info.parent.as_ref()?), 16).ok()
}

impl Rows for Processes<'_> {
    fn len(&self) -> usize {
        self.0.processes.len()
    }

    fn column(&self, name: &'static str, rows: Range<usize>) -> Values {
        let rows = &self.0.processes[rows];
        let counts = |count: fn(&Process) -> usize| {
            Values::whole(rows.iter().map(|process| count(process) as i64))
        };
        let optional = |of: fn(&Process) -> Option<i64>| Values::wholes(rows.iter().map(of));
        match name {
            "process" => Values::texts(rows.iter().map(|p| Some(hex(p)))),
            "pid" => Values::whole(rows.iter().map(|p| p.info.pid.into())),
            "parent_pid" => Values::whole(rows.iter().map(|p| p.info.parent_pid.into())),
            "host" => Values::texts(rows.iter().map(|p| Some(&p.info.host))),
            "rank" => optional(|p| p.info.rank.map(i64::from)),
            "local_rank" => optional(|p| p.info.local_rank.map(i64::from)),
            "world_size" => optional(|p| p.info.world_size.map(i64::from)),
            "argv" => Values::texts(
                rows.iter()
                    .map(|p| serde_json::to_string(&p.info.argv).ok().or(Some("[]".to_owned()))),
            ),
            "start_ns" => optional(Process::start_ns),
            "end_ns" => optional(Process::end_ns),
            "state" => Values::texts(rows.iter().map(|p| Some(p.state.word()))),
            "parent_process" => Values::texts(
                rows.iter().map(|p| Some(format!("{:016x}", parent(p, |link| &link.process)?))),
            ),
            "parent_scope" => optional(|p| Some(parent(p, |link| &link.span)? as i64)),
            "threads" => counts(|p| p.threads.len()),
            "spans" => counts(|p| p.spans.len()),
            "marks" => counts(|p| p.marks.len()),
            "clock" => Values::texts(rows.iter().map(|p| Some(&p.info.clock))),
            "imported" => Values::whole(rows.iter().map(|p| p.info.imported.into())),
            _ => Values::same_text(Some(&self.0.info.id), rows.len()),
        }
    }
}
