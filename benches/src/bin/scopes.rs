//! The table: what an open and a close cost, in one run.

use hodo_benches::measure::{Plan, Row, rounds};
use hodo_benches::rows::{FLOORS, PEERS, floors};
use hodo_benches::{machine, table};

fn main() {
    let plan = Plan { rounds: 61, warmup: 4, cycles: 100_000 };
    machine::keep_freed_memory();
    let mut rows: Vec<Row> = FLOORS.iter().chain(PEERS).map(|(_, row)| row()).collect();
    println!("machine: {}; load {}", machine::describe(), machine::load());
    println!("cores: {}", machine::spread());
    table::print(&rounds(&mut rows, floors::clock_reads, plan));
}
