use crate::harness::{Scratch, Victim, heavy, read};
use hodo_tests::acks::get;

#[test]
fn nasty_names_cost_no_neighbour() {
    let scratch = Scratch::new("names");
    let running = Victim::new(&scratch, "names", 1).run();
    let run = read(&scratch.runs());
    let process = &run.processes[0];
    let good: Vec<_> = process
        .span_views()
        .filter(|span| span.name() == "good")
        .filter_map(|s| s.index())
        .collect();
    let asked = get(&running.acks.lane(0).spans) as i64;
    assert_eq!(good, (0..asked).chain([-1]).collect::<Vec<_>>());
    assert_eq!(process.span_views().count() as i64, 2 * asked + 1);
    assert_eq!(process.account.unexplained, 0);
    assert_eq!(process.account.lost_records(), 0);
    let spoilt = process.span_views().filter(|span| span.name().starts_with("(lost name")).count();
    assert_eq!(spoilt, 1, "only the one that is really called so");
}

#[test]
fn a_million_names_stay_within_the_budget() {
    let distinct = if heavy() { 1_000_000 } else { 200_000 };
    let scratch = Scratch::new("distinct");
    let victim = Victim::new(&scratch, "names", 1).arg("distinct", distinct);
    let running = victim.env("HODO_MEMORY", "16M").run();
    let run = read(&scratch.runs());
    let process = &run.processes[0];
    let grown = get(&running.acks.lane(0).values[1]);
    println!(
        "{distinct} names: {} kept, memory of its own grew by {} MiB",
        process.names.end(),
        grown >> 20
    );
    assert!(grown < 256 << 20, "memory grew by {grown} bytes");
    assert_eq!(process.account.unexplained, 0);
    let nasty = get(&running.acks.lane(0).spans);
    assert_eq!(process.account.produced.spans, 2 * nasty + distinct + 1);
    assert_eq!(process.span_views().last().map(|span| span.index()), Some(Some(-1)));
}
