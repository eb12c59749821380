//! Runs the tests read.

use crate::made::{MS, Made, Scope, US};
use hodo_format::record::{SpanId, flag};

const NONE: SpanId = SpanId::NONE;

/// Two epochs of three batches, a loader thread, a failure, marks, tags and a benchmark loop.
pub fn training(pid: u32) -> Made {
    let mut run = Made::new(pid);
    run.thread(2, "loader");
    let train = run.open(1);
    run.text(train, "tag", "adamw");
    for epoch in 0..2 {
        one_epoch(&mut run, train, epoch);
    }
    run.close(train, Scope::new("train", NONE, 0, 210 * MS));
    for item in 0..6 {
        let at = item * 30 * MS;
        run.span(Scope::new("load", NONE, at, at + (8 + item) * MS).on(2).index(item as i64));
    }
    bench(&mut run);
    run
}

fn one_epoch(run: &mut Made, train: SpanId, epoch: u64) {
    let id = run.open(1);
    let start = epoch * 100 * MS;
    for batch in 0..3 {
        one_batch(run, id, start + batch * 30 * MS, (epoch * 3 + batch) as i64);
    }
    run.close(id, Scope::new("epoch", train, start, start + 95 * MS).index(epoch as i64));
}

fn one_batch(run: &mut Made, epoch: SpanId, start: u64, index: i64) {
    let id = run.open(1);
    let wait = (1 + index as u64) * MS;
    run.span(Scope::new("data_wait", id, start, start + wait));
    let forward = run.span(Scope::new("forward", id, start + wait, start + 12 * MS));
    run.text(forward, "variant", if index % 2 == 0 { "beam" } else { "greedy" });
    run.int(forward, "size", 32 + index);
    run.mark(forward, "loss", start + 11 * MS, 2.5 / (index + 1) as f64);
    let failed = if index == 4 { flag::FAILED } else { 0 };
    let backward =
        run.span(Scope::new("backward", id, start + 12 * MS, start + 25 * MS).flags(failed));
    if failed != 0 {
        run.text(backward, "error", "loss is NaN");
    }
    run.close(id, Scope::new("batch", epoch, start, start + 28 * MS).index(index));
}

fn bench(run: &mut Made) {
    let start = 220 * MS;
    let warm = run.open(1);
    for k in 0..2 {
        let at = start + k * MS;
        run.span(iteration(warm, at, 900 * US, k as i64 - 2).flags(flag::WARMUP));
    }
    run.close(warm, Scope::new("matmul warm-up", NONE, start, start + 2 * MS).flags(flag::WARMUP));
    let id = run.open(1);
    run.text(id, "tag", "128x128");
    run.int(id, "repeat", 5);
    run.int(id, "warmup", 2);
    let start = start + 2 * MS;
    for k in 0..5 {
        run.span(iteration(id, start + k * MS, 500 * US + k * 10 * US, k as i64));
    }
    run.close(id, Scope::new("matmul", NONE, start, start + 5 * MS).flags(flag::BENCH));
}

fn iteration<'a>(parent: SpanId, at: u64, took: u64, index: i64) -> Scope<'a> {
    Scope::new("iteration", parent, at, at + took).index(index).flags(flag::ITERATION)
}

/// Scopes that cross, scopes of no thread, a scope nobody closed.
pub fn crossing(pid: u32) -> Made {
    let mut run = Made::new(pid);
    run.thread(2, "worker");
    let serve = run.open(1);
    let first = run.open(1);
    let second = run.open(1);
    run.span(Scope::new("step", second, 4 * MS, 5 * MS));
    run.close(first, Scope::new("request", serve, MS, 6 * MS).flags(flag::OUT_OF_ORDER));
    run.close(second, Scope::new("request", serve, 3 * MS, 9 * MS));
    let task = run.span(Scope::new("task", serve, 2 * MS, 8 * MS).flags(flag::CPU_SUSPENDED));
    run.span(Scope::new("copy", task, 3 * MS, 12 * MS).flags(flag::CPU_OTHER_THREAD));
    run.span(Scope::new("work", task, 3 * MS, 4 * MS).on(2));
    run.span(Scope::new("work", task, 5 * MS, 5 * MS).on(2));
    run.close(serve, Scope::new("serve", NONE, 0, 20 * MS).flags(flag::LEFT_OPEN));
    run
}

/// Names and values that try to drive the terminal or to break a parser.
pub fn hostile(pid: u32) -> Made {
    let mut run = Made::new(pid);
    let root = run.open(1);
    let inner = run.span(Scope::new("\x1b]0;owned\x07\x1b[2Jred\u{202e}", root, MS, 2 * MS));
    run.text(inner, "tag", "\x1b[31mtag");
    run.text(inner, "quote\"key", "line\nbreak \u{0} \"quoted\"");
    run.float(inner, "nan", f64::NAN);
    run.float(inner, "infinite", f64::NEG_INFINITY);
    run.json(inner, "shape", r#"{"batch":[1,2]}"#);
    run.json(inner, "broken", r#"{"batch":[1,"#);
    run.mark(inner, "loss\x1b[5m", MS, f64::NAN);
    run.mark(inner, "loss\x1b[5m", MS + US, 1.5);
    run.text_mark(inner, "note", MS + US, "\x1b[?1049h模型 done");
    run.span(Scope::new("模型 🚀 größe", root, 3 * MS, 4 * MS));
    run.close(root, Scope::new("root", NONE, 0, 5 * MS));
    run
}

/// Names with ids in them: far more paths than anyone reads.
pub fn many_names(pid: u32) -> Made {
    let mut run = Made::new(pid);
    for k in 1..=1000 {
        run.span(Scope::new(&format!("request {k}"), NONE, k * MS, k * MS + k * US));
    }
    run
}
