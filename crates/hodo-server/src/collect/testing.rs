//! What tests of the collector share.

use super::depot::{Sender, Target};
use super::note::Note;
use super::remote::Remote;
use super::{Collecting, Collector, CollectorOptions, Inside};
use hodo_format::ship::Part;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Who sends in tests.
pub const SENDER: Sender<'static> = Sender { owner: Some("owner"), most_bytes: None };

/// A collector in `dir` that does nothing by itself, with that store.
pub fn inside(dir: &Path, remote: Option<Box<dyn Remote>>) -> Arc<Inside> {
    inside_with(&CollectorOptions::local(dir), remote)
}

/// The same with other options.
pub fn inside_with(options: &CollectorOptions, remote: Option<Box<dyn Remote>>) -> Arc<Inside> {
    let collector = Collector::bind(options).unwrap_or_else(|error| panic!("{error}"));
    let Collecting(mut inside) = collector.collecting;
    if let Some(inside) = Arc::get_mut(&mut inside) {
        inside.remote = remote;
    }
    inside
}

/// Sends the beginning of a file of a run.
pub fn send(inside: &Inside, run: &str, part: &str, bytes: &[u8]) -> Option<u64> {
    let part = Part::parse(part)?;
    let target = Target { run, part: &part, name: "spool-000001.hodo", sender: SENDER };
    inside.depot.append(&target, 0, bytes).ok()
}

/// Makes a run that is packed, and in the store elsewhere as far as its note says.
pub fn make_packed(inside: &Inside, run: &str) -> std::io::Result<()> {
    send(inside, run, "p1-a", b"spans");
    let folder = inside.depot.folder(run);
    std::fs::remove_dir_all(folder.join("p1-a"))?;
    for name in ["pack/side.json", "tables/spans/p1-a.parquet"] {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(&folder))?;
        std::fs::write(path, "packed")?;
    }
    let entry = inside.depot.entry(run)?;
    let note = Note { is_packed: true, is_stored: true, ..Note::new("owner") };
    inside.depot.write_note(&entry, note)
}

/// A folder that is removed when the test ends.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("hodo-collect-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap_or_else(|error| panic!("{error}"));
        Folder(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
