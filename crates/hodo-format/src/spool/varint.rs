//! Variable-length integers: seven bits a byte, least significant first, top bit set on all but
//! the last byte (LEB128), without a branch per byte for values below 2^56.

const TOP_BITS: u64 = 0x8080_8080_8080_8080;
const MAX_BYTES: usize = 10;

/// Signed to unsigned so that small magnitudes stay small.
pub(crate) const fn zigzag(value: u64) -> u64 {
    (value << 1) ^ ((value as i64 >> 63) as u64)
}

/// Inverse of [`zigzag`].
pub(crate) const fn unzigzag(value: u64) -> u64 {
    (value >> 1) ^ (value & 1).wrapping_neg()
}

/// A growing column of bytes.
#[derive(Debug, Default)]
pub(crate) struct Column {
    /// Scratch space; only the first `len` bytes are the column's.
    space: Vec<u8>,
    len: usize,
}

impl Column {
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.space[..self.len]
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn room(&mut self, bytes: usize) {
        if self.len + bytes > self.space.len() {
            self.grow(bytes);
        }
    }

    #[cold]
    fn grow(&mut self, bytes: usize) {
        let wanted = (self.len + bytes).max(self.space.len() * 2).max(1024);
        self.space.resize(wanted, 0);
    }

    #[inline]
    pub(crate) fn byte(&mut self, byte: u8) {
        self.room(1);
        self.space[self.len] = byte;
        self.len += 1;
    }

    pub(crate) fn slice(&mut self, bytes: &[u8]) {
        self.room(bytes.len());
        self.space[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    #[inline]
    pub(crate) fn signed(&mut self, value: u64) {
        self.unsigned(zigzag(value));
    }

    #[inline]
    pub(crate) fn unsigned(&mut self, value: u64) {
        self.room(MAX_BYTES);
        if value >> 56 != 0 {
            return self.long(value);
        }
        let bits = 64 - (value | 1).leading_zeros();
        let bytes = bits.div_ceil(7);
        let more = TOP_BITS & ((1 << (8 * (bytes - 1))) - 1);
        let word = spread(value) | more;
        self.space[self.len..self.len + 8].copy_from_slice(&word.to_le_bytes());
        self.len += bytes as usize;
    }

    #[cold]
    fn long(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.byte(value as u8 | 0x80);
            value >>= 7;
        }
        self.byte(value as u8);
    }
}

/// Puts each group of seven bits of a value below 2^56 into a byte of its own.
#[inline]
const fn spread(value: u64) -> u64 {
    let x = value;
    let x = (x & 0x00ff_ffff_f000_0000) << 4 | (x & 0x0000_0000_0fff_ffff);
    let x = (x & 0x0fff_c000_0fff_c000) << 2 | (x & 0x0000_3fff_0000_3fff);
    (x & 0x3f80_3f80_3f80_3f80) << 1 | (x & 0x007f_007f_007f_007f)
}

/// Inverse of [`spread`]; ignores the top bit of each byte.
#[inline]
const fn gather(word: u64) -> u64 {
    let x = (word & 0x7f00_7f00_7f00_7f00) >> 1 | (word & 0x007f_007f_007f_007f);
    let x = (x & 0x3fff_0000_3fff_0000) >> 2 | (x & 0x0000_3fff_0000_3fff);
    (x & 0x0fff_ffff_0000_0000) >> 4 | (x & 0x0000_0000_0fff_ffff)
}

/// Reads a column. Reading past its end yields anything and is noticed by [`Cursor::is_spent`], so
/// that the loop over rows needs no error path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    /// The column and everything behind it, so that eight bytes can be loaded at once.
    bytes: &'a [u8],
    at: usize,
    end: usize,
}

impl<'a> Cursor<'a> {
    /// A cursor over `bytes[start..end]`.
    pub(crate) fn new(bytes: &'a [u8], start: usize, end: usize) -> Self {
        Cursor { bytes, at: start, end }
    }

    /// A cursor over all of `bytes`.
    pub(crate) fn over(bytes: &'a [u8]) -> Self {
        Self::new(bytes, 0, bytes.len())
    }

    /// Whether exactly the whole column was read.
    pub(crate) fn is_spent(&self) -> bool {
        self.at == self.end
    }

    /// Whether more was read than there was.
    pub(crate) fn overran(&self) -> bool {
        self.at > self.end
    }

    /// Where the next read begins, in the bytes the cursor was made over.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Bytes not read yet.
    pub(crate) fn left(&self) -> usize {
        self.end.saturating_sub(self.at)
    }

    #[inline]
    pub(crate) fn signed(&mut self) -> u64 {
        unzigzag(self.unsigned())
    }

    #[inline]
    pub(crate) fn unsigned(&mut self) -> u64 {
        let Some(next) = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<8>()) else {
            return self.slow();
        };
        let word = u64::from_le_bytes(*next);
        let last = !word & TOP_BITS;
        if last == 0 {
            return self.slow();
        }
        let bits = last.trailing_zeros() + 1;
        self.at += (bits / 8) as usize;
        gather(word & (u64::MAX >> (64 - bits)))
    }

    #[cold]
    fn slow(&mut self) -> u64 {
        let mut value = 0;
        for i in 0..MAX_BYTES {
            let byte = self.byte();
            value |= u64::from(byte & 0x7f).checked_shl(7 * i as u32).unwrap_or(0);
            if byte < 0x80 {
                break;
            }
        }
        value
    }

    #[inline]
    pub(crate) fn byte(&mut self) -> u8 {
        let byte = self.bytes.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        byte
    }

    /// The next `len` bytes, or `None` when the column has fewer left.
    pub(crate) fn take(&mut self, len: u64) -> Option<&'a [u8]> {
        let len = usize::try_from(len).ok().filter(|&len| len <= self.left())?;
        let taken = self.bytes.get(self.at..self.at + len)?;
        self.at += len;
        Some(taken)
    }

    /// The next eight bytes as a little-endian word.
    pub(crate) fn word(&mut self) -> u64 {
        let word = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<8>());
        self.at += 8;
        word.map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    /// The next four bytes as a little-endian number.
    pub(crate) fn half(&mut self) -> u32 {
        let half = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<4>());
        self.at += 4;
        half.map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges() -> impl Iterator<Item = u64> {
        (0..64).flat_map(|bit| {
            let power = 1u64 << bit;
            [power - 1, power, power.wrapping_add(1), power.wrapping_neg(), !power]
        })
    }

    #[test]
    fn every_length_comes_back() {
        let mut column = Column::default();
        edges().for_each(|value| column.unsigned(value));
        edges().for_each(|value| column.signed(value));
        let mut cursor = Cursor::over(column.bytes());
        edges().for_each(|value| assert_eq!(cursor.unsigned(), value));
        edges().for_each(|value| assert_eq!(cursor.signed(), value));
        assert!(cursor.is_spent());
    }

    #[test]
    fn bytes_are_leb128() {
        let mut column = Column::default();
        for value in [0, 127, 128, 300, 1 << 56, u64::MAX] {
            column.unsigned(value);
        }
        let expected = [
            &[0x00, 0x7f, 0x80, 0x01, 0xac, 0x02][..],
            &[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01],
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
        ];
        assert_eq!(column.bytes(), expected.concat());
    }

    #[test]
    fn reading_past_the_end_is_noticed() {
        let mut cursor = Cursor::new(&[5, 6, 0x80, 0x80], 0, 1);
        assert_eq!(cursor.unsigned(), 5);
        assert!(cursor.is_spent() && !cursor.overran());
        cursor.unsigned();
        assert!(cursor.overran());
        for _ in 0..100 {
            cursor.unsigned();
            cursor.word();
            cursor.half();
        }
        assert!(cursor.overran() && cursor.left() == 0);
        assert_eq!(cursor.take(1), None);
    }
}
