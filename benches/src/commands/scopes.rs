//! `scopes [<rounds>]`: the table of what an open and a close cost, in one run.

use super::Done;
use crate::measure::{Figures, Plan, Row, rounds};
use crate::rows::{Entry, FLOORS, NOT_STARTED, OURS, PEERS, PLACES, floors, ours};
use crate::{machine, table};

/// Measures every row and prints the table and the verdicts.
pub fn run(arguments: &[String]) -> Done {
    let rounds = arguments.first().and_then(|n| n.parse().ok()).unwrap_or(101);
    let plan = Plan { rounds, warmup: 4, cycles: 100_000 };
    machine::keep_freed_memory();
    println!("machine: {}; load {}", machine::describe(), machine::load());
    println!(
        "{} rounds; a burst of {} cycles of each row in turn; thread CPU time; ratios to floor A just \
         before and after",
        plan.rounds, plan.cycles
    );
    let mut figures = measure(&[NOT_STARTED], plan);
    figures.extend(measure(&[FLOORS, OURS, PLACES, PEERS], plan));
    println!("hodo: {}", ours::describe());
    table::print(&figures);
    verdicts(&figures);
    ours::stop();
    Ok(())
}

fn measure(groups: &[&[Entry]], plan: Plan) -> Vec<Figures> {
    let mut rows: Vec<Row> = groups.iter().copied().flatten().map(|(_, row)| row()).collect();
    println!("cores: {}", machine::spread());
    rounds(&mut rows, floors::clock_reads, plan)
}

fn verdicts(figures: &[Figures]) {
    let of = |name: &str| figures.iter().find(|f| f.name == name && f.lost == 0);
    let ratio = |name: &str| of(name).map_or(f64::NAN, Figures::median_ratio);
    let on = ratio("hodo scope!");
    table::verdict("a scope that is on", on, 1.6, " x two clock reads");
    let off = of("hodo scope!, not started").map_or(f64::NAN, Figures::median_ns);
    table::verdict("not started", off, 2.0, " ns");
    let attributes = ratio("hodo scope!, index + 2 attributes");
    table::verdict("index + 2 attributes", attributes, 2.4, " x two clock reads");
    let ours = |f: &&Figures| f.name.starts_with("hodo") || f.name.contains("floor");
    for peer in figures.iter().filter(|f| f.name != "empty loop" && !ours(f)) {
        table::verdict(
            &format!("scope against {}", peer.name),
            on / peer.median_ratio(),
            1.0,
            " x",
        );
    }
    for place in figures.iter().filter(|f| f.name.contains("depth") || f.name.contains("siblings"))
    {
        let change = place.median_ratio() / on;
        table::verdict(&format!("{}, against depth 1", place.name), change, 1.1, " x");
    }
}
