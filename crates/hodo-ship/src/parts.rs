//! The folders and files of a run that are to be shipped.

use hodo_format::machine::FOLDER_PREFIX;
use hodo_format::ship::{ARENA_FILE, Kind, Part};
use hodo_record::binding::clean;
use std::path::{Path, PathBuf};

/// Whose files are shipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Those of one host: a run of several has a shipper on each.
    Host(String),
    /// All that are there, tables too.
    All,
}

/// The parts of the run in `folder`, in the order in which they are shipped. Those of a packed run
/// come last, and of these the one that says that it is packed.
pub(crate) fn parts(folder: &Path, whose: &Whose) -> Vec<Part> {
    let names = names(folder);
    let mut parts: Vec<Part> = names
        .iter()
        .filter_map(|name| Part::parse(name))
        .filter(|part| is_wanted(folder, part, whose))
        .collect();
    parts.sort();
    if *whose == Whose::All {
        let tables = ["tables", "pack"].map(|place| {
            let inside = names_in(folder, place);
            inside.into_iter().filter_map(move |table| Part::parse(&format!("{place}.{table}")))
        });
        parts.extend(tables.into_iter().flatten());
        parts.extend(Part::parse("pack").filter(|part| folder.join(part.folder()).is_dir()));
    }
    parts
}

fn is_wanted(folder: &Path, part: &Part, whose: &Whose) -> bool {
    let path = folder.join(part.folder());
    if part.is_packed() || *part == Part::RUN || !path.is_dir() {
        return false;
    }
    match whose {
        Whose::All => true,
        Whose::Host(host) if part.is_machine() => {
            let name = part.to_string();
            let rest = name.strip_prefix(FOLDER_PREFIX).and_then(|rest| rest.rsplit_once('-'));
            rest.is_some_and(|(named, _)| named == clean(host))
        }
        Whose::Host(host) => hodo_trace::process_info(&path).is_some_and(|info| info.host == *host),
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
pub(crate) fn files(folder: &Path, part: &Part) -> Files {
    let mut files = Files::default();
    let mut names = names(folder);
    // A recorder writes its catalog before the records: looked at after them, it is complete for them.
    names.sort_by_key(|name| (name.starts_with("catalog"), name.clone()));
    for name in names.into_iter().filter(|name| name != ARENA_FILE) {
        match part.kind_of(&name) {
            Some(Kind::Appended) => {
                if let Ok(about) = folder.join(&name).metadata() {
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
    files
}

fn names_in(folder: &Path, inside: &str) -> Vec<String> {
    let mut names: Vec<String> = names(&folder.join(inside));
    names.retain(|name| folder.join(inside).join(name).is_dir());
    names.sort();
    names
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
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
            |whose| parts(run.path(), &whose).iter().map(Part::to_string).collect::<Vec<_>>();
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
        let files = files(&run.path().join("p2-b"), &part);
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
}
