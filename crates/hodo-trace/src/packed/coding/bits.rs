//! Numbers of a fixed width in bits, the lowest bits first.

/// Appends the low `width` bits of every value; the last byte is filled up with zeros.
pub(super) fn pack(values: impl Iterator<Item = u64>, width: u32, out: &mut Vec<u8>) {
    if width == 0 {
        return;
    }
    let (mut held, mut bits) = (0u128, 0);
    for value in values {
        held |= u128::from(value) << bits;
        bits += width;
        if bits >= 64 {
            out.extend_from_slice(&(held as u64).to_le_bytes());
            held >>= 64;
            bits -= 64;
        }
    }
    out.extend_from_slice(&(held as u64).to_le_bytes()[..bits.div_ceil(8) as usize]);
}

/// Gives the values of `width` bits at the beginning of `bytes`, which hold `count` of them.
#[inline]
pub(super) fn unpack(bytes: &[u8], width: u32, count: usize, mut each: impl FnMut(u64)) {
    let mask = if width >= 64 { u64::MAX } else { (1 << width) - 1 };
    // A word that begins at the value's first byte holds it whole up to this width.
    const ONE_WORD: u32 = 57;
    let mut bit = 0usize;
    let mut done = 0;
    if width <= ONE_WORD {
        while let Some(word) = bytes.get(bit / 8..bit / 8 + 8).filter(|_| done < count) {
            let word = u64::from_le_bytes(word.try_into().unwrap_or_default());
            each(word >> (bit % 8) & mask);
            bit += width as usize;
            done += 1;
        }
    }
    for _ in done..count {
        let mut word = [0u8; 16];
        let rest = bytes.get(bit / 8..).unwrap_or_default();
        let len = rest.len().min(16);
        word[..len].copy_from_slice(&rest[..len]);
        each((u128::from_le_bytes(word) >> (bit % 8)) as u64 & mask);
        bit += width as usize;
    }
}
