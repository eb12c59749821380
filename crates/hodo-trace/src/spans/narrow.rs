//! A column of numbers in as few bits as the neighbours of each need.

use super::Row;

/// Rows of a block. Smaller blocks fit their values closer and cost more beside them.
pub(super) const BLOCK: usize = 1024;
/// Bits that a value costs which is kept apart from its block.
const APART_BITS: usize = 8 * size_of::<(Row, u64)>();
/// Widths are multiples of this, so that two values begin and end with a byte.
const STEP: u32 = 4;
/// Two values of up to this many bits are put and taken as one word.
const PAIRED: u32 = 32;
const PADDING: usize = size_of::<u64>();
/// Values side by side, and again after three times as many, that mostly decide on a block's width.
const SAMPLE: usize = 32;

/// A column. Every block of rows keeps its least value once, and of each row what it has more, in
/// the number of bits that suits the block; the few values that would need many more bits than their
/// neighbours are kept apart.
#[derive(Debug, Default)]
pub(crate) struct Narrow {
    blocks: Vec<Block>,
    /// The bits of all blocks, one after another; each begins with a byte of its own.
    bits: Vec<u8>,
    /// Values kept apart, in order of row.
    apart: Vec<(Row, u64)>,
    len: usize,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    least: u64,
    /// Where its bits begin.
    from: usize,
    /// The bits of a value, all set.
    mask: u64,
    /// The place of its first value in `apart`.
    apart: u32,
    /// Values that it has there.
    apart_len: u16,
    /// Bits of a value.
    width: u16,
}

impl Narrow {
    /// Rows.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The value of a row.
    #[inline]
    pub(crate) fn get(&self, row: Row) -> u64 {
        let block = &self.blocks[row as usize / BLOCK];
        let more = block.more(&self.bits, row as usize % BLOCK);
        if more == block.mask && block.apart_len > 0 {
            return self.apart(block, row).unwrap_or(block.least.wrapping_add(more));
        }
        block.least.wrapping_add(more)
    }

    /// The values, for many rows one after another, or not far from each other.
    pub(crate) fn scan(&self) -> Scan<'_> {
        Scan { column: self, block: usize::MAX, values: Vec::new() }
    }

    /// The values in order of row.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u64> {
        let mut scan = self.scan();
        (0..self.len as Row).map(move |row| scan.get(row))
    }

    #[cold]
    fn apart(&self, block: &Block, row: Row) -> Option<u64> {
        let apart = block.apart_of(&self.apart);
        apart.binary_search_by_key(&row, |value| value.0).ok().map(|at| apart[at].1)
    }

    /// Adds a block; only the last may be shorter than others.
    #[inline(never)]
    fn pack(&mut self, values: &[u64]) {
        let bounds = |(least, most): (u64, u64), &value: &u64| (least.min(value), most.max(value));
        let (least, most) = values.iter().fold((u64::MAX, 0), bounds);
        let sample = values.chunks(4 * SAMPLE).flat_map(|part| &part[..part.len().min(SAMPLE)]);
        // Most often a part of the values tells what all need.
        let width_of_sample = width(sample, least);
        if most - least <= ones(width_of_sample) {
            return self.put(values, least, width_of_sample);
        }
        let width = width(values.iter(), least);
        let mask = ones(width);
        let apart = self.apart.len() as u32;
        let mut rest = [0; BLOCK];
        for (at, (&value, rest)) in values.iter().zip(&mut rest).enumerate() {
            *rest = value.min(least.saturating_add(mask));
            if value - least > mask {
                self.apart.push(((self.len + at) as Row, value));
            }
        }
        self.put(&rest[..values.len()], least, width);
        if let Some(block) = self.blocks.last_mut() {
            block.apart = apart;
            block.apart_len = (self.apart.len() - apart as usize) as u16;
        }
    }

    /// Adds a block whose values all fit that width.
    #[inline]
    fn put(&mut self, values: &[u64], least: u64, width: u32) {
        let from = self.bits.len().saturating_sub(PADDING);
        let bytes = (values.len() * width as usize).div_ceil(8);
        self.bits.resize(from + bytes + PADDING, 0);
        let bits = &mut self.bits[from..];
        let together = if width <= PAIRED { 2 } else { 1 };
        let step = together * width as usize / 8;
        // What a word has beyond its values is overwritten by the next one.
        for (at, values) in values.chunks(together).enumerate() {
            let word = match *values {
                [first, second] => first - least | (second - least) << width,
                [last] => last - least,
                _ => 0,
            };
            bits[at * step..][..8].copy_from_slice(&word.to_le_bytes());
        }
        let apart = self.apart.len() as u32;
        let (mask, width) = (ones(width), width as u16);
        self.blocks.push(Block { least, from, mask, apart, apart_len: 0, width });
        self.len += values.len();
    }

    #[inline(never)]
    fn unpack(&self, number: usize, values: &mut Vec<u64>) {
        let block = &self.blocks[number];
        let first = number * BLOCK;
        let len = BLOCK.min(self.len - first);
        values.clear();
        if block.width == 0 {
            values.resize(len, block.least);
        } else if u32::from(block.width) <= PAIRED {
            values.resize(len.next_multiple_of(2), 0);
            self.fill_pairs(block, values);
            values.truncate(len);
        } else {
            values.extend((0..len).map(|at| block.least.wrapping_add(block.more(&self.bits, at))));
        }
        for &(row, value) in block.apart_of(&self.apart) {
            values[row as usize - first] = value;
        }
    }

    #[inline]
    fn fill_pairs(&self, block: &Block, values: &mut [u64]) {
        let Block { least, mask, width, from, .. } = *block;
        let (bits, step) = (&self.bits[from..], width as usize / 4);
        for (at, pair) in values.chunks_exact_mut(2).enumerate() {
            let mut word = [0; 8];
            word.copy_from_slice(&bits[at * step..][..8]);
            let word = u64::from_le_bytes(word);
            pair[0] = least.wrapping_add(word & mask);
            pair[1] = least.wrapping_add(word >> width & mask);
        }
    }
}

impl Block {
    /// What a row has more than the least; all bits set where it is kept apart.
    #[inline]
    fn more(&self, bits: &[u8], at: usize) -> u64 {
        let bit = at * self.width as usize;
        let from = self.from + bit / 8;
        let mut word = [0; 8];
        word.copy_from_slice(&bits[from..from + 8]);
        u64::from_le_bytes(word) >> (bit % 8) & self.mask
    }

    fn apart_of<'a>(&self, apart: &'a [(Row, u64)]) -> &'a [(Row, u64)] {
        &apart[self.apart as usize..][..self.apart_len as usize]
    }
}

/// Reads a column block by block.
pub(crate) struct Scan<'a> {
    column: &'a Narrow,
    /// The block whose values these are.
    block: usize,
    values: Vec<u64>,
}

impl Scan<'_> {
    /// The value of a row.
    #[inline]
    pub(crate) fn get(&mut self, row: Row) -> u64 {
        if row as usize / BLOCK != self.block {
            self.turn(row as usize / BLOCK);
        }
        self.values[row as usize % BLOCK]
    }

    #[inline(never)]
    fn turn(&mut self, block: usize) {
        self.column.unpack(block, &mut self.values);
        self.block = block;
    }
}

/// A column in the making.
#[derive(Debug, Default)]
pub(crate) struct NarrowBuilder {
    done: Narrow,
    /// Values after the last block.
    rest: Vec<u64>,
}

impl NarrowBuilder {
    /// Adds a row.
    #[inline]
    pub(crate) fn push(&mut self, value: u64) {
        self.rest.push(value);
        if self.rest.len() == BLOCK {
            self.done.pack(&self.rest);
            self.rest.clear();
        }
    }

    /// Adds a whole block, or the last rows.
    pub(super) fn push_block(&mut self, values: impl Iterator<Item = u64>) {
        self.rest.extend(values);
        self.done.pack(&self.rest);
        self.rest.clear();
    }

    /// The rows that are in blocks.
    pub(super) fn done(&self) -> &Narrow {
        &self.done
    }

    /// The column.
    pub(crate) fn finish(mut self) -> Narrow {
        if !self.rest.is_empty() {
            self.done.pack(&self.rest);
        }
        let mut done = self.done;
        done.blocks.shrink_to_fit();
        done.bits.shrink_to_fit();
        done.apart.shrink_to_fit();
        done
    }
}

impl FromIterator<u64> for Narrow {
    fn from_iter<T: IntoIterator<Item = u64>>(values: T) -> Narrow {
        let mut column = NarrowBuilder::default();
        values.into_iter().for_each(|value| column.push(value));
        column.finish()
    }
}

fn ones(width: u32) -> u64 {
    if width == 0 { 0 } else { u64::MAX >> (u64::BITS - width) }
}

/// How many bits each of the values gets, so that all together and those kept apart take least.
#[inline]
fn width<'a>(values: impl Iterator<Item = &'a u64>, least: u64) -> u32 {
    let (mut of_steps, mut len) = ([0_u32; (u64::BITS / STEP) as usize + 1], 0);
    for &value in values {
        let bits = u64::BITS - (value - least).leading_zeros();
        of_steps[bits.div_ceil(STEP) as usize] += 1;
        len += 1;
    }
    let mut apart = 0;
    let mut best = (usize::MAX, u64::BITS);
    for (steps, &of_width) in of_steps.iter().enumerate().rev() {
        let width = steps as u32 * STEP;
        let bits = len * width as usize + apart * APART_BITS;
        if bits <= best.0 && (width <= PAIRED || width.is_multiple_of(8)) {
            best = (bits, width);
        }
        apart += of_width as usize;
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(values: &[u64]) -> Result<(), TestCaseError> {
        let column: Narrow = values.iter().copied().collect();
        prop_assert_eq!(column.len(), values.len());
        prop_assert_eq!(column.iter().collect::<Vec<u64>>(), values);
        for (row, &value) in values.iter().enumerate() {
            prop_assert_eq!(column.get(row as Row), value);
        }
        Ok(())
    }

    /// Values as columns have them, and as damage makes them.
    fn shape() -> impl Strategy<Value = Vec<u64>> {
        let len = 0..3 * BLOCK + 5;
        let small = prop::collection::vec(0_u64..40, len.clone());
        let wild = prop::collection::vec(any::<u64>(), len.clone());
        let of_any_width = prop::collection::vec(
            (any::<u64>(), 0_u32..64).prop_map(|(value, shift)| value >> shift),
            len.clone(),
        );
        let outliers = prop::collection::vec(
            prop_oneof![60 => 5_u64..200, 1 => any::<u64>(), 1 => Just(u64::MAX), 1 => Just(0)],
            len.clone(),
        );
        let rising = (any::<u64>(), prop::collection::vec(0_u64..1 << 30, len.clone()));
        let rising = rising.prop_map(|(first, steps)| {
            let next = |at: &mut u64, step: u64| {
                *at = at.wrapping_add(step);
                Some(*at)
            };
            steps.into_iter().scan(first, next).collect::<Vec<u64>>()
        });
        let falling = (any::<u64>(), len.clone()).prop_map(|(first, len)| {
            (0..len as u64).map(|at| first.wrapping_sub(at * 977)).collect::<Vec<u64>>()
        });
        let same = (any::<u64>(), len).prop_map(|(value, len)| vec![value; len]);
        prop_oneof![small, wild, of_any_width, outliers, rising, falling, same]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_narrow_column_is_the_values_that_were_pushed(values in shape()) {
            check(&values)?;
        }
    }

    #[test]
    fn every_width_is_read_back() {
        for width in 0..=u64::BITS {
            let most = ones(width);
            let values =
                (0..BLOCK as u64 + 3).map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15) & most);
            check(&values.collect::<Vec<u64>>()).expect("as pushed");
            let two = (0..2 * BLOCK).map(|at| if at % 2 == 0 { 0 } else { most });
            check(&two.collect::<Vec<u64>>()).expect("as pushed");
        }
    }

    #[test]
    fn a_few_large_values_do_not_widen_their_block() {
        let value = |at: u64| if at % 300 == 7 { 1 << 50 } else { at % 16 };
        let column: Narrow = (0..BLOCK as u64).map(value).collect();
        assert!(column.bits.len() <= BLOCK / 2 + PADDING, "{} bytes", column.bits.len());
        assert_eq!(column.apart.len(), 4);
    }
}
