//! Parquet's DELTA_BINARY_PACKED: blocks of differences, each with the least of them taken off.

use super::bits::{pack, unpack};
use super::{ODD, SHORT, Undecodable, put_varint, take, varint};

const BLOCK: usize = 128;
const MINIS: usize = 4;
const MINI: usize = BLOCK / MINIS;

/// Appends `values`.
pub fn delta_encode(values: &[i64], out: &mut Vec<u8>) {
    put_varint(BLOCK as u64, out);
    put_varint(MINIS as u64, out);
    put_varint(values.len() as u64, out);
    let Some(&first) = values.first() else { return put_varint(0, out) };
    put_varint(zigzag(first), out);
    let mut before = first;
    let mut deltas = [0i64; BLOCK];
    for block in values[1..].chunks(BLOCK) {
        for (delta, &value) in deltas.iter_mut().zip(block) {
            *delta = value.wrapping_sub(before);
            before = value;
        }
        encode_block(&deltas[..block.len()], out);
    }
}

fn encode_block(deltas: &[i64], out: &mut Vec<u8>) {
    let least = deltas.iter().copied().min().unwrap_or(0);
    put_varint(zigzag(least), out);
    let above = |delta: &i64| delta.wrapping_sub(least) as u64;
    let mut widths = [0u8; MINIS];
    for (width, mini) in widths.iter_mut().zip(deltas.chunks(MINI)) {
        let all = mini.iter().map(above).fold(0, |all, one| all | one);
        *width = (64 - all.leading_zeros()) as u8;
    }
    out.extend_from_slice(&widths);
    for (width, mini) in widths.iter().zip(deltas.chunks(MINI)) {
        let filled = mini.iter().map(above).chain(std::iter::repeat(0)).take(MINI);
        pack(filled, (*width).into(), out);
    }
}

/// Reads `count` values and appends them.
pub fn delta_decode(
    mut bytes: &[u8],
    count: usize,
    values: &mut Vec<i64>,
) -> Result<(), Undecodable> {
    let block = usize::try_from(varint(&mut bytes)?).map_err(|_| ODD)?;
    let minis = usize::try_from(varint(&mut bytes)?).map_err(|_| ODD)?;
    if minis == 0 || block > 1 << 20 || !block.is_multiple_of(minis) || block < minis {
        return Err(ODD);
    }
    let mini = block / minis;
    if varint(&mut bytes)? < count as u64 {
        return Err(SHORT);
    }
    let mut last = unzigzag(varint(&mut bytes)?);
    let end = values.len() + count;
    values.reserve(count);
    if count > 0 {
        values.push(last);
    }
    while values.len() < end {
        let least = unzigzag(varint(&mut bytes)?);
        let widths = take(&mut bytes, minis)?;
        for &width in widths {
            let kept = mini.min(end - values.len());
            if kept == 0 {
                break;
            }
            if width > 64 {
                return Err(ODD);
            }
            let all = (mini * usize::from(width)).div_ceil(8);
            let packed = take(&mut bytes, all)?;
            unpack(packed, width.into(), kept, values, |above| {
                last = last.wrapping_add(least).wrapping_add(above as i64);
                last
            });
        }
    }
    Ok(())
}

fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_encoded_comes_back(
            steps in prop::collection::vec(any::<i64>(), 0..400), shift in 0u32..64,
        ) {
            let mut at = 0i64;
            let values: Vec<i64> = steps
                .iter()
                .map(|step| {
                    at = at.wrapping_add(step >> shift);
                    at
                })
                .collect();
            let mut bytes = Vec::new();
            delta_encode(&values, &mut bytes);
            let mut read = vec![77];
            prop_assert_eq!(delta_decode(&bytes, values.len(), &mut read), Ok(()));
            prop_assert_eq!((read[0], &read[1..]), (77, &values[..]));
        }

        #[test]
        fn any_bytes_are_values_or_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..80), count in 0usize..500,
        ) {
            let mut values = Vec::new();
            if delta_decode(&bytes, count, &mut values).is_ok() {
                prop_assert_eq!(values.len(), count);
            }
        }
    }
}
