//! The limits of the container or cgroup that the sampler runs in, where there are any: the host's
//! memory and processors are then not the program's.

use super::Root;
use crate::procfile::ProcFile;
use crate::table::{Reader, Table};
use hodo_format::machine::{Source, metric};
use std::path::{Path, PathBuf};

/// Version 1 says "no limit" by a number that no machine has.
const NO_LIMIT: u64 = 1 << 60;

/// The narrowest limits around this process.
#[derive(Debug)]
pub struct Cgroup {
    memory: Option<Memory>,
    cpu: Option<Cpu>,
}

#[derive(Debug)]
struct Memory {
    limit: ProcFile,
    used: ProcFile,
    stat: ProcFile,
    /// What the version calls file cache that nobody uses.
    idle_cache: &'static str,
}

#[derive(Debug)]
struct Cpu {
    limit: ProcFile,
    /// Version 1 has the period in a file of its own.
    period: Option<ProcFile>,
    stat: ProcFile,
    /// What the version calls the time it was stopped, and how many of that make a second.
    throttled: (&'static str, f64),
}

/// The folder of this process for a controller of version 1, or of version 2 for none.
fn path<'a>(text: &'a str, controller: Option<&str>) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (_, names, path) = (parts.next()?, parts.next()?, parts.next()?);
        let same = match controller {
            None => names.is_empty(),
            Some(wanted) => names.split(',').any(|name| name == wanted),
        };
        same.then_some(path.trim_start_matches('/'))
    })
}

/// The process's folder and those around it. In a container the mount shows its own cgroup as the
/// top, while the path may be the host's.
fn around(top: &Path, path: &str) -> Vec<PathBuf> {
    let own = top.join(path);
    own.ancestors().take_while(|folder| folder.starts_with(top)).map(Path::to_path_buf).collect()
}

fn number(path: &Path) -> Option<u64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

impl Cgroup {
    /// The limits, if any.
    pub fn find(root: &Root) -> Option<Cgroup> {
        let text = std::fs::read_to_string(root.proc("self/cgroup")).ok()?;
        let top = root.sys("fs/cgroup");
        let two = path(&text, None).map(|path| around(&top, path)).unwrap_or_default();
        let one = |controller: &str| {
            let path = path(&text, Some(controller))?;
            Some(around(&top.join(controller), path))
        };
        let memory = Memory::two(&two).or_else(|| Memory::one(&one("memory")?));
        let cpu = Cpu::two(&two).or_else(|| Cpu::one(&one("cpu")?));
        (memory.is_some() || cpu.is_some()).then_some(Cgroup { memory, cpu })
    }
}

fn narrowest(folders: &[PathBuf], limit: impl Fn(&Path) -> Option<f64>) -> Option<&PathBuf> {
    let limited = folders.iter().filter_map(|folder| Some((folder, limit(folder)?)));
    limited.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(folder, _)| folder)
}

impl Memory {
    fn two(folders: &[PathBuf]) -> Option<Memory> {
        let folder = narrowest(folders, |folder| Some(number(&folder.join("memory.max"))? as f64))?;
        Some(Memory::of(folder, ["memory.max", "memory.current"], "inactive_file"))
    }

    fn one(folders: &[PathBuf]) -> Option<Memory> {
        let limit = |folder: &Path| number(&folder.join("memory.limit_in_bytes"));
        let real =
            |folder: &Path| limit(folder).filter(|&bytes| bytes < NO_LIMIT).map(|b| b as f64);
        let folder = narrowest(folders, real)?;
        let files = ["memory.limit_in_bytes", "memory.usage_in_bytes"];
        Some(Memory::of(folder, files, "total_inactive_file"))
    }

    fn of(folder: &Path, [limit, used]: [&str; 2], idle_cache: &'static str) -> Memory {
        let file = |name: &str| ProcFile::new(folder.join(name));
        Memory { limit: file(limit), used: file(used), stat: file("memory.stat"), idle_cache }
    }
}

/// Processors' worth of time of a `cpu.max`: a quota and a period, or "max" for no limit.
fn share(text: &str) -> Option<f64> {
    let mut words = text.split_ascii_whitespace();
    let quota: f64 = words.next()?.parse().ok()?;
    let period: f64 = words.next()?.parse().ok()?;
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

impl Cpu {
    fn two(folders: &[PathBuf]) -> Option<Cpu> {
        let limit = |folder: &Path| share(&std::fs::read_to_string(folder.join("cpu.max")).ok()?);
        let folder = narrowest(folders, limit)?;
        let file = |name: &str| ProcFile::new(folder.join(name));
        let throttled = ("throttled_usec", 1e6);
        Some(Cpu { limit: file("cpu.max"), period: None, stat: file("cpu.stat"), throttled })
    }

    fn one(folders: &[PathBuf]) -> Option<Cpu> {
        let text = |folder: &Path, name: &str| std::fs::read_to_string(folder.join(name)).ok();
        let limit = |folder: &Path| {
            let quota = text(folder, "cpu.cfs_quota_us")?;
            share(&format!("{quota} {}", text(folder, "cpu.cfs_period_us")?))
        };
        let folder = narrowest(folders, limit)?;
        let file = |name: &str| ProcFile::new(folder.join(name));
        Some(Cpu {
            limit: file("cpu.cfs_quota_us"),
            period: Some(file("cpu.cfs_period_us")),
            stat: file("cpu.stat"),
            throttled: ("throttled_time", 1e9),
        })
    }

    fn share(&mut self) -> Option<f64> {
        let limit = self.limit.read()?;
        match &mut self.period {
            None => share(&limit),
            Some(period) => share(&format!("{limit} {}", period.read()?)),
        }
    }
}

/// The number behind a key, one to a line.
fn keyed(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '))?;
    line.trim().parse().ok()
}

impl Reader for Cgroup {
    fn read(&mut self, table: &mut Table) {
        let mut put = |metric, value| table.put(Source::Host, metric, value);
        if let Some(memory) = &mut self.memory {
            let of = |file: &mut ProcFile| file.read()?.trim().parse::<u64>().ok();
            if let Some(limit) = of(&mut memory.limit) {
                put(&metric::CGROUP_MEMORY_LIMIT, limit as f64);
            }
            let idle = memory.stat.read().and_then(|text| keyed(&text, memory.idle_cache));
            if let Some(used) = of(&mut memory.used) {
                let used = used.saturating_sub(idle.unwrap_or(0));
                put(&metric::CGROUP_MEMORY_USED, used as f64);
            }
        }
        if let Some(cpu) = &mut self.cpu {
            if let Some(share) = cpu.share() {
                put(&metric::CGROUP_CPU_LIMIT, share);
            }
            let (key, a_second) = cpu.throttled;
            if let Some(time) = cpu.stat.read().and_then(|text| keyed(&text, key)) {
                put(&metric::CGROUP_CPU_THROTTLED, time as f64 / a_second);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::{Machine, values};

    #[test]
    fn version_two_takes_the_narrowest_limit_around() {
        let machine = Machine::new(&[
            ("proc/self/cgroup", "0::/pod/main\n"),
            ("sys/fs/cgroup/pod/main/memory.max", "max\n"),
            ("sys/fs/cgroup/pod/memory.max", "1000000\n"),
            ("sys/fs/cgroup/pod/memory.current", "900000\n"),
            ("sys/fs/cgroup/pod/memory.stat", "anon 5\ninactive_file 300000\nactive_file 7\n"),
            ("sys/fs/cgroup/pod/main/cpu.max", "150000 100000\n"),
            ("sys/fs/cgroup/pod/main/cpu.stat", "usage_usec 5\nthrottled_usec 2500000\n"),
        ]);
        let read = values(&mut Cgroup::find(&machine.root()).unwrap());
        assert_eq!(read["host cgroup.memory.limit"], 1e6);
        assert_eq!(read["host cgroup.memory.used"], 6e5);
        assert_eq!(read["host cgroup.cpu.limit"], 1.5);
        assert_eq!(read["host cgroup.cpu.throttled"], 2.5);
    }

    #[test]
    fn version_one_in_a_container_that_sees_its_own_cgroup_as_the_top() {
        let machine = Machine::new(&[
            ("proc/self/cgroup", "4:memory:/docker/ab12\n2:cpu,cpuacct:/docker/ab12\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "2000\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "1500\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpu/cpu.stat", "nr_periods 1\nthrottled_time 3000000000\n"),
        ]);
        let read = values(&mut Cgroup::find(&machine.root()).unwrap());
        assert_eq!(read["host cgroup.memory.used"], 1500.0);
        assert_eq!(read["host cgroup.cpu.limit"], 0.5);
        assert_eq!(read["host cgroup.cpu.throttled"], 3.0);
    }

    #[test]
    fn no_limit_is_nothing_to_show() {
        let machine = Machine::new(&[
            ("proc/self/cgroup", "4:memory:/\n0::/\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/cpu.max", "max 100000\n"),
        ]);
        assert!(Cgroup::find(&machine.root()).is_none());
        assert!(Cgroup::find(&Machine::new(&[]).root()).is_none());
        let odd = Machine::new(&[("proc/self/cgroup", "no colons\n::\n1:a\n")]);
        assert!(Cgroup::find(&odd.root()).is_none());
    }
}
