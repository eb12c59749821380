//! Numbers of a fixed width in bits, the lowest bits first.

/// Appends the low `width` bits of every value; the last byte is filled up with zeros.
pub(super) fn pack(values: impl Iterator<Item = u64>, width: u32, out: &mut Vec<u8>) {
    if width == 0 {
        return;
    }
    let (mut held, mut bits) = (0u64, 0);
    for value in values {
        held |= value << bits;
        bits += width;
        if bits >= u64::BITS {
            out.extend_from_slice(&held.to_le_bytes());
            bits -= u64::BITS;
            // What of the value did not fit; shifted twice, since all of it may have.
            held = value >> 1 >> (width - 1 - bits);
        }
    }
    out.extend_from_slice(&held.to_le_bytes()[..bits.div_ceil(8) as usize]);
}

/// Appends to `to` what `value` makes of the numbers of `width` bits at the beginning of `bytes`,
/// which hold `count` of them.
#[inline]
pub(super) fn unpack<T>(
    bytes: &[u8],
    width: u32,
    count: usize,
    to: &mut Vec<T>,
    mut value: impl FnMut(u64) -> T,
) {
    // A word that begins at the number's first byte holds it whole up to this width.
    const ONE_WORD: u32 = 57;
    let mask = if width >= 64 { u64::MAX } else { (1 << width) - 1 };
    let whole = match width {
        1..=ONE_WORD if bytes.len() >= 8 => (bytes.len() - 8) * 8 / width as usize + 1,
        _ => 0,
    };
    let whole = whole.min(count);
    to.extend((0..whole).map(|at| {
        let bit = at * width as usize;
        let word = bytes[bit / 8..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
        value(word >> (bit % 8) & mask)
    }));
    to.extend((whole..count).map(|at| {
        let bit = at * width as usize;
        let mut word = [0u8; 16];
        let rest = bytes.get(bit / 8..).unwrap_or_default();
        let len = rest.len().min(16);
        word[..len].copy_from_slice(&rest[..len]);
        value((u128::from_le_bytes(word) >> (bit % 8)) as u64 & mask)
    }));
}
