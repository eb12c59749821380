//! `hodo ship` and `hodo push`: runs to a collector, while they grow and after.

pub mod beside;
mod detached;
mod push;
mod server;
pub mod words;

use crate::args::{Cli, ShipArgs, Verb};
use crate::output::{self, Failure, Outcome, file_error};
use crate::term::number;
use clap::Parser;
use detached::Log;
use hodo_ship::{Mode, Settings, ShipError, Shipped, Status, Watch};
use hodo_trace::Run;
pub use push::run as push;
use std::cell::RefCell;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Runs `hodo ship`.
pub fn run(args: &ShipArgs, dir: &Path) -> Outcome {
    if args.detached {
        return in_background(args);
    }
    hodo_ship::step_back();
    let settings = settings(args, Run::find_with_sidecars(dir, args.run.as_deref())?)?;
    let told = RefCell::new(words::Told::default());
    let say = |status: &Status| {
        told.borrow_mut().news(status).iter().for_each(|words| output::note(words));
    };
    let watch = Watch { progress: &say, is_expecting: &|| false };
    let shipped = hodo_ship::ship(&settings, &watch).map_err(failure)?;
    if !args.quiet {
        output::note(&ended(&settings, &shipped));
    }
    Ok(0)
}

/// The shipper that a recorded program or a launcher started: nobody looks on but its log.
fn in_background(args: &ShipArgs) -> Outcome {
    let open = args.while_open.then(detached::Open::of_standard_input);
    let is_expecting = || open.as_ref().is_some_and(detached::Open::is_open);
    detached::leave();
    hodo_ship::step_back();
    let folder = PathBuf::from(args.run.clone().unwrap_or_default());
    if !detached::wait_for(&folder, &is_expecting) {
        return Ok(0);
    }
    let log = Log::open(&folder);
    let told = RefCell::new(words::Told::default());
    let say = |status: &Status| {
        told.borrow_mut().news(status).iter().for_each(|words| log.say(words));
    };
    let watch = Watch { progress: &say, is_expecting: &is_expecting };
    let shipped = settings(args, folder.clone()).and_then(|settings| {
        let shipped = hodo_ship::ship(&settings, &watch).map_err(failure)?;
        Ok(ended(&settings, &shipped))
    });
    match shipped {
        Ok(words) => log.say(&words),
        Err(Failure::Failed(why) | Failure::Usage(why)) => {
            hodo_ship::refuse(&folder, args.server.to.as_deref().unwrap_or_default(), &why);
            log.say(&hodo_ship::shown(&why));
            return Ok(1);
        }
        Err(other) => return Err(other),
    }
    Ok(0)
}

/// Why the shipper that a launcher starts for `run` cannot begin, as far as can be told before; none when it can.
pub fn hindrance(run: &Path) -> Option<String> {
    let words = [OsStr::new("hodo"), "ship".as_ref(), "--detached".as_ref(), run.as_os_str()];
    let args = match Cli::try_parse_from(words) {
        Ok(Cli { verb: Verb::Ship(args), .. }) => args,
        Ok(_) => return None,
        Err(error) => return Some(first_line(&error)),
    };
    let checked = settings(&args, run.to_owned())
        .and_then(|settings| hodo_ship::check(&settings.server, run).map_err(failure));
    match checked {
        Err(Failure::Failed(why) | Failure::Usage(why)) => Some(hodo_ship::shown(&why)),
        _ => None,
    }
}

/// Tells in a run's folder that its shipper could not read its command line or a variable, if it is one that
/// a program started: nobody sees what it prints.
pub fn tell_unread(error: &clap::Error) {
    let words: Vec<_> = std::env::args_os().collect();
    let is_detached = words.iter().any(|word| word == "--detached");
    let folder = words.last().filter(|_| is_detached && words.get(1).is_some_and(|w| w == "ship"));
    if let Some(folder) = folder {
        let server = std::env::var("HODO_SERVER").unwrap_or_default();
        hodo_ship::refuse(Path::new(folder), &server, &first_line(error));
    }
}

fn first_line(error: &clap::Error) -> String {
    let said = error.to_string();
    said.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

fn settings(args: &ShipArgs, run: PathBuf) -> Result<Settings, Failure> {
    let mode = if args.once { Mode::Once } else { Mode::Follow };
    let give_up_after = server::time(&args.give_up_after, "--give-up-after 24h")?;
    let server = server::server(&args.server)?;
    Ok(Settings { run, server, mode, give_up_after, others_ended: false })
}

fn failure(error: ShipError) -> Failure {
    match error {
        ShipError::Address(_) | ShipError::Secret | ShipError::Token | ShipError::NoToken => {
            Failure::Usage(error.to_string())
        }
        ShipError::TokenFile { path, error } => file_error("read", &path, &error),
        other => Failure::Failed(other.to_string()),
    }
}

/// How it went, in a line.
fn ended(settings: &Settings, shipped: &Shipped) -> String {
    let (run, url) = (settings.run.display(), &settings.server.url);
    let sent = number::bytes(shipped.sent_bytes);
    let removed = match shipped.removed_bytes {
        0 => String::new(),
        bytes => format!("; {} were removed at the size cap before", number::bytes(bytes)),
    };
    if let Some(host) = &shipped.may_run_on {
        return format!(
            "{run}: {sent} sent to {url}; it may still run on {host}: `hodo push --ended` if you know \
             that it does not{removed}"
        );
    }
    match (shipped.by_another, shipped.is_live) {
        (Some(pid), _) => format!("{run} is being shipped by pid {pid} already"),
        (None, true) => format!("{run}: {sent} sent to {url}; it is still being recorded{removed}"),
        (None, false) => format!("{run}: {sent} sent, all of it is at {url}{removed}"),
    }
}
