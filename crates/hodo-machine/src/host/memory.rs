//! Memory and swap.

use super::{MASKED, Root};
use crate::procfile::ProcFile;
use crate::table::{Absent, Reader, Table};
use hodo_format::machine::{Source, metric, part};

/// What `/proc/meminfo` says, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Info {
    total: Option<u64>,
    free: u64,
    available: Option<u64>,
    buffers: u64,
    cached: u64,
    reclaimable: u64,
    shared: u64,
    swap_total: Option<u64>,
    swap_free: Option<u64>,
}

fn info(text: &str) -> Info {
    let mut info = Info::default();
    for line in text.lines() {
        let Some((key, value)) = line.split_once(':') else { continue };
        let number =
            value.split_ascii_whitespace().next().and_then(|word| word.parse::<u64>().ok());
        let Some(bytes) = number.and_then(|kib| kib.checked_mul(1024)) else { continue };
        match key {
            "MemTotal" => info.total = Some(bytes),
            "MemFree" => info.free = bytes,
            "MemAvailable" => info.available = Some(bytes),
            "Buffers" => info.buffers = bytes,
            "Cached" => info.cached = bytes,
            "SReclaimable" => info.reclaimable = bytes,
            "Shmem" => info.shared = bytes,
            "SwapTotal" => info.swap_total = Some(bytes),
            "SwapFree" => info.swap_free = Some(bytes),
            _ => {}
        }
    }
    info
}

impl Info {
    /// Files in memory that can be dropped: memory that programs share looks like a file and cannot.
    fn cache(&self) -> u64 {
        (self.buffers + self.cached + self.reclaimable).saturating_sub(self.shared)
    }

    /// What a new program could have; kernels before 3.14 do not say, and then it is a guess.
    fn available(&self) -> u64 {
        self.available.unwrap_or(self.free + self.cache())
    }
}

/// Memory of the host.
#[derive(Debug)]
pub struct Memory {
    meminfo: ProcFile,
}

impl Memory {
    pub fn new(root: &Root) -> Memory {
        Memory { meminfo: root.proc_file("meminfo") }
    }

    /// Memory there is.
    pub fn total_bytes(&mut self) -> Option<u64> {
        info(&self.meminfo.read()?).total
    }
}

impl Reader for Memory {
    fn read(&mut self, table: &mut Table) {
        let Some(info) = self.meminfo.read().map(|text| info(&text)) else { return };
        let mut put = |metric, bytes: u64| table.put(Source::Host, metric, bytes as f64);
        if let Some(total) = info.total {
            put(&metric::MEMORY_USED, total.saturating_sub(info.available()));
            put(&metric::MEMORY_TOTAL, total);
            put(&metric::MEMORY_CACHE, info.cache());
        }
        if let (Some(total), Some(free)) = (info.swap_total, info.swap_free) {
            put(&metric::SWAP_USED, total.saturating_sub(free));
            put(&metric::SWAP_TOTAL, total);
        }
    }

    fn absent(&self) -> Vec<Absent> {
        self.meminfo.absent(part::MEMORY, MASKED).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::{Machine, values};

    #[test]
    fn the_cache_is_not_used_memory() {
        let text = "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 700 kB\nBuffers: 50 kB\n\
                    Cached: 600 kB\nShmem: 30 kB\nSReclaimable: 20 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n";
        let machine = Machine::new(&[("proc/meminfo", text)]);
        let read = values(&mut Memory::new(&machine.root()));
        assert_eq!(read["host memory.used"], 300.0 * 1024.0);
        assert_eq!(read["host memory.cache"], 640.0 * 1024.0);
        assert_eq!(read["host swap.total"], 0.0, "no swap is a measured zero");
    }

    #[test]
    fn a_kernel_that_does_not_say_what_is_available() {
        let info = info("MemTotal: 1000 kB\nMemFree: 100 kB\nBuffers: 50 kB\nCached: 600 kB\n");
        assert_eq!(info.available(), 750 * 1024);
    }

    #[test]
    fn odd_lines_are_passed_over() {
        let read = info(
            "MemTotal\n: 4 kB\nMemFree: many kB\nMemTotal: 99999999999999999999 kB\n\
                         HugePages_Total:    0\nMemAvailable:\t5\n",
        );
        assert_eq!(read, Info { available: Some(5 * 1024), ..Info::default() });
    }

    #[test]
    fn no_meminfo_no_values() {
        let machine = Machine::new(&[]);
        let mut memory = Memory::new(&machine.root());
        assert!(values(&mut memory).is_empty());
        assert_eq!(memory.absent().len(), 1);
    }
}
