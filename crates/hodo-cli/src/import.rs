//! `hodo import`: a run made of what another tool recorded.

use crate::args::ImportArgs;
use crate::output::{self, Failure, Outcome, file_error};
use crate::runs::Bar;
use crate::term::text;
use hodo_convert::import::{self, ImportError, Imported, Options, Source};
use serde_json::json;
use std::io::Write;
use std::path::Path;

/// Runs the verb: the run's id on standard output, what it holds and lacks beside it.
pub fn run(args: &ImportArgs, dir: &Path) -> Outcome {
    let bar = Bar::new("importing");
    let options = Options { app: args.app.clone() };
    let imported = import::import(&args.files, dir, &options, &|done, of| bar.at(done, of))
        .map_err(|error| match error {
            ImportError::Write(error) => file_error("write a run into", dir, &error),
            other => Failure::Failed(other.to_string()),
        })?;
    drop(bar);
    if args.json {
        output::json(&document(&imported))?;
        return Ok(0);
    }
    writeln!(std::io::stdout(), "{}", imported.id)?;
    output::note(&format!("{}: {}", imported.folder.display(), contents(&imported)));
    imported.notes.iter().for_each(|note| output::note(&format!("  {note}")));
    output::note(&format!("hodo report {} shows where its time went", imported.id));
    Ok(0)
}

fn contents(imported: &Imported) -> String {
    let totals = &imported.totals;
    let mut parts: Vec<String> = [
        (totals.processes, "process"),
        (totals.records.spans, "scope"),
        (totals.records.marks, "mark"),
        (totals.kernels, "kernel"),
        (totals.copies, "copy"),
        (totals.sets, "set"),
        (totals.waits, "wait"),
    ]
    .into_iter()
    .filter(|(n, _)| *n > 0)
    .map(|(n, what)| text::plural(n, what))
    .collect();
    if totals.without_launch > 0 {
        parts.push(format!("{} of unknown launch", totals.without_launch));
    }
    parts.join(", ")
}

fn document(imported: &Imported) -> serde_json::Value {
    let totals = &imported.totals;
    let kinds = |kinds: &[Source]| kinds.iter().map(|k| k.text()).collect::<Vec<_>>();
    let sources = imported.sources.iter();
    let sources: Vec<_> = sources
        .map(|(path, k)| json!({"file": path.display().to_string(), "formats": kinds(k)}))
        .collect();
    json!({
        "schema": "hodo.import/1",
        "id": imported.id,
        "folder": imported.folder.display().to_string(),
        "sources": sources,
        "processes": totals.processes,
        "scopes": totals.records.spans,
        "marks": totals.records.marks,
        "kernels": totals.kernels,
        "copies": totals.copies,
        "sets": totals.sets,
        "waits": totals.waits,
        "without_launch": totals.without_launch,
        "notes": imported.notes,
    })
}
