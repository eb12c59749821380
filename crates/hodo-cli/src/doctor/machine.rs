//! Checks of limits and memory.

use super::Check;
use crate::term::{number, text};

const MIB: u64 = 1 << 20;
/// The recorder's memory unless HODO_MEMORY says otherwise.
const DEFAULT_MEMORY: u64 = 64 * MIB;

/// Operating system, architecture and cores in words.
pub fn platform() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let os = std::env::consts::OS;
    let arch = std::env::consts::ARCH;
    format!("{os} {} {arch}, {}", text::safe(release.trim()), text::plural(cores as u64, "core"))
}

/// Whether files may grow as large as the spool needs.
pub fn file_size_limit() -> Check {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is alive for the call and of the type it fills.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) } == 0;
    file_size_from(known.then_some(limit.rlim_cur).filter(|l| *l != libc::RLIM_INFINITY))
}

fn file_size_from(limit: Option<u64>) -> Check {
    const NAME: &str = "file size";
    match limit {
        None => Check::ok(NAME, "no limit (RLIMIT_FSIZE)"),
        Some(bytes) if bytes < 2 * DEFAULT_MEMORY => Check::bad(
            NAME,
            format!("limited to {}: the rings do not fit (RLIMIT_FSIZE)", number::bytes(bytes)),
            "ulimit -f unlimited",
        ),
        Some(bytes) => Check::warn(
            NAME,
            format!("limited to {} (RLIMIT_FSIZE)", number::bytes(bytes)),
            "ulimit -f unlimited, or keep spool files below it",
        ),
    }
}

/// Whether the rings fit into memory with room to spare.
pub fn memory() -> Check {
    let info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let free = meminfo_available(&info);
    let cgroup = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let limit = cgroup.and_then(|t| t.trim().parse().ok());
    memory_from(free, limit)
}

fn meminfo_available(info: &str) -> Option<u64> {
    let line = info.lines().find(|l| l.starts_with("MemAvailable:"))?;
    Some(line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}

fn memory_from(available: Option<u64>, limit: Option<u64>) -> Check {
    const NAME: &str = "memory";
    let Some(free) = [available, limit].into_iter().flatten().min() else {
        return Check::warn(NAME, "not known", "check that /proc is mounted");
    };
    let shown = match limit {
        Some(l) if l == free => format!("{} (limit of this container)", number::bytes(free)),
        _ => format!("{} available", number::bytes(free)),
    };
    let needs = number::bytes(DEFAULT_MEMORY);
    if free < 4 * DEFAULT_MEMORY {
        let found = format!("{shown}; a recorded process takes {needs} unless told otherwise");
        Check::warn(NAME, found, "set HODO_MEMORY lower, for example 16M")
    } else {
        Check::ok(NAME, format!("{shown}; a recorded process takes {needs}"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn limits_smaller_than_the_rings_are_bad() {
        assert_eq!(file_size_from(Some(MIB)).state, State::Bad);
        assert_eq!(file_size_from(Some(1 << 34)).state, State::Warn);
        assert_eq!(file_size_from(None).state, State::Ok);
    }

    #[test]
    fn the_smaller_of_memory_and_container_limit_counts() {
        assert_eq!(meminfo_available("MemTotal: 9 kB\nMemAvailable:   2048 kB\n"), Some(2 * MIB));
        assert_eq!(memory_from(Some(8192 * MIB), Some(128 * MIB)).state, State::Warn);
        assert_eq!(memory_from(Some(8192 * MIB), None).state, State::Ok);
        assert_eq!(memory_from(None, None).state, State::Warn);
    }
}
