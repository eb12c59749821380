//! The folders and files of a run that are to be shipped.

use hodo_format::machine::FOLDER_PREFIX;
use hodo_format::ship::{ARENA_FILE, Kind, PROCESS_FILE, Part};
use hodo_record::binding::clean;
use std::fs::{DirEntry, File};
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

/// Whose files are shipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Those of one host: a run of several has a shipper on each.
    Host(String),
    /// All that are there, tables too.
    All,
}

/// What a run has to be shipped.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    /// In the order in which they are shipped. Those of a packed run come last, and of these the one
    /// that says that it is packed.
    pub(crate) parts: Vec<Part>,
    /// What may have more of them and cannot be looked into.
    pub(crate) unreadable: Vec<(PathBuf, Error)>,
}

/// The parts of the run in `folder`.
pub(crate) fn parts(folder: &Path, whose: &Whose) -> Parts {
    let mut found = Parts::default();
    let listed = found.or_unreadable(folder, names(folder));
    for part in listed.iter().filter_map(|name| Part::parse(name)) {
        let wanted = is_wanted(folder, &part, whose);
        if found.or_unreadable(&folder.join(part.folder()), wanted) {
            found.parts.push(part);
        }
    }
    found.parts.sort();
    if *whose == Whose::All {
        found.add_tables(folder);
    }
    found
}

impl Parts {
    /// What `read` came to; nothing, and told, where it failed.
    fn or_unreadable<T: Default>(&mut self, path: &Path, read: Result<T, Error>) -> T {
        read.unwrap_or_else(|error| {
            self.unreadable.push((path.to_owned(), error));
            T::default()
        })
    }

    fn add_tables(&mut self, folder: &Path) {
        for place in ["tables", "pack"] {
            let tables = self.or_unreadable(&folder.join(place), names_in(folder, place));
            let tables = tables.iter().filter_map(|table| Part::parse(&format!("{place}.{table}")));
            self.parts.extend(tables);
        }
        if let Some(pack) = Part::parse("pack") {
            let path = folder.join(pack.folder());
            if self.or_unreadable(&path, is_folder(&path)) {
                self.parts.push(pack);
            }
        }
    }
}

fn is_wanted(folder: &Path, part: &Part, whose: &Whose) -> Result<bool, Error> {
    let path = folder.join(part.folder());
    if part.is_packed() || *part == Part::RUN || !is_folder(&path)? {
        return Ok(false);
    }
    match whose {
        Whose::All => Ok(true),
        Whose::Host(host) if part.is_machine() => {
            let name = part.to_string();
            let rest = name.strip_prefix(FOLDER_PREFIX).and_then(|rest| rest.rsplit_once('-'));
            Ok(rest.is_some_and(|(named, _)| named == clean(host)))
        }
        Whose::Host(host) => {
            unless_gone(File::open(path.join(PROCESS_FILE)))?;
            Ok(hodo_trace::process_info(&path).is_some_and(|info| info.host == *host))
        }
    }
}

/// Whether there is a folder; anything else of that name is an error.
fn is_folder(path: &Path) -> Result<bool, Error> {
    match unless_gone(path.metadata())? {
        None => Ok(false),
        Some(about) if about.is_dir() => Ok(true),
        Some(_) => Err(Error::from(ErrorKind::NotADirectory)),
    }
}

/// None of what is not there, which is no error: a recorder removes files at its size cap.
pub(crate) fn unless_gone<T>(read: Result<T, Error>) -> Result<Option<T>, Error> {
    match read {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

/// The files of a part, by how they are shipped; the arena is none of them.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// Name and length, the catalog first: its names are to be there before what uses them.
    pub(crate) appended: Vec<(String, u64)>,
    /// What says what the part is.
    pub(crate) descriptions: Vec<String>,
    /// What has the newest of something, until the other files have it.
    pub(crate) newest: Vec<String>,
}

/// The files of `part` in its folder.
pub(crate) fn files(folder: &Path, part: &Part) -> Result<Files, Error> {
    let mut files = Files::default();
    let mut names = names(folder)?;
    // A recorder writes its catalog before the records: looked at after them, it is complete for them.
    names.sort_by_key(|name| (name.starts_with("catalog"), name.clone()));
    for name in names.into_iter().filter(|name| name != ARENA_FILE) {
        match part.kind_of(&name) {
            Some(Kind::Appended) => {
                if let Some(about) = unless_gone(folder.join(&name).metadata())? {
                    files.appended.push((name, about.len()));
                }
            }
            Some(Kind::Replaced) if name.ends_with(".json") => files.descriptions.push(name),
            Some(Kind::Replaced) => files.newest.push(name),
            None => {}
        }
    }
    let ends_with_catalog =
        files.appended.last().is_some_and(|(name, _)| name.starts_with("catalog"));
    files.appended.rotate_right(ends_with_catalog.into());
    Ok(files)
}

/// The bytes of all files that only grow, arenas too; none where something cannot be read.
pub(crate) fn bytes(run: &Path, whose: &Whose) -> Option<u64> {
    let found = parts(run, whose);
    let of_part = |part: &Part| {
        let folder = run.join(part.folder());
        let appended = files(&folder, part).ok()?.appended;
        let arena = match part.is_process() {
            true => {
                let info = hodo_trace::process_info(&folder).unwrap_or_default();
                let arena = hodo_trace::arena_path(&folder, &info).metadata();
                unless_gone(arena).ok()?.map_or(0, |about| about.len())
            }
            false => 0,
        };
        Some(appended.iter().map(|(_, length)| length).sum::<u64>() + arena)
    };
    found.unreadable.is_empty().then(|| found.parts.iter().map(of_part).sum())?
}

fn names_in(folder: &Path, inside: &str) -> Result<Vec<String>, Error> {
    let mut names = unless_gone(names(&folder.join(inside)))?.unwrap_or_default();
    names.retain(|name| folder.join(inside).join(name).is_dir());
    names.sort();
    Ok(names)
}

/// The names in a folder.
fn names(folder: &Path) -> Result<Vec<String>, Error> {
    let entries = std::fs::read_dir(folder)?;
    // What is shipped has a plain name; any other is a stranger's.
    let plain = |entry: DirEntry| entry.file_name().into_string().ok();
    entries.filter_map(|entry| entry.map(plain).transpose()).collect()
}

/// Where the file `name` of a part lies.
pub(crate) fn path(run: &Path, part: &Part, name: &str) -> PathBuf {
    run.join(part.folder()).join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> tempfile::TempDir {
        let run = tempfile::tempdir().unwrap();
        let files = [
            ("p2-b/process.json", r#"{"host": "here"}"#),
            ("p2-b/catalog.hodo", "c"),
            ("p2-b/gpu-000001.hodo", "gg"),
            ("p2-b/gpu.live", ""),
            ("p2-b/spool-000001.hodo", "sss"),
            ("p2-b/spool-000002.hodo", ""),
            ("p2-b/arena", ""),
            ("p2-b/core.1234", ""),
            ("p1-a/process.json", r#"{"host": "there"}"#),
            ("p3-c/catalog.hodo", ""),
            ("machine-here-1a/samples-000001.hodo", ""),
            ("machine-there-1a/samples-000001.hodo", ""),
            ("new-p4-d/process.json", r#"{"host": "here"}"#),
            ("pack/side.json", "{}"),
            ("pack/work/000.parquet", ""),
            ("tables/spans/000.parquet", ""),
            ("run.json", "{}"),
        ];
        for (name, text) in files {
            let path = run.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        run
    }

    #[test]
    fn a_host_ships_what_is_its_own() {
        let run = run();
        let names =
            |whose| parts(run.path(), &whose).parts.iter().map(Part::to_string).collect::<Vec<_>>();
        assert_eq!(names(Whose::Host("here".into())), ["p2-b", "machine-here-1a"]);
        assert_eq!(names(Whose::Host("nobody".into())), [""; 0]);
        let all = names(Whose::All);
        let packed = ["tables.spans", "pack.work", "pack"];
        assert_eq!(all[..3], ["p1-a", "p2-b", "p3-c"]);
        assert_eq!(all[5..], packed, "what makes it a packed run comes last");
    }

    #[test]
    fn the_catalog_goes_first_and_strangers_stay() {
        let run = run();
        let part = Part::parse("p2-b").unwrap();
        let files = files(&run.path().join("p2-b"), &part).unwrap();
        let appended: Vec<_> = files.appended.iter().map(|(n, l)| (n.as_str(), *l)).collect();
        let wanted = [
            ("catalog.hodo", 1),
            ("gpu-000001.hodo", 2),
            ("spool-000001.hodo", 3),
            ("spool-000002.hodo", 0),
        ];
        assert_eq!(appended, wanted);
        assert_eq!(files.descriptions, ["process.json"]);
        assert_eq!(files.newest, ["gpu.live"]);
    }

    #[test]
    fn what_cannot_be_looked_into_is_not_taken_for_nothing() {
        let run = run();
        let unreadable = |whose: &Whose| {
            let found = parts(run.path(), whose).unreadable;
            found.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>()
        };
        let (here, all) = (Whose::Host("here".into()), Whose::All);
        assert!(unreadable(&here).is_empty() && unreadable(&all).is_empty());
        // Whoever tests may read everything: a link to itself can be followed by nobody.
        let own = run.path().join("p2-b");
        std::fs::rename(&own, run.path().join("moved")).unwrap();
        std::os::unix::fs::symlink("p2-b", &own).unwrap();
        assert_eq!(unreadable(&here), std::slice::from_ref(&own));
        std::fs::remove_dir_all(run.path().join("tables")).unwrap();
        std::fs::write(run.path().join("tables"), "").unwrap();
        assert_eq!(unreadable(&all), [own.clone(), run.path().join("tables")]);
        assert!(files(&own, &Part::parse("p2-b").unwrap()).is_err());
        let gone = run.path().join("gone");
        let found = parts(&gone, &all);
        assert!(found.parts.is_empty());
        assert_eq!(found.unreadable[0].0, gone, "a run that is away is no empty one");
        assert!(files(&gone, &Part::parse("p2-b").unwrap()).is_err());
    }
}
