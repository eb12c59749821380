//! `hodo diff` and `hodo gate`: two programs compared by their runs.

mod markdown;
mod rows;
mod sides;
mod text;
mod words;

use crate::args::{CompareArgs, DiffArgs, GateArgs, When};
use crate::output::{self, Failure, NOT_COMPARABLE, Outcome, REGRESSION};
use crate::term::style;
use hodo_trace::{DIFF_SCHEMA, Diff, DiffOptions, Gate, Obstacle};
use serde_json::json;
use std::io::Write;
use std::path::Path;

const GATE_SCHEMA: &str = "hodo.gate/1";

/// Runs `hodo diff`.
pub fn diff(args: &DiffArgs, dir: &Path, color: When) -> Outcome {
    let args = &args.compare;
    match compared(args, dir)? {
        Ok(diff) => show(args, color, &diff, None).map(|()| 0),
        Err(obstacles) => refuse(args, DIFF_SCHEMA, &obstacles),
    }
}

/// Runs `hodo gate`.
pub fn gate(args: &GateArgs, dir: &Path, color: When) -> Outcome {
    let max = percentage(&args.max)?;
    let args = &args.compare;
    let diff = match compared(args, dir)? {
        Ok(diff) => diff,
        Err(obstacles) => return refuse(args, GATE_SCHEMA, &obstacles),
    };
    let gate = diff.gate(max);
    show(args, color, &diff, Some(&gate))?;
    Ok(match () {
        () if !gate.regressions.is_empty() => REGRESSION,
        () if gate.judged == 0 => NOT_COMPARABLE,
        () => 0,
    })
}

fn compared(args: &CompareArgs, dir: &Path) -> Result<Result<Diff, Vec<Obstacle>>, Failure> {
    let base = sides::profiles(dir, &args.base)?;
    let head = sides::profiles(dir, &args.head)?;
    for id in sides::both(&base, &head) {
        output::note(&format!("{id} is on both sides: it is compared with itself"));
    }
    let (scopes, force) = (args.scopes.clone(), args.force);
    let options = DiffOptions { scopes, force, ..DiffOptions::default() };
    Ok(hodo_trace::diff(&base, &head, &options))
}

fn show(args: &CompareArgs, color: When, diff: &Diff, gate: Option<&Gate>) -> Result<(), Failure> {
    if args.json {
        output::json(&document(diff, gate))?;
    } else if args.markdown {
        std::io::stdout().write_all(markdown::page(diff, gate, args.all).as_bytes())?;
    } else {
        let width = style::columns(args.width);
        style::stdout(color).write_all(text::page(diff, gate, args.all, width).as_bytes())?;
    }
    Ok(())
}

fn document(diff: &Diff, gate: Option<&Gate>) -> serde_json::Value {
    let mut document = json!(diff);
    document["comparable"] = true.into();
    if let Some(gate) = gate {
        document["schema"] = GATE_SCHEMA.into();
        document["gate"] = json!(gate);
    }
    document
}

/// Says why not.
fn refuse(args: &CompareArgs, schema: &str, obstacles: &[Obstacle]) -> Outcome {
    if args.json {
        let document = json!({"schema": schema, "comparable": false, "obstacles": obstacles});
        output::json(&document)?;
        return Ok(NOT_COMPARABLE);
    }
    let why: Vec<&str> = obstacles.iter().map(|obstacle| obstacle.why.as_str()).collect();
    let hopeless = obstacles.iter().any(|obstacle| obstacle.is_final);
    let todo = if hopeless { "" } else { "; --force compares them all the same" };
    Err(Failure::NotComparable(format!("not comparable: {}{todo}", why.join("; "))))
}

/// A percentage as a share of one.
fn percentage(text: &str) -> Result<f64, Failure> {
    let number = text.trim().strip_suffix('%').unwrap_or(text).trim().parse::<f64>().ok();
    let share = number.filter(|n| n.is_finite() && *n >= 0.0).map(|n| n / 100.0);
    share.ok_or_else(|| Failure::Usage(format!("`{text}` is no percentage; write --max 5%")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_with_and_without_their_sign() {
        assert_eq!(percentage("5%").ok(), Some(0.05));
        assert_eq!(percentage(" 2.5 % ").ok(), Some(0.025));
        assert_eq!(percentage("10").ok(), Some(0.1));
        for bad in ["", "x%", "-1%", "NaN", "inf"] {
            assert!(percentage(bad).is_err(), "{bad}");
        }
    }
}
