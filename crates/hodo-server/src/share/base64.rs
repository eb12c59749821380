//! Bytes as text.

const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// As RFC 4648 has it, with padding.
pub fn encoded(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let sign = SIGNS[(word >> (18 - 6 * at) & 63) as usize];
            text.push(if at <= group.len() { char::from(sign) } else { '=' });
        }
    }
    text
}

/// What was encoded.
#[cfg(test)]
pub fn decoded(text: &str) -> Vec<u8> {
    let value = |sign: u8| SIGNS.iter().position(|each| *each == sign).unwrap_or(0) as u32;
    let group = |four: &[u8]| four.iter().fold(0, |word, &sign| word << 6 | value(sign));
    let bytes = text.as_bytes().chunks(4).flat_map(|four| group(four).to_be_bytes()[1..].to_vec());
    let padding = text.bytes().rev().take_while(|sign| *sign == b'=').count();
    bytes.take(text.len() / 4 * 3 - padding).collect()
}

#[cfg(test)]
mod tests {
    use super::{decoded, encoded};

    #[test]
    fn the_examples_of_the_standard() {
        let examples =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (bytes, text) in examples {
            assert_eq!(encoded(bytes.as_bytes()), text);
            assert_eq!(decoded(text), bytes.as_bytes());
        }
        assert_eq!(encoded(&[0xff, 0xfe, 0xfd]), "//79");
    }
}
