//! Made-up data: points scattered around one centre per class.

use super::matrix::Matrix;
use super::random::Random;

pub const FEATURES: usize = 64;
pub const CLASSES: usize = 10;
pub const BATCH_ROWS: usize = 64;
/// How far points lie from their centre; the centres lie about 1 apart in each feature.
const SCATTER: f32 = 2.0;

/// Points with their classes.
pub struct Batch {
    pub points: Matrix,
    pub classes: Vec<usize>,
}

/// Where batches come from; the same seed gives the same batches.
#[derive(Clone)]
pub struct Data {
    seed: u64,
    centres: Matrix,
}

impl Data {
    pub fn new(seed: u64) -> Self {
        let centres = Matrix::random(CLASSES, FEATURES, 1.0, &mut Random::new(seed));
        Data { seed, centres }
    }

    /// The raw bytes of a batch: a class for each row. Stands for what a file would hold.
    pub fn read(&self, batch: u64) -> Vec<u8> {
        let mut random = Random::fork(self.seed, batch);
        (0..BATCH_ROWS).map(|_| (random.next() % CLASSES as u64) as u8).collect()
    }

    /// The points of a batch.
    pub fn decode(&self, batch: u64, bytes: &[u8]) -> Batch {
        let mut random = Random::fork(!self.seed, batch);
        let mut points = Matrix::random(bytes.len(), FEATURES, SCATTER, &mut random);
        let classes: Vec<usize> = bytes.iter().map(|&class| usize::from(class)).collect();
        for (row, &class) in classes.iter().enumerate() {
            super::matrix::add_scaled(points.row_mut(row), self.centres.row(class), 1.0);
        }
        Batch { points, classes }
    }
}
