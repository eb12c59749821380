use crate::args::Args;
use crate::outcome;
use hodo_record::{Config, Site, open_with};
use hodo_tests::acks::bump;
use hodo_tests::plan;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Barrier};
use std::thread;

static WORK: Site = Site::new("work");

/// `count` threads one after another, a scope each; says how much memory the process held before
/// the last nine tenths of them and after.
pub fn short(args: &Args) {
    let acks = args.acks();
    outcome::started(&acks, &hodo_record::init(Config::from_env()));
    let count: u64 = args.number("count", 10_000);
    for at in 0..count {
        if at == count / 10 {
            acks.lane(0).values[1].store(own_bytes(), Ordering::SeqCst);
        }
        thread::spawn(move || open_with(WORK.id(), 0, Some(at as i64)).close())
            .join()
            .expect("join");
        bump(&acks.lane(0).spans);
    }
    acks.lane(0).values[2].store(own_bytes(), Ordering::SeqCst);
    outcome::finish(args);
}

/// `count` threads alive at once, `scopes` scopes each.
pub fn live(args: &Args) {
    let acks = Arc::new(args.acks());
    outcome::started(&acks, &hodo_record::init(Config::from_env()));
    let (count, scopes) = (args.number("count", 1_000u64), args.number("scopes", 50u64));
    let all_recorded = Arc::new(Barrier::new(count as usize));
    let threads: Vec<_> = (0..count)
        .map(|lane| {
            let (acks, all_recorded) = (Arc::clone(&acks), Arc::clone(&all_recorded));
            let body = move || {
                for step in 0..scopes {
                    open_with(WORK.id(), 0, Some(plan::code(lane, step))).close();
                    bump(&acks.lane(0).spans);
                }
                all_recorded.wait();
            };
            thread::Builder::new().stack_size(64 * 1024).spawn(body).expect("thread")
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("join"));
    outcome::finish(args);
}

/// Bytes of memory this process has of its own; the arena, whose size is fixed, is a file's.
pub fn own_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("status");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("RssAnon");
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().expect("number");
    kib << 10
}
