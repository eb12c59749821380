//! What recording costs in C++: hodo beside hodo in Rust, two clock reads, Tracy and NVTX, measured
//! by the harness of the Rust benches in one run of one program.

#![allow(dead_code, reason = "not every row of the Rust benches stands in this table")]

#[path = "../../src/machine.rs"]
mod machine;
#[path = "../../src/measure.rs"]
mod measure;
#[path = "../../src/table.rs"]
mod table;

mod cpp;
mod nvtx;
mod rows;

use measure::{Figures, Plan, Row, rounds};
use rows::{floors, ours, tracy};
use std::process::ExitCode;

/// A row's short name for the command line, and how it is set up.
type Entry = (&'static str, fn() -> Row);

/// Before the recorder starts.
const NOT_STARTED: &[Entry] =
    &[("rust-not-started", ours::not_started), ("not-started", cpp::not_started)];

const STARTED: &[Entry] = &[
    ("clock", floors::clock_row),
    ("store", floors::store_row),
    ("rust", ours::on),
    ("hodo", cpp::scope),
    ("shared", cpp::in_library),
    ("rust-attributes", ours::attributes),
    ("attributes", cpp::attributes),
    ("rust-mark", ours::mark),
    ("mark", cpp::mark),
    ("runtime-name", cpp::named),
    ("tracy", tracy_in_cpp),
    ("nvtx", nvtx::without_tool),
    ("nvtx-tool", nvtx::with_tool),
    ("nvtx-hodo", nvtx::with_hodo),
    ("nvtx-hodo-domain", nvtx::in_domain),
];

#[cfg(tracy)]
fn tracy_in_cpp() -> Row {
    Row {
        name: "Tracy ZoneScopedN",
        burst: Box::new(|cycles| measure::timed(cpp::tracy_burst, cycles)),
        ..tracy::row()
    }
}

#[cfg(not(tracy))]
fn tracy_in_cpp() -> Row {
    tracy::row()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["count", row, cycles] => count(row, cycles.parse().unwrap_or(0)),
        [rounds] => table(rounds.parse().unwrap_or(101), &|_| true),
        [rounds, rows] => {
            table(rounds.parse().unwrap_or(101), &|row| rows.split(',').any(|named| named == row))
        }
        _ => {
            eprintln!("usage: hodo-benches-cpp <rounds> [<row>,...] | count <row> <cycles>");
            ExitCode::FAILURE
        }
    }
}

/// One burst of one row, for an instruction counter to watch.
fn count(name: &str, cycles: u64) -> ExitCode {
    let Some((_, row)) = NOT_STARTED.iter().chain(STARTED).find(|(known, _)| *known == name) else {
        return ExitCode::FAILURE;
    };
    let mut row = row();
    (row.burst)(cycles);
    let lost = (row.drain)(cycles);
    ours::stop();
    if lost == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The table of the rows that are `wanted`, by their short names.
fn table(rounds: usize, wanted: &dyn Fn(&str) -> bool) -> ExitCode {
    let plan = Plan { rounds, warmup: 4, cycles: 100_000 };
    machine::keep_freed_memory();
    println!("machine: {}; load {}", machine::describe(), machine::load());
    println!(
        "{} rounds; a burst of {} cycles of each row in turn; thread CPU time; ratios to floor A just \
         before and after",
        plan.rounds, plan.cycles
    );
    let mut figures = figures(NOT_STARTED, wanted, plan);
    figures.extend(self::figures(STARTED, wanted, plan));
    println!("hodo: {}", ours::describe());
    table::print(&figures);
    verdicts(&figures);
    let lost: u64 = figures.iter().map(|f| f.lost).sum();
    println!("lost: {lost}");
    ours::stop();
    if lost == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn figures(entries: &[Entry], wanted: &dyn Fn(&str) -> bool, plan: Plan) -> Vec<Figures> {
    let mut rows: Vec<Row> =
        entries.iter().filter(|(name, _)| wanted(name)).map(|(_, row)| row()).collect();
    println!("cores: {}", machine::spread());
    rounds(&mut rows, floors::clock_reads, plan)
}

fn verdicts(figures: &[Figures]) {
    let of = |name: &str| figures.iter().find(|f| f.name == name && f.lost == 0);
    let ratio = |name: &str| of(name).map_or(f64::NAN, Figures::median_ratio);
    let scope = ratio(cpp::SCOPE);
    table::verdict("a scope in C++", scope, 1.8, " x two clock reads");
    table::verdict("a scope in C++ against Rust", scope / ratio("hodo scope!"), 1.2, " x");
    table::verdict("a scope in C++ against Tracy", scope / ratio("Tracy ZoneScopedN"), 1.0, " x");
    let off = of(cpp::NOT_STARTED).map_or(f64::NAN, Figures::median_ns);
    table::verdict("not started", off, 2.0, " ns");
}
