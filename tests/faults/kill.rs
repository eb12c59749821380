use crate::check::{Findings, acknowledged, assert_accounted, findings};
use crate::harness::{Random, Scratch, Victim, read, setting};
use hodo_tests::acks::{get, stage};
use hodo_trace::{ProcessState, ReadOptions, Run};
use std::thread;
use std::time::Duration;

const LANES: usize = 3;
/// Steps a second and lane: with three lanes about a quarter of a million records a second.
const SUSTAINED: u64 = 20_000;

fn kills() -> u64 {
    setting("HODO_KILLS", 60)
}

#[test]
fn kills_at_random_moments_lose_nothing() {
    let mut random = Random::new();
    let (mut acked, mut read_back, mut open) = (0, 0, 0);
    for at in 0..kills() {
        let found = kill_once(&mut random, at);
        acked += found.0.acknowledged;
        read_back += found.0.read;
        open += found.1;
    }
    println!(
        "{} kills: {acked} acknowledged, {read_back} read, 0 missing, 0 duplicated, {open} scopes open at death",
        kills()
    );
    assert!(open > 0, "no kill met an open scope: the moments are not random");
}

fn kill_once(random: &mut Random, at: u64) -> (Findings, u64) {
    let scratch = Scratch::new("kill");
    let victim = Victim::new(&scratch, "steady", LANES).arg("lanes", LANES).arg("rate", SUSTAINED);
    let mut running = victim.start();
    running.started();
    thread::sleep(Duration::from_micros(random.below(150_000)));
    running.kill();
    let run = read(&scratch.runs());
    let found = findings(&run, &running.acks, 0);
    assert!(found.is_complete(), "kill {at}: {found:?}");
    assert_eq!(run.processes[0].state, ProcessState::Ended, "kill {at}");
    assert_eq!(run.processes[0].account.lost_records(), 0, "kill {at}: not a sustained rate");
    assert_accounted(&run, acknowledged(&running.acks, 0), LANES as u64);
    (found, run.processes[0].span_views().filter(|span| span.is_open()).count() as u64)
}

#[test]
fn kills_at_full_speed_are_accounted_for() {
    let mut random = Random::new();
    let mut lost = 0;
    for at in 0..kills().div_ceil(6) {
        let scratch = Scratch::new("kill-full");
        let victim = Victim::new(&scratch, "steady", LANES).arg("lanes", LANES);
        let mut running = victim.env("HODO_MEMORY", "4M").start();
        running.started();
        thread::sleep(Duration::from_micros(random.below(300_000)));
        running.kill();
        let run = read(&scratch.runs());
        let found = findings(&run, &running.acks, 0);
        assert!(found.is_true(), "kill {at}: {found:?}");
        assert_accounted(&run, acknowledged(&running.acks, 0), LANES as u64);
        lost += run.processes[0].account.lost_records();
    }
    println!("{} kills at full speed: {lost} records lost, every one counted", kills().div_ceil(6));
}

#[test]
fn a_pump_that_dies_between_write_and_release_duplicates_nothing() {
    for write in 1..=12 {
        let scratch = Scratch::new("kill-pump");
        let mut running = Victim::new(&scratch, "steady", LANES)
            .arg("lanes", LANES)
            .arg("rate", SUSTAINED)
            .env("HODO_FLUSH", "20")
            .env("HODO_TEST_PUMP", format!("abort-after-write:{write}"))
            .start();
        let status = running.wait();
        assert!(!status.success(), "the pump did not die: failpoints are not built in");
        let run = read(&scratch.runs());
        let found = findings(&run, &running.acks, 0);
        assert!(found.is_complete(), "write {write}: {found:?}");
        assert!(
            run.processes[0].account.stored.records() > 0,
            "write {write}: nothing in the spool"
        );
        assert_accounted(&run, acknowledged(&running.acks, 0), LANES as u64);
    }
}

#[test]
fn a_kill_while_starting_leaves_nothing_unreadable() {
    let mut random = Random::new();
    let mut started = 0;
    for at in 0..kills().div_ceil(3) {
        let scratch = Scratch::new("kill-start");
        let victim =
            Victim::new(&scratch, "steady", LANES).arg("lanes", LANES).arg("rate", SUSTAINED);
        let mut running = victim.start();
        thread::sleep(Duration::from_micros(random.below(150_000)));
        running.kill();
        let has_started = get(&running.acks.lane(0).stage) >= stage::STARTED;
        for summary in Run::list(&scratch.runs()) {
            let run = Run::open(&summary.folder, &ReadOptions::default());
            let run = run.unwrap_or_else(|e| panic!("kill {at}: {e}"));
            let found = findings(&run, &running.acks, 0);
            assert!(found.is_complete(), "kill {at}: {found:?}");
        }
        assert!(!has_started || !Run::list(&scratch.runs()).is_empty(), "kill {at}: no run");
        started += u64::from(has_started);
    }
    println!("{started} of {} had started", kills().div_ceil(3));
}
