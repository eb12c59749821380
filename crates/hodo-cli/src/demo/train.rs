//! The training loop.

use super::data::{BATCH_ROWS, Data};
use super::loader::Loader;
use super::network::Network;
use super::{Options, checkpoint, evaluate};
use std::time::Instant;

const BATCHES_PER_EPOCH: u64 = 96;
const MAX_EPOCHS: u64 = 60;
const FIRST_RATE: f32 = 0.012;

/// Trains until the time is over, at least two epochs.
pub fn run(options: &Options<'_>) {
    let start = Instant::now();
    let data = Data::new(options.seed);
    let mut network = Network::new(options.seed);
    let _s = hodo::scope!(
        "train",
        tag = "mlp",
        parameters = network.parameters(),
        batch_rows = BATCH_ROWS,
        seed = options.seed
    );
    let checkpoints = checkpoint::start(options.dir.clone());
    let evaluator = evaluate::start(&data);
    let share = || start.elapsed().as_secs_f64() / options.training.as_secs_f64();
    let epochs = (0..MAX_EPOCHS).take_while(|&epoch| epoch < 2 || share() < 1.0);
    for epoch in hodo::epochs(epochs) {
        (options.progress)(share().min(0.95), &format!("training, epoch {epoch}"));
        let loss = train_epoch(&mut network, &data, epoch);
        hodo::mark!("epoch_loss", loss, summary);
        evaluator.send((epoch, network.clone()));
        checkpoints.send((epoch, network.clone()));
    }
    (options.progress)(0.95, "evaluating");
}

/// One pass over the batches of an epoch; the mean loss.
fn train_epoch(network: &mut Network, data: &Data, epoch: u64) -> f32 {
    let rate = FIRST_RATE / (1.0 + 0.1 * epoch as f32);
    let loader = Loader::start(data, epoch * BATCHES_PER_EPOCH, BATCHES_PER_EPOCH);
    let mut sum = 0.0;
    for batch in hodo::batches(loader) {
        let activations = network.forward(&batch.points);
        let (loss, gradient) = activations.loss(&batch.classes);
        let gradients = network.backward(&activations, gradient);
        network.step(&gradients, rate);
        hodo::mark!("loss", loss);
        sum += loss;
    }
    sum / BATCHES_PER_EPOCH as f32
}
