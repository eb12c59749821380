//! The `hodo` program: records programs, reads runs, shows them, exports them.

mod absent;
mod args;
mod compare;
mod demo;
mod demonstrate;
#[cfg(test)]
mod docs;
mod doctor;
mod export;
mod import;
mod ls;
mod machine;
mod monitor;
mod output;
mod pack;
mod report;
mod run;
mod runs;
mod serve;
mod share;
mod ship;
mod signals;
mod sql;
mod state;
mod term;
mod top;
mod verify;
mod view;

use args::{Cli, Verb};
use clap::parser::ValueSource;
use clap::{CommandFactory, FromArgMatches};
use output::Outcome;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let matches = Cli::command().try_get_matches().unwrap_or_else(|error| {
        ship::tell_unread(&error);
        error.exit()
    });
    // The collector's folder is another than the one runs are recorded into.
    let store = matches.value_source("dir") == Some(ValueSource::CommandLine);
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let store = if store { cli.dir.clone() } else { serve::DIR.into() };
    ExitCode::from(output::exit_code(run(&cli, &store)))
}

fn run(cli: &Cli, store: &Path) -> Outcome {
    match &cli.verb {
        Verb::Run(args) => run::run(args, &cli.dir),
        Verb::Report(args) => report::run(args, &cli.dir, cli.color),
        Verb::View(args) => view::run(args, &cli.dir),
        Verb::Diff(args) => compare::diff(args, &cli.dir, cli.color),
        Verb::Gate(args) => compare::gate(args, &cli.dir, cli.color),
        Verb::Machine(args) => machine::run(args, &cli.dir, cli.color),
        Verb::Ls(args) => ls::run(args, &cli.dir, cli.color),
        Verb::Top(args) => top::run(args, &cli.dir, cli.color),
        Verb::Monitor(args) => monitor::run(args, &cli.dir),
        Verb::Sql(_) => sql::run(),
        Verb::Export(args) => export::run(args, &cli.dir),
        Verb::Share(args) => share::run(args, &cli.dir),
        Verb::Pack(args) => pack::run(args, &cli.dir),
        Verb::Ship(args) => ship::run(args, &cli.dir),
        Verb::Push(args) => ship::push(args, &cli.dir),
        Verb::Import(args) => import::run(args, &cli.dir),
        Verb::Serve(args) => serve::run(args, store),
        Verb::Verify(args) => verify::run(args, &cli.dir, cli.color),
        Verb::Doctor(args) => doctor::run(args, &cli.dir, cli.color),
        Verb::Demo(args) => demonstrate::run(args, &cli.dir, cli.color),
        Verb::Completions(args) => completions(args.shell),
    }
}

fn completions(shell: clap_complete::Shell) -> Outcome {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "hodo", &mut text);
    std::io::Write::write_all(&mut std::io::stdout(), &text)?;
    Ok(0)
}
