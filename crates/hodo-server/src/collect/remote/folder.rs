//! A folder as a store: a mounted disk of another machine, and what tests use.

use super::Remote;
use crate::collect::durable;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A store in a folder.
pub struct Folder(PathBuf);

impl Folder {
    /// The folder, which is made where it is not there.
    pub fn open(path: &Path) -> io::Result<Folder> {
        fs::create_dir_all(path)?;
        Ok(Folder(path.to_owned()))
    }
}

impl Remote for Folder {
    fn put(&self, key: &str, from: &Path) -> io::Result<()> {
        let to = self.0.join(key);
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut from = fs::File::open(from)?;
        durable::replace_with(&to, |file| io::copy(&mut from, file).map(drop))?;
        // Of folders that were just made, whoever lists them has to know for good.
        let mut above = to.ancestors().skip(2).take_while(|folder| folder.starts_with(&self.0));
        above.try_for_each(durable::sync_folder)
    }

    fn get(&self, key: &str, to: &Path) -> io::Result<bool> {
        match fs::copy(self.0.join(key), to) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            copied => copied.map(|_| true),
        }
    }

    fn remove(&self, key: &str) -> io::Result<()> {
        let path = self.0.join(key);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // Folders that are empty then, up to the top.
        let above = path.ancestors().skip(1).take_while(|folder| *folder != self.0);
        above.map_while(|folder| fs::remove_dir(folder).ok()).for_each(drop);
        Ok(())
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(&self.0)?;
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::testing;

    #[test]
    fn folders_of_what_is_put_are_on_disk_too() -> io::Result<()> {
        let folder = testing::Folder::new();
        let (top, from) = (folder.path().join("store"), folder.path().join("from"));
        let store = Folder::open(&top)?;
        fs::write(&from, "table")?;
        durable::synced(
            || store.put("run/tables/spans/p1-a.parquet", &from),
            |synced| {
                for name in ["run/tables/spans", "run/tables", "run", ""] {
                    assert!(synced.contains(&top.join(name)), "{name} of {synced:?}");
                }
            },
        )
    }
}
