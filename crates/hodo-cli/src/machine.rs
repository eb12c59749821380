//! `hodo machine`: every series of the machine over a run, a scope or a stretch of time.

mod points;
mod range;
mod table;

use crate::args::{MachineArgs, When};
use crate::output::{self, Failure, Outcome};
use crate::runs;
use crate::term::style;
use hodo_trace::{Machine, Measures, Run};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

/// Runs the verb.
pub fn run(args: &MachineArgs, dir: &Path, color: When) -> Outcome {
    let wanted = range::Wanted::parse(args)?;
    let run = runs::open_readings(dir, args.run.run.as_deref())?;
    if run.machine_missing().is_some() {
        return Err(Failure::Failed(format!(
            "nobody sampled the machine while {} was recorded; hodo monitor does, or \
             HODO_TELEMETRY=1s in the program's environment",
            run.info.id
        )));
    }
    let machines: Vec<&Machine> = run.machines.iter().filter(|m| !m.series.is_empty()).collect();
    let mut all: Vec<Measures<'_>> = Vec::new();
    for machine in machines {
        all.push(machine.over(wanted.on(&run, machine)?));
    }
    let text = match (&args.series, args.json, args.csv) {
        (Some(name), true, _) => return json_of(&points::document(&run, &all, name)?),
        (Some(name), false, _) => points::csv(&all, name)?,
        (None, true, _) => return json_of(&document(&run, args, &all)),
        (None, false, true) => table::csv(&all),
        (None, false, false) => table::text(&all, style::columns(args.width)),
    };
    style::stdout(color).write_all(text.as_bytes())?;
    Ok(0)
}

fn json_of(document: &Value) -> Outcome {
    output::json(document)?;
    Ok(0)
}

fn document(run: &Run, args: &MachineArgs, all: &[Measures<'_>]) -> Value {
    json!({
        "schema": "hodo.machine/1",
        "run": run.info.id,
        "scope": args.scope,
        "machines": all.iter().map(Measures::document).collect::<Vec<_>>(),
    })
}

/// A line of comma-separated values; texts that need it are quoted.
fn csv_line(cells: &[String]) -> String {
    let quoted = |cell: &String| match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.clone(),
    };
    cells.iter().map(quoted).collect::<Vec<_>>().join(",") + "\n"
}

/// A number as a program reads it; nothing where it is not known.
fn csv_number(number: Option<f64>) -> String {
    number.map(|number| number.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_with_commas_are_quoted() {
        let cells = ["a", "b,c", "d\"e"].map(str::to_owned);
        assert_eq!(csv_line(&cells), "a,\"b,c\",\"d\"\"e\"\n");
        assert_eq!((csv_number(Some(0.5)), csv_number(None)), ("0.5".into(), String::new()));
    }
}
