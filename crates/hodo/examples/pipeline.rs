//! Stages on their own threads: what waits for what shows in the report.
//!
//! ```text
//! cargo run --release -p hodo --example pipeline
//! hodo report
//! ```

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

const ITEMS: u64 = 200;

fn main() {
    let _hodo =
        hodo::init(hodo::Config { app: Some("pipeline".into()), ..hodo::Config::from_env() });
    let _s = hodo::scope!("pipeline", items = ITEMS);
    let (to_square, squares) = sync_channel(4);
    let (to_sum, sums) = sync_channel(4);
    let workers = [
        hodo::thread::spawn(move || produce(&to_square)),
        hodo::thread::spawn(move || square(squares, &to_sum)),
    ];
    let total: u64 = hodo::batches(sums).sum();
    hodo::mark!("total", total, summary);
    for worker in workers {
        if worker.join().is_err() {
            eprintln!("a stage panicked");
        }
    }
    println!("total {total}");
}

#[hodo::scoped]
fn produce(queue: &SyncSender<u64>) {
    for i in 0..ITEMS {
        let _s = hodo::scope!("item", index = i);
        if queue.send(i).is_err() {
            return;
        }
    }
}

#[hodo::scoped]
fn square(items: Receiver<u64>, queue: &SyncSender<u64>) {
    for item in hodo::batches(items) {
        let result = {
            let _s = hodo::scope!("work", item = item);
            (0..item * 1000).fold(0, |sum: u64, i| std::hint::black_box(sum ^ i)) + item * item
        };
        if queue.send(result).is_err() {
            return;
        }
    }
}
