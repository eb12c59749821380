//! What recording costs: hodo, the floor below it and its peers, measured by one harness.
//!
//! One program with all of it, because every program here carries all the peers.

mod commands;
mod cost;
mod machine;
mod measure;
mod recorded;
mod rows;
mod table;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (command, rest) = match arguments.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("", &[] as &[String]),
    };
    let done = match command {
        "scopes" => commands::scopes::run(rest),
        "launches" => commands::launches::run(rest),
        "count" => commands::count::run(rest),
        "instructions" => commands::instructions::run(rest),
        "spool-rate" => commands::spool_rate::run(rest),
        "report-cost" => commands::report_cost::run(rest),
        "large-cost" => commands::large_cost::run(rest),
        "record" => commands::record::run(rest),
        "pack-cost" => commands::pack_cost::run(rest),
        _ => Err("usage: hodo-benches scopes|launches|count|instructions|spool-rate|report-cost|\
                  large-cost|record|pack-cost"
            .into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
