//! A small training loop on the CPU whose parts can be made slower, to try `hodo diff` and `hodo gate` with.
//!
//! ```text
//! HODO_DIR=base cargo run --release -p hodo --example steps
//! HODO_DIR=head cargo run --release -p hodo --example steps -- --load 1.1
//! hodo diff base head
//! ```

use std::hint::black_box;
use std::time::Duration;

struct Options {
    steps: u64,
    /// Times the work of `load`.
    load: f64,
    /// Milliseconds that every batch takes to come.
    wait_ms: u64,
}

fn main() {
    let options = options();
    let _hodo = hodo::init(hodo::Config { app: Some("steps".into()), ..hodo::Config::from_env() });
    let _s = hodo::scope!("train");
    let arrives = |index: u64| {
        std::thread::sleep(Duration::from_millis(options.wait_ms));
        index
    };
    let mut sum = 0;
    for seed in hodo::batches((0..options.steps).map(arrives)) {
        sum ^= step(seed, options.load);
    }
    println!("{sum:016x}");
}

fn step(seed: u64, load: f64) -> u64 {
    let mut value = seed;
    {
        let _s = hodo::scope!("load");
        value ^= work(value, (150_000.0 * load) as u64);
    }
    {
        let _s = hodo::scope!("forward");
        for layer in 0..4 {
            let _s = hodo::scope!("layer", layer = layer);
            value ^= work(value, 60_000);
        }
    }
    let _s = hodo::scope!("backward");
    value ^ work(value, 300_000)
}

/// Arithmetic that no compiler can leave out.
fn work(seed: u64, rounds: u64) -> u64 {
    (0..rounds).fold(seed, |value, round| {
        black_box(value ^ round).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17)
    })
}

fn options() -> Options {
    let mut options = Options { steps: 400, load: 1.0, wait_ms: 0 };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().and_then(|value| value.parse::<f64>().ok());
        match (word.as_str(), value) {
            ("--steps", Some(steps)) => options.steps = steps as u64,
            ("--load", Some(load)) => options.load = load,
            ("--wait-ms", Some(wait)) => options.wait_ms = wait as u64,
            _ => {
                eprintln!("usage: steps [--steps N] [--load FACTOR] [--wait-ms MS]");
                std::process::exit(2);
            }
        }
    }
    options
}
