use crate::check::{acknowledged, assert_accounted, findings};
use crate::harness::{Scratch, Victim, heavy, read};
use hodo_tests::acks::get;
use hodo_trace::{Counts, Run};
use std::collections::HashSet;

fn indices(run: &Run, name: &str) -> Vec<i64> {
    let spans = run.processes.iter().flat_map(|process| process.span_views());
    spans.filter(|span| span.name() == name).filter_map(|span| span.index()).collect()
}

#[test]
fn ten_thousand_short_threads_are_all_there() {
    let count = 10_000;
    let scratch = Scratch::new("short-threads");
    let running = Victim::new(&scratch, "short-threads", 1).arg("count", count).run();
    let run = read(&scratch.runs());
    assert_accounted(&run, Counts { spans: count as u64, ..Counts::default() }, 0);
    assert_eq!(run.processes[0].account.lost_records(), 0, "{:?}", run.processes[0].account);
    let seen: HashSet<i64> = indices(&run, "work").into_iter().collect();
    assert_eq!(seen.len(), count);
    let [_, early, late] = &running.acks.lane(0).values;
    let grown = get(late).saturating_sub(get(early));
    println!(
        "{count} of {count} threads; memory of its own grew by {} KiB over the last 9,000",
        grown >> 10
    );
    assert!(grown < 4 << 20, "memory grew by {grown} bytes");
}

#[test]
fn a_thousand_live_threads_record_at_once() {
    let (count, scopes) = (1_000u64, 50);
    let scratch = Scratch::new("live-threads");
    Victim::new(&scratch, "live-threads", 1).arg("count", count).arg("scopes", scopes).run();
    let run = read(&scratch.runs());
    assert_accounted(&run, Counts { spans: count * scopes, ..Counts::default() }, 0);
    assert_eq!(run.processes[0].account.lost_records(), 0);
    let seen: HashSet<i64> = indices(&run, "work").into_iter().collect();
    assert_eq!(seen.len() as u64, count * scopes);
    assert_eq!(run.processes[0].threads.len() as u64, count);
}

#[test]
fn a_burst_is_accounted_for_to_the_record() {
    let (lanes, spans) = (4, if heavy() { 10_000_000 } else { 1_000_000 });
    let scratch = Scratch::new("burst");
    let running = Victim::new(&scratch, "steady", lanes)
        .arg("lanes", lanes)
        .arg("steps", spans / lanes / 2)
        .env("HODO_MEMORY", "8M")
        .run();
    let run = read(&scratch.runs());
    let acked = acknowledged(&running.acks, 0);
    assert_eq!(acked.spans, spans as u64);
    assert_accounted(&run, acked, 0);
    let found = findings(&run, &running.acks, 0);
    assert!(found.is_true(), "{found:?}");
    let lost = run.processes[0].account.lost_records();
    assert_eq!(found.missing, lost, "{found:?}");
    println!("{} spans, {} records: {lost} lost, every one counted", acked.spans, acked.records());
}
