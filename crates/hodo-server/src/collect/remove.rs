//! Removing runs: by hand, by age, and to make room.

use super::ingest::{apart, check_run};
use super::refusal::Refusal;
use super::{Collecting, Inside};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use hodo_trace::{ProcessState, Run, Shipped};
use serde_json::{Value, json};
use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// `DELETE /api/runs/{run}`.
pub async fn remove(
    State(collecting): State<Collecting>,
    Path(run): Path<String>,
) -> Result<Json<Value>, Refusal> {
    if !super::otlp::is_id(&run) {
        check_run(&run)?;
    }
    apart(move || {
        let folder = collecting.depot.folder(&run);
        if !Run::is_at(&folder) {
            let words = format!("no run with the id `{run}`; /api/runs lists them");
            return Err(Refusal::new(StatusCode::NOT_FOUND, words));
        }
        match remove_run(&collecting, &run)? {
            Some(bytes) => Ok(Json(json!({"removed_bytes": bytes}))),
            None => {
                let words = format!("{run} is live; it can be removed when it has ended");
                Err(Refusal::new(StatusCode::CONFLICT, words))
            }
        }
    })
    .await
}

/// Removes a run and returns what it took; none of one that is live, which stays.
pub fn remove_run(inside: &Inside, run: &str) -> io::Result<Option<u64>> {
    let depot = &inside.depot;
    let entry = depot.entry(run)?;
    let _alone = entry.alone();
    let folder = depot.folder(run);
    if is_live(&folder) {
        return Ok(None);
    }
    let bytes = depot.usage.of(run);
    let is_stored = entry.note().is_some_and(|note| note.is_stored);
    // Out of the runs at once, then gone: what a kill leaves is no run.
    depot.clear_aside(run)?;
    let aside = depot.aside(run);
    match std::fs::rename(&folder, &aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    if super::otlp::is_id(run) {
        super::otlp::remove(inside, run)?;
    }
    if let Some(remote) = inside.remote.as_ref().filter(|_| is_stored) {
        super::remote::remove(&**remote, run, depot.dir())?;
    }
    depot.forget(&entry)?;
    depot.clear_aside(run)?;
    inside.counters.removed.fetch_add(1, Ordering::Relaxed);
    inside.counters.removed_bytes.fetch_add(bytes, Ordering::Relaxed);
    Ok(Some(bytes))
}

/// Whether a process of the run is running, as far as is known.
pub fn is_live(folder: &std::path::Path) -> bool {
    match Shipped::read(folder) {
        Some(shipped) => shipped.is_live(),
        None => Run::summary(folder).state == Some(ProcessState::Live),
    }
}

/// How long runs are kept.
#[derive(Clone, Copy, Debug, Default)]
pub struct Keep {
    /// So long after they were heard of last.
    pub age: Option<Duration>,
    /// How long a run is silent before it counts as ended.
    pub quiet_after: Duration,
}

/// Removes runs that are too old, and then the oldest until `more` bytes fit; tells which.
pub fn make_room(inside: &Inside, keep: Keep, more: u64) -> io::Result<Vec<String>> {
    let mut ended = ended_runs(inside, keep.quiet_after)?;
    ended.sort();
    let mut told = Vec::new();
    for (heard, run) in ended {
        let age = now().saturating_sub(heard);
        let is_old = keep.age.is_some_and(|most| age > most);
        let surplus = inside.depot.usage.surplus(more);
        if !is_old && surplus == 0 {
            continue;
        }
        if !is_old && inside.remote.is_some() {
            let bytes = super::remote::free(inside, &run)?;
            if bytes > 0 {
                told.push(format!("{run} ({bytes} bytes) is in the store alone now"));
            }
            continue;
        }
        if let Some(bytes) = remove_run(inside, &run)? {
            let why = if is_old { "it is older than --keep says" } else { "to make room" };
            told.push(format!("removed {run} ({bytes} bytes), {why}"));
        }
    }
    Ok(told)
}

/// Runs that have ended: when each was heard of last, and its id.
fn ended_runs(inside: &Inside, quiet_after: Duration) -> io::Result<Vec<(Duration, String)>> {
    let mut ended = Vec::new();
    for folder in inside.shared.store.folders() {
        let Some(run) = folder.file_name().and_then(|name| name.to_str()) else { continue };
        let heard = heard(&folder);
        let has_ended = Shipped::read(&folder).is_some_and(|shipped| shipped.is_done())
            || now().saturating_sub(heard).min(inside.began.elapsed()) > quiet_after;
        if has_ended && !is_live(&folder) {
            ended.push((heard, run.to_owned()));
        }
    }
    Ok(ended)
}

/// Time since 1970 when a run was heard of last.
pub fn heard(folder: &std::path::Path) -> Duration {
    let written = || {
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let times = files.filter_map(|file| file.metadata().ok()?.modified().ok());
        times.max().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default()
    };
    let told = Shipped::read(folder).map(|shipped| Duration::from_nanos(shipped.heard_ns()));
    told.unwrap_or_else(written)
}

/// Time since 1970.
pub fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
