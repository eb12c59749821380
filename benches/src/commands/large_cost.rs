//! `large-cost <hodo> <run folder>`: time and memory of `hodo` on a run of a hundred million spans:
//! its report, the exports that people look at, packing it, and a report of the packed one.

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
    let packed = format!("{folder}-packed");
    let work: [(&str, &[&str]); 5] = [
        ("report", &["report", folder]),
        ("export --to chrome", &["export", "--to", "chrome", folder]),
        ("export --to perfetto", &["export", "--to", "perfetto", folder]),
        ("pack", &["pack", folder, "--out", &packed]),
        ("report of the packed run", &["report", &packed]),
    ];
    for (name, arguments) in work {
        let cost = cost(hodo, arguments)?;
        println!("{name}: {cost}");
        table::verdict(&format!("peak memory of {name}"), cost.peak_mib, PEAK_MIB, " MiB");
    }
    std::fs::remove_dir_all(packed)?;
    Ok(())
}
