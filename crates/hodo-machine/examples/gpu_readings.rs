//! What the GPUs of this machine tell, and what asking takes: `cargo run --example gpu_readings`.

use hodo_machine::gpu::{Gpus, Visible};
use hodo_machine::{Reader, Table};
use std::time::{Duration, Instant};

const ROUNDS: usize = 25;

fn main() {
    let opened = Instant::now();
    let gpus = match Gpus::open(&Visible::All) {
        Ok(gpus) => gpus,
        Err(absent) => return println!("{}: {}; {}", absent.part, absent.why, absent.fix),
    };
    println!("opened in {:?}, driver {}, {:?}", opened.elapsed(), gpus.driver(), gpus.cards());
    let readers: [(&str, Box<dyn Reader>, u64); 4] = [
        ("quick", gpus.quick(), 50),
        ("performance", gpus.performance(), 110),
        ("steady", gpus.steady(), 50),
        ("slow", gpus.slow(), 50),
    ];
    for (name, mut reader, wait_ms) in readers {
        let mut table = Table::default();
        let mut took: Vec<Duration> = (0..ROUNDS)
            .map(|_| {
                std::thread::sleep(Duration::from_millis(wait_ms));
                table.clear();
                let began = Instant::now();
                reader.read(&mut table);
                began.elapsed()
            })
            .collect();
        took.sort_unstable();
        println!(
            "\n{name}: least {:?}, median {:?}, most {:?}",
            took[0],
            took[ROUNDS / 2],
            took[ROUNDS - 1]
        );
        for ((source, metric), value) in table.series().iter().zip(table.row()) {
            let value = value.map_or("-".into(), |value| format!("{value}"));
            println!("  {} {source}: {value} {}", metric.name, metric.unit);
        }
        for absent in reader.absent() {
            println!("  without {}: {}", absent.part, absent.why);
        }
    }
}
