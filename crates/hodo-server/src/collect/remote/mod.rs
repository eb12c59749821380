//! Packed runs in a store elsewhere: `file://`, and where it is built in `s3://`, `gs://` and `http://`.
//!
//! A run there is its files under its id, and `complete.json`, which is written last: without it
//! there is no run. What is there need not be here: of a run that makes room, only what a list shows
//! stays, and the rest comes back when someone asks for it.

mod folder;
#[cfg(feature = "object-store")]
mod objects;
mod sync;
mod upload;
mod waits;
mod work;

pub use sync::{asked, download_if_away, free, know_all, remove};
pub use upload::{names, upload_next};
pub use waits::Waits;
pub use work::begin;

use folder::Folder;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// What makes a run in the store complete.
pub const COMPLETE: &str = "complete.json";

/// What [`COMPLETE`] says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Complete {
    /// Version of this file.
    pub format: u32,
    /// Id of the ingest token that began the run.
    pub owner: String,
    /// Seconds since 1970 when it was packed.
    pub packed_s: u64,
    /// The files it was shipped as.
    pub packed: Vec<super::note::PackedFile>,
    /// Its files.
    pub files: Vec<StoredFile>,
}

/// A file in the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredFile {
    /// Where it lies in the run's folder.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// Its CRC32C.
    pub crc32c: u32,
}

impl Complete {
    /// Whether all its files lie in the run's folder.
    pub fn stays_inside(&self) -> bool {
        self.files.iter().all(|file| {
            let is_step = |part| matches!(part, std::path::Component::Normal(_));
            !file.path.is_empty() && Path::new(&file.path).components().all(is_step)
        })
    }
}

/// A place for files, by keys with slashes in them.
pub trait Remote: Send + Sync {
    /// Stores a file; it is there whole when this returns.
    fn put(&self, key: &str, from: &Path) -> io::Result<()>;
    /// Fetches a file; none where there is none.
    fn get(&self, key: &str, to: &Path) -> io::Result<bool>;
    /// Removes a file; one that is not there is gone already.
    fn remove(&self, key: &str) -> io::Result<()>;
    /// The names under the top.
    fn names(&self) -> io::Result<Vec<String>>;
}

/// The store at an address.
pub fn open(url: &str) -> io::Result<Box<dyn Remote>> {
    if let Some(path) = url.strip_prefix("file://") {
        let path = PathBuf::from(path);
        if !path.is_absolute() {
            let words = format!("`{url}` has no whole path; write file:///srv/runs");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
        }
        return Ok(Box::new(Folder::open(&path)?));
    }
    objects_at(url)
}

#[cfg(feature = "object-store")]
fn objects_at(url: &str) -> io::Result<Box<dyn Remote>> {
    Ok(Box::new(objects::Objects::open(url)?))
}

#[cfg(not(feature = "object-store"))]
fn objects_at(url: &str) -> io::Result<Box<dyn Remote>> {
    let words = format!(
        "`{url}`: this hodo stores packed runs at file:// addresses alone; `make build` and `make \
         install` build one that knows s3://, gs:// and http(s)://"
    );
    Err(io::Error::new(io::ErrorKind::Unsupported, words))
}
