//! The runs of the folder.

use super::ask;
use crate::error::ApiError;
use crate::state::Shared;
use crate::store::Store;
use axum::Json;
use axum::extract::{Query, State};
use hodo_trace::{GpuState, Run, RunSummary};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Which runs.
#[derive(Deserialize)]
pub struct Wanted {
    #[serde(default)]
    q: String,
}

/// `GET /api/about`.
pub async fn about(State(shared): State<Shared>) -> Json<Value> {
    Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "dir": shared.store.dir().display().to_string(),
    }))
}

/// `GET /api/runs`.
pub async fn list(
    State(shared): State<Shared>,
    Query(wanted): Query<Wanted>,
) -> Result<Json<Value>, ApiError> {
    let store = shared.store.clone();
    ask::apart(move || Ok(Json(document(&store, &wanted.q)))).await
}

fn document(store: &Store, words: &str) -> Value {
    let rows = Run::list(store.dir()).iter().map(|run| row(store, run)).collect::<Vec<_>>();
    let fits = |row: &Value| {
        let text = row.to_string().to_lowercase();
        words.to_lowercase().split_whitespace().all(|word| text.contains(word))
    };
    let rows: Vec<Value> = rows.into_iter().filter(fits).collect();
    json!({"dir": store.dir().display().to_string(), "runs": rows})
}

fn row(store: &Store, run: &RunSummary) -> Value {
    let id = run.folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let loaded = store.peek(&id);
    let gpus = loaded.as_ref().map(|loaded| gpus(&loaded.run));
    json!({
        "id": id, "app": run.info.app, "path": run.folder.display().to_string(),
        "state": run.state, "start_unix_ns": run.start_ns, "duration_ns": run.wall_ns,
        "processes": run.processes, "scopes": run.spans, "kernels": run.gpu_work,
        "gpu": gpus, "rank": run.info.rank, "world_size": run.info.world_size,
        "attributes": {
            "host": run.info.host, "command": run.info.argv.join(" "), "cwd": run.info.cwd,
            "git_revision": run.info.git_revision, "imported": run.info.imported,
        },
        "lost": run.lost, "open": run.open, "bytes": run.bytes,
        "untimed_processes": run.uncalibrated, "main_mark": null,
    })
}

fn gpus(run: &Run) -> BTreeSet<String> {
    let states = run.processes.iter().filter_map(|process| process.gpu.state.as_ref());
    states.flat_map(GpuState::devices).map(|device| device.name).collect()
}
