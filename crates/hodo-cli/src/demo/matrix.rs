//! Just enough dense arithmetic to train a network.

use super::random::Random;

/// Numbers in rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    pub rows: usize,
    pub columns: usize,
    pub values: Vec<f32>,
}

impl Matrix {
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Matrix { rows, columns, values: vec![0.0; rows * columns] }
    }

    pub fn random(rows: usize, columns: usize, deviation: f32, random: &mut Random) -> Self {
        let values = (0..rows * columns).map(|_| random.normal() * deviation).collect();
        Matrix { rows, columns, values }
    }

    pub fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.columns..][..self.columns]
    }

    pub fn row_mut(&mut self, row: usize) -> &mut [f32] {
        &mut self.values[row * self.columns..][..self.columns]
    }

    /// The product with `right`.
    pub fn times(&self, right: &Matrix) -> Matrix {
        assert_eq!(self.columns, right.rows, "shapes do not fit");
        let mut product = Matrix::zeros(self.rows, right.columns);
        for row in 0..self.rows {
            for (&factor, inner) in self.row(row).iter().zip(0..) {
                add_scaled(product.row_mut(row), right.row(inner), factor);
            }
        }
        product
    }

    pub fn transposed(&self) -> Matrix {
        let mut flipped = Matrix::zeros(self.columns, self.rows);
        for row in 0..self.rows {
            for (column, &value) in self.row(row).iter().enumerate() {
                flipped.values[column * self.rows + row] = value;
            }
        }
        flipped
    }
}

/// Adds `factor` times `source` to `target`.
pub fn add_scaled(target: &mut [f32], source: &[f32], factor: f32) {
    for (target, source) in target.iter_mut().zip(source) {
        *target += factor * source;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn product_and_transpose() {
        let a = Matrix { rows: 2, columns: 3, values: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0] };
        let product = a.times(&a.transposed());
        assert_eq!(product.values, [14.0, 32.0, 32.0, 77.0]);
        assert_eq!(a.transposed().transposed(), a);
    }
}
