//! A disk that fills up and has room again. Needs root, for a small file system to fill.

use super::tests::read_back;
use super::{Kept, Limits, Store};
use crate::sampler::Row;
use crate::tier::Tier;
use hodo_format::machine::{Series, Source, metric};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const SECOND: u64 = 1_000_000_000;

/// A small file system in memory, unmounted when dropped.
struct Mount(CString);

impl Mount {
    fn tmpfs(at: &Path) -> Option<Mount> {
        let path = CString::new(at.as_os_str().as_bytes()).unwrap();
        let kind = c"tmpfs".as_ptr();
        let options = c"size=128k".as_ptr().cast();
        // SAFETY: all texts end in a NUL.
        let failed = unsafe { libc::mount(kind, path.as_ptr(), kind, 0, options) };
        if failed != 0 {
            println!("skipped: mount needs root: {}", std::io::Error::last_os_error());
        }
        (failed == 0).then_some(Mount(path))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // SAFETY: our own mount point; the path ends in a NUL.
        unsafe { libc::umount2(self.0.as_ptr(), libc::MNT_DETACH) };
    }
}

/// Takes every byte there is.
fn fill(path: &Path) {
    use std::io::Write;
    let mut file = std::fs::File::create(path).unwrap();
    let mut bytes = 4096;
    while bytes > 0 {
        bytes = if file.write_all(&vec![1; bytes]).is_ok() { bytes } else { bytes / 2 };
    }
}

#[test]
fn rows_wait_while_the_disk_is_full_and_are_written_when_it_is_not() {
    let place = tempfile::tempdir().unwrap();
    let Some(_mount) = Mount::tmpfs(place.path()) else { return };
    let limits = Limits { block_rows: 8, ..Limits::default() };
    let mut store = Store::open(place.path(), "monitor", limits).unwrap();
    let series = [Series::new(1, &Source::Host, &metric::CPU_TIME)];
    let state = |kept: &Kept| format!("{{\"lost_rows\": {}}}", kept.lost_rows);
    let keep = |store: &mut Store, seconds: std::ops::RangeInclusive<u64>| {
        let mut on_disk = 0;
        for second in seconds {
            let row =
                Row { tier: Tier::Fast, time_ns: second * SECOND, ids: &[1], values: &[Some(1)] };
            on_disk += u64::from(store.keep(&row, &series));
            store.write(second * SECOND, false, &state);
        }
        on_disk
    };
    assert_eq!(keep(&mut store, 1..=20), 20);
    let filler = place.path().join("filler");
    fill(&filler);
    assert!(keep(&mut store, 21..=300) < 280);
    assert!(store.kept().trouble.contains("cannot write to"), "{:?}", store.kept());
    let before: Vec<u64> =
        read_back(store.folder()).keys().map(|(_, time)| time / SECOND).collect();
    assert_eq!(before[..20], (1..=20).collect::<Vec<u64>>()[..], "what was written stays");
    std::fs::remove_file(&filler).unwrap();
    assert_eq!(keep(&mut store, 302..=310), 9);
    assert_eq!((store.kept().trouble.as_str(), store.kept().lost_rows), ("", 0));
    store.finish(311 * SECOND, &state);
    assert_eq!(read_back(store.folder()).len(), 309);
    let litter = std::fs::read_dir(store.folder()).unwrap().flatten();
    assert!(litter.into_iter().all(|file| !file.path().to_string_lossy().ends_with(".part")));
}
