//! Names and limits of shipping: what of a run's folder goes to a collector, and how it is asked for.
//!
//! Shipped are the bytes of the run's files. Both sides take from here which files there are, so that
//! a name from the network is a name of this list or refused; `docs/collector.md` has the requests.

use crate::machine;
use std::fmt;
use std::path::{Path, PathBuf};

/// Most bytes of one chunk, before it is compressed.
pub const CHUNK_BYTES: usize = 4 << 20;
/// Most bytes of a file that is sent whole, before it is compressed.
pub const WHOLE_BYTES: usize = 32 << 20;
/// Most characters of a run's id, and of the name of a folder in it.
pub const NAME_BYTES: usize = 128;
/// The CRC32C of the bytes as they are once decompressed, eight hex digits; see [`checksum`].
pub const CHECKSUM_HEADER: &str = "hodo-crc32c";
/// Where the requests of shippers begin.
pub const PATH: &str = "/api/ingest/runs";
/// The part of a request that means the run's folder itself.
pub const RUN_PART: &str = "-";
/// How often a shipper tells which processes live, at the least.
pub const BEAT_SECONDS: u64 = 3;
/// The file of what shippers told, in the run's folder at the collector.
pub const SHIPPED_FILE: &str = "shipped.json";
/// What the run is, in its folder.
pub const RUN_FILE: &str = "run.json";
/// What a process is, in its folder.
pub const PROCESS_FILE: &str = "process.json";
/// The names that a process uses and whether it shut down, in its folder.
pub const CATALOG_FILE: &str = "catalog.hodo";
/// The memory of a process that did not end by itself, in its folder.
pub const ARENA_FILE: &str = "arena";

/// Folder of the tables of a packed run, and of what only hodo reads.
const TABLES: [&str; 2] = ["tables", "pack"];
/// Says that a run is packed, in the second of [`TABLES`]; shipped after all others.
const SIDE_FILE: &str = "side.json";
const SPOOL_PREFIX: &str = "spool-";
const GPU_PREFIX: &str = "gpu-";

/// The checksum of `bytes` as the header has it.
pub fn checksum(bytes: &[u8]) -> String {
    format!("{:08x}", crc32c::crc32c(bytes))
}

/// Whether `id` may name a run: a folder's name that means itself everywhere.
pub fn is_run_id(id: &str) -> bool {
    let plain = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'_' | b'-');
    id.len() <= NAME_BYTES
        && id.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric)
        && id.bytes().all(plain)
}

/// How a file comes to the collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// In chunks, each behind the one before: what is there never changes.
    Appended,
    /// Whole, each time it changed.
    Replaced,
}

/// A folder of a run whose files are shipped. Made of a name by [`Part::parse`] alone, so it is safe
/// to be a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Part(Inner);

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Inner {
    Run,
    Process(String),
    Machine(String),
    /// The first of [`TABLES`] or the second, and the table; none for the second itself.
    Packed(usize, Option<String>),
}

impl Part {
    /// The run's folder itself.
    pub const RUN: Part = Part(Inner::Run);

    /// The part that a request or an answer names: `-` or nothing, `p12-0abc`, `machine-HOST-BOOT`,
    /// `tables.spans`, `pack.work` or `pack`. None for any other name.
    pub fn parse(name: &str) -> Option<Part> {
        if name.is_empty() || name == RUN_PART {
            return Some(Part::RUN);
        }
        if !is_run_id(name) {
            return None;
        }
        let packed = TABLES.iter().position(|folder| {
            name.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        });
        if let Some(folder) = packed {
            return packed_part(folder, &name[TABLES[folder].len()..]).map(Part);
        }
        if is_process(name) {
            return Some(Part(Inner::Process(name.to_owned())));
        }
        let machine = name.strip_prefix(machine::FOLDER_PREFIX)?;
        let (host, boot) = machine.rsplit_once('-')?;
        let fits = !host.is_empty() && is_hex(boot);
        fits.then(|| Part(Inner::Machine(name.to_owned())))
    }

    /// Its folder, from that of the run on.
    pub fn folder(&self) -> PathBuf {
        match &self.0 {
            Inner::Run => PathBuf::new(),
            Inner::Process(name) | Inner::Machine(name) => PathBuf::from(name),
            Inner::Packed(folder, None) => PathBuf::from(TABLES[*folder]),
            Inner::Packed(folder, Some(table)) => Path::new(TABLES[*folder]).join(table),
        }
    }

    /// Whether it is that of a process.
    pub fn is_process(&self) -> bool {
        matches!(self.0, Inner::Process(_))
    }

    /// Whether it is that of a machine.
    pub fn is_machine(&self) -> bool {
        matches!(self.0, Inner::Machine(_))
    }

    /// Whether it is of a packed run.
    pub fn is_packed(&self) -> bool {
        matches!(self.0, Inner::Packed(..))
    }

    /// How its file `name` is shipped; none of a file that is not.
    pub fn kind_of(&self, name: &str) -> Option<Kind> {
        let known = |appended: bool, replaced: bool| match (appended, replaced) {
            (true, _) => Some(Kind::Appended),
            (_, true) => Some(Kind::Replaced),
            _ => None,
        };
        match &self.0 {
            Inner::Run => known(false, name == RUN_FILE),
            Inner::Process(_) => {
                let numbered = is_numbered(name, SPOOL_PREFIX) || is_numbered(name, GPU_PREFIX);
                let appended = numbered || name == CATALOG_FILE || name == ARENA_FILE;
                known(appended, name == PROCESS_FILE || name == crate::gpu::Live::FILE)
            }
            Inner::Machine(_) => {
                known(is_numbered(name, machine::FILE_PREFIX), name == machine::LIVE_FILE)
            }
            Inner::Packed(_, None) => known(false, name == SIDE_FILE),
            Inner::Packed(_, Some(_)) => known(is_table(name), false),
        }
    }
}

impl fmt::Display for Part {
    /// As [`Part::parse`] takes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Inner::Run => f.write_str(RUN_PART),
            Inner::Process(name) | Inner::Machine(name) => f.write_str(name),
            Inner::Packed(folder, None) => f.write_str(TABLES[*folder]),
            Inner::Packed(folder, Some(table)) => write!(f, "{}.{table}", TABLES[*folder]),
        }
    }
}

/// `rest` is what follows the folder: nothing, or a dot and the table.
fn packed_part(folder: usize, rest: &str) -> Option<Inner> {
    let is_word =
        |word: &str| !word.is_empty() && word.bytes().all(|c| c.is_ascii_lowercase() || c == b'_');
    match rest.strip_prefix('.') {
        Some(table) => is_word(table).then(|| Inner::Packed(folder, Some(table.to_owned()))),
        None => (TABLES[folder] == "pack").then_some(Inner::Packed(folder, None)),
    }
}

/// `p12-0abc34de`.
fn is_process(name: &str) -> bool {
    let Some((pid, id)) = name.strip_prefix('p').and_then(|rest| rest.split_once('-')) else {
        return false;
    };
    !pid.is_empty() && pid.bytes().all(|c| c.is_ascii_digit()) && is_hex(id)
}

fn is_hex(text: &str) -> bool {
    let hex = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
    !text.is_empty() && text.bytes().all(hex)
}

/// `spool-000001.hodo`.
fn is_numbered(name: &str, prefix: &str) -> bool {
    let number = name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(".hodo"));
    number.is_some_and(|n| (6..=10).contains(&n.len()) && n.bytes().all(|c| c.is_ascii_digit()))
}

/// `p12-0abc34de-000.parquet`, `000.parquet`.
fn is_table(name: &str) -> bool {
    is_run_id(name) && name.ends_with(".parquet")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARTS: [&str; 7] = [
        "-",
        "p12-0abc34de",
        "p1-0",
        "machine-gpu_node-7.example-1a2b3c4d",
        "tables.spans",
        "pack.span_ticks",
        "pack",
    ];

    /// What somebody might try: traversal, separators, other alphabets, devices, more than fits.
    fn hostile() -> Vec<String> {
        let plain = [
            "..",
            ".",
            "...",
            "../x",
            "a/b",
            "/etc/passwd",
            "a\\b",
            "C:",
            "a:b",
            "%2e%2e",
            "a%2fb",
            "a\0",
            "a\n",
            "a b",
            "a\u{202e}b",
            "ä",
            "-a",
            "_a",
            ".a",
            "~",
            "$HOME",
            "a*",
            "a\"b",
            "<script>",
            "\u{ff0e}\u{ff0e}",
            "\x1b[2J",
        ];
        let mut names: Vec<String> = plain.iter().map(|&name| name.to_owned()).collect();
        names.push("a".repeat(NAME_BYTES + 1));
        names
    }

    #[test]
    fn ids_of_runs_are_plain_names() {
        for good in ["a", "20261116-1200-train-0a1b2c", "job.7_x-Y", &"a".repeat(NAME_BYTES)] {
            assert!(is_run_id(good), "{good}");
        }
        for bad in hostile() {
            assert!(!is_run_id(&bad), "{bad:?}");
        }
        assert!(!is_run_id(""));
    }

    #[test]
    fn parts_are_folders_of_a_run_and_nothing_else() {
        for name in PARTS {
            assert_eq!(Part::parse(name).map(|part| part.to_string()).as_deref(), Some(name));
        }
        assert_eq!(Part::parse(""), Some(Part::RUN));
        let folder = |name: &str| Part::parse(name).map(|part| part.folder());
        assert_eq!(folder("-"), Some(PathBuf::new()));
        assert_eq!(folder("p1-0"), Some("p1-0".into()));
        assert_eq!(folder("pack.work"), Some("pack/work".into()));
        let wrong = [
            "p",
            "p-1",
            "p1",
            "p1-",
            "p1-xyz",
            "p1-AB",
            "px-1",
            "p1-1.part",
            "machine-",
            "machine-a",
            "machine-a-",
            "machine--1",
            "machine-a-zz",
            "run",
            "tables",
            "tables.",
            "tables.Spans",
            "tables..",
            "pack.",
            "pack.a.b",
            "packs",
            "tablesx",
            "other",
        ];
        for bad in wrong.iter().map(|&name| name.to_owned()).chain(hostile()) {
            assert_eq!(Part::parse(&bad), None, "{bad:?}");
        }
    }

    #[test]
    fn every_file_that_readers_read_has_its_kind() {
        let kind = |part: &str, name: &str| Part::parse(part).and_then(|part| part.kind_of(name));
        let appended = [
            ("p1-0", "catalog.hodo"),
            ("p1-0", "spool-000001.hodo"),
            ("p1-0", "gpu-1000001.hodo"),
            ("p1-0", "arena"),
            ("machine-a-1", "samples-000001.hodo"),
            ("tables.spans", "p1-0-000.parquet"),
            ("pack.work", "000.parquet"),
        ];
        for (part, name) in appended {
            assert_eq!(kind(part, name), Some(Kind::Appended), "{part}/{name}");
        }
        let replaced = [
            ("-", "run.json"),
            ("p1-0", "process.json"),
            ("p1-0", "gpu.live"),
            ("machine-a-1", "samples.live"),
            ("pack", "side.json"),
        ];
        for (part, name) in replaced {
            assert_eq!(kind(part, name), Some(Kind::Replaced), "{part}/{name}");
        }
    }

    #[test]
    fn no_other_file_is_taken_in_any_part() {
        let others = [
            "",
            "sampler.lock",
            "samples.live.part",
            "run.json.part",
            "shipped.json",
            "ship-a.json",
            "spool-1.hodo",
            "spool-00000x.hodo",
            "spool-00000000001.hodo",
            "spool-+00001.hodo",
            "xspool-000001.hodo",
            "spool-000001.hodo.part",
            "catalog.hodo2",
            "Arena",
            "monitor.log",
            "process.json/",
            "side.json.x",
            "../000.parquet",
            ".000.parquet",
            "a b.parquet",
        ];
        for part in PARTS.iter().filter_map(|name| Part::parse(name)) {
            for name in others.iter().map(|&name| name.to_owned()).chain(hostile()) {
                assert_eq!(part.kind_of(&name), None, "{part}: {name:?}");
            }
        }
        let kind = |part: &str, name: &str| Part::parse(part).and_then(|part| part.kind_of(name));
        assert_eq!(kind("-", "catalog.hodo"), None, "each file in its own folder");
        assert_eq!(kind("p1-0", "run.json"), None);
        assert_eq!(kind("machine-a-1", "arena"), None);
    }

    #[test]
    fn checksums_have_eight_digits() {
        assert_eq!(checksum(b"123456789"), "e3069283");
        assert_eq!(checksum(b"").len(), 8);
    }
}
