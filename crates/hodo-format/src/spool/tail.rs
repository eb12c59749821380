//! Reading a spool file that grows, piece by piece.

use super::{
    Decoder, FILE_HEADER_BYTES, FRAME_HEADER_BYTES, FRAME_MAGIC, FileHeader, FrameHeader,
    FrameSink, MAX_RAW_BYTES, VERSION,
};

/// Reads the frames of one file as they come. Whoever uses it keeps what is not used yet and
/// gives it again with what follows.
#[derive(Default)]
pub struct Tail {
    decoder: Decoder,
    begun: bool,
    foreign: bool,
    /// Frames that were damaged.
    pub damaged: u64,
}

impl Tail {
    /// For a file that is read from its first byte.
    pub fn new() -> Tail {
        Tail::default()
    }

    /// For a file that is read from somewhere inside: what comes before the next frame is no damage.
    pub fn inside() -> Tail {
        Tail { begun: true, ..Tail::default() }
    }

    /// Gives the whole frames at the beginning of `bytes` to `sink` and returns how many bytes are
    /// done with; the rest begins a frame that is not whole yet.
    ///
    /// A file of another major version gives nothing.
    pub fn push(&mut self, bytes: &[u8], sink: &mut impl FrameSink) -> usize {
        let mut at = match self.begin(bytes) {
            Some(at) => at,
            None => return 0,
        };
        if self.foreign {
            return bytes.len();
        }
        while let Some(next) = self.step(bytes, at, sink) {
            at = next;
        }
        at
    }

    /// Where frames begin; none while the file's header is not whole.
    fn begin(&mut self, bytes: &[u8]) -> Option<usize> {
        if self.begun {
            return Some(0);
        }
        let header = bytes.get(..FILE_HEADER_BYTES)?;
        self.begun = true;
        match FileHeader::parse(header) {
            Some(header) => {
                self.foreign = header.major() != VERSION >> 16;
                Some(FILE_HEADER_BYTES)
            }
            None => Some(0),
        }
    }

    /// Reads the frame at `at`, or skips what is none; none when more bytes are needed.
    fn step(&mut self, bytes: &[u8], at: usize, sink: &mut impl FrameSink) -> Option<usize> {
        let rest = bytes.get(at..)?;
        if rest.len() < FRAME_HEADER_BYTES {
            return None;
        }
        let Some(header) = FrameHeader::parse(rest) else { return next_magic(bytes, at + 1) };
        let length = header.payload_bytes as usize;
        if length > MAX_RAW_BYTES {
            self.damaged += 1;
            return next_magic(bytes, at + 1);
        }
        let end = FRAME_HEADER_BYTES + length;
        let payload = rest.get(FRAME_HEADER_BYTES..end)?;
        let sound = crc32c::crc32c(payload) == header.payload_crc
            && self
                .decoder
                .payload(header.kind, header.flags, header.raw_bytes, payload, sink)
                .is_ok();
        self.damaged += u64::from(!sound);
        Some(at + end)
    }
}

/// Where a frame may begin at or behind `from`, be it only the first bytes of its magic at the end.
fn next_magic(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..).unwrap_or_default();
    let begins = |at: &usize| {
        let rest = &rest[*at..];
        rest.starts_with(&FRAME_MAGIC) || FRAME_MAGIC.starts_with(rest)
    };
    Some(from + (0..rest.len()).find(begins).unwrap_or(rest.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Sink;
    use crate::spool::{file_header, strings_frame};

    #[derive(Default, PartialEq, Debug)]
    struct Strings(Vec<String>);

    impl Sink for Strings {}

    impl FrameSink for Strings {
        fn run(&mut self, _: u32, _: u64, _: u64) -> bool {
            true
        }
        fn strings(&mut self, _: u32, strings: &[&str]) {
            self.0.extend(strings.iter().map(|s| (*s).to_owned()));
        }
    }

    fn file(frames: u32) -> Vec<u8> {
        let mut bytes = file_header(7, 1).to_vec();
        for number in 0..frames {
            let text = format!("name {number}");
            strings_frame(u64::from(number), number, &[&text], &mut bytes);
        }
        bytes
    }

    /// Feeds the file in pieces of `piece` bytes, from `from` on.
    fn fed(tail: &mut Tail, bytes: &[u8], from: usize, piece: usize) -> Vec<String> {
        let (mut sink, mut kept) = (Strings::default(), Vec::new());
        for part in bytes[from..].chunks(piece) {
            kept.extend_from_slice(part);
            let used = tail.push(&kept, &mut sink);
            kept.drain(..used);
        }
        sink.0
    }

    #[test]
    fn pieces_of_any_size_give_what_the_whole_gives() {
        let bytes = file(9);
        let whole: Vec<String> = (0..9).map(|number| format!("name {number}")).collect();
        for piece in 1..200 {
            let mut tail = Tail::new();
            assert_eq!(fed(&mut tail, &bytes, 0, piece), whole, "pieces of {piece}");
            assert_eq!(tail.damaged, 0);
        }
    }

    #[test]
    fn reading_may_begin_anywhere() {
        let bytes = file(9);
        for from in 0..bytes.len() {
            let mut tail = Tail::inside();
            let read = fed(&mut tail, &bytes, from, 50);
            assert!(read.len() <= 9 && tail.damaged == 0);
            let first = 9 - read.len();
            assert!(read.iter().zip(first..).all(|(text, n)| *text == format!("name {n}")));
        }
    }

    #[test]
    fn a_damaged_frame_costs_itself_only_and_another_major_version_all() {
        let mut bytes = file(3);
        let payload = FILE_HEADER_BYTES + FRAME_HEADER_BYTES + 2;
        bytes[payload] ^= 1;
        let mut tail = Tail::new();
        assert_eq!(fed(&mut tail, &bytes, 0, 16), ["name 1", "name 2"]);
        assert_eq!(tail.damaged, 1);
        let mut newer = file(3);
        let header = FileHeader { version: 2 << 16, process: 7, number: 1 };
        newer[..FILE_HEADER_BYTES].copy_from_slice(&header.to_bytes());
        assert!(fed(&mut Tail::new(), &newer, 0, 16).is_empty());
    }
}
