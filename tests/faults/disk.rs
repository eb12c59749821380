use crate::check::{acknowledged, assert_accounted, findings};
use crate::harness::{Health, Running, Scratch, Victim, heavy, read};
use hodo_tests::acks::{get, stage};
use hodo_trace::Loss;
use std::ffi::CString;
use std::fs::File;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

const LANES: usize = 2;
const RATE: u64 = 20_000;

/// A small file system in memory, unmounted when dropped.
struct Mount(CString);

impl Mount {
    /// Mounts one of `bytes` bytes; `None`, with a word on why, where that is not allowed.
    fn tmpfs(at: &Path, bytes: u64) -> Option<Mount> {
        std::fs::create_dir_all(at).unwrap();
        let path = CString::new(at.as_os_str().as_bytes()).unwrap();
        let options = CString::new(format!("size={bytes}")).unwrap();
        // SAFETY: every pointer is a string that ends in NUL and outlives the call.
        let failed = unsafe {
            let kind = c"tmpfs".as_ptr();
            libc::mount(kind, path.as_ptr(), kind, 0, options.as_ptr().cast())
        };
        if failed != 0 {
            println!("skipped: mount needs root: {}", std::io::Error::last_os_error());
            return None;
        }
        Some(Mount(path))
    }

    fn make_read_only(&self) {
        let flags = libc::MS_REMOUNT | libc::MS_RDONLY;
        let none = std::ptr::null();
        // SAFETY: remounts our own mount point; the path ends in NUL.
        let failed = unsafe { libc::mount(none, self.0.as_ptr(), none, flags, none.cast()) };
        assert_eq!(failed, 0, "{}", std::io::Error::last_os_error());
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // SAFETY: our own mount point; the path ends in NUL.
        unsafe { libc::umount2(self.0.as_ptr(), libc::MNT_DETACH) };
    }
}

fn steady(scratch: &Scratch) -> Victim {
    Victim::new(scratch, "steady", LANES)
        .arg("lanes", LANES)
        .arg("rate", RATE)
        .arg("health", scratch.path("health").display())
        .env("HODO_MEMORY", "4M")
        .env("HODO_FLUSH", "20")
}

/// Bytes of all files below a folder.
fn bytes_below(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() => bytes_below(&entry.path()),
            Ok(meta) => meta.len(),
            Err(_) => 0,
        })
        .sum()
}

/// Waits until files below `folder` have grown, and says how long that took.
fn grows(folder: &Path) -> Duration {
    let (before, began) = (bytes_below(folder), Instant::now());
    while bytes_below(folder) <= before {
        assert!(began.elapsed() < Duration::from_secs(240), "nothing is written any more");
        thread::sleep(Duration::from_millis(2));
    }
    began.elapsed()
}

fn fill(folder: &Path) -> PathBuf {
    let path = folder.join("filler");
    let mut file = File::create(&path).unwrap();
    let mut block = vec![b'x'; 1 << 20];
    while !block.is_empty() {
        if file.write_all(&block).is_err() {
            block.truncate(block.len() / 2);
        }
    }
    path
}

/// Records of the smallest kind fill a memory of 4 MiB with fewer.
const MORE_THAN_MEMORY_HOLDS: u64 = 300_000;

/// Waits until the victim has made so many records more.
fn records(running: &mut Running, count: u64) {
    let made = |running: &Running| acknowledged(&running.acks, 0).records();
    let (until, began) = (made(running) + count, Instant::now());
    while made(running) < until {
        assert!(began.elapsed() < Duration::from_secs(240), "nothing is recorded any more");
        assert!(running.child.try_wait().unwrap().is_none(), "{}", running.stderr());
        thread::sleep(Duration::from_millis(2));
    }
}

fn stop(running: &mut Running) {
    running.set_stage(stage::STOP);
    let status = running.wait();
    assert!(status.success(), "{status}\n{}", running.stderr());
}

#[test]
fn a_full_disk_is_survived_and_left_behind() {
    let scratch = Scratch::new("full-disk");
    let Some(_mount) = Mount::tmpfs(&scratch.runs(), 48 << 20) else { return };
    let mut running = steady(&scratch).start();
    running.started();
    let mut slowest = Duration::ZERO;
    for _ in 0..if heavy() { 5 } else { 2 } {
        grows(&scratch.runs());
        let filler = fill(&scratch.runs());
        records(&mut running, MORE_THAN_MEMORY_HOLDS);
        std::fs::remove_file(filler).unwrap();
        slowest = slowest.max(grows(&scratch.runs()));
        thread::sleep(Duration::from_millis(200));
    }
    stop(&mut running);
    let run = read(&scratch.runs());
    let acked = acknowledged(&running.acks, 0);
    assert_accounted(&run, acked, 0);
    let found = findings(&run, &running.acks, 0);
    assert!(found.is_true(), "{found:?}");
    let lost = run.processes[0].account.lost_records();
    assert_eq!(found.missing, lost, "{found:?}");
    assert!(lost > 0, "the disk was never full for long enough");
    assert_last_step_is_there(&run, &running);
    println!(
        "full disk: {} records, {lost} lost and counted, writing {slowest:?} after space returned",
        acked.records()
    );
    assert!(!heavy() || slowest < Duration::from_secs(1), "{slowest:?}");
}

fn assert_last_step_is_there(run: &hodo_trace::Run, running: &Running) {
    let last = get(&running.acks.lane(0).spans) / 2 - 1;
    let code = hodo_tests::plan::code(0, last);
    let mut spans = run.processes.iter().flat_map(|process| process.span_views());
    assert!(spans.any(|span| span.index() == Some(code)), "it did not recover");
}

#[test]
fn a_read_only_folder_degrades_and_is_said_once() {
    let scratch = Scratch::new("read-only");
    let Some(mount) = Mount::tmpfs(&scratch.runs(), 1 << 20) else { return };
    mount.make_read_only();
    memory_only(&scratch, steady(&scratch));
}

#[test]
fn a_folder_that_cannot_exist_degrades_and_is_said_once() {
    let scratch = Scratch::new("no-folder");
    std::fs::write(scratch.runs(), "a file where a folder should be").unwrap();
    memory_only(&scratch, steady(&scratch));
}

/// A recorder that has no folder: the host is unharmed, one warning, all counted as not stored.
fn memory_only(scratch: &Scratch, victim: Victim) {
    let running = victim.arg("steps", 5_000).run();
    assert_eq!(get(&running.acks.lane(0).values[0]), 2, "not degraded");
    let stderr = running.stderr();
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.contains("hodo"), "{stderr}");
    let health = Health::read(scratch);
    health.assert_accounts_for(acknowledged(&running.acks, 0));
    assert_eq!(health.stored.records(), 0);
}

#[test]
fn a_deleted_folder_is_made_again() {
    let scratch = Scratch::new("deleted");
    let mut running = steady(&scratch).start();
    running.started();
    for _ in 0..if heavy() { 5 } else { 2 } {
        grows(&scratch.runs());
        thread::sleep(Duration::from_millis(150));
        // At once: what is made again must not come in the way of what is being removed.
        std::fs::rename(scratch.runs(), scratch.path("deleted")).unwrap();
        std::fs::remove_dir_all(scratch.path("deleted")).unwrap();
        while !scratch.runs().exists() {
            assert!(running.child.try_wait().unwrap().is_none(), "{}", running.stderr());
            thread::sleep(Duration::from_millis(2));
        }
    }
    grows(&scratch.runs());
    stop(&mut running);
    let acked = acknowledged(&running.acks, 0);
    let health = Health::read(&scratch);
    health.assert_accounts_for(acked);
    assert!(health.lost[Loss::SpoolGone as usize].records() > 0, "{health:?}");
    let run = read(&scratch.runs());
    let found = findings(&run, &running.acks, 0);
    assert!(found.is_true(), "{found:?}");
    assert_eq!(found.read, health.stored.records(), "{found:?} {health:?}");
    assert_accounted(&run, acked, 0);
    assert_last_step_is_there(&run, &running);
}

#[test]
fn a_limit_on_file_size_never_brings_a_signal() {
    for bytes in [0, 4_096, 100_000, 1 << 20, 5 << 20, 64 << 20] {
        let scratch = Scratch::new("fsize");
        let mut running = steady(&scratch).arg("fsize", bytes).arg("steps", 20_000).start();
        let status = running.wait();
        assert!(status.success(), "limit {bytes}: {status}\n{}", running.stderr());
        let acked = acknowledged(&running.acks, 0);
        let health = Health::read(&scratch);
        health.assert_accounts_for(acked);
        println!(
            "limit {bytes}: {} of {} records stored",
            health.stored.records(),
            acked.records()
        );
    }
}
