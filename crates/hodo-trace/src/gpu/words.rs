//! Lengths of work.

use super::WorkRow as Row;

/// A column of words that nearly all fit 32 bits.
#[derive(Debug, Default)]
pub(super) struct Words {
    low: Vec<u32>,
    /// Rows whose value does not fit, in order of row.
    wide: Vec<(Row, u64)>,
}

impl Words {
    pub(super) fn push(&mut self, value: u64) {
        match u32::try_from(value) {
            Ok(low) if low != u32::MAX => self.low.push(low),
            _ => {
                self.wide.push((self.low.len() as Row, value));
                self.low.push(u32::MAX);
            }
        }
    }

    pub(super) fn get(&self, row: Row) -> u64 {
        match self.low[row as usize] {
            u32::MAX => self.wide(row),
            low => u64::from(low),
        }
    }

    /// Puts rows in another order.
    pub(super) fn permute(&mut self, order: &[Row]) {
        let mut column = Words::default();
        column.low.reserve(order.len());
        order.iter().for_each(|&row| column.push(self.get(row)));
        *self = column;
    }

    #[cold]
    fn wide(&self, row: Row) -> u64 {
        self.wide.binary_search_by_key(&row, |w| w.0).map_or(0, |at| self.wide[at].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_wide_values() {
        let values = [0, 1, u64::from(u32::MAX) - 1, u64::from(u32::MAX), 1 << 40, u64::MAX, 7];
        let mut column = Words::default();
        values.iter().for_each(|&value| column.push(value));
        let read =
            |column: &Words, len: Row| (0..len).map(|row| column.get(row)).collect::<Vec<_>>();
        assert_eq!(read(&column, 7), values);
        column.permute(&[6, 5, 4, 0]);
        assert_eq!(read(&column, 4), [7, u64::MAX, 1 << 40, 0]);
    }
}
