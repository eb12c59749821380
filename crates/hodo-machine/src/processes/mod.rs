//! The processes of a run on this host and their children, together.

mod found;
mod members;
mod stat;
mod tally;

pub use found::Roots;

use crate::host::Root;
use crate::table::{Absent, Reader, Table};
use found::Found;
use hodo_format::machine::{Source, metric, part};
use hodo_record::binding::nanoseconds;
use members::Members;
use std::path::PathBuf;

/// Looking for children takes at most one part in so many of a processor.
const SCAN_SHARE: u64 = 500;

/// Reads them.
#[derive(Debug)]
pub struct Processes {
    proc: PathBuf,
    found: Found,
    members: Members,
    /// Processes that were seen at the last look and are not ours, in order.
    others: Vec<u32>,
    scan_after_ns: u64,
}

impl Processes {
    /// A reader of `roots` and their children.
    pub fn new(root: &Root, roots: Roots) -> Processes {
        Processes {
            proc: root.proc(""),
            found: Found::new(roots),
            members: Members::new(&root.proc("")),
            others: Vec::new(),
            scan_after_ns: 0,
        }
    }

    fn look_for_roots(&mut self) {
        for (pid, before_ns) in self.found.look() {
            if self.members.add_root(pid, before_ns) {
                // Children it has were passed over so far.
                self.others.clear();
                self.scan_after_ns = 0;
            }
        }
    }

    /// Looks at processes that are new for children of ours.
    fn look_for_children(&mut self) {
        let began = nanoseconds(libc::CLOCK_MONOTONIC);
        if self.members.is_empty() || began < self.scan_after_ns {
            return;
        }
        let mut all = pids(&self.proc);
        let is_new = |pid: &u32| self.others.binary_search(pid).is_err();
        let mut new: Vec<u32> = all.iter().copied().filter(is_new).collect();
        new.retain(|pid| !self.members.has(*pid));
        self.members.add_children(&mut new);
        all.retain(|pid| !self.members.has(*pid));
        self.others = all;
        let now = nanoseconds(libc::CLOCK_MONOTONIC);
        self.scan_after_ns = now + (now - began) * SCAN_SHARE;
    }
}

fn pids(proc: &std::path::Path) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(proc) else { return Vec::new() };
    let number = |entry: std::fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    let mut pids: Vec<u32> = entries.flatten().filter_map(number).collect();
    pids.sort_unstable();
    pids
}

impl Reader for Processes {
    fn read(&mut self, table: &mut Table) {
        self.look_for_roots();
        self.look_for_children();
        let sums = self.members.read();
        // SAFETY: sysconf has no failure for these names on Linux.
        let (page, tick) =
            unsafe { (libc::sysconf(libc::_SC_PAGESIZE), libc::sysconf(libc::_SC_CLK_TCK)) };
        let mut put = |metric, value| table.put(Source::Processes, metric, value);
        put(&metric::PROCESS_COUNT, sums.count as f64);
        put(&metric::PROCESS_THREADS, sums.threads as f64);
        put(&metric::PROCESS_MEMORY, (sums.resident_pages * page.max(1) as u64) as f64);
        put(&metric::PROCESS_CPU_TIME, sums.cpu_ticks as f64 / tick.max(1) as f64);
        if let Some((read, written)) = sums.io {
            put(&metric::PROCESS_READ, read as f64);
            put(&metric::PROCESS_WRITTEN, written as f64);
        }
    }

    fn absent(&self) -> Vec<Absent> {
        let refused = self.members.io_refused();
        let fix = "sample as the user the processes run as, or with CAP_SYS_PTRACE";
        let absent = |why| Absent { part: part::PROCESS_IO.into(), why, fix: fix.into() };
        refused.map(absent).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::{Machine, named, values};

    fn stat(parent: u32, cpu: u64, start: u64) -> String {
        format!("1 (w) S {parent} 1 1 0 -1 4 1 2 3 4 {cpu} 0 0 0 20 0 2 0 {start} 1000 10 0")
    }

    fn io(read: u64) -> String {
        format!("read_bytes: {read}\nwrite_bytes: 0\n")
    }

    /// A run folder with one process of this host.
    fn run_of(pid: u32, host: &str) -> tempfile::TempDir {
        let run = tempfile::tempdir().unwrap();
        let folder = run.path().join(format!("p{pid}-00000001"));
        std::fs::create_dir(&folder).unwrap();
        let json = format!(
            "{{\"format\": 1, \"pid\": {pid}, \"host\": \"{host}\", \"start_ns\": {}}}",
            u64::MAX / 4
        );
        std::fs::write(folder.join("process.json"), json).unwrap();
        run
    }

    #[test]
    fn the_runs_processes_and_their_children_are_summed() {
        let machine = Machine::new(&[
            ("proc/100/stat", &stat(1, 500, 10)),
            ("proc/100/io", &io(4096)),
            ("proc/101/stat", &stat(100, 200, 20)),
            ("proc/101/io", &io(0)),
            ("proc/102/stat", &stat(101, 100, 30)),
            ("proc/102/io", &io(0)),
            ("proc/200/stat", &stat(1, 9999, 5)),
        ]);
        let run = run_of(100, &hodo_record::binding::host());
        let mut processes = Processes::new(&machine.root(), Roots::of_run(run.path()));
        let read = values(&mut processes);
        assert_eq!(read["processes process.count"], 3.0);
        assert_eq!(read["processes process.cpu.time"], 8.0);
        assert_eq!(read["processes process.threads"], 6.0);
        assert_eq!(read["processes process.read"], 4096.0);
    }

    #[test]
    fn cpu_time_of_ended_children_stays_and_is_not_counted_twice() {
        let machine = Machine::new(&[
            ("proc/100/stat", &stat(1, 500, 10)),
            ("proc/101/stat", &stat(100, 200, 20)),
        ]);
        let run = run_of(100, &hodo_record::binding::host());
        let mut processes = Processes::new(&machine.root(), Roots::of_run(run.path()));
        assert_eq!(values(&mut processes)["processes process.cpu.time"], 7.0);
        // It ends at 250 ticks and its parent has waited for it.
        machine.write("proc/101/stat", "");
        machine.remove("proc/101");
        machine.write("proc/100/stat", &stat(1, 500 + 250, 10));
        let read = values(&mut processes);
        assert_eq!(read["processes process.count"], 1.0);
        // The parent was read first, so this round still has the 200 twice; it never goes back.
        let now = read["processes process.cpu.time"];
        assert!((7.0..=9.5).contains(&now), "{now}");
        machine.write("proc/100/stat", &stat(1, 500 + 250 + 400, 10));
        assert_eq!(values(&mut processes)["processes process.cpu.time"], 11.5);
    }

    #[test]
    fn another_hosts_processes_and_reused_numbers_are_not_ours() {
        let machine = Machine::new(&[("proc/100/stat", &stat(1, 500, 10))]);
        let elsewhere = run_of(100, "some-other-host");
        let mut processes = Processes::new(&machine.root(), Roots::of_run(elsewhere.path()));
        assert_eq!(values(&mut processes)["processes process.count"], 0.0);

        // The recorder of this number began long before the process that has it now.
        let run = run_of(100, &hodo_record::binding::host());
        let json = run.path().join("p100-00000001/process.json");
        let text = std::fs::read_to_string(&json).unwrap();
        std::fs::write(&json, text.replace(&(u64::MAX / 4).to_string(), "1000")).unwrap();
        let mut processes = Processes::new(&machine.root(), Roots::of_run(run.path()));
        assert_eq!(values(&mut processes)["processes process.count"], 0.0);
    }

    #[test]
    fn a_process_that_joins_later_counts_from_then() {
        let machine = Machine::new(&[
            ("proc/100/stat", &stat(1, 500, 10)),
            ("proc/300/stat", &stat(1, 70_000, 1)),
        ]);
        let run = run_of(100, &hodo_record::binding::host());
        let mut processes = Processes::new(&machine.root(), Roots::of_run(run.path()));
        assert_eq!(values(&mut processes)["processes process.cpu.time"], 5.0);
        let other = run_of(300, &hodo_record::binding::host());
        std::fs::rename(other.path().join("p300-00000001"), run.path().join("p300-00000001"))
            .unwrap();
        let mut table = Table::default();
        processes.read(&mut table);
        let read = named(&table);
        assert_eq!(read["processes process.count"], 2.0);
        assert_eq!(read["processes process.cpu.time"], 5.0);
    }

    #[test]
    fn this_process_and_a_child_that_works() {
        let mut processes = Processes::new(&Root::default(), Roots::own());
        let before = values(&mut processes);
        assert!(before["processes process.count"] >= 1.0);
        assert!(before["processes process.memory"] > 0.0);
        let script = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let mut child = std::process::Command::new("sh").args(["-c", script]).spawn().unwrap();
        child.wait().unwrap();
        let after = values(&mut processes);
        // A child that came and went between two looks is seen through its parent.
        let grown = after["processes process.cpu.time"] - before["processes process.cpu.time"];
        assert!(grown > 0.0, "{grown}");
    }
}
