//! What `/proc` says of one process.

/// A line of `/proc/PID/stat`, as far as it is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Its parent.
    pub parent: u32,
    /// CPU time of its own and of children it has waited for, in the kernel's ticks.
    pub cpu_ticks: u64,
    /// Threads it has.
    pub threads: u64,
    /// When it was started, in ticks since the boot.
    pub start_ticks: u64,
    /// Pages of it in memory.
    pub resident_pages: u64,
}

/// The line; none for one that is cut or odd.
pub fn stat(text: &str) -> Option<Stat> {
    // The name stands in parentheses and may hold any of them.
    let (_, rest) = text.rsplit_once(')')?;
    let words: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |at: usize| words.get(at)?.parse::<u64>().ok();
    // Numbered from the state, which is the third field of the kernel's count.
    let cpu_ticks = (11..=14).try_fold(0u64, |sum, at| Some(sum.saturating_add(number(at)?)))?;
    Some(Stat {
        parent: u32::try_from(number(1)?).ok()?,
        cpu_ticks,
        threads: number(17)?,
        start_ticks: number(19)?,
        resident_pages: number(21)?,
    })
}

/// Bytes read from disks and written to them, of `/proc/PID/io`.
pub fn io(text: &str) -> Option<(u64, u64)> {
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        line.trim().parse().ok()
    };
    Some((value("read_bytes:")?, value("write_bytes:")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_look_like_anything() {
        let rest = "S 7 1 1 0 -1 4194560 1 2 3 4 100 20 30 4 20 0 9 0 5555 1000 77 184467";
        for name in ["python", "a b", "x) S 1 1", "((", ""] {
            let told = stat(&format!("42 ({name}) {rest}")).unwrap();
            let expected = Stat {
                parent: 7,
                cpu_ticks: 154,
                threads: 9,
                start_ticks: 5555,
                resident_pages: 77,
            };
            assert_eq!(told, expected, "{name:?}");
        }
        for odd in ["", "42 (x", "42 (x) S 7", "42 (x) S a b c"] {
            assert_eq!(stat(odd), None, "{odd:?}");
        }
    }

    #[test]
    fn bytes_that_reached_disks() {
        let text = "rchar: 9\nwchar: 9\nsyscr: 1\nsyscw: 1\nread_bytes: 4096\nwrite_bytes: 8192\n\
                    cancelled_write_bytes: 5\n";
        assert_eq!(io(text), Some((4096, 8192)));
        assert_eq!(io("rchar: 9\n"), None);
    }

    #[test]
    fn this_process_can_be_read() {
        let text = std::fs::read_to_string("/proc/self/stat").unwrap();
        let told = stat(&text).unwrap();
        assert!(told.threads >= 1 && told.resident_pages > 0 && told.start_ticks > 0, "{told:?}");
    }
}
