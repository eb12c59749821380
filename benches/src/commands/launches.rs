//! `launches [<rounds>]`: what hodo does inside a kernel launch, without what CUPTI itself costs.

use super::Done;
use crate::measure::{Figures, Plan, Row, rounds};
use crate::rows::{FLOORS, LAUNCHES, floors, ours};
use crate::{machine, table};

/// What the two callbacks of a launch may take together: a hundredth of a launch.
const LIMIT_NS: f64 = 40.0;

/// Measures the rows and prints the table and the verdict.
pub fn run(arguments: &[String]) -> Done {
    let many = arguments.first().and_then(|n| n.parse().ok()).unwrap_or(101);
    let plan = Plan { rounds: many, warmup: 4, cycles: 100_000 };
    println!("machine: {}; load {}", machine::describe(), machine::load());
    println!("{} rounds; a burst of {} launches in turn", plan.rounds, plan.cycles);
    let entries = FLOORS.iter().chain(LAUNCHES);
    let mut rows: Vec<Row> = entries.map(|(_, row)| row()).collect();
    println!("cores: {}", machine::spread());
    let figures = rounds(&mut rows, floors::clock_reads, plan);
    table::print(&figures);
    let launch = figures.iter().find(|f| f.name == "launch in a scope");
    let ns = launch.map_or(f64::NAN, Figures::median_ns);
    table::verdict("both callbacks of a launch", ns, LIMIT_NS, " ns");
    ours::stop();
    Ok(())
}
