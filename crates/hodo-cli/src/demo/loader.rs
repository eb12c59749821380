//! Threads that read and decode batches ahead of training.

use super::data::{Batch, Data};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

const WORKERS: u64 = 2;
/// Batches each worker may be ahead.
const AHEAD: usize = 2;
/// What a read from the page cache and one from the disk cost.
const WARM_READ: Duration = Duration::from_micros(1200);
const COLD_READ: Duration = Duration::from_millis(25);
const COLD_EVERY: u64 = 17;

/// The batches of one epoch, in order, from several threads.
pub struct Loader {
    queues: Vec<Receiver<Batch>>,
    workers: Vec<JoinHandle<()>>,
    next: u64,
    count: u64,
}

impl Loader {
    /// Starts reading the batches `first` to `first + count`.
    pub fn start(data: &Data, first: u64, count: u64) -> Self {
        let mut loader = Loader { queues: Vec::new(), workers: Vec::new(), next: 0, count };
        for worker in 0..WORKERS {
            let (sender, receiver) = sync_channel(AHEAD);
            let data = data.clone();
            let batches = (first..first + count).filter(move |batch| batch % WORKERS == worker);
            let work = hodo::thread::inherit(move || work(worker, &data, batches, &sender));
            let thread = std::thread::Builder::new().name(format!("loader-{worker}"));
            loader.workers.extend(thread.spawn(work));
            loader.queues.push(receiver);
        }
        loader
    }
}

impl Iterator for Loader {
    type Item = Batch;

    fn next(&mut self) -> Option<Batch> {
        let queue = self.queues.get((self.next % WORKERS) as usize)?;
        self.next += 1;
        if self.next > self.count { None } else { queue.recv().ok() }
    }
}

impl Drop for Loader {
    fn drop(&mut self) {
        // Closed queues make the workers stop.
        self.queues.clear();
        for worker in self.workers.drain(..) {
            let _ = worker.join();
        }
    }
}

fn work(worker: u64, data: &Data, batches: impl Iterator<Item = u64>, queue: &SyncSender<Batch>) {
    let _s = hodo::scope!("loader", index = worker);
    for batch in batches {
        let loaded = {
            let _s = hodo::scope!("load", index = batch);
            load(data, batch)
        };
        let _s = hodo::scope!("queue_full");
        if queue.send(loaded).is_err() {
            break;
        }
    }
}

fn load(data: &Data, batch: u64) -> Batch {
    let bytes = {
        let cold = batch % COLD_EVERY == COLD_EVERY - 1;
        let source = if cold { "disk" } else { "cache" };
        let scope = hodo::scope!("read", tag = source);
        sleep(if cold { COLD_READ } else { WARM_READ });
        let bytes = data.read(batch);
        scope.set("bytes", bytes.len());
        bytes
    };
    let _s = hodo::scope!("decode", rows = bytes.len());
    data.decode(batch, &bytes)
}
