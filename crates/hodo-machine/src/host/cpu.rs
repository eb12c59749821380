//! Processors and load.

use super::{MASKED, Root};
use crate::procfile::ProcFile;
use crate::table::{Absent, Reader, Table};
use hodo_format::machine::{Source, metric, part};

/// Times of a processor, or of all, in the kernel's ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Times {
    worked: u64,
    stolen: u64,
}

/// The processor that a line of `/proc/stat` is of (none for their sum), and its times.
fn times(line: &str) -> Option<(Option<u32>, Times)> {
    let mut words = line.split_ascii_whitespace();
    let number = words.next()?.strip_prefix("cpu")?;
    let number = if number.is_empty() { None } else { Some(number.parse().ok()?) };
    // Kernels of long ago have fewer columns.
    let mut ticks = [0u64; 8];
    let mut known = 0;
    for (place, word) in ticks.iter_mut().zip(words) {
        *place = word.parse().ok()?;
        known += 1;
    }
    let [user, nice, system, _idle, _waiting, irq, softirq, stolen] = ticks;
    let worked =
        [user, nice, system, irq, softirq].iter().fold(0, |sum: u64, n| sum.saturating_add(*n));
    (known >= 4).then_some((number, Times { worked, stolen }))
}

fn seconds(ticks: u64) -> f64 {
    // SAFETY: sysconf has no failure for this name on Linux; a nonsense answer is made a 100.
    let a_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    ticks as f64 / if a_second > 0 { a_second as f64 } else { 100.0 }
}

/// The sum of all processors.
#[derive(Debug)]
pub struct Total {
    stat: ProcFile,
}

impl Total {
    pub fn new(root: &Root) -> Total {
        Total { stat: root.proc_file("stat") }
    }
}

impl Reader for Total {
    fn read(&mut self, table: &mut Table) {
        let Some(text) = self.stat.read() else { return };
        if let Some((None, times)) = text.lines().next().and_then(times) {
            table.put(Source::Host, &metric::CPU_TIME, seconds(times.worked));
            table.put(Source::Host, &metric::CPU_STOLEN, seconds(times.stolen));
        }
    }

    fn absent(&self) -> Vec<Absent> {
        self.stat.absent(part::CPU, MASKED).into_iter().collect()
    }
}

/// Each processor.
#[derive(Debug)]
pub struct Cores {
    stat: ProcFile,
}

impl Cores {
    pub fn new(root: &Root) -> Cores {
        Cores { stat: root.proc_file("stat") }
    }

    /// How many are online.
    pub fn count(&mut self) -> Option<u64> {
        Some(cores(&self.stat.read()?).count() as u64)
    }
}

fn cores(text: &str) -> impl Iterator<Item = (u32, Times)> {
    let lines = text.lines().take_while(|line| line.starts_with("cpu"));
    lines.filter_map(times).filter_map(|(number, times)| Some((number?, times)))
}

impl Reader for Cores {
    fn read(&mut self, table: &mut Table) {
        let Some(text) = self.stat.read() else { return };
        let mut online = 0;
        for (number, times) in cores(&text) {
            table.put(Source::Core(number), &metric::CPU_TIME, seconds(times.worked));
            online += 1;
        }
        if online > 0 {
            table.put(Source::Host, &metric::CPU_CORES, f64::from(online));
        }
    }
}

/// The load average.
#[derive(Debug)]
pub struct Load {
    loadavg: ProcFile,
}

impl Load {
    pub fn new(root: &Root) -> Load {
        Load { loadavg: root.proc_file("loadavg") }
    }
}

fn load(text: &str) -> Option<f64> {
    text.split_ascii_whitespace().next()?.parse().ok().filter(|load: &f64| load.is_finite())
}

impl Reader for Load {
    fn read(&mut self, table: &mut Table) {
        if let Some(load) = self.loadavg.read().and_then(|text| load(&text)) {
            table.put(Source::Host, &metric::LOAD, load);
        }
    }

    fn absent(&self) -> Vec<Absent> {
        self.loadavg.absent(part::LOAD, MASKED).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::{Machine, named};

    const STAT: &str = "cpu  100 20 30 4000 500 6 7 8 0 0\ncpu0 50 10 15 2000 250 3 3 4 0 0\n\
                        cpu2 50 10 15 2000 250 3 4 4 0 0\nintr 1 2 3\nctxt 9\nbtime 1700000000\n";

    #[test]
    fn idle_waiting_and_stolen_time_is_not_work() {
        let line = STAT.lines().next().unwrap();
        assert_eq!(times(line), Some((None, Times { worked: 163, stolen: 8 })));
    }

    #[test]
    fn lines_of_old_kernels_and_odd_ones() {
        let old = times("cpu 1 2 3 4");
        assert_eq!(old, Some((None, Times { worked: 6, stolen: 0 })));
        for odd in ["cpu", "cpu 1 2 3", "cpufreq 1 2 3 4", "cpu0 1 2 x 4", "intr 5 6 7 8", ""] {
            assert_eq!(times(odd), None, "{odd:?}");
        }
        let huge = format!("cpu {max} {max} 0 0", max = u64::MAX);
        assert_eq!(times(&huge).unwrap().1.worked, u64::MAX);
    }

    #[test]
    fn cores_keep_their_number_when_one_is_offline() {
        let machine = Machine::new(&[("proc/stat", STAT), ("proc/loadavg", "0.52 1 2 3/4 5\n")]);
        let mut cores = Cores::new(&machine.root());
        let mut table = Table::default();
        cores.read(&mut table);
        let read = named(&table);
        assert_eq!(read["core:0 cpu.time"], 0.81);
        assert_eq!(read["core:2 cpu.time"], 0.82);
        assert_eq!(read["host cpu.cores"], 2.0);
        machine.write("proc/stat", "cpu 1 1 1 1\ncpu2 60 10 15 2000\n");
        table.clear();
        cores.read(&mut table);
        let read = named(&table);
        assert_eq!(read.len(), 2, "{read:?}");
        assert_eq!(read["core:2 cpu.time"], 0.85);
    }

    #[test]
    fn load_is_the_last_minutes() {
        assert_eq!(load("0.52 0.58 0.59 1/523 12345\n"), Some(0.52));
        assert_eq!(load(""), None);
        assert_eq!(load("nan 1 1"), None);
    }
}
