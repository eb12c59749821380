//! The tracks of a run and the names of what is on them.

use super::ask;
use super::extract::{Path, Query};
use crate::error::ApiError;
use crate::state::Shared;
use crate::store::Loaded;
use axum::extract::State;
use axum::response::Response;
use hodo_trace::GpuState;
use hodo_trace::timeline::{Track, TrackKind};
use serde::Deserialize;
use serde_json::{Value, json};

/// Which names are known already.
#[derive(Deserialize)]
pub struct Names {
    #[serde(default)]
    names_from: usize,
}

/// `GET /api/runs/{run}/tracks`.
pub async fn tracks(
    State(shared): State<Shared>,
    Path(run): Path<String>,
    Query(names): Query<Names>,
) -> Result<Response, ApiError> {
    let from = names.names_from;
    ask::document(&shared, run, format!("tracks {from}"), move |loaded| Ok(document(loaded, from)))
        .await
}

/// All tracks, and the names from `names_from` on.
pub fn document(loaded: &Loaded, names_from: usize) -> Value {
    let Loaded { run, timeline, names, .. } = loaded;
    let mut tracks: Vec<Value> =
        timeline.tracks.iter().map(|track| of_slices(loaded, track)).collect();
    tracks.extend(super::series::tracks(loaded));
    let untimed = run.uncalibrated().map(|process| process.info.pid).collect::<Vec<_>>();
    json!({
        "generation": loaded.generation,
        "live": loaded.is_live(),
        "end_ns": timeline.end_ns,
        "start_unix_ns": timeline.start_ns,
        "index_bytes": timeline.index_bytes(),
        "names_from": names_from,
        "names": names.get(names_from..).unwrap_or_default(),
        "tracks": tracks,
        "untimed_pids": untimed,
    })
}

fn of_slices(loaded: &Loaded, track: &Track) -> Value {
    let process = &loaded.run.processes[track.process];
    let (kind, device) = match track.kind {
        TrackKind::Thread(_) => ("thread", None),
        TrackKind::Stream { device, .. } => ("stream", Some(device)),
    };
    let devices = process.gpu.state.as_ref().map(GpuState::devices).unwrap_or_default();
    let gpu = devices.iter().find(|one| Some(one.device) == device).map(|one| one.name.as_str());
    json!({
        "id": track.number.to_string(), "kind": kind, "name": track.name,
        "process": program(&process.info.argv), "process_index": track.process, "pid": process.info.pid, "rank": process.info.rank,
        "host": process.info.host, "device": device, "gpu": gpu,
        "depths": track.depths(), "slices": track.slices,
        "start_ns": track.extent_ns.map(|extent| extent.0),
        "end_ns": track.extent_ns.map(|extent| extent.1),
    })
}

/// What people call a program: the script that an interpreter runs, else the file's name.
fn program(argv: &[String]) -> Option<String> {
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let first = name(argv.first()?);
    let script = argv.iter().skip(1).find(|word| !word.starts_with('-'));
    let is_interpreter =
        ["python", "bash", "sh", "node", "ruby"].iter().any(|i| first.starts_with(i));
    Some(script.filter(|_| is_interpreter).map_or(first, |script| name(script)))
}

#[cfg(test)]
mod tests {
    use super::program;

    #[test]
    fn a_script_is_called_by_its_name() {
        let called =
            |argv: &[&str]| program(&argv.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>());
        assert_eq!(
            called(&["/usr/bin/python3", "-u", "src/train.py", "--lr"]).as_deref(),
            Some("train.py")
        );
        assert_eq!(called(&["./build/train", "x"]).as_deref(), Some("train"));
        assert_eq!(called(&["python"]).as_deref(), Some("python"));
        assert_eq!(called(&[]), None);
    }
}
