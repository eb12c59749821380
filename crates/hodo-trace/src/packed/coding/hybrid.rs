//! Parquet's RLE/bit-packing hybrid: runs of one value, and groups of eight values in few bits.

use super::bits::{pack, unpack};
use super::{ODD, SHORT, Undecodable, put_varint, take, varint};

/// Equal values that are worth a run of their own.
const WORTH: usize = 16;
const GROUP: usize = 8;

/// Appends `values`, each below `1 << width`.
pub fn hybrid_encode(values: &[u32], width: u32, out: &mut Vec<u8>) {
    let (mut from, mut at) = (0, 0);
    while at < values.len() {
        let run = run_length(&values[at..]);
        if run >= WORTH {
            literals(&values[from..at], width, out);
            hybrid_encode_run(values[at], run, width, out);
            at += run;
            from = at;
        } else {
            // Groups cannot be split, so a run begins where one ends.
            at = (at + GROUP).min(values.len());
        }
    }
    literals(&values[from..], width, out);
}

/// Appends `value` so many times.
pub fn hybrid_encode_run(value: u32, times: usize, width: u32, out: &mut Vec<u8>) {
    put_varint((times as u64) << 1, out);
    out.extend_from_slice(&value.to_le_bytes()[..width.div_ceil(8) as usize]);
}

fn run_length(values: &[u32]) -> usize {
    let Some(first) = values.first() else { return 0 };
    if values.len() >= WORTH && values[WORTH - 1] != *first {
        return 1;
    }
    values.iter().position(|value| value != first).unwrap_or(values.len())
}

fn literals(values: &[u32], width: u32, out: &mut Vec<u8>) {
    if values.is_empty() {
        return;
    }
    let groups = values.len().div_ceil(GROUP);
    put_varint((groups as u64) << 1 | 1, out);
    let filled = values.iter().copied().chain(std::iter::repeat(0)).take(groups * GROUP);
    pack(filled.map(u64::from), width, out);
}

/// Whether the first `count` values are one run of `value`, which says it in a few bytes.
pub fn hybrid_is_all(mut bytes: &[u8], value: u8, count: usize) -> bool {
    let head = varint(&mut bytes).unwrap_or(0);
    head & 1 == 0 && head >> 1 >= count as u64 && bytes.first() == Some(&value)
}

/// Reads `count` values of `width` bits and appends them.
pub fn hybrid_decode(
    mut bytes: &[u8],
    width: u32,
    count: usize,
    values: &mut Vec<u32>,
) -> Result<(), Undecodable> {
    if width > 32 {
        return Err(ODD);
    }
    let end = values.len() + count;
    values.reserve(count);
    while values.len() < end {
        let left = end - values.len();
        let head = varint(&mut bytes)?;
        let len = usize::try_from(head >> 1).map_err(|_| ODD)?;
        if len == 0 {
            return Err(ODD);
        }
        if head & 1 == 0 {
            let mut word = [0; 4];
            let value = take(&mut bytes, width.div_ceil(8) as usize)?;
            word[..value.len()].copy_from_slice(value);
            let kept = len.min(left);
            values.resize(values.len() + kept, u32::from_le_bytes(word));
        } else {
            let all = len.checked_mul(width as usize).ok_or(ODD)?;
            // The last group of a page may be cut where its values end.
            let whole = all.min(bytes.len());
            let packed = take(&mut bytes, whole)?;
            let kept = len.saturating_mul(GROUP).min(left);
            if packed.len() < (kept * width as usize).div_ceil(8) {
                return Err(SHORT);
            }
            unpack(packed, width, kept, values, |value| value as u32);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_encoded_comes_back(
            parts in prop::collection::vec((0u32..9, 1usize..40), 0..20), shift in 0u32..29,
        ) {
            let runs = parts.iter().flat_map(|&(value, n)| std::iter::repeat_n(value << shift, n));
            let values: Vec<u32> = runs.collect();
            let width = 32 - values.iter().max().map_or(0, |v| *v).leading_zeros();
            let mut bytes = Vec::new();
            hybrid_encode(&values, width, &mut bytes);
            let mut read = vec![77];
            prop_assert_eq!(hybrid_decode(&bytes, width, values.len(), &mut read), Ok(()));
            prop_assert_eq!((read[0], &read[1..]), (77, &values[..]));
        }

        #[test]
        fn any_bytes_are_values_or_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..60), width in 0u32..40, count in 0usize..500,
        ) {
            let mut values = Vec::new();
            if hybrid_decode(&bytes, width, count, &mut values).is_ok() {
                prop_assert_eq!(values.len(), count);
                let all = values.iter().all(|&value| value == 1);
                prop_assert!(all || !hybrid_is_all(&bytes, 1, count) || width != 1);
            }
        }
    }
}
