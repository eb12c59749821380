//! What of a run is there.

use super::{Depot, Entry, forbid, lock, part_key};
use crate::collect::note::PackedFile;
use crate::collect::refusal::Refusal;
use hodo_format::ship::{Kind, Part};
use std::fs;
use std::io;
use std::path::Path;

/// The files of a run, as they are told to a shipper.
#[derive(Debug, Default)]
pub struct Listing {
    /// What is durable.
    pub files: Vec<PackedFile>,
    /// Whether some of it was packed.
    pub packed: bool,
}

impl Depot {
    /// What of a run is durable; nothing of one that is not known.
    pub fn list(&self, run: &str, owner: Option<&str>) -> Result<Listing, Refusal> {
        let Some(entry) = self.known(run)? else { return Ok(Listing::default()) };
        self.settle(&entry)?;
        let _open = entry.shared();
        let Some(note) = entry.note() else { return Ok(Listing::default()) };
        forbid(&note, run, owner)?;
        let is_packed = note.is_packed;
        let mut files = if is_packed { note.packed.clone() } else { Vec::new() };
        for (part, name, kind) in self.there(run, is_packed)? {
            let file = entry.file(&part.to_string(), &name);
            let mut known = lock(&file);
            let path = self.folder(run).join(part.folder()).join(&name);
            let (length, crc32c) = match kind {
                Kind::Replaced => (path.metadata()?.len(), Some(known.checksum(&path)?)),
                Kind::Appended => (known.durable_length(&path)?, None),
            };
            files.push(PackedFile { part: part_key(&part), name, length, crc32c });
        }
        Ok(Listing { files, packed: is_packed })
    }

    /// The bytes of a file of a run that are on disk for good.
    pub fn durable_length(&self, entry: &Entry, part: &Part, name: &str) -> io::Result<u64> {
        let file = entry.file(&part.to_string(), name);
        lock(&file).durable_length(&self.folder(&entry.id).join(part.folder()).join(name))
    }

    /// The files in a run's folder that were shipped; of a packed one, those that came later.
    pub fn there(&self, run: &str, is_packed: bool) -> io::Result<Vec<(Part, String, Kind)>> {
        let folder = self.folder(run);
        let mut found = Vec::new();
        let mut parts = vec![Part::RUN];
        for name in names(&folder)? {
            parts.extend(Part::parse(&name).filter(|part| *part != Part::RUN));
            for table in names(&folder.join(&name)).unwrap_or_default() {
                parts.extend(Part::parse(&format!("{name}.{table}")));
            }
        }
        // The packed tables themselves were not shipped, nor was the `run.json` that says so.
        parts.retain(|part| !is_packed || !(part.is_packed() || *part == Part::RUN));
        for part in parts {
            for name in names(&folder.join(part.folder()))? {
                if let Some(kind) = part.kind_of(&name) {
                    found.push((part.clone(), name, kind));
                }
            }
        }
        found.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
        Ok(found)
    }
}

/// The names in a folder; none where there is no such folder.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(Vec::new()),
        Err(error) => Err(error),
        Ok(entries) => {
            entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::collect::testing::{Folder, inside, send};

    #[test]
    fn asking_for_what_is_not_there_leaves_nothing() {
        let folder = Folder::new();
        let here = inside(folder.path(), None);
        let held = || super::lock(&here.depot.entries).len();
        for run in 0..100 {
            let listed = here.depot.list(&format!("run-{run}"), Some("owner"));
            assert!(listed.is_ok_and(|listing| listing.files.is_empty()));
            let asked = crate::collect::remote::asked(&here, &format!("run-{run}"));
            assert!(asked.is_ok_and(|entry| entry.is_none()));
        }
        assert_eq!(held(), 0);
        send(&here, "run", "p1-a", b"spans");
        assert!(here.depot.entry("gone").is_ok());
        assert_eq!(held(), 2);
        here.depot.forget_unknown();
        assert_eq!(held(), 1, "what is a run stays");
    }
}
