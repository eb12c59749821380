//! A run that is followed while it grows.

use crate::live::locked;
use crate::support::arena::ArenaFile;
use crate::support::gpu::Works;
use crate::support::{Records, SECOND, TestRun};
use hodo_format::arena::{Anchor, Counts};
use hodo_format::record::{Span, SpanId, Value};
use hodo_trace::{Follow, Loss, Now, NowScope, ProcessState};
use std::collections::BTreeMap;
use std::path::Path;

const MS: u64 = 1_000_000;

fn now_ns() -> u64 {
    // SAFETY: the structure is valid to be filled.
    unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time);
        time.tv_sec as u64 * SECOND + time.tv_nsec as u64
    }
}

/// Records whose clock is the host's, from `begin` on.
fn records(begin: u64) -> Records {
    let anchor = |at| Anchor { ticks: at, monotonic_ns: at, wall_ns: 1000 * SECOND + at };
    let mut records = Records::new(1);
    records.host = "";
    records.anchors = vec![anchor(begin), anchor(begin + SECOND)];
    records
}

fn arena(r: &mut Records, open: Vec<Span>, folder: &Path) {
    r.open = open;
    ArenaFile::new(r).write(folder);
}

fn scope<'a>(now: &'a Now, name: &str) -> &'a NowScope {
    now.scopes.iter().find(|s| s.name == name).unwrap_or_else(|| panic!("{name} in {now:#?}"))
}

#[test]
fn a_look_reads_what_is_new_and_knows_what_is_open() {
    let run = TestRun::new();
    let folder = run.json(&records(now_ns()));
    arena(&mut records(now_ns()), Vec::new(), &folder);
    locked(&folder.join("arena"), || {
        // Not before: what is older than ten seconds is not lately.
        let begin = now_ns() - 4 * SECOND;
        let mut r = records(begin);
        ["train", "step", "load", "loss"].iter().for_each(|name| _ = r.name(name));
        let train = r.id(1);
        for step in 0..20u64 {
            let at = begin + 2 * SECOND + step * 100 * MS;
            r.scope(1, train, "step", at, at + if step == 12 { 90 * MS } else { 10 * MS });
        }
        let open_train = r.span(train, SpanId::NONE, "train", begin, begin);
        arena(&mut r, vec![open_train], &folder);
        let all: Vec<_> = r.all().collect();
        r.spool(&folder, &all[..10], false);
        let mut follow = Follow::new(run.path()).expect("a run");
        let first = follow.look();
        assert_eq!((first.closed, first.open), (10, 1));
        assert_eq!(follow.look().bytes, 0, "nothing is read twice");
        let size = || folder.join("spool-000001.hodo").metadata().expect("a file").len();
        let before = size();
        r.spool(&folder, &all, false);
        let second = follow.look();
        assert_eq!((second.closed, second.bytes), (10, size() - before));
        let now = follow.now();
        assert_eq!(now.processes[0].state, ProcessState::Live);
        let train = scope(&now, "train");
        assert_eq!((train.depth, train.open, train.closed), (0, 1, 0));
        assert!(train.open_ns.is_some_and(|ns| ns >= 4 * SECOND), "{train:?}");
        let step = scope(&now, "step");
        assert_eq!((step.depth, step.count, step.closed), (1, 20, 20));
        assert_eq!((step.max_ns, step.mean_ns), (Some(90 * MS), Some(14 * MS)));
        assert!((step.rate * now.window_ns as f64 / SECOND as f64 - 20.0).abs() < 1e-6);
        assert_eq!(now.slowest[0].path, ["train", "step"]);
        assert_eq!((now.slowest[0].ns, now.slowest[0].mean_ns), (90 * MS, 14 * MS));
    });
    let mut follow = Follow::new(run.path()).expect("a run");
    follow.look();
    assert_eq!(follow.now().processes[0].state, ProcessState::Ended);
    assert_eq!(scope(&follow.now(), "step").count, 20);
}

/// Scopes nested at random on two threads; each look ends somewhere, with what is open then.
#[test]
fn every_scope_is_counted_once_under_its_path_however_the_looks_fall() {
    let mut random = 7u64;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) % below
    };
    for _ in 0..20 {
        let begin = now_ns() - 3 * SECOND;
        let run = TestRun::new();
        let mut r = records(begin);
        ["a", "b", "c"].iter().for_each(|name| _ = r.name(name));
        let mut stack: Vec<(SpanId, &str, u64)> = Vec::new();
        let mut expected: BTreeMap<String, u64> = BTreeMap::new();
        // What was open after each record.
        let mut open_after: Vec<Vec<Span>> = Vec::new();
        let mut at = begin;
        while open_after.len() < 60 {
            at += 1000;
            if stack.len() < 5 && next(2) == 0 {
                stack.push((r.id(1), ["a", "b", "c"][next(3) as usize], at));
            } else if let Some((id, name, start)) = stack.pop() {
                let parent = stack.last().map_or(SpanId::NONE, |s| s.0);
                let path: Vec<&str> = stack.iter().map(|s| s.1).chain([name]).collect();
                *expected.entry(path.join("/")).or_default() += 1;
                r.close(id, parent, name, start, at);
                let mut open = Vec::new();
                for (level, &(id, name, start)) in stack.iter().enumerate() {
                    let parent = if level == 0 { SpanId::NONE } else { stack[level - 1].0 };
                    open.push(r.span(id, parent, name, start, start));
                }
                open_after.push(open);
            }
        }
        let folder = run.json(&r);
        arena(&mut r, Vec::new(), &folder);
        let looks = [next(12) * 5, next(12) * 5, 60].map(|n| n as usize);
        locked(&folder.join("arena"), || {
            let mut follow = Follow::new(run.path()).expect("a run");
            let mut until = 0;
            for upto in looks {
                until = until.max(upto);
                // The arena is as it was a little before the files.
                let seen = until.saturating_sub(next(4) as usize).max(1) - 1;
                arena(&mut r, open_after[seen].clone(), &folder);
                let all: Vec<_> = r.all().collect();
                r.spool(&folder, &all[..until], false);
                follow.look();
            }
            arena(&mut r, open_after[59].clone(), &folder);
            follow.look();
            let now = follow.now();
            let mut found: BTreeMap<String, u64> = BTreeMap::new();
            let mut way: Vec<&str> = Vec::new();
            for scope in &now.scopes {
                way.truncate(scope.depth);
                way.push(&scope.name);
                if scope.closed > 0 {
                    found.insert(way.join("/"), scope.closed);
                }
            }
            assert_eq!(found, expected, "looks {looks:?}");
            let open: u64 = now.scopes.iter().map(|scope| scope.open).sum();
            assert_eq!(open, open_after[59].len() as u64);
        });
    }
}

#[test]
fn kernels_marks_and_losses_are_told() {
    let begin = now_ns() - 2 * SECOND;
    let run = TestRun::new();
    let mut r = records(begin);
    r.lost = Counts { spans: 3, ..Counts::default() };
    let step = r.scope(1, SpanId::NONE, "step", begin, begin + MS);
    r.mark(1, step, "loss", begin + 10, Value::F64(0.5), false);
    r.mark(1, step, "loss", begin + 20, Value::F64(0.25), false);
    let mut works = Works::new();
    works.kernel(&mut r, step, "_Z4gemmPf", begin + 10, begin + 10 + MS);
    works.kernel(&mut r, step, "_Z4gemmPf", begin + 2 * MS, begin + 5 * MS);
    works.copy(step, 4096, begin + 6 * MS, begin + 7 * MS);
    let folder = run.json(&r);
    let all: Vec<_> = r.all().collect();
    r.spool(&folder, &all, false);
    works.write(&folder);
    ArenaFile::new(&r).write(&folder);
    locked(&folder.join("arena"), || {
        let mut follow = Follow::new(run.path()).expect("a run");
        follow.look();
        let now = follow.now();
        assert_eq!(now.lost[Loss::RingFull as usize].spans, 3);
        let mark = &now.marks[0];
        assert_eq!((&*mark.name, &*mark.value, mark.count), ("loss", "0.25", 2));
        assert_eq!(mark.values, [0.5, 0.25]);
        let names: Vec<&str> = now.kernels.iter().map(|k| &*k.name).collect();
        assert_eq!(names, ["gemm", "[copy host to device]"]);
        assert_eq!((now.kernels[0].total_ns, now.kernels[0].max_ns), (4 * MS, 3 * MS));
        assert!(now.kernels[1].bytes_per_s > 0.0);
    });
}

#[test]
fn files_that_follow_one_another_are_read_each_once() {
    let begin = now_ns() - 2 * SECOND;
    let run = TestRun::new();
    let mut r = records(begin);
    for step in 0..30 {
        r.scope(1, SpanId::NONE, "step", begin + step, begin + step + 1);
    }
    let folder = run.json(&r);
    ArenaFile::new(&r).write(&folder);
    let all: Vec<_> = r.all().collect();
    let file = |number: u32| folder.join(format!("spool-{number:06}.hodo"));
    let part = |number: u32, from: usize, to: usize| {
        let kept = std::fs::read(file(1)).unwrap_or_default();
        r.spool(&folder, &all[from..to], false);
        if number != 1 {
            std::fs::rename(file(1), file(number)).expect("a file");
            std::fs::write(file(1), kept).expect("the first file");
        }
    };
    locked(&folder.join("arena"), || {
        let mut follow = Follow::new(run.path()).expect("a run");
        part(1, 0, 10);
        assert_eq!(follow.look().closed, 10);
        part(2, 10, 20);
        assert_eq!(follow.look().closed, 10);
        std::fs::remove_file(file(1)).expect("the size cap");
        part(3, 20, 30);
        std::fs::remove_file(file(1)).expect("the size cap");
        assert_eq!(follow.look().closed, 10);
        assert_eq!(follow.look().closed, 0);
        assert_eq!(scope(&follow.now(), "step").closed, 30);
    });
}

/// More than a look takes: what is read stands for what is not.
#[test]
fn a_flood_is_estimated_from_its_newest_part() {
    const SCOPES: u64 = 400_000;
    let begin = now_ns() - SECOND;
    let run = TestRun::new();
    let mut r = records(begin);
    let folder = run.json(&r);
    ["few", "many"].iter().for_each(|name| _ = r.name(name));
    ArenaFile::new(&r).write(&folder);
    let first: Vec<_> = r.all().collect();
    r.spool(&folder, &first, false);
    locked(&folder.join("arena"), || {
        let mut follow = Follow::new(run.path()).expect("a run");
        assert_eq!(follow.look().closed, 0);
        let mut random = 1u64;
        for n in 0..SCOPES {
            // Lengths that do not compress to nothing.
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (name, at) = (if n % 4 == 0 { "few" } else { "many" }, begin + n * 1000);
            r.scope(1, SpanId::NONE, name, at, at + (random >> 40));
        }
        let all: Vec<_> = r.all().collect();
        r.spool(&folder, &all, false);
        let look = follow.look();
        assert!(look.skipped_bytes > 0 && look.closed < SCOPES / 2, "{look:?}");
        let now = follow.now();
        let (few, many) = (scope(&now, "few").closed, scope(&now, "many").closed);
        let off = (few + many).abs_diff(SCOPES) as f64 / SCOPES as f64;
        assert!(off < 0.2 && few * 3 < many * 2, "{few} and {many} of {SCOPES}");
        assert_eq!(now.skipped_bytes, look.skipped_bytes);
    });
}

#[test]
fn processes_of_other_hosts_are_counted_and_left_alone() {
    let run = TestRun::new();
    let mut r = records(now_ns() - SECOND);
    r.host = "another";
    r.scope(1, SpanId::NONE, "step", 10, 20);
    run.finished(&r);
    let mut follow = Follow::new(run.path()).expect("a run");
    assert_eq!(follow.look().closed, 0);
    assert_eq!((follow.now().elsewhere, follow.now().processes.len()), (1, 0));
}

#[test]
fn what_is_no_run_is_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    assert!(Follow::new(dir.path()).is_err());
    assert!(Follow::new(&dir.path().join("none")).is_err());
}
