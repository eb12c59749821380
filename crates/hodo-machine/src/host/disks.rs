//! Disks: whole ones, not their partitions nor what is stacked upon them.

use super::{MASKED, Root};
use crate::procfile::ProcFile;
use crate::table::{Absent, Reader, Table};
use hodo_format::machine::{Source, metric, part};
use std::collections::HashMap;
use std::path::PathBuf;

/// The kernel counts in sectors of this size, whatever the disk's own is.
const SECTOR_BYTES: u64 = 512;

/// Disks of the host.
#[derive(Debug)]
pub struct Disks {
    diskstats: ProcFile,
    block: PathBuf,
    /// Whether a name is that of a disk.
    is_disk: HashMap<String, bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line<'a> {
    name: &'a str,
    read_bytes: u64,
    written_bytes: u64,
    busy_ms: u64,
}

/// A line of `/proc/diskstats`.
fn line(line: &str) -> Option<Line<'_>> {
    let mut words = line.split_ascii_whitespace();
    let name = words.nth(2)?;
    let mut numbers = [0u64; 10];
    for number in &mut numbers {
        *number = words.next()?.parse().ok()?;
    }
    let bytes = |sectors: u64| sectors.saturating_mul(SECTOR_BYTES);
    let [_, _, read, _, _, _, written, _, _, busy_ms] = numbers;
    Some(Line { name, read_bytes: bytes(read), written_bytes: bytes(written), busy_ms })
}

impl Disks {
    pub fn new(root: &Root) -> Disks {
        Disks {
            diskstats: root.proc_file("diskstats"),
            block: root.sys("block"),
            is_disk: HashMap::new(),
        }
    }
}

/// Whether `/sys/block` has it as a device: partitions have no entry there, and loops, memory
/// disks and volumes on other disks have no device.
fn is_disk(block: &std::path::Path, name: &str) -> bool {
    // The kernel writes a slash in a device's name as an exclamation mark there.
    let entry = block.join(name.replace('/', "!"));
    let size = || std::fs::read_to_string(entry.join("size")).unwrap_or_default();
    entry.join("device").exists() && !matches!(size().trim(), "" | "0")
}

impl Reader for Disks {
    fn read(&mut self, table: &mut Table) {
        let Disks { diskstats, block, is_disk: known } = self;
        let Some(text) = diskstats.read() else { return };
        for disk in text.lines().filter_map(line) {
            let shown = match known.get(disk.name) {
                Some(shown) => *shown,
                None => *known.entry(disk.name.into()).or_insert(is_disk(block, disk.name)),
            };
            if shown {
                let source = || Source::Disk(disk.name.into());
                table.put(source(), &metric::DISK_READ, disk.read_bytes as f64);
                table.put(source(), &metric::DISK_WRITTEN, disk.written_bytes as f64);
                table.put(source(), &metric::DISK_BUSY, disk.busy_ms as f64 / 1e3);
            }
        }
    }

    fn absent(&self) -> Vec<Absent> {
        let mut absent: Vec<Absent> =
            self.diskstats.absent(part::DISKS, MASKED).into_iter().collect();
        if absent.is_empty() && !self.block.exists() {
            let why = format!("{}: cannot tell which are disks", self.block.display());
            absent.push(Absent { part: part::DISKS.into(), why, fix: "mount /sys".into() });
        }
        absent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::{Machine, values};

    const DISKSTATS: &str = "   7       0 loop0 10 0 20 5 0 0 0 0 0 8 5 0 0 0 0 0 0\n \
        254       0 vda 100 5 2000 30 40 6 800 70 0 1500 100 0 0 0 0 0 0\n \
        254       1 vda1 90 5 1900 30 40 6 800 70 0 1400 100\n \
        253       0 dm-0 90 5 1900 30 40 6 800 70 0 1400 100\n\
        1 2 sda\n   11       0 sr0 0 0 0 0 0 0 0 0 0 0 0\n";

    #[test]
    fn whole_disks_alone_are_shown() {
        let machine = Machine::new(&[
            ("proc/diskstats", DISKSTATS),
            ("sys/block/vda/device/vendor", "x"),
            ("sys/block/vda/size", "400000\n"),
            ("sys/block/loop0/size", "20\n"),
            ("sys/block/dm-0/slaves/vda1", ""),
            ("sys/block/dm-0/size", "400000\n"),
            ("sys/block/sr0/device/vendor", "x"),
            ("sys/block/sr0/size", "0\n"),
        ]);
        let read = values(&mut Disks::new(&machine.root()));
        assert_eq!(read.len(), 3, "{read:?}");
        assert_eq!(read["disk:vda disk.read"], 2000.0 * 512.0);
        assert_eq!(read["disk:vda disk.written"], 800.0 * 512.0);
        assert_eq!(read["disk:vda disk.busy"], 1.5);
    }

    #[test]
    fn without_sys_the_reason_is_told() {
        let machine = Machine::new(&[("proc/diskstats", DISKSTATS)]);
        let mut disks = Disks::new(&machine.root());
        assert!(values(&mut disks).is_empty());
        assert_eq!(disks.absent()[0].fix, "mount /sys");
    }
}
