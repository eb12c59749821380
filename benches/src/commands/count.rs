//! `count <row> <cycles>`: one burst of one row, for an instruction counter to watch.

use super::Done;
use crate::rows::ALL;

/// Sets the row up, runs the burst and checks that nothing was lost.
pub fn run(arguments: &[String]) -> Done {
    let [name, cycles] = arguments else { return Err(usage().into()) };
    let row = ALL.iter().copied().flatten().find(|(known, _)| known == name);
    let mut row = row.ok_or_else(usage)?.1();
    let cycles = cycles.parse()?;
    (row.burst)(cycles);
    // A record that was dropped cost less than one that was kept.
    let lost = (row.drain)(cycles);
    crate::rows::ours::stop();
    if lost == 0 { Ok(()) } else { Err(format!("{lost} of {cycles} records were lost").into()) }
}

fn usage() -> String {
    let names: Vec<&str> = ALL.iter().copied().flatten().map(|(name, _)| *name).collect();
    format!("usage: count <row> <cycles>; rows: {}", names.join(", "))
}
