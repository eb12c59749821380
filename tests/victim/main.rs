//! A program that records, tells an independent witness what it finished, and is then treated badly.
//!
//! `hodo-victim MODE key=value ...`; every mode reads `acks=FILE`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a victim that cannot do its part must fail its test"
)]

mod args;
mod clock;
mod cpu;
mod exits;
mod fork;
mod names;
mod outcome;
mod plugin;
mod steady;
mod threads;

use args::Args;

fn main() {
    let args = Args::from_command_line();
    hodo_machine::install();
    match args.mode.as_str() {
        "steady" => steady::run(&args),
        "short-threads" => threads::short(&args),
        "live-threads" => threads::live(&args),
        "fork" => fork::run(&args),
        "spawn" => fork::spawn(&args),
        "spawned" => fork::spawned(&args),
        "clock" => clock::run(&args),
        "cpu" => cpu::run(&args),
        "exit" => exits::run(&args),
        "signals" => exits::signals(&args),
        "lifecycle" => exits::lifecycle(&args),
        "names" => names::run(&args),
        "plugin" => plugin::run(&args),
        other => panic!("no mode {other}"),
    }
}
