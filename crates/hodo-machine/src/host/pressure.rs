//! Pressure: how long tasks waited for a processor, memory or a disk.

use super::Root;
use crate::procfile::ProcFile;
use crate::table::{Absent, Reader, Table};
use hodo_format::machine::{Metric, Source, metric, part};

/// Pressure stall information.
#[derive(Debug)]
pub struct Pressure {
    files: [(ProcFile, &'static Metric); 3],
}

impl Pressure {
    pub fn new(root: &Root) -> Pressure {
        let file = |name: &str| root.proc_file(&format!("pressure/{name}"));
        Pressure {
            files: [
                (file("cpu"), &metric::PRESSURE_CPU),
                (file("memory"), &metric::PRESSURE_MEMORY),
                (file("io"), &metric::PRESSURE_IO),
            ],
        }
    }
}

/// Microseconds in which some task waited.
fn waited_us(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    line.split_ascii_whitespace().find_map(|word| word.strip_prefix("total=")?.parse().ok())
}

impl Reader for Pressure {
    fn read(&mut self, table: &mut Table) {
        for (file, metric) in &mut self.files {
            if let Some(us) = file.read().and_then(|text| waited_us(&text)) {
                table.put(Source::Host, metric, us as f64 / 1e6);
            }
        }
    }

    fn absent(&self) -> Vec<Absent> {
        // One reason holds for all three.
        let failed = self.files.iter().find(|(file, _)| file.error().is_some());
        let Some((file, _)) = failed else { return Vec::new() };
        let off = file.error().and_then(std::io::Error::raw_os_error) == Some(libc::EOPNOTSUPP);
        let fix = match off {
            true => "boot the kernel with psi=1",
            false => "a kernel with CONFIG_PSI (4.20 or later), and /proc/pressure not masked",
        };
        file.absent(part::PRESSURE, fix).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::{Machine, values};

    #[test]
    fn the_time_in_which_some_task_waited() {
        let text = "some avg10=1.10 avg60=1.63 avg300=3.31 total=16413454905\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        assert_eq!(waited_us(text), Some(16_413_454_905));
        assert_eq!(waited_us("full avg10=0.00 total=7\n"), None);
        assert_eq!(waited_us("some total=lots\n"), None);
    }

    #[test]
    fn without_it_the_reason_is_told_once() {
        let some = "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\n";
        let machine = Machine::new(&[("proc/pressure/io", some)]);
        let mut pressure = Pressure::new(&machine.root());
        assert_eq!(values(&mut pressure)["host pressure.io"], 2.5);
        let absent = pressure.absent();
        assert_eq!(absent.len(), 1);
        assert!(absent[0].fix.contains("CONFIG_PSI"), "{absent:?}");
    }
}
