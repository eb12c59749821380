//! The machine as the kernel shows it in `/proc` and `/sys`.

mod cgroup;
mod cpu;
mod disks;
mod memory;
mod networks;
mod pressure;

use crate::procfile::ProcFile;
use crate::tier::{Readers, Tier};
use hodo_record::binding::Object;
use std::path::{Path, PathBuf};

/// Where the kernel shows itself; elsewhere in tests.
#[derive(Clone, Debug)]
pub struct Root(PathBuf);

impl Default for Root {
    fn default() -> Root {
        Root("/".into())
    }
}

impl Root {
    /// The folder that has `proc` and `sys`.
    pub fn at(folder: &Path) -> Root {
        Root(folder.into())
    }

    /// A file of `/proc`.
    pub fn proc(&self, name: &str) -> PathBuf {
        self.0.join("proc").join(name)
    }

    /// A file of `/sys`.
    pub fn sys(&self, name: &str) -> PathBuf {
        self.0.join("sys").join(name)
    }

    fn proc_file(&self, name: &str) -> ProcFile {
        ProcFile::new(self.proc(name))
    }
}

/// What a container's set-up may hide.
const MASKED: &str = "run the sampler where /proc of the host can be seen";

/// Readers of the host.
pub fn readers(root: &Root) -> Readers {
    let mut readers: Readers = vec![
        (Tier::Fast, Box::new(cpu::Total::new(root))),
        (Tier::Fast, Box::new(memory::Memory::new(root))),
        (Tier::Medium, Box::new(cpu::Cores::new(root))),
        (Tier::Medium, Box::new(cpu::Load::new(root))),
        (Tier::Medium, Box::new(pressure::Pressure::new(root))),
        (Tier::Medium, Box::new(disks::Disks::new(root))),
        (Tier::Medium, Box::new(networks::Networks::new(root))),
    ];
    if let Some(cgroup) = cgroup::Cgroup::find(root) {
        readers.push((Tier::Medium, Box::new(cgroup)));
    }
    readers
}

/// The first eight digits of the boot's id, which tells one boot of a host from the next; zeros
/// where the kernel does not say.
pub fn boot_id(root: &Root) -> String {
    let text = std::fs::read_to_string(root.proc("sys/kernel/random/boot_id")).unwrap_or_default();
    let id = text.trim();
    if id.len() >= 8 && id.is_char_boundary(8) { id.into() } else { "00000000".into() }
}

/// The host in a few words: an object for the sampler's state.
pub fn describe(root: &Root) -> String {
    let cores = cpu::Cores::new(root).count();
    let memory = memory::Memory::new(root).total_bytes();
    Object::default()
        .text("name", &hodo_record::binding::host())
        .text("boot_id", &boot_id(root))
        .maybe_number("cores", cores)
        .maybe_number("memory_total", memory)
        .finish()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::table::{Reader, Table};
    use std::collections::HashMap;

    /// A folder that looks like `/proc` and `/sys`.
    pub(crate) struct Machine(tempfile::TempDir);

    impl Machine {
        pub(crate) fn new(files: &[(&str, &str)]) -> Machine {
            let machine = Machine(tempfile::tempdir().unwrap());
            files.iter().for_each(|(path, text)| machine.write(path, text));
            machine
        }

        pub(crate) fn root(&self) -> Root {
            Root::at(self.0.path())
        }

        pub(crate) fn write(&self, path: &str, text: &str) {
            let path = self.0.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }

        pub(crate) fn remove(&self, path: &str) {
            let path = self.0.path().join(path);
            if path.is_dir() {
                std::fs::remove_dir_all(path).unwrap();
            } else {
                std::fs::remove_file(path).unwrap();
            }
        }
    }

    /// What a reader reads, by source and metric.
    pub(crate) fn values(reader: &mut dyn Reader) -> HashMap<String, f64> {
        let mut table = Table::default();
        reader.read(&mut table);
        named(&table)
    }

    /// The values of a table.
    pub(crate) fn named(table: &Table) -> HashMap<String, f64> {
        let both = table.series().iter().zip(table.row());
        let named = both.filter_map(|((s, m), v)| Some((format!("{s} {}", m.name), (*v)?)));
        named.collect()
    }

    #[test]
    fn every_reader_reads_this_machine() {
        let mut table = Table::default();
        let mut readers = readers(&Root::default());
        readers.iter_mut().for_each(|(_, reader)| reader.read(&mut table));
        let read = named(&table);
        for name in ["cpu.time", "memory.used", "memory.total", "load", "cpu.cores"] {
            assert!(read[&format!("host {name}")] > 0.0, "{name}: {read:?}");
        }
        assert!(read["host memory.used"] < read["host memory.total"]);
        assert!(read["core:0 cpu.time"] <= read["host cpu.time"]);
    }

    #[test]
    fn a_machine_that_shows_nothing_gives_nothing_and_says_why() {
        let machine = Machine::new(&[]);
        let mut table = Table::default();
        let mut readers = readers(&machine.root());
        readers.iter_mut().for_each(|(_, reader)| reader.read(&mut table));
        assert!(named(&table).is_empty());
        let absent: Vec<String> =
            readers.iter().flat_map(|(_, reader)| reader.absent()).map(|one| one.part).collect();
        for part in ["cpu", "memory", "load", "pressure", "disks", "networks"] {
            assert!(absent.iter().any(|name| name == part), "{part}: {absent:?}");
        }
    }

    #[test]
    fn the_host_is_described_also_where_it_says_nothing() {
        let machine = Machine::new(&[
            ("proc/sys/kernel/random/boot_id", "3f0c9a1e-aaaa-bbbb-cccc-0123456789ab\n"),
            ("proc/stat", "cpu 1 1 1 1\ncpu0 1 1 1 1\n"),
        ]);
        assert_eq!(&boot_id(&machine.root())[..8], "3f0c9a1e");
        let text = describe(&machine.root());
        assert!(text.contains("\"cores\": 1") && text.contains("\"memory_total\": null"), "{text}");
        assert_eq!(boot_id(&Root::at(Path::new("/nowhere"))), "00000000");
    }
}
