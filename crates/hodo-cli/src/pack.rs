//! `hodo pack`: a run as a compact folder of Parquet tables.

use crate::args::PackArgs;
use crate::export::written_words;
use crate::output::{self, Failure, Outcome};
use crate::runs::{self, Bar};
use crate::state;
use crate::term::number;
use hodo_convert::parquet::{self, Written};
use hodo_trace::packed::{self, Fingerprint};
use hodo_trace::{ProcessState, Run};
use serde_json::json;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Runs the verb: the folder's path on standard output, what it holds beside it.
pub fn run(args: &PackArgs, dir: &Path) -> Outcome {
    let run = runs::open(dir, args.run.run.as_deref())?;
    refuse_live(&run)?;
    let damage = state::damaged(&run);
    if let Some(words) = damage.as_ref().filter(|_| args.remove_originals) {
        return Err(Failure::Failed(format!(
            "{words}: the originals are the evidence and stay; leave out --remove-originals to \
             pack what can be read"
        )));
    }
    if args.remove_originals && args.out.is_none() && packed::is_packed(&run.folder) {
        return remove_packed(run, args.json);
    }
    if let Some(words) = damage {
        output::note(&format!("{words}: the tables lack it"));
    }
    let before = Run::summary(&run.folder).bytes;
    let (id, folder) = (run.info.id.clone(), run.folder.clone());
    let originals = originals(&run);
    let made_of = args.remove_originals.then(|| Fingerprint::of(&run));
    let (to, written) = write(&run, args.out.as_deref())?;
    drop(run);
    if let Some(made_of) = made_of {
        verify(&to, &made_of)?;
        remove(&originals)?;
    }
    let removed = args.remove_originals;
    if args.json {
        output::json(&json!({
            "schema": "hodo.pack/1", "id": id, "folder": to.display().to_string(),
            "files": written.files, "bytes": written.bytes, "bytes_before": before,
            "removed_originals": removed,
        }))?;
        return Ok(0);
    }
    writeln!(io::stdout(), "{}", to.display())?;
    output::note(&told(&written, before, removed, to == folder));
    Ok(0)
}

/// Removes what was recorded of a run that was packed in place before.
fn remove_packed(run: Run, json: bool) -> Outcome {
    let damage = packed::check(&run.folder);
    if let Some(place) = damage.places.first() {
        return Err(Failure::Failed(format!(
            "{} {}: what was packed is damaged, the originals were kept",
            place.file.display(),
            place.why
        )));
    }
    let before = Run::summary(&run.folder).bytes;
    let originals = originals(&run);
    if !originals.iter().any(|folder| folder.exists()) {
        return Err(Failure::Failed(format!(
            "{} is packed already, and nothing else is there",
            run.folder.display()
        )));
    }
    remove(&originals)?;
    let bytes = Run::summary(&run.folder).bytes;
    if json {
        output::json(&json!({
            "schema": "hodo.pack/1", "id": run.info.id, "folder": run.folder.display().to_string(),
            "files": null, "bytes": bytes, "bytes_before": before, "removed_originals": true,
        }))?;
        return Ok(0);
    }
    writeln!(io::stdout(), "{}", run.folder.display())?;
    output::note(
        "it was packed already; its files match their checksums, the originals were removed",
    );
    Ok(0)
}

fn told(written: &Written, before: u64, removed: bool, in_place: bool) -> String {
    let made = format!("{}; {} before", written_words(written), number::bytes(before));
    match (removed, in_place) {
        (true, _) => {
            format!("{made}; read back and found the same, then the originals were removed")
        }
        (false, true) => {
            format!("{made}; what was recorded is still there, --remove-originals removes it")
        }
        (false, false) => made,
    }
}

/// What is still being written cannot be packed.
fn refuse_live(run: &Run) -> Result<(), Failure> {
    let live = run.processes.iter().find(|process| process.state == ProcessState::Live);
    let who = match (live, run.machines.iter().find(|m| m.live && m.linked.is_none())) {
        (Some(process), _) => format!("pid {} is recording it", process.info.pid),
        (None, Some(machine)) => format!("{} is being sampled into it", machine.host()),
        (None, None) => return Ok(()),
    };
    Err(Failure::Failed(format!(
        "{} is live: {who}; pack it when that has ended, or `hodo export --to parquet` what there \
         is now",
        run.info.id
    )))
}

fn write(run: &Run, out: Option<&Path>) -> Result<(PathBuf, Written), Failure> {
    let bar = Bar::new("packing");
    let progress = |done, of| bar.at(done, of);
    let written = match out {
        Some(to) => parquet::write(run, to, &progress).map(|written| (to.to_owned(), written)),
        None => {
            parquet::write_in_place(run, &progress).map(|written| (run.folder.clone(), written))
        }
    };
    written.map_err(|error| Failure::Failed(error.to_string()))
}

/// The folders that the packed run replaces. An arena that lies elsewhere is left alone: a file
/// that a run merely names is not ours to remove.
fn originals(run: &Run) -> Vec<PathBuf> {
    let machines = run.machines.iter().filter(|machine| machine.linked.is_none());
    let machines = machines.map(|machine| machine.folder.clone());
    run.processes.iter().map(|process| process.folder.clone()).chain(machines).collect()
}

fn verify(packed: &Path, made_of: &Fingerprint) -> Result<(), Failure> {
    let again = runs::read(packed)?;
    match made_of.difference(&Fingerprint::of(&again)) {
        None => Ok(()),
        Some(what) => Err(Failure::Failed(format!(
            "{} does not read back as it was written: {what} differs; the originals were kept",
            packed.display()
        ))),
    }
}

fn remove(originals: &[PathBuf]) -> Result<(), Failure> {
    for folder in originals.iter().filter(|folder| folder.exists()) {
        std::fs::remove_dir_all(folder)
            .map_err(|error| output::file_error("remove", folder, &error))?;
    }
    Ok(())
}
