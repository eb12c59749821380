//! A column of numbers in as few bits as the neighbours of each need.

use super::Row;

/// Rows of a block. Smaller blocks fit their values closer and cost more beside them.
pub(super) const BLOCK: usize = 1024;
/// Bits that a value costs which is kept apart from its block.
const APART_BITS: usize = 8 * size_of::<(u16, u64)>();
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
    len: usize,
}

#[derive(Debug)]
struct Block {
    least: u64,
    /// The bits of a value, all set.
    mask: u64,
    /// How many these are.
    width: u32,
    /// The values one after another, and [`PADDING`].
    bits: Box<[u8]>,
    /// Places and values of rows kept apart, in order of place.
    apart: Box<[(u16, u64)]>,
}

impl Narrow {
    /// Rows.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Bytes it takes.
    pub(crate) fn bytes(&self) -> usize {
        let of = |block: &Block| size_of::<Block>() + block.bits.len() + size_of_val(&*block.apart);
        self.blocks.iter().map(of).sum()
    }

    /// The value of a row.
    #[inline]
    pub(crate) fn get(&self, row: Row) -> u64 {
        self.blocks[row as usize / BLOCK].get(row as usize % BLOCK)
    }

    /// The values, for many rows one after another, or not far from each other.
    pub(crate) fn scan(&self) -> Scan<'_> {
        let none = usize::MAX;
        Scan { column: self, block: none, missed: none, values: Box::new([0; BLOCK]) }
    }

    /// The values in order of row.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u64> {
        let mut scan = self.scan();
        (0..self.len as Row).map(move |row| scan.get(row))
    }

    /// Adds a block; only the last may be shorter than others.
    fn push(&mut self, values: &[u64]) {
        self.blocks.push(Block::new(values));
        self.len += values.len();
    }
}

impl Block {
    #[inline(never)]
    fn new(values: &[u64]) -> Block {
        let (least, most) = bounds(values);
        // Most often a part of the values tells what all need.
        let sample = values.chunks(4 * SAMPLE).flat_map(|part| &part[..part.len().min(SAMPLE)]);
        let width_of_sample = if least == most { 0 } else { width(sample, least) };
        if most - least <= ones(width_of_sample) {
            return Block::of(values, least, width_of_sample);
        }
        let few = values.len() / 16;
        Block::with_apart(values, least, width_of_sample, few).unwrap_or_else(|| {
            let width = width(values.iter(), least);
            let block = Block::with_apart(values, least, width, values.len());
            block.unwrap_or_else(|| Block::of(values, least, u64::BITS))
        })
    }

    /// A block some of whose values do not fit that width; none when they are more than that.
    #[inline]
    fn with_apart(values: &[u64], least: u64, width: u32, most_apart: usize) -> Option<Block> {
        let largest = least.saturating_add(ones(width));
        let (mut fitting, mut apart) = ([0; BLOCK], Vec::new());
        for (at, (&value, fitting)) in values.iter().zip(&mut fitting).enumerate() {
            *fitting = value.min(largest);
            if value > largest {
                apart.push((at as u16, value));
            }
        }
        let block = || Block::of(&fitting[..values.len()], least, width);
        (apart.len() <= most_apart).then(|| Block { apart: apart.into(), ..block() })
    }

    /// A block whose values all fit that width.
    #[inline]
    fn of(values: &[u64], least: u64, width: u32) -> Block {
        let bytes = (values.len() * width as usize).div_ceil(8) + PADDING;
        let mut bits = vec![0; bytes].into_boxed_slice();
        let together = if width <= PAIRED { 2 } else { 1 };
        let step = together * width as usize / 8;
        let values = if width == 0 { &[] } else { values };
        // What a word has beyond its values is overwritten by the next one.
        for (at, values) in values.chunks(together).enumerate() {
            let word = match *values {
                [first, second] => (first - least) | ((second - least) << width),
                [last] => last - least,
                _ => 0,
            };
            bits[at * step..][..8].copy_from_slice(&word.to_le_bytes());
        }
        Block { least, mask: ones(width), width, bits, apart: Box::default() }
    }

    #[inline]
    fn get(&self, at: usize) -> u64 {
        let bit = at * self.width as usize;
        let more = word(&self.bits[bit / 8..]) >> (bit % 8) & self.mask;
        if more == self.mask && !self.apart.is_empty() {
            return self.apart(at).unwrap_or(self.least.wrapping_add(more));
        }
        self.least.wrapping_add(more)
    }

    #[cold]
    fn apart(&self, at: usize) -> Option<u64> {
        let place = self.apart.binary_search_by_key(&at, |apart| apart.0.into()).ok()?;
        Some(self.apart[place].1)
    }

    /// All values; what is after the last of `len` means nothing.
    #[inline(never)]
    fn unpack(&self, len: usize, values: &mut [u64; BLOCK]) {
        if self.width == 0 {
            values.fill(self.least);
        } else if self.width <= PAIRED {
            let step = self.width as usize / 4;
            let pairs = values[..len.next_multiple_of(2)].chunks_exact_mut(2);
            for (at, pair) in pairs.enumerate() {
                let word = word(&self.bits[at * step..]);
                pair[0] = self.least.wrapping_add(word & self.mask);
                pair[1] = self.least.wrapping_add(word >> self.width & self.mask);
            }
        } else {
            let values = values[..len].iter_mut().enumerate();
            values.for_each(|(at, value)| *value = self.get(at));
        }
        self.apart.iter().for_each(|&(at, value)| values[at as usize] = value);
    }
}

#[inline]
fn word(bits: &[u8]) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bits[..8]);
    u64::from_le_bytes(word)
}

/// Reads a column block by block.
pub(crate) struct Scan<'a> {
    column: &'a Narrow,
    /// The block whose values these are.
    block: usize,
    /// The block of the last row that was in another one.
    missed: usize,
    values: Box<[u64; BLOCK]>,
}

impl Scan<'_> {
    /// The value of a row.
    #[inline]
    pub(crate) fn get(&mut self, row: Row) -> u64 {
        if row as usize / BLOCK != self.block {
            return self.miss(row);
        }
        self.values[row as usize % BLOCK]
    }

    /// A block is unpacked when a second row of it is asked for: one row that is far from the others,
    /// as a scope around many is, does not cost a block.
    #[inline(never)]
    fn miss(&mut self, row: Row) -> u64 {
        let block = row as usize / BLOCK;
        if self.missed == block {
            self.turn(block);
        }
        self.missed = block;
        self.column.get(row)
    }

    fn turn(&mut self, block: usize) {
        let len = BLOCK.min(self.column.len - block * BLOCK);
        self.column.blocks[block].unpack(len, &mut self.values);
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
            self.done.push(&self.rest);
            self.rest.clear();
        }
    }

    /// Adds a whole block, or the last rows.
    pub(super) fn push_block(&mut self, values: impl Iterator<Item = u64>) {
        self.rest.extend(values);
        self.done.push(&self.rest);
        self.rest.clear();
    }

    /// The rows that are in blocks.
    pub(super) fn done(&self) -> &Narrow {
        &self.done
    }

    /// The column.
    pub(crate) fn finish(mut self) -> Narrow {
        if !self.rest.is_empty() {
            self.done.push(&self.rest);
        }
        self.done.blocks.shrink_to_fit();
        self.done
    }
}

impl FromIterator<u64> for Narrow {
    fn from_iter<T: IntoIterator<Item = u64>>(values: T) -> Narrow {
        let mut column = NarrowBuilder::default();
        values.into_iter().for_each(|value| column.push(value));
        column.finish()
    }
}

/// The least and the largest value.
#[inline]
fn bounds(values: &[u64]) -> (u64, u64) {
    let (mut least, mut most) = ([u64::MAX; 4], [0; 4]);
    let (fours, rest) = values.as_chunks::<4>();
    let rest = rest.iter().map(|&value| [value; 4]);
    for four in fours.iter().copied().chain(rest) {
        for (at, value) in four.into_iter().enumerate() {
            least[at] = least[at].min(value);
            most[at] = most[at].max(value);
        }
    }
    (least.into_iter().fold(u64::MAX, u64::min), most.into_iter().fold(0, u64::max))
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
    fn rows_far_from_each_other_are_read_by_a_scan_too() {
        let column: Narrow = (0..4 * BLOCK as u64).map(|at| at * 3).collect();
        let mut scan = column.scan();
        let far =
            (0..BLOCK as Row).flat_map(|at| [at, 3 * BLOCK as Row + at, at, 2 * BLOCK as Row]);
        for row in far {
            assert_eq!(scan.get(row), u64::from(row) * 3);
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
        let block = &column.blocks[0];
        assert!(block.bits.len() <= BLOCK / 2 + PADDING, "{} bytes", block.bits.len());
        assert_eq!(block.apart.len(), 4);
    }
}
