//! Readings of the machine: a counter for each series, in a row of its own for each machine.

use super::Page;
use crate::ConvertError;
use crate::machine::{Readings, readings};
use hodo_trace::Run;
use serde_json::json;
use std::io::Write;

/// Numbers that stand for machines where pids do for processes, above any the system gives out.
const FIRST_PID: u32 = 1 << 29;

impl<W: Write> Page<'_, W> {
    /// Writes the readings of all machines.
    pub fn machines(&mut self, run: &Run) -> Result<(), ConvertError> {
        for (pid, of) in (FIRST_PID..).zip(readings(run)) {
            self.pid = pid;
            self.machine(&of)?;
        }
        Ok(())
    }

    fn machine(&mut self, of: &Readings<'_>) -> Result<(), ConvertError> {
        self.title("process_name", 0, &of.title())?;
        for series in &of.machine.series {
            let name = of.series_title(series);
            // The name of the number is what viewers show as its unit.
            let unit = match of.machine.shown_unit(series) {
                "" => "value",
                unit => unit,
            };
            for (at_ns, value) in of.points(series) {
                let fields = json!({"ph": "C", "name": name, "cat": "machine", "pid": self.pid,
                    "tid": 0, "args": {unit: value}});
                self.event(fields, &[("ts", at_ns - self.start_ns)])?;
            }
        }
        Ok(())
    }
}
