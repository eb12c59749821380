//! `report-cost <hodo> <run folder>`: time and memory of `hodo report` on one core.

use super::Done;
use crate::cost::{Cost, cost};
use crate::{machine, table};

const TRIES: usize = 3;

/// Reports a few times and tells the least.
pub fn run(arguments: &[String]) -> Done {
    let [hodo, folder] = arguments else {
        return Err("usage: report-cost <hodo> <run folder>".into());
    };
    // Children inherit the core.
    machine::pin(0, 0);
    let costs: Vec<Cost> =
        (0..TRIES).map(|_| cost(hodo, &["report", folder])).collect::<Result<_, _>>()?;
    for cost in &costs {
        println!("report: {cost}");
    }
    let least = |of: fn(&Cost) -> f64| costs.iter().map(of).fold(f64::INFINITY, f64::min);
    table::verdict("report of ten million spans, one core, wall", least(|c| c.wall_s), 4.0, " s");
    println!("the same in CPU time: {:.2} s", least(|c| c.cpu_s));
    table::verdict("its peak memory", least(|c| c.peak_mib), 1024.0, " MiB");
    Ok(())
}
