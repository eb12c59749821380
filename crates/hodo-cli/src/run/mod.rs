//! `hodo run`: starts a program so that it is recorded, and ends as it does.

mod child;
mod environment;
pub mod library;
mod told;

use crate::args::RunArgs;
use crate::output::{self, Outcome};
use child::{Ended, Failed};
use environment::Launch;
use std::path::Path;
use std::process::Command;

/// What hodo itself returns when it cannot record; the codes next to it are the shell's.
const CANNOT_RECORD: u8 = 125;

/// Runs the verb.
pub fn run(args: &RunArgs, dir: &Path) -> Outcome {
    let library = match library::find() {
        Ok(library) => library,
        Err(why) => return Ok(fail(&why, CANNOT_RECORD)),
    };
    let launch = Launch::new(args, dir, &library);
    if !args.quiet {
        launch.notes.iter().for_each(|words| output::note(&format!("hodo: {words}")));
    }
    let [program, arguments @ ..] = args.command.as_slice() else { return Ok(CANNOT_RECORD) };
    let mut command = Command::new(program);
    command.args(arguments).envs(launch.variables.iter().map(|(name, value)| (name, value)));
    let ended = match child::run(&mut command) {
        Ok(ended) => ended,
        Err(Failed { why, code }) => {
            let program = program.to_string_lossy();
            return Ok(fail(&format!("cannot run `{program}`: {why}"), code));
        }
    };
    if !args.quiet && !launch.is_inner {
        output::note(&told::line(&launch.run));
    }
    Ok(match ended {
        Ended::Code(code) => code,
        Ended::Signal(signal) => child::die_by(signal),
    })
}

fn fail(why: &str, code: u8) -> u8 {
    output::exit_code(Err(output::Failure::Failed(why.to_owned())));
    code
}
