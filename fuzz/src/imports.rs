//! What must hold of any import.

use hodo_convert::import::{Source, import_bytes};
use hodo_trace::{Filter, ReadOptions, Run, tree};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// A folder in memory, one for each process.
static DIR: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    base.join(format!("hodo-fuzz-{}", std::process::id()))
});

/// Imports bytes: they are refused and nothing is left, or make a run that reads as it was counted.
pub fn import(source: Source, bytes: &[u8]) {
    let made = import_bytes(source, Path::new("fuzz"), bytes, &DIR);
    if let Ok(imported) = &made {
        let run = Run::open(&imported.folder, &ReadOptions::default()).expect("a run");
        let (mut marks, mut work) = (0, 0);
        for process in &run.processes {
            assert!(process.damage.is_none(), "{:?}", process.damage);
            let account = &process.account;
            assert_eq!(account.lost_records() + account.unexplained, 0, "{account:?}");
            assert!(process.is_timed());
            marks += process.marks.len() as u64;
            work += process.gpu.work.len() as u64;
        }
        let totals = &imported.totals;
        assert_eq!((totals.records.spans, totals.records.marks), (run.span_count() as u64, marks));
        assert_eq!(totals.kernels + totals.copies + totals.sets + totals.waits, work);
        assert_eq!(tree(&run, &Filter::default()).spans, totals.records.spans);
    }
    let left = std::fs::read_dir(&*DIR).map_or(0, Iterator::count);
    assert_eq!(left, usize::from(made.is_ok()), "left behind");
    std::fs::remove_dir_all(&*DIR).expect("removed");
}
