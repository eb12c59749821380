//! What the files of a run look like from outside.

use std::fs::DirEntry;
use std::path::{Path, PathBuf};

/// The sizes of a run's files: where they are the same nothing new has been written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Written(Vec<(PathBuf, u64)>);

impl Written {
    /// As they are now.
    pub(super) fn of(folder: &Path) -> Written {
        let mut files = Vec::new();
        for entry in inside(folder) {
            let path = entry.path();
            match path.is_dir() {
                true => files.extend(inside(&path).iter().filter_map(size)),
                false => files.extend(size(&entry)),
            }
        }
        files.sort();
        Written(files)
    }
}

fn inside(folder: &Path) -> Vec<DirEntry> {
    std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).collect()
}

fn size(entry: &DirEntry) -> Option<(PathBuf, u64)> {
    Some((entry.path(), entry.metadata().ok()?.len()))
}
