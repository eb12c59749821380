use crate::args::Args;
use hodo_record::{Counts, Loss, Started};
use hodo_tests::acks::{Acks, get, stage};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

/// Tells the test that the recorder has started, and how.
pub fn started(acks: &Acks, started: &Started) {
    let code = match started {
        Started::On => 1,
        Started::Degraded(_) => 2,
        Started::Off(_) => 3,
        Started::Already => 4,
    };
    let lane = acks.lane(0);
    lane.values[0].store(code, Ordering::SeqCst);
    lane.stage.store(stage::STARTED, Ordering::SeqCst);
}

/// Ends a victim as `hold`, `health` and `crash` say.
pub fn finish(args: &Args) {
    if args.is_set("hold") {
        hold(&args.acks());
    }
    if let Some(path) = args.text("health") {
        hodo_record::flush(Duration::from_secs(20));
        tell_health(path);
    }
    if !args.is_set("crash") {
        hodo_record::shutdown();
    }
}

/// Writes the counts to a file; the victim's own limit on file sizes is over.
fn tell_health(path: &str) {
    let limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    let health = hodo_record::health();
    let mut rows = vec![("produced", health.produced), ("stored", health.stored)];
    rows.push(("in_ring", health.in_ring));
    rows.extend(Loss::ALL.iter().map(|&loss| (loss.name(), health.lost[loss as usize])));
    let line = |(name, counts): &(&str, Counts)| {
        format!("{name} {} {} {}\n", counts.spans, counts.marks, counts.attrs)
    };
    let text: String = rows.iter().map(line).collect();
    // SAFETY: a plain call with a valid pointer.
    unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) };
    std::fs::write(path, &text).expect("health file");
}

fn hold(acks: &Acks) {
    acks.lane(0).stage.store(stage::HELD, Ordering::SeqCst);
    while get(&acks.lane(0).stage) != stage::RELEASE {
        thread::sleep(Duration::from_millis(1));
    }
}
