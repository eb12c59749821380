//! How Parquet packs numbers, both ways: small ones in as many bits as the largest takes, and the
//! differences of large ones. Decoding trusts nothing.

mod bits;
mod delta;
mod hybrid;

pub use delta::{delta_decode, delta_encode};
pub use hybrid::{hybrid_decode, hybrid_encode, hybrid_encode_run, hybrid_is_all};

/// Why bytes cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Undecodable(&'static str);

const SHORT: Undecodable = Undecodable("ends before its last value");
const ODD: Undecodable = Undecodable("holds numbers that make no sense");

fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn varint(bytes: &mut &[u8]) -> Result<u64, Undecodable> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or(SHORT)?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(ODD)
}

fn take<'a>(bytes: &mut &'a [u8], len: usize) -> Result<&'a [u8], Undecodable> {
    let (taken, rest) = bytes.split_at_checked(len).ok_or(SHORT)?;
    *bytes = rest;
    Ok(taken)
}
