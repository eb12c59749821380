//! `hodo run`: starts a program so that it is recorded, and ends as it does.

mod child;
mod environment;
pub mod library;
mod told;

use crate::args::RunArgs;
use crate::monitor;
use crate::output::{self, Outcome};
pub use child::die_by;
use child::{Ended, Failed};
use environment::Launch;
use hodo_machine::gpu::Visible;
use hodo_machine::{Kind, Limits, Parts, Roots, Sampling, Settings};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

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
    let interval = args.monitor.as_deref().map(monitor::interval).transpose()?;
    let mut command = Command::new(program);
    command.args(arguments).envs(launch.variables.iter().map(|(name, value)| (name, value)));
    // The thread it starts blocks all signals, so those for the program still come to this one.
    let sampling = interval.map(|interval| beside(&launch.run, interval));
    let ended = child::run(&mut command);
    if let Some(sampling) = &sampling {
        sampling.stop();
    }
    let ended = match ended {
        Ok(ended) => ended,
        Err(Failed { why, code }) => {
            let program = program.to_string_lossy();
            return Ok(fail(&format!("cannot run `{program}`: {why}"), code));
        }
    };
    if !args.quiet && !launch.is_inner {
        output::note(&told::line(&launch.run));
        sampling.iter().filter_map(|s| told::trouble(&s.status())).for_each(|w| output::note(&w));
    }
    Ok(match ended {
        Ended::Code(code) => code,
        Ended::Signal(signal) => die_by(signal),
    })
}

/// Reads the machine into the run while the program runs.
fn beside(run: &Path, interval: Duration) -> Sampling {
    Sampling::start(Settings {
        run: run.to_owned(),
        interval,
        kind: Kind::Monitor,
        scopes: None,
        reads_while_linked: false,
        keeps_newest: false,
        parts: Parts { processes: Roots::of_run(run), gpus: Some(Visible::All) },
        limits: Limits::default(),
    })
}

fn fail(why: &str, code: u8) -> u8 {
    output::exit_code(Err(output::Failure::Failed(why.to_owned())));
    code
}
