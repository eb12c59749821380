//! Measures every epoch's network on data it was not trained on.

use super::data::{Batch, Data};
use super::network::Network;
use super::worker::Worker;

const BATCHES: u64 = 8;
/// Batch numbers that training never reaches.
const FIRST_BATCH: u64 = 1 << 40;

/// The thread that evaluates.
pub fn start(data: &Data) -> Worker<(u64, Network)> {
    let data = data.clone();
    Worker::start("evaluator", move |queue| {
        let held_back: Vec<Batch> = (FIRST_BATCH..FIRST_BATCH + BATCHES)
            .map(|batch| data.decode(batch, &data.read(batch)))
            .collect();
        for (epoch, network) in queue {
            evaluate(epoch, &network, &held_back);
        }
    })
}

#[hodo::scoped(index = epoch)]
fn evaluate(epoch: u64, network: &Network, held_back: &[Batch]) {
    let accuracy = |batch: &Batch| network.forward(&batch.points).accuracy(batch);
    let sum: f32 = held_back.iter().map(accuracy).sum();
    hodo::mark!("accuracy", sum / held_back.len() as f32, summary);
}
