//! A network of dense layers with its gradient.

use super::data::{Batch, CLASSES, FEATURES};
use super::matrix::{Matrix, add_scaled};
use super::random::Random;

/// Layers of weights, rectified in between.
#[derive(Clone)]
pub struct Network {
    layers: Vec<Layer>,
}

#[derive(Clone)]
struct Layer {
    weights: Matrix,
    biases: Vec<f32>,
}

/// How the loss changes with every weight and bias of a layer.
pub struct Gradient {
    weights: Matrix,
    biases: Vec<f32>,
}

/// The inputs of every layer, then the output.
pub struct Activations(Vec<Matrix>);

impl Network {
    pub fn new(seed: u64) -> Self {
        let random = &mut Random::new(!seed);
        let sizes = [FEATURES, 192, 128, CLASSES];
        let layers = sizes.windows(2).map(|pair| Layer::new(pair[0], pair[1], random)).collect();
        Network { layers }
    }

    pub fn parameters(&self) -> usize {
        self.layers.iter().map(|l| l.weights.values.len() + l.biases.len()).sum()
    }

    #[hodo::scoped]
    pub fn forward(&self, points: &Matrix) -> Activations {
        let mut activations = vec![points.clone()];
        for (index, layer) in self.layers.iter().enumerate() {
            let _s = hodo::scope!("layer", index = index, units = layer.biases.len());
            let is_last = index + 1 == self.layers.len();
            activations.push(layer.forward(&activations[index], !is_last));
        }
        Activations(activations)
    }

    /// From the gradient of the output to the gradient of every layer, first layer first.
    #[hodo::scoped]
    pub fn backward(&self, activations: &Activations, mut output: Matrix) -> Vec<Gradient> {
        let mut gradients = Vec::new();
        for (index, layer) in self.layers.iter().enumerate().rev() {
            let _s = hodo::scope!("layer", index = index, units = layer.biases.len());
            let input = &activations.0[index];
            gradients.push(Gradient::new(input, &output));
            if index > 0 {
                output = layer.backward(input, &output);
            }
        }
        gradients.reverse();
        gradients
    }

    /// One step of gradient descent.
    #[hodo::scoped("optimizer", kind = "sgd", rate = rate)]
    pub fn step(&mut self, gradients: &[Gradient], rate: f32) {
        for (layer, gradient) in self.layers.iter_mut().zip(gradients) {
            add_scaled(&mut layer.weights.values, &gradient.weights.values, -rate);
            add_scaled(&mut layer.biases, &gradient.biases, -rate);
        }
    }

    /// Every number of the network, as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let numbers = self.layers.iter().flat_map(|l| l.weights.values.iter().chain(&l.biases));
        numbers.flat_map(|number| number.to_le_bytes()).collect()
    }
}

impl Layer {
    fn new(inputs: usize, outputs: usize, random: &mut Random) -> Self {
        let weights = Matrix::random(inputs, outputs, (1.0 / inputs as f32).sqrt(), random);
        Layer { weights, biases: vec![0.0; outputs] }
    }

    fn forward(&self, input: &Matrix, rectified: bool) -> Matrix {
        let mut output = input.times(&self.weights);
        for row in 0..output.rows {
            add_scaled(output.row_mut(row), &self.biases, 1.0);
        }
        if rectified {
            output.values.iter_mut().for_each(|value| *value = value.max(0.0));
        }
        output
    }

    /// The gradient of the layer's input, which came rectified from the layer before.
    fn backward(&self, input: &Matrix, output: &Matrix) -> Matrix {
        let mut gradient = output.times(&self.weights.transposed());
        for (gradient, &value) in gradient.values.iter_mut().zip(&input.values) {
            if value <= 0.0 {
                *gradient = 0.0;
            }
        }
        gradient
    }
}

impl Gradient {
    fn new(input: &Matrix, output: &Matrix) -> Self {
        let mut biases = vec![0.0; output.columns];
        for row in 0..output.rows {
            add_scaled(&mut biases, output.row(row), 1.0);
        }
        Gradient { weights: input.transposed().times(output), biases }
    }
}

impl Activations {
    fn output(&self) -> &Matrix {
        &self.0[self.0.len() - 1]
    }

    /// The mean cross-entropy and its gradient.
    #[hodo::scoped]
    pub fn loss(&self, classes: &[usize]) -> (f32, Matrix) {
        let mut gradient = self.output().clone();
        let scale = 1.0 / classes.len() as f32;
        let mut loss = 0.0;
        for (row, &class) in classes.iter().enumerate() {
            let shares = gradient.row_mut(row);
            softmax(shares);
            loss -= shares[class].max(f32::MIN_POSITIVE).ln() * scale;
            shares[class] -= 1.0;
            shares.iter_mut().for_each(|share| *share *= scale);
        }
        (loss, gradient)
    }

    /// The share of rows whose largest output is their class.
    pub fn accuracy(&self, batch: &Batch) -> f32 {
        let rows = batch.classes.iter().enumerate();
        let right = rows.filter(|&(row, &class)| largest(self.output().row(row)) == class).count();
        right as f32 / batch.classes.len() as f32
    }
}

fn softmax(values: &mut [f32]) {
    let top = values.iter().copied().fold(f32::MIN, f32::max);
    values.iter_mut().for_each(|value| *value = (*value - top).exp());
    let sum: f32 = values.iter().sum();
    values.iter_mut().for_each(|value| *value /= sum);
}

fn largest(values: &[f32]) -> usize {
    (0..values.len()).max_by(|&a, &b| values[a].total_cmp(&values[b])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::data::Data;
    use super::*;

    fn batch(number: u64) -> Batch {
        let data = Data::new(3);
        data.decode(number, &data.read(number))
    }

    #[test]
    fn the_gradient_is_the_slope_of_the_loss() {
        let (network, batch) = (Network::new(3), batch(0));
        let activations = network.forward(&batch.points);
        let gradients = network.backward(&activations, activations.loss(&batch.classes).1);
        for (layer, weight) in [(0, 5), (1, 100), (2, 7)] {
            let moved = |by: f32| {
                let mut network = network.clone();
                network.layers[layer].weights.values[weight] += by;
                network.forward(&batch.points).loss(&batch.classes).0
            };
            let slope = (moved(0.01) - moved(-0.01)) / 0.02;
            let gradient = gradients[layer].weights.values[weight];
            assert!((slope - gradient).abs() < 1e-3, "layer {layer}: {slope} and {gradient}");
        }
    }

    #[test]
    fn the_network_learns() {
        let mut network = Network::new(3);
        let losses: Vec<f32> = (0..100)
            .map(|number| {
                let batch = batch(number);
                let activations = network.forward(&batch.points);
                let (loss, gradient) = activations.loss(&batch.classes);
                network.step(&network.backward(&activations, gradient), 0.02);
                loss
            })
            .collect();
        let mean = |losses: &[f32]| losses.iter().sum::<f32>() / losses.len() as f32;
        let (first, last) = (mean(&losses[..10]), mean(&losses[90..]));
        assert!(last < first / 2.0, "{first} became {last}");
    }
}
