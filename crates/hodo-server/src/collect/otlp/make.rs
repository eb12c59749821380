//! Makes the runs that are shown of the logs.

use super::log::{Requests, path};
use super::{LOGS, PREFIX, folder, is_id, lock, measure};
use crate::collect::Inside;
use crate::collect::durable;
use crate::collect::janitor::tell;
use hodo_convert::import::{OtlpRun, otlp_run};
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Weak;
use std::time::{Duration, Instant};

/// Between two rounds.
const PAUSE: Duration = Duration::from_millis(500);
/// A run is not made again sooner than so many times what it took.
const PATIENCE: u32 = 4;

/// How many bytes of a log its run shows at the least, in the log's folder.
const MADE: &str = "made";

/// Works until the collector is gone.
pub fn work(inside: &Weak<Inside>) {
    let mut next: HashMap<String, Instant> = HashMap::new();
    if let Some(inside) = inside.upgrade()
        && let Err(error) = find_unmade(&inside)
    {
        tell(&format!("cannot look for spans that were sent: {error}"));
    }
    loop {
        std::thread::sleep(PAUSE);
        let Some(inside) = inside.upgrade() else { return };
        let waiting = lock(&inside.logs.dirty).clone();
        next.retain(|run, _| waiting.contains_key(run));
        for (run, app) in waiting {
            if next.get(&run).is_some_and(|at| *at > Instant::now()) {
                continue;
            }
            // What comes while it is made makes it wait again.
            lock(&inside.logs.dirty).remove(&run);
            let began = Instant::now();
            if let Err(error) = make(&inside, &run, &app) {
                tell(&format!("{run} cannot be shown: {error}"));
            }
            next.insert(run, Instant::now() + began.elapsed() * PATIENCE);
        }
    }
}

/// Runs whose log has more than is shown, as a kill may leave them.
fn find_unmade(inside: &Inside) -> io::Result<()> {
    let Ok(logs) = std::fs::read_dir(inside.depot.dir().join(LOGS)) else { return Ok(()) };
    for log in logs {
        let run = log?.file_name().to_string_lossy().into_owned();
        measure(inside, &run);
        let log = folder(inside, &run);
        let made = std::fs::read_to_string(log.join(MADE)).ok();
        let is_made = made.is_some_and(|made| made.parse().ok() == length(&log));
        if is_id(&run) && !(is_made && inside.depot.folder(&run).exists()) {
            let app = run.strip_prefix(PREFIX).unwrap_or(&run).rsplitn(3, '-').nth(2);
            lock(&inside.logs.dirty).insert(run.clone(), app.unwrap_or(&run).to_owned());
        }
    }
    Ok(())
}

fn make(inside: &Inside, run: &str, app: &str) -> Result<(), String> {
    let words = |error: io::Error| error.to_string();
    let (log, new) = (folder(inside, run), inside.depot.packing(run));
    let shown = length(&log).unwrap_or(0);
    let _ = std::fs::remove_dir_all(&new);
    std::fs::create_dir(&new).map_err(words)?;
    otlp_run(|| Requests::open(&log), &new, &OtlpRun { id: run, app })
        .map_err(|error| error.to_string())?;
    inside.depot.put_made(run).map_err(words)?;
    durable::replace(&log.join(MADE), shown.to_string().as_bytes()).map_err(words)?;
    measure(inside, run);
    Ok(())
}

/// The bytes of a log; none where there is none.
fn length(log: &Path) -> Option<u64> {
    path(log).metadata().ok().map(|file| file.len())
}
