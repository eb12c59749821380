//! `hodo run`: starts a program so that it is recorded, and ends as it does.

mod child;
mod environment;
pub mod hooks;
pub mod library;
mod told;

use crate::args::RunArgs;
use crate::monitor;
use crate::output::{self, Outcome};
use crate::ship::{self, beside::Beside};
use crate::view::page::Page;
pub use child::die_by;
use child::{Ended, Failed};
use environment::Launch;
use hodo_machine::gpu::Visible;
use hodo_machine::{Kind, Limits, Parts, Roots, Sampling, Settings};
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

/// What hodo itself returns when it cannot record; the codes next to it are the shell's.
const CANNOT_RECORD: u8 = 125;

/// Runs the verb.
pub fn run(args: &RunArgs, dir: &Path) -> Outcome {
    let library = match library::find() {
        Ok(library) => library,
        Err(why) => return Ok(fail(&why, CANNOT_RECORD)),
    };
    let hooks = match args.hooks.as_ref().map(|_| library::hooks(&library)).transpose() {
        Ok(hooks) => hooks,
        Err(why) => return Ok(fail(&why, CANNOT_RECORD)),
    };
    let launch = Launch::new(args, dir, &library, hooks.as_deref());
    if !args.quiet {
        launch.notes.iter().for_each(|words| output::note(&format!("hodo: {words}")));
    }
    let [program, arguments @ ..] = args.command.as_slice() else { return Ok(CANNOT_RECORD) };
    let interval = args.monitor.as_deref().map(monitor::interval).transpose()?;
    let mut command = Command::new(program);
    command.args(arguments).envs(launch.variables.iter().map(|(name, value)| (name, value)));
    let mut page = args.open.then(|| Page::new(&launch.run)).transpose()?;
    let began = SystemTime::now();
    let mut sampling = None;
    // Another `hodo run` around this one ships, too.
    let mut shipper = if launch.is_inner { None } else { Beside::start(&launch.run) };
    if let Some(Ok(shipper)) = &shipper {
        command.env("HODO_SHIPPER", hodo_ship::host());
        if !args.quiet {
            shipper.hindrance().iter().for_each(|why| output::note(&format!("hodo: {why}")));
        }
    }
    // The threads it starts block all signals, so those for the program still come to this one.
    let ended = child::run(&mut command, |pid| {
        sampling = interval.map(|interval| beside(&launch.run, interval, pid));
        page.iter_mut().for_each(Page::start);
    });
    if let Some(sampling) = &sampling {
        sampling.stop_within(monitor::END_WAITS);
        name(&launch.run, &args.command, began);
    }
    let (ended, blocked) = match ended {
        Ok(ended) => ended,
        Err(Failed { why, code }) => {
            let program = program.to_string_lossy();
            return Ok(fail(&format!("cannot run `{program}`: {why}"), code));
        }
    };
    if page.is_none() {
        // With a page they wait for it: a Ctrl-C from here on is what ends it.
        blocked.lift();
    }
    if !args.quiet && !launch.is_inner {
        output::note(&told::line(&launch.run, hooks.is_some()));
        sampling.iter().filter_map(|s| told::trouble(&s.status())).for_each(|w| output::note(&w));
    }
    if let Some(shipper) = shipper.take() {
        let words = shipper.map_or_else(Some, |shipper| shipper.finish(ship::beside::WAIT));
        if !args.quiet {
            words.iter().for_each(|words| output::note(&format!("hodo: {words}")));
        }
    }
    if let Some(page) = page {
        page.finish(matches!(ended, Ended::Code(_)));
    }
    Ok(match ended {
        Ended::Code(code) => code,
        Ended::Signal(signal) => die_by(signal),
    })
}

/// Says what a run is that has readings and that the program itself has not joined.
fn name(run: &Path, command: &[OsString], began: SystemTime) {
    if run.is_dir() && !run.join("run.json").exists() {
        let words: Vec<String> = command.iter().map(|w| w.to_string_lossy().into_owned()).collect();
        let app = Path::new(&command[0]).file_name().unwrap_or_default().to_string_lossy();
        // Without it the run has no name, and its readings all the same.
        let _ = monitor::describe(run, &app, &words, began);
    }
}

/// Reads the machine into the run while the program `pid` runs.
fn beside(run: &Path, interval: Duration, pid: u32) -> Sampling {
    Sampling::start(Settings {
        run: run.to_owned(),
        interval,
        kind: Kind::Monitor,
        scopes: None,
        reads_while_linked: false,
        keeps_newest: false,
        // A program that records nothing is none of the run's, and works all the same.
        parts: Parts { processes: Roots::of_run(run).and_pid(pid), gpus: Some(Visible::All) },
        limits: Limits::default(),
    })
}

fn fail(why: &str, code: u8) -> u8 {
    output::exit_code(Err(output::Failure::Failed(why.to_owned())));
    code
}
