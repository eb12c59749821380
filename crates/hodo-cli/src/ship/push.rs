//! `hodo push`: runs that have ended, or what an outage left of them.

use super::{ended, failure, server, words};
use crate::args::PushArgs;
use crate::output::{self, Failure, Outcome};
use crate::runs::Bar;
use hodo_ship::{Mode, Settings, Shipped, Status, Watch};
use hodo_trace::Run;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// Runs the verb.
pub fn run(args: &PushArgs, dir: &Path) -> Outcome {
    let server = server::server(&args.server)?;
    let give_up_after = server::time(&args.give_up_after, "--give-up-after 1min")?;
    let (mut documents, mut failed) = (Vec::new(), Vec::new());
    for run in folders(args, dir)? {
        let (server, others_ended) = (server.clone(), args.ended);
        let mode = Mode::Everything;
        let settings = Settings { run, server, mode, give_up_after, others_ended };
        match (send(&settings), args.json) {
            (Err(Failure::Failed(why)), _) => {
                failed.push(format!("{}: {why}", settings.run.display()));
            }
            (Err(other), _) => return Err(other),
            (Ok(shipped), true) => documents.push(document(&settings, &shipped)),
            (Ok(shipped), false) => output::note(&ended(&settings, &shipped)),
        }
    }
    if args.json {
        output::json(&json!({"schema": "hodo.push/1", "runs": documents}))?;
    }
    if failed.is_empty() { Ok(0) } else { Err(Failure::Failed(failed.join("\n"))) }
}

fn document(settings: &Settings, shipped: &Shipped) -> Value {
    json!({
        "folder": settings.run.display().to_string(), "server": settings.server.url,
        "sent_bytes": shipped.sent_bytes, "live": shipped.is_live,
        "may_run_on": shipped.may_run_on,
    })
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
    let watch = Watch { progress: &say, is_expecting: &|| false };
    let shipped = hodo_ship::ship(settings, &watch).map_err(failure)?;
    match shipped.by_another {
        None => Ok(shipped),
        Some(pid) => {
            let words = "already; it ends when all of it is there";
            Err(Failure::Failed(format!("it is being shipped by pid {pid} {words}")))
        }
    }
}
