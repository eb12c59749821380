//! One recorder after another in one process, with threads that never stop recording.

use hodo_record::{Config, Context, Flushed, Site, Started, begin, current_scope_id, open_at};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

static OUTER: Site = Site::new("outer");
static INNER: Site = Site::new("inner");

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("hodo-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

fn config(dir: &std::path::Path) -> Config {
    Config {
        dir: Some(dir.to_owned()),
        memory_bytes: 4 << 20,
        share_run: false,
        ..Config::default()
    }
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

/// Threads record at full speed while recorders come and go: nothing crashes, nothing leaks, and
/// each recorder gets records.
#[test]
fn recorders_come_and_go_under_threads_at_work() {
    let dir = folder("lifecycle");
    let stop = Arc::new(AtomicBool::new(false));
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let _outer = open_at(&OUTER, Some(1));
                    let _inner = open_at(&INNER, None);
                }
            })
        })
        .collect();
    let mut files = 0;
    for cycle in 0..40 {
        assert_eq!(hodo_record::init(config(&dir)), Started::On);
        let records = |_| {
            std::thread::sleep(Duration::from_millis(5));
            hodo_record::health().produced.spans > 0
        };
        assert!((0..24_000).any(records), "cycle {cycle}: no thread came back to recording");
        assert_eq!(hodo_record::shutdown(), Flushed::Done);
        assert!(!hodo_record::health().on);
        files = if cycle < 2 { open_files() } else { files };
        assert!(open_files() <= files, "cycle {cycle}: descriptors are left open");
    }
    stop.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().expect("a thread"));
    a_scope_closed_inside_a_poll_leaves_the_stack_whole(&dir);
    let _ = std::fs::remove_dir_all(&dir);
}

/// A scope may be moved into a future and closed in its first poll.
fn a_scope_closed_inside_a_poll_leaves_the_stack_whole(dir: &std::path::Path) {
    assert_eq!(hodo_record::init(config(dir)), Started::On);
    let setup = open_at(&OUTER, None);
    let mut context = Context::new(begin(INNER.id(), 0, None));
    {
        let _poll = context.enter();
        drop(setup);
        let _in_task = open_at(&INNER, None);
    }
    assert_eq!(current_scope_id(), 1);
    for _ in 0..100 {
        let _one = open_at(&OUTER, None);
        let _two = open_at(&INNER, None);
        assert_eq!(current_scope_id(), 3);
    }
    drop(context);
    assert_eq!(hodo_record::health().out_of_order, 1);
    assert_eq!(hodo_record::shutdown(), Flushed::Done);
    let last = hodo_record::health();
    assert_eq!((last.stored.spans, last.lost_records()), (203, 0));
}
