//! The packets of a trace one by one: a trace is a sequence of fields with the number 1.

use crate::import::{ImportError, Limit};
use std::io::{self, BufRead, BufReader, Read};

/// Longest packet that is read.
const MOST_BYTES: u64 = 32 << 20;

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub enum Packet {
    /// A packet, in [`Packets::bytes`].
    One,
    /// Nothing.
    End,
    /// No packet.
    Damaged(String),
}

/// The packets of a file.
pub struct Packets<R> {
    from: BufReader<R>,
    /// Where the last packet begins.
    pub offset: u64,
    at: u64,
    /// The packet.
    pub bytes: Vec<u8>,
}

impl<R: Read> Packets<R> {
    /// The packets of `from`.
    pub fn new(from: R) -> Packets<R> {
        let from = BufReader::with_capacity(256 << 10, from);
        Packets { from, offset: 0, at: 0, bytes: Vec::new() }
    }

    /// Reads the next packet.
    pub fn next(&mut self) -> Result<Packet, ImportError> {
        match self.field() {
            Ok(packet) => Ok(packet),
            Err(error) => match ImportError::from(error) {
                ImportError::Damaged(why) => Ok(Packet::Damaged(why)),
                other => Err(other),
            },
        }
    }

    fn field(&mut self) -> io::Result<Packet> {
        loop {
            self.offset = self.at;
            if self.from.fill_buf()?.is_empty() {
                return Ok(Packet::End);
            }
            let tag = self.varint()?;
            let (field, wire) = (tag >> 3, tag & 7);
            if wire != 2 || field == 0 {
                return Ok(Packet::Damaged(format!("a field of wire type {wire}, not a packet")));
            }
            let len = self.varint()?;
            if len > MOST_BYTES {
                let limit = ImportError::Limit { limit: Limit::Element, offset: self.offset };
                return Err(io::Error::other(limit));
            }
            self.bytes.clear();
            let read = (&mut self.from).take(len).read_to_end(&mut self.bytes)? as u64;
            self.at += read;
            if read < len {
                return Ok(Packet::Damaged("the file ends inside a packet".into()));
            }
            if field == 1 {
                return Ok(Packet::One);
            }
        }
    }

    fn varint(&mut self) -> io::Result<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let mut byte = [0];
            self.from.read_exact(&mut byte)?;
            self.at += 1;
            value |= u64::from(byte[0] & 0x7f) << shift;
            if byte[0] < 0x80 {
                return Ok(value);
            }
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, "a number of more than ten bytes"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]
    use super::*;

    #[test]
    fn packets_up_to_the_damage() {
        let bytes = [0x0A, 2, 7, 8, 0x12, 1, 9, 0x0A, 0, 0x0A, 5, 1];
        let mut packets = Packets::new(&bytes[..]);
        assert_eq!((packets.next().unwrap(), packets.bytes.as_slice()), (Packet::One, &[7, 8][..]));
        assert_eq!((packets.next().unwrap(), packets.bytes.len()), (Packet::One, 0));
        assert!(matches!(packets.next().unwrap(), Packet::Damaged(_)));
        assert_eq!(packets.offset, 9);
        let mut packets = Packets::new(&[0x0A, 0xff, 0xff, 0xff, 0xff, 0x7f][..]);
        assert!(matches!(packets.next(), Err(ImportError::Limit { .. })));
        let mut packets = Packets::new(&[0x08, 1][..]);
        assert!(matches!(packets.next().unwrap(), Packet::Damaged(_)));
    }
}
