//! Whether something fits into the memory that is free.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is done by itself takes no more than this part of what is free: programs may need the rest.
const PART_OF_FREE: u64 = 2;

/// Bytes that can still be had; none where nobody can tell.
pub(crate) fn free() -> Option<u64> {
    free_bytes(Path::new("/"))
}

/// Bytes that something which nobody waits for may take now.
pub(crate) fn room() -> Option<u64> {
    free().map(|free| free.saturating_sub(ALL.bytes()) / PART_OF_FREE)
}

/// Takes `needed` bytes of what is free for something that is going to take them; where there are
/// fewer, tells how many.
pub(crate) fn reserve(needed: u64) -> Result<Reserved, u64> {
    ALL.take(needed, free())
}

/// Bytes that several are going to take at once: what is free does not tell of them yet.
struct Reservations(Mutex<u64>);

static ALL: Reservations = Reservations(Mutex::new(0));

/// Bytes that are given back when this goes.
pub(crate) struct Reserved(&'static Reservations, u64);

impl Reservations {
    fn state(&self) -> MutexGuard<'_, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bytes(&self) -> u64 {
        *self.state()
    }

    fn take(&'static self, needed: u64, free: Option<u64>) -> Result<Reserved, u64> {
        let mut taken = self.state();
        match free.map(|free| free.saturating_sub(*taken)) {
            Some(left) if needed > left => Err(left),
            _ => {
                *taken = taken.saturating_add(needed);
                Ok(Reserved(self, needed))
            }
        }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let mut taken = self.0.state();
        *taken = taken.saturating_sub(self.1);
    }
}

/// Whether something that takes so many bytes has room.
pub(crate) fn fits(bytes: u64) -> bool {
    room().is_none_or(|room| bytes <= room)
}

/// Bytes that this machine, or any group of programs that this one is in, can still give.
fn free_bytes(root: &Path) -> Option<u64> {
    let machine = text(&root.join("proc/meminfo")).and_then(|text| available(&text));
    let groups = text(&root.join("proc/self/cgroup")).unwrap_or_default();
    let limits = groups.lines().flat_map(|line| in_group(root, line));
    limits.chain(machine).min()
}

fn text(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// What the group of a line of `/proc/self/cgroup`, and those around it, have left.
fn in_group(root: &Path, line: &str) -> Vec<u64> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(kinds), Some(path)) = (parts.next(), parts.next()) else { return Vec::new() };
    let (top, most, now, prefix) = match kinds {
        "" => ("sys/fs/cgroup", "memory.max", "memory.current", ""),
        kinds if kinds.split(',').any(|kind| kind == "memory") => {
            ("sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_")
        }
        _ => return Vec::new(),
    };
    let left = |folder: &Path| {
        let number = |name: &str| text(&folder.join(name))?.trim().parse::<u64>().ok();
        // What is kept of files is given up when memory is needed.
        let stat = text(&folder.join("memory.stat")).unwrap_or_default();
        let kept = |name: &str| {
            let name = format!("{prefix}{name} ");
            stat.lines().find_map(|line| line.strip_prefix(&name)?.parse::<u64>().ok()).unwrap_or(0)
        };
        let used = number(now)?.saturating_sub(kept("inactive_file") + kept("active_file"));
        Some(number(most)?.saturating_sub(used))
    };
    // In a container the path may be that of the machine, and the group itself is at the top.
    let inside = Path::new(path.trim_start_matches('/'));
    let all = inside.ancestors().map(|group| root.join(top).join(group));
    all.filter_map(|folder| left(&folder)).collect()
}

fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_is_going_to_take_is_not_free_for_another() {
        static HERE: Reservations = Reservations(Mutex::new(0));
        let first = HERE.take(60, Some(100));
        assert!(first.is_ok());
        assert_eq!(HERE.take(60, Some(100)).err(), Some(40));
        assert!(HERE.take(40, Some(100)).is_ok() && HERE.take(1000, None).is_ok());
        drop(first);
        assert_eq!(HERE.bytes(), 0);
        assert!(HERE.take(60, Some(100)).is_ok());
    }

    #[test]
    fn the_tightest_of_machine_and_groups_counts() {
        let root = std::env::temp_dir().join(format!("hodo-memory-{}", std::process::id()));
        std::fs::create_dir_all(&root).unwrap();
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        assert_eq!(free_bytes(&root), None);
        write("proc/meminfo", "MemTotal:       100 kB\nMemAvailable:    50 kB\n");
        assert_eq!(free_bytes(&root), Some(50 << 10));
        write("proc/self/cgroup", "0::/system.slice/hodo.service\n");
        write("sys/fs/cgroup/system.slice/hodo.service/memory.max", "max\n");
        write("sys/fs/cgroup/system.slice/hodo.service/memory.current", "20480\n");
        assert_eq!(free_bytes(&root), Some(50 << 10), "no limit there");
        write("sys/fs/cgroup/system.slice/memory.max", "40960\n");
        write("sys/fs/cgroup/system.slice/memory.current", "30720\n");
        assert_eq!(free_bytes(&root), Some(10 << 10), "the group around it has one");
        let stat = "anon 10240\ninactive_file 8192\nactive_file 2048\n";
        write("sys/fs/cgroup/system.slice/memory.stat", stat);
        assert_eq!(free_bytes(&root), Some(20 << 10), "what is kept of files can be had");
        write("proc/self/cgroup", "5:cpu,cpuacct:/\n4:memory:/docker/1\n");
        write("sys/fs/cgroup/memory/memory.limit_in_bytes", "8192\n");
        write("sys/fs/cgroup/memory/memory.usage_in_bytes", "4096\n");
        assert_eq!(free_bytes(&root), Some(4 << 10), "as older systems tell it");
        std::fs::remove_dir_all(&root).unwrap();
    }
}
