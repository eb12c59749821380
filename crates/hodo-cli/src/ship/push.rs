//! `hodo push`: runs that have ended, or what an outage left of them.

use super::args::PushArgs;
use super::{ended, failure, server, words};
use crate::output::{self, Failure, Outcome};
use crate::runs::Bar;
use hodo_ship::{Mode, Settings, Shipped, Status, Watch};
use hodo_trace::Run;
use serde_json::json;
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// Runs the verb.
pub fn run(args: &PushArgs, dir: &Path) -> Outcome {
    let server = server::server(&args.server)?;
    let give_up_after = server::time(&args.give_up_after, "--give-up-after 1min")?;
    let mut documents = Vec::new();
    for run in folders(args, dir)? {
        let server = server.clone();
        let settings = Settings { run, server, mode: Mode::Everything, give_up_after };
        let shipped = send(&settings)?;
        if let Some(pid) = shipped.by_another {
            return Err(Failure::Failed(format!(
                "{} is being shipped by pid {pid} already; it ends when all of it is there",
                settings.run.display()
            )));
        }
        match args.json {
            true => documents.push(json!({
                "folder": settings.run.display().to_string(), "server": settings.server.url,
                "sent_bytes": shipped.sent_bytes, "live": shipped.is_live,
            })),
            false => output::note(&ended(&settings, &shipped)),
        }
    }
    if args.json {
        output::json(&json!({"schema": "hodo.push/1", "runs": documents}))?;
    }
    Ok(0)
}

fn folders(args: &PushArgs, dir: &Path) -> Result<Vec<PathBuf>, Failure> {
    if args.runs.is_empty() {
        return Ok(vec![Run::find_with_sidecars(dir, None)?]);
    }
    let find = |name: &String| Ok(Run::find_with_sidecars(dir, Some(name))?);
    args.runs.iter().map(find).collect()
}

fn send(settings: &Settings) -> Result<Shipped, Failure> {
    let bar = Bar::new("sending");
    let told = RefCell::new(words::Told::default());
    let say = |status: &Status| {
        let done = status.acknowledged_bytes;
        bar.at(done, done + status.backlog_bytes);
        if let Some(words) = told.borrow_mut().news(status) {
            output::note(&words);
        }
    };
    hodo_ship::ship(settings, &Watch { progress: &say, is_expecting: &|| false }).map_err(failure)
}
