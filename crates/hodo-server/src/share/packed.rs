//! Answers as short texts: deflated, as browsers inflate it, then in base 64.

use super::base64;
use flate2::Compression;
use flate2::read::DeflateEncoder;
use std::io::Read;

/// The bytes of an answer, packed.
pub fn packed(bytes: &[u8]) -> String {
    let mut packed = Vec::new();
    // Reading from memory does not fail.
    let _ = DeflateEncoder::new(bytes, Compression::best()).read_to_end(&mut packed);
    base64::encoded(&packed)
}

/// What was packed.
#[cfg(test)]
pub fn unpacked(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let packed = base64::decoded(text);
    flate2::read::DeflateDecoder::new(&*packed).read_to_end(&mut bytes).unwrap();
    bytes
}

#[cfg(test)]
mod tests {
    use super::{packed, unpacked};

    #[test]
    fn what_is_packed_comes_out_again() {
        for bytes in [Vec::new(), b"a".to_vec(), (0..=255).cycle().take(10_000).collect()] {
            assert_eq!(unpacked(&packed(&bytes)), bytes);
        }
        assert!(packed(&[7; 10_000]).len() < 200);
    }
}
