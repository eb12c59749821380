//! `large-cost <hodo> <run folder>`: time and memory of `hodo` on a run of a hundred million spans:
//! its report, and the exports that people look at.

use super::Done;
use crate::cost::cost;
use crate::{machine, table};

const PEAK_MIB: f64 = 4096.0;

/// Runs each once and tells.
pub fn run(arguments: &[String]) -> Done {
    let [hodo, folder] = arguments else {
        return Err("usage: large-cost <hodo> <run folder>".into());
    };
    // Children inherit the core.
    machine::pin(0, 0);
    for what in
        [&["report"] as &[&str], &["export", "--to", "chrome"], &["export", "--to", "perfetto"]]
    {
        let arguments = [what, &[folder.as_str()]].concat();
        let cost = cost(hodo, &arguments)?;
        let name = what.join(" ");
        println!("{name}: {cost}");
        table::verdict(&format!("peak memory of {name}"), cost.peak_mib, PEAK_MIB, " MiB");
    }
    Ok(())
}
