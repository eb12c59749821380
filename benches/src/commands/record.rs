//! `record <folder> <spans>`: records that many real scopes, as a training loop has them: 50 names,
//! up to six deep, four threads, attributes on one in ten, an index on every step.

use super::Done;
use hodo::{Config, mark, scope};
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Duration;

const THREADS: u64 = 4;
/// Scopes of a step.
const STEP: u64 = 1 + 4 * (1 + 6 * 2);
/// Records that may wait before the loop does.
const BATCH: u64 = 200_000;

/// Records and tells where.
pub fn run(arguments: &[String]) -> Done {
    let [folder, spans] = arguments else { return Err("usage: record <folder> <spans>".into()) };
    let spans: u64 = spans.parse()?;
    let mut config = Config::from_env();
    config.dir = Some(PathBuf::from(folder));
    let recording = hodo::init(config);
    std::thread::scope(|threads| {
        for number in 0..THREADS {
            threads.spawn(move || steps(number, spans / THREADS / STEP));
        }
    });
    hodo::flush(Duration::from_secs(60));
    let health = hodo::health();
    println!("recorded: {} lost", health.lost_records());
    drop(recording);
    Ok(())
}

fn steps(number: u64, count: u64) {
    const LAYERS: [&str; 4] = ["embed", "attend", "mix", "project"];
    let mut random = 0x9e37_79b9_7f4a_7c15 ^ number;
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    for index in 0..count {
        let _step = scope!("step", index = index as i64);
        for layer in LAYERS {
            let _layer = hodo::scope(layer);
            for _ in 0..6 {
                let name = NAMES[(next() % NAMES.len() as u64) as usize];
                let _op = hodo::scope(name);
                work(next() % 64);
                match next() % 5 {
                    0 => {
                        let _leaf = scope!("leaf", rows = (next() % 1000) as i64);
                        work(next() % 16);
                    }
                    _ => {
                        let _leaf = scope!("leaf");
                        work(next() % 16);
                    }
                }
            }
        }
        mark!("loss", 1.0 / (index + 1) as f64);
        if index % (BATCH / STEP) == 0 {
            hodo::flush(Duration::from_secs(60));
        }
    }
}

fn work(rounds: u64) {
    (0..rounds).for_each(|round| {
        black_box(round);
    });
}

const NAMES: [&str; 44] = [
    "op 00", "op 01", "op 02", "op 03", "op 04", "op 05", "op 06", "op 07", "op 08", "op 09",
    "op 10", "op 11", "op 12", "op 13", "op 14", "op 15", "op 16", "op 17", "op 18", "op 19",
    "op 20", "op 21", "op 22", "op 23", "op 24", "op 25", "op 26", "op 27", "op 28", "op 29",
    "op 30", "op 31", "op 32", "op 33", "op 34", "op 35", "op 36", "op 37", "op 38", "op 39",
    "op 40", "op 41", "op 42", "op 43",
];
