//! Damaged files: never a panic, every undamaged record kept, what is missing counted.

use crate::support::arena::ArenaFile;
use crate::support::{Records, TestRun};
use hodo_format::record::{SpanId, Value};
use hodo_trace::{Filter, Run, flat};
use std::path::{Path, PathBuf};

fn records() -> Records {
    let mut r = Records::new(1);
    for thread in [1, 2] {
        let root = r.id(thread);
        for i in 0..12 {
            let id = r.id(thread);
            r.attr(id, "i", Value::I64(i));
            r.mark(thread, id, "loss", 100, Value::F64(0.5), false);
            r.close(id, root, "step", 100 + i as u64, 200);
        }
        let open = r.span(root, SpanId::NONE, "root", 90, 90);
        r.open.push(open);
    }
    r
}

/// Half in the spool, half in the arena.
fn crashed(run: &TestRun) -> Vec<PathBuf> {
    let r = records();
    let folder = run.json(&r);
    let all: Vec<_> = r.all().collect();
    let half =
        |later| all.iter().copied().filter(move |x| (x.1 >= 18) == later).collect::<Vec<_>>();
    r.spool(&folder, &half(false), false);
    let mut arena = ArenaFile::new(&r);
    arena.ring(&half(true));
    arena.write(&folder);
    let mut files: Vec<_> =
        ["arena", "catalog.hodo", "spool-000001.hodo"].iter().map(|f| folder.join(f)).collect();
    files.push(folder.join("process.json"));
    files.push(run.path().join("run.json"));
    files
}

fn use_all_of(run: &Run) {
    let tree = hodo_trace::tree(run, &Filter::default());
    flat(&tree, hodo_trace::FlatSort::Total);
    serde_json::to_string(&tree).expect("JSON");
    let mut sum = hodo_trace::Account::default();
    for process in &run.processes {
        sum += &process.account;
        let parts = (&process.account, &process.damage, &process.threads, &process.info);
        serde_json::to_string(&parts).expect("JSON");
        let _ = (process.account.produced_records(), process.account.is_complete());
        for view in process.span_views() {
            let _ = (view.name(), view.start_ns(), view.end_ns(), view.cpu_ns(), view.attrs());
        }
    }
}

#[test]
fn truncated_anywhere_never_panics() {
    let run = TestRun::new();
    for file in crashed(&run) {
        let whole = std::fs::read(&file).expect("a file");
        let step = (whole.len() / 150).max(1);
        for len in (0..whole.len()).step_by(step) {
            std::fs::write(&file, &whole[..len]).expect("write");
            use_all_of(&run.read());
        }
        std::fs::write(&file, &whole).expect("write");
    }
}

#[test]
fn flipped_bits_never_panic() {
    let run = TestRun::new();
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below as u64) as usize
    };
    for file in crashed(&run) {
        let whole = std::fs::read(&file).expect("a file");
        // Most of an arena is empty; damage goes where something is.
        let used: Vec<usize> = (0..whole.len()).filter(|&at| whole[at] != 0).collect();
        for _ in 0..400 {
            let mut bytes = whole.clone();
            for _ in 0..=random(4) {
                bytes[used[random(used.len())]] ^= 1 << random(8);
            }
            std::fs::write(&file, &bytes).expect("write");
            use_all_of(&run.read());
        }
        std::fs::write(&file, &whole).expect("write");
    }
}

#[test]
fn a_frame_cut_out_of_a_finished_run_is_counted_exactly() {
    let run = TestRun::new();
    let r = records();
    let folder = run.finished(&r);
    let path = folder.join("spool-000001.hodo");
    let whole = std::fs::read(&path).expect("the spool");
    let frames: Vec<usize> = whole
        .windows(4)
        .enumerate()
        .filter(|(_, w)| *w == hodo_format::spool::FRAME_MAGIC)
        .map(|(at, _)| at)
        .collect();
    let total = r.counts().records();
    assert!(run.read().processes[0].account.is_complete());
    // The first frame holds readings of the clocks.
    for &at in &frames[1..] {
        let mut bytes = whole.clone();
        bytes[at + hodo_format::spool::FRAME_HEADER_BYTES + 3] ^= 0x10;
        std::fs::write(&path, &bytes).expect("write");
        let read = run.read();
        let process = &read.processes[0];
        let found = process.account.stored.records();
        assert!(found < total && found >= total - 5, "one frame of five at most: {found}");
        assert_eq!(process.account.unexplained, total - found);
        assert_eq!(process.account.produced_records(), total);
        assert_eq!(process.damage.frames, 1);
        assert!(process.damage.bytes > 0);
    }
}

#[test]
fn the_torn_end_of_a_killed_process_is_not_damage() {
    let run = TestRun::new();
    let r = records();
    let folder = run.json(&r);
    let all: Vec<_> = r.all().collect();
    r.spool(&folder, &all, false);
    let mut arena = ArenaFile::new(&r);
    arena.ring(&all);
    arena.write(&folder);
    let path = folder.join("spool-000001.hodo");
    let whole = std::fs::read(&path).expect("the spool");
    for cut in 1..40 {
        std::fs::write(&path, &whole[..whole.len() - cut]).expect("write");
        let read = run.read();
        let process = &read.processes[0];
        assert!(process.damage.is_none(), "cut {cut}: {:?}", process.damage);
        assert!(process.account.is_complete(), "cut {cut}: {:?}", process.account);
        assert_eq!(process.account.produced, r.counts());
    }
}

/// Zeros that take no room on the disk: a few bytes that were sent may be gigabytes of them.
fn append_hole(file: &Path, bytes: u64) {
    let file = std::fs::OpenOptions::new().write(true).open(file).expect("a file");
    let len = file.metadata().expect("its length").len();
    file.set_len(len + bytes).expect("a longer file");
}

/// The most memory this process had, bytes.
fn most_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("status");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a high-water mark");
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).expect("a number") << 10
}

#[test]
fn a_hole_of_gigabytes_in_a_spool_is_damage_and_takes_no_memory() {
    const HOLE: u64 = 6 << 30;
    for name in ["spool-000001.hodo", "catalog.hodo"] {
        let run = TestRun::new();
        let folder = run.finished(&records());
        let (whole, before) = (run.read(), most_memory());
        append_hole(&folder.join(name), HOLE);
        let read = run.read();
        assert_eq!(read.span_count(), whole.span_count(), "{name}");
        let damage = &read.processes[0].damage;
        assert_eq!(damage.bytes, HOLE, "{name}");
        assert_eq!(damage.places.len(), 1, "{name}");
        // Other tests run in this process, none with so much.
        assert!(most_memory() - before < 2 << 30, "{name}");
    }
}

#[test]
fn what_is_behind_a_hole_is_read() {
    let run = TestRun::new();
    let folder = run.finished(&records());
    let spool = folder.join("spool-000001.hodo");
    let frames = std::fs::read(&spool).expect("a spool").split_off(64);
    let spans = run.read().span_count();
    append_hole(&spool, 3 << 30);
    let mut file = std::fs::OpenOptions::new().append(true).open(&spool).expect("a file");
    std::io::Write::write_all(&mut file, &frames).expect("the same again");
    let read = run.read();
    assert_eq!((read.span_count(), read.processes[0].damage.bytes), (spans, 3 << 30));
    std::fs::write(&spool, &frames).expect("frames without their header");
    assert_eq!(run.read().span_count(), spans);
}

#[test]
fn pipes_in_place_of_files_keep_nobody_waiting() {
    let (run, arena) = (TestRun::new(), "arena");
    let folder = run.finished(&records());
    let names = ["process.json", "catalog.hodo", "spool-000001.hodo", "gpu-000001.hodo", arena];
    let files = names.iter().map(|name| folder.join(name)).chain([run.path().join("run.json")]);
    for file in files {
        let _ = std::fs::remove_file(&file);
        let path = std::ffi::CString::new(file.to_str().expect("a path")).expect("a path");
        // SAFETY: the path ends with a zero byte and lives through the call.
        assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
        use_all_of(&run.read());
        Run::list(run.path().parent().expect("a folder"));
    }
    assert_eq!(run.read().info.id, run.path().file_name().expect("a name").to_string_lossy());
}

#[test]
fn a_run_file_of_gigabytes_is_not_read() {
    let run = TestRun::new();
    run.finished(&records());
    let (info, before) = (run.path().join("run.json"), most_memory());
    append_hole(&info, 6 << 30);
    let all = Run::list(run.path().parent().expect("a folder"));
    assert!(all.iter().any(|listed| listed.folder == run.path()));
    assert!(run.read().info.app.is_empty(), "what is that long is no description of a run");
    assert!(most_memory() - before < 2 << 30);
}
