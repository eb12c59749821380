//! hodo, as a program uses it.

use crate::measure::{Row, timed};
use hodo::{Config, Recording, Scope};
use std::hint::black_box;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Scopes made in the parent before one of its later children is measured.
const SIBLINGS: u64 = 1_000_000;
/// Few enough for the ring.
const CHUNK: u64 = 100_000;
static RECORDING: Mutex<Option<(Recording, PathBuf)>> = Mutex::new(None);
static STORED: Mutex<u64> = Mutex::new(0);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the recorder as a program would, into a folder of its own; `HODO_*` is heeded.
pub fn start() {
    let mut recording = lock(&RECORDING);
    if recording.is_some() {
        return;
    }
    let mut config = Config::from_env();
    let folder = std::env::temp_dir().join(format!("hodo-bench-{}", std::process::id()));
    config.dir = Some(folder.clone());
    *recording = Some((hodo::init(config), folder));
}

/// Stops it and removes what it wrote.
pub fn stop() {
    if let Some((recording, folder)) = lock(&RECORDING).take() {
        drop(recording);
        let _ = std::fs::remove_dir_all(folder);
    }
}

/// How the recorder runs here.
pub fn describe() -> String {
    let health = hodo::health();
    let degraded = if health.degraded.is_empty() { "nothing" } else { &health.degraded };
    format!(
        "clock {}, CPU time by {}, {} MiB of rings, crash safe: {}, degraded: {degraded}",
        health.clock,
        health.cpu_time,
        health.memory_bytes >> 20,
        health.crash_safe,
    )
}

/// Writes everything out; how many of `expected` records did not reach the spool.
pub fn drain(expected: u64) -> u64 {
    let flushed = hodo::flush(Duration::from_secs(20));
    let health = hodo::health();
    let mut stored = lock(&STORED);
    let kept = health.stored.records() - *stored;
    *stored = health.stored.records();
    let missing = expected.saturating_sub(kept);
    if missing > 0 {
        eprintln!("{missing} of {expected} records missing ({flushed:?}): {health:?}");
    }
    missing
}

fn row(name: &'static str, keeps: &'static str, records: u64, burst: fn(u64)) -> Row {
    start();
    Row::drained(name, keeps, burst, move |cycles| drain(cycles * records))
}

const SPAN: &str = "64 B: wall, CPU, ids, overhead";

/// A program that never starts the recorder.
pub fn not_started() -> Row {
    assert!(!hodo::is_on(), "measure this before the recorder starts");
    Row::new("hodo scope!, not started", "nothing", scopes)
}

/// The usual scope.
pub fn on() -> Row {
    row("hodo scope!", SPAN, 1, scopes)
}

/// With an index and two attributes.
pub fn attributes() -> Row {
    row("hodo scope!, index + 2 attributes", "128 B", 2, with_attributes)
}

/// A point of a series.
pub fn mark() -> Row {
    row("hodo mark!", "64 B: time, value, scope", 1, marks)
}

/// A scope whose name is made at run time.
pub fn runtime_name() -> Row {
    row("hodo scope(), name at run time", SPAN, 1, named)
}

/// Eight scopes deep.
pub fn depth_8() -> Row {
    row("hodo scope!, depth 8", SPAN, 1, |cycles| at_depth(8, cycles))
}

/// As deep as one below the limit.
pub fn depth_63() -> Row {
    row("hodo scope!, depth 63", SPAN, 1, |cycles| at_depth(63, cycles))
}

#[inline(never)]
fn scopes(cycles: u64) {
    for _ in 0..cycles {
        let _scope = hodo::scope!("x");
    }
}

#[inline(never)]
fn with_attributes(cycles: u64) {
    for i in 0..cycles {
        let _scope = hodo::scope!("x", index = i, rows = i, variant = "beam");
    }
}

#[inline(never)]
fn marks(cycles: u64) {
    for i in 0..cycles {
        hodo::mark!("loss", i as f64);
    }
}

#[inline(never)]
fn named(cycles: u64) {
    for _ in 0..cycles {
        let _scope = hodo::scope(black_box("x"));
    }
}

#[inline(never)]
fn at_depth(depth: u32, cycles: u64) {
    if depth > 1 {
        let _outer = hodo::scope!("outer");
        return at_depth(depth - 1, cycles);
    }
    scopes(cycles);
}

/// In a parent that has had a million children; on a thread that keeps that parent open.
pub fn siblings() -> Row {
    start();
    let (work, orders) = channel();
    let (answers, took) = channel();
    thread::spawn(move || with_siblings(orders, answers));
    let took_at_start: Result<u64, _> = took.recv();
    assert!(took_at_start.is_ok(), "the thread with the siblings ended");
    Row {
        name: "hodo scope!, after a million siblings",
        keeps: SPAN,
        burst: Box::new(move |cycles| {
            let sent: Result<(), _> = work.send(cycles);
            sent.ok().and_then(|()| took.recv().ok()).unwrap_or(0)
        }),
        drain: Box::new(drain),
    }
}

fn with_siblings(orders: Receiver<u64>, answers: Sender<u64>) {
    crate::machine::pin(0, 0);
    let _parent: Scope = hodo::scope!("parent");
    let mut missing = 0;
    for _ in 0..SIBLINGS / CHUNK {
        scopes(CHUNK);
        missing += drain(CHUNK);
    }
    assert!(missing == 0, "{missing} siblings were lost");
    let _ = answers.send(0);
    for cycles in orders {
        let _ = answers.send(timed(scopes, cycles));
    }
}
