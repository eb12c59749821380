//! The runs that a side of a comparison is made of.

use crate::output::Failure;
use crate::runs;
use crate::term::text;
use hodo_trace::{Run, RunProfile};
use std::path::{Path, PathBuf};

/// The profiles of the runs that `text` means: names with commas between, or a folder of runs. Runs
/// are read one after another, so that only one is in memory.
pub fn profiles(dir: &Path, text: &str) -> Result<Vec<RunProfile>, Failure> {
    let mut folders = Vec::new();
    for name in names(text) {
        folders.extend(found(dir, name)?);
    }
    if folders.is_empty() {
        return Err(Failure::Usage(format!("`{text}` names no run")));
    }
    folders.iter().map(|folder| runs::read(folder).map(|run| RunProfile::of(&run))).collect()
}

/// Runs that both sides have.
pub fn both(base: &[RunProfile], head: &[RunProfile]) -> Vec<String> {
    let ids = base.iter().map(|run| run.id.as_str());
    let twice = ids.filter(|id| head.iter().any(|run| run.id == *id));
    twice.map(text::safe).collect()
}

/// A comma may be part of a folder's name.
fn names(text: &str) -> Vec<&str> {
    if Path::new(text).exists() {
        return vec![text];
    }
    text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect()
}

fn found(dir: &Path, name: &str) -> Result<Vec<PathBuf>, Failure> {
    match Run::find(dir, Some(name)) {
        Ok(folder) => Ok(vec![folder]),
        Err(error) => {
            let inside = Run::list(Path::new(name));
            if inside.is_empty() {
                return Err(error.into());
            }
            Ok(inside.into_iter().map(|run| run.folder).collect())
        }
    }
}
