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
mod share;
mod sql;
mod state;
mod term;
mod top;
mod verify;
mod view;

use args::{Cli, Verb};
use clap::{CommandFactory, Parser};
use output::Outcome;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    ExitCode::from(output::exit_code(run(&cli)))
}

fn run(cli: &Cli) -> Outcome {
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
        Verb::Import(args) => import::run(args, &cli.dir),
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
