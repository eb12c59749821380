//! Ring and spool merged: every record once, wherever the pump had come.

use crate::support::arena::ArenaFile;
use crate::support::render::tree_text;
use crate::support::{Numbered, Records, TestRun};
use hodo_format::arena::Counts;
use hodo_format::record::{self, SpanId};
use hodo_trace::{Filter, Loss, ProcessState, Run};
use proptest::prelude::*;

/// 24 records on two threads: scopes, attributes (one of several units) and marks.
fn records() -> Records {
    let mut r = Records::new(1);
    for thread in [1, 2] {
        let root = r.id(thread);
        for i in 0..3 {
            let start = 100 + 20 * i;
            let id = r.id(thread);
            r.attr(id, "i", record::Value::I64(i as i64));
            r.mark(thread, id, "loss", start + 1, record::Value::F64(0.5), false);
            r.close(id, root, "step", start, start + 10);
        }
        r.text(root, "note", &"long ".repeat(40));
        r.close(root, SpanId::NONE, "root", 90, 400);
    }
    r
}

fn fingerprint(run: &Run) -> String {
    let process = &run.processes[0];
    let attrs: Vec<_> = process.attrs.all().iter().map(|a| (a.span, &a.value)).collect();
    let mut marks: Vec<_> = process.marks.iter().map(|m| (m.span, m.at)).collect();
    marks.sort();
    format!("{}{attrs:?}{marks:?}", tree_text(&hodo_trace::tree(run, &Filter::default())))
}

/// The process died when the spool held `stored` and the rings `rings`.
fn crashed(r: &Records, stored: &[Numbered<'_>], rings: &[Numbered<'_>]) -> Run {
    let run = TestRun::new();
    let folder = run.json(r);
    r.spool(&folder, stored, false);
    let mut arena = ArenaFile::new(r);
    arena.ring(rings);
    arena.write(&folder);
    run.read()
}

fn by_thread<'a>(all: &[Numbered<'a>], fits: impl Fn(u32, u64) -> bool) -> Vec<Numbered<'a>> {
    all.iter().copied().filter(|r| fits(r.0, r.1)).collect()
}

#[test]
fn every_split_between_ring_and_spool_reads_the_same() {
    let r = records();
    let all: Vec<_> = r.all().collect();
    let run = TestRun::new();
    run.finished(&r);
    let expected = fingerprint(&run.read());
    for one in 0..=11 {
        for two in 0..=11 {
            let split = |thread: u32| if thread == 1 { one } else { two };
            let stored = by_thread(&all, |thread, number| number < split(thread));
            let rings = by_thread(&all, |thread, number| number >= split(thread));
            let run = crashed(&r, &stored, &rings);
            assert_eq!(fingerprint(&run), expected, "split at {one}, {two}");
            let account = &run.processes[0].account;
            assert!(account.is_complete(), "split at {one}, {two}: {account:?}");
            assert_eq!(account.produced, r.counts());
            assert_eq!(account.stored.records(), stored.len() as u64);
            assert_eq!(account.in_ring.records(), rings.len() as u64);
        }
    }
}

#[test]
fn what_is_in_both_counts_once() {
    let r = records();
    let all: Vec<_> = r.all().collect();
    let run = TestRun::new();
    run.finished(&r);
    let expected = fingerprint(&run.read());
    for stored_to in 0..=11 {
        for ring_from in 0..=stored_to {
            let stored = by_thread(&all, |_, number| number < stored_to);
            let rings = by_thread(&all, |_, number| number >= ring_from);
            let run = crashed(&r, &stored, &rings);
            assert_eq!(fingerprint(&run), expected, "spool to {stored_to}, ring from {ring_from}");
            assert_eq!(run.processes[0].account.produced, r.counts());
        }
    }
}

#[test]
fn runs_in_the_spool_that_overlap_in_part_count_once() {
    let r = records();
    let all: Vec<_> = r.all().collect();
    let run = TestRun::new();
    run.finished(&r);
    let expected = fingerprint(&run.read());
    // The encoder makes frames of five: 0-4, 5-9, 3-7, ... as after a write that failed halfway.
    let mut twice = by_thread(&all, |thread, number| thread == 1 && number < 8);
    twice.extend(by_thread(&all, |thread, number| thread == 1 && number >= 3));
    twice.extend(by_thread(&all, |thread, _| thread == 2));
    let run = crashed(&r, &twice, &[]);
    assert_eq!(fingerprint(&run), expected);
    assert_eq!(run.processes[0].account.produced, r.counts());
}

#[test]
fn numbers_the_ring_lost_are_explained_by_its_count() {
    let mut r = records();
    r.dropped = vec![(1, 2), (1, 3), (2, 8)];
    r.lost = Counts { spans: 2, marks: 0, attrs: 1 };
    let all: Vec<_> = r.all().collect();
    let (stored, rings) = (by_thread(&all, |_, n| n < 6), by_thread(&all, |_, n| n >= 6));
    let account = crashed(&r, &stored, &rings).processes[0].account.clone();
    assert_eq!(account.lost[Loss::RingFull as usize].records(), 3);
    assert_eq!((account.unexplained, account.is_complete()), (0, false));
    assert_eq!(account.produced.records(), 22);
    let json = serde_json::to_value(&account).expect("JSON");
    assert_eq!(json["lost"]["ring_full"]["spans"], 2);
    assert_eq!(json["unexplained"], 0);
}

#[test]
fn numbers_nobody_counted_are_unexplained() {
    let mut r = records();
    r.dropped = vec![(1, 2), (1, 3), (2, 8)];
    r.lost = Counts { spans: 1, marks: 0, attrs: 0 };
    let all: Vec<_> = r.all().collect();
    let run = crashed(&r, &all, &[]);
    let account = &run.processes[0].account;
    assert_eq!(account.unexplained, 2);
    assert_eq!(account.produced_records(), 22);
}

#[test]
fn spool_files_the_cap_removed_are_losses_not_damage() {
    let mut r = records();
    r.dropped = (0..7).map(|number| (1, number)).collect();
    r.lost = Counts { spans: 2, marks: 2, attrs: 3 };
    r.reason = Loss::SpoolCap;
    let run = TestRun::new();
    let folder = run.finished(&r);
    let rename = |to: &str| std::fs::rename(folder.join("spool-000001.hodo"), folder.join(to));
    rename("spool-000002.hodo").expect("rename");
    let read = run.read();
    let process = &read.processes[0];
    assert_eq!(process.account.lost[Loss::SpoolCap as usize].records(), 7);
    assert_eq!((process.account.unexplained, process.account.produced_records()), (0, 22));
    assert!(process.damage.is_none(), "{:?}", process.damage);
}

/// Where one record is when its process was killed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Whereabouts {
    Spool,
    Ring,
    Both,
    Lost,
    Nowhere,
}

fn whereabouts() -> impl Strategy<Value = Whereabouts> {
    use Whereabouts::{Both, Lost, Nowhere, Ring, Spool};
    prop::sample::select(vec![Spool, Spool, Spool, Ring, Ring, Both, Lost, Nowhere])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn every_record_is_accounted_for(
        one in prop::collection::vec(whereabouts(), 11),
        two in prop::collection::vec(whereabouts(), 11),
    ) {
        let at = |thread: u32, number: u64| match number {
            // What a thread made last is there, or nobody could know of what came before.
            10 => Whereabouts::Ring,
            _ if thread == 1 => one[number as usize],
            _ => two[number as usize],
        };
        let mut r = records();
        let everything: Vec<(u32, u64)> = r.all().map(|x| (x.0, x.1)).collect();
        let count = |wanted: &[Whereabouts]| {
            everything.iter().filter(|x| wanted.contains(&at(x.0, x.1))).count() as u64
        };
        r.lost = Counts { spans: count(&[Whereabouts::Lost]), ..Counts::default() };
        let all: Vec<_> = r.all().collect();
        let stored = by_thread(&all, |t, n| matches!(at(t, n), Whereabouts::Spool | Whereabouts::Both));
        let rings = by_thread(&all, |t, n| matches!(at(t, n), Whereabouts::Ring | Whereabouts::Both));
        let run = crashed(&r, &stored, &rings);
        let account = &run.processes[0].account;
        prop_assert_eq!(account.stored.records(), stored.len() as u64);
        prop_assert_eq!(account.in_ring.records(), count(&[Whereabouts::Ring]));
        prop_assert_eq!(account.lost_records(), count(&[Whereabouts::Lost]));
        prop_assert_eq!(account.unexplained, count(&[Whereabouts::Nowhere]));
        prop_assert_eq!(account.produced_records(), 22);
        let there = count(&[Whereabouts::Spool, Whereabouts::Ring, Whereabouts::Both]);
        let process = &run.processes[0];
        let read = process.spans.len() + process.marks.len() + process.attrs.all().len();
        prop_assert_eq!(read as u64, there);
    }
}

#[test]
fn a_killed_process_is_crashed_and_its_threads_are_named() {
    let r = records();
    let all: Vec<_> = r.all().collect();
    let run = crashed(&r, &[], &all);
    let process = &run.processes[0];
    assert_eq!(process.state, ProcessState::Ended);
    let threads: Vec<_> = process.threads.iter().map(|t| (t.number, &*t.name, t.read)).collect();
    assert_eq!(threads, [(1, "thread-1", 11), (2, "thread-2", 11)]);
}
