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
    // The last is the verb's own failure, those before are said beside it.
    let Some(last) = failed.pop() else { return Ok(0) };
    failed.iter().for_each(|why| output::error(why));
    Err(Failure::Failed(last))
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
        Some(pid) => Err(Failure::Failed(busy(pid, hodo_ship::status_of(&settings.run)))),
    }
}

/// What the shipper that is at work on the run does, and how to end it.
fn busy(pid: u32, status: Option<Status>) -> String {
    let Some(status) = status.filter(|status| status.pid == pid) else {
        return format!(
            "it is being shipped by pid {pid} already; it ends when all of it is there"
        );
    };
    let why = status.error.map_or(String::new(), |why| format!(", which waits: {why}"));
    // A number means another process elsewhere: it is said only where it is known to be the shipper's.
    let ends = match status.pid_space == hodo_trace::pid_space() {
        true => format!("`kill {pid}` ends it before"),
        false => "end it in the container that it runs in".to_owned(),
    };
    format!(
        "it is being shipped to {} by pid {pid} already{why}; it ends when all of it is there, or {ends}: \
         then push again",
        status.server
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shipper_at_work_is_told_of_with_its_collector_and_how_to_end_it() {
        let error = Some("cannot reach http://wrong:1".to_owned());
        let server = "http://wrong:1".to_owned();
        let here = hodo_trace::pid_space();
        let status = |pid_space: &str| Status {
            pid: 7,
            pid_space: pid_space.to_owned(),
            server: server.clone(),
            error: error.clone(),
            ..Status::default()
        };
        let words = busy(7, Some(status(&here)));
        assert!(words.contains("to http://wrong:1 by pid 7 already, which waits: cannot reach"));
        assert!(words.contains("`kill 7` ends it"), "{words}");
        let words = busy(7, Some(status("pid:[1]")));
        assert!(!words.contains("kill") && words.contains("container"), "{words}");
        for unknown in [None, Some(Status { pid: 8, ..status(&here) })] {
            let words = busy(7, unknown);
            assert!(!words.contains("kill") && words.contains("pid 7"), "{words}");
        }
    }
}
