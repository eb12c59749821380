//! Reading a whole spool file, damaged or not.

use super::window::{Source, Window};
use super::{
    Decoder, FILE_HEADER_BYTES, FRAME_HEADER_BYTES, FRAME_MAGIC, FileHeader, FrameHeader,
    FrameSink, MAX_RAW_BYTES, VERSION,
};

/// Places of damage that are kept; the bytes of all are counted.
const MAX_PLACES: usize = 16;

/// Why a file gives nothing at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpoolError {
    /// Neither a header nor a frame was found.
    #[error("not a hodo spool file: no header and no frame found")]
    NotSpool,
    /// Another major version.
    #[error(
        "spool format {major}.{minor} is not understood, this hodo reads {own}.x: use a matching hodo",
        own = VERSION >> 16
    )]
    Version {
        /// The file's major version.
        major: u32,
        /// Its minor version.
        minor: u32,
    },
}

/// What is wrong at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamageKind {
    /// The file header is missing or damaged.
    FileHeader,
    /// Bytes that belong to no frame.
    Bytes,
    /// The file ends inside a frame: still being written, or cut.
    CutOff,
    /// A frame whose payload does not match its checksum.
    Checksum,
    /// A frame that is intact but cannot be decoded.
    Undecodable,
}

/// One place of damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Bytes from the start of the file.
    pub offset: u64,
    /// What is wrong there.
    pub kind: DamageKind,
}

/// What could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Bytes that gave nothing.
    pub bytes: u64,
    /// Frames whose header is intact and whose payload is not.
    pub frames: u64,
    /// Records in those frames.
    pub records: u64,
    /// The first places, in order.
    pub places: Vec<Place>,
}

impl Damage {
    fn add(&mut self, offset: u64, kind: DamageKind) {
        if self.places.len() < MAX_PLACES {
            self.places.push(Place { offset, kind });
        }
    }

    /// Whether everything was read.
    pub fn is_none(&self) -> bool {
        self.bytes == 0 && self.places.is_empty()
    }
}

/// What a file held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileSummary {
    /// The file header, unless it is damaged.
    pub header: Option<FileHeader>,
    /// Frames delivered.
    pub frames: u64,
    /// Intact frames of a kind this version does not know.
    pub unknown_frames: u64,
    /// Records delivered or offered to the sink.
    pub records: u64,
    /// Sequence numbers of intact frames as inclusive ranges, in file order. A number that is in no
    /// file of the process is a missing frame.
    pub sequences: Vec<(u64, u64)>,
    /// What could not be read.
    pub damage: Damage,
}

impl FileSummary {
    fn saw(&mut self, sequence: u64) {
        match self.sequences.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(sequence) => *last = sequence,
            _ => self.sequences.push((sequence, sequence)),
        }
    }
}

/// Reads a spool file and gives every intact frame to `sink`.
///
/// Damage is skipped and reported; an error means that the file gave nothing.
pub fn read(mut bytes: &[u8], sink: &mut impl FrameSink) -> Result<FileSummary, SpoolError> {
    read_from(&mut bytes, sink)
}

/// The same of a file that is read piece by piece: no more than a frame and a piece is in memory,
/// however long it is.
pub fn read_from(
    source: &mut impl Source,
    sink: &mut impl FrameSink,
) -> Result<FileSummary, SpoolError> {
    let (window, decoder) = (Window::new(source), Decoder::new());
    let mut reader = Reader { window, decoder, summary: FileSummary::default() };
    let mut at = reader.file_header()?;
    while !reader.window.from(at, 1).is_empty() {
        at = reader.step(at, sink);
    }
    let Reader { window, summary, .. } = reader;
    let nothing = summary.header.is_none() && summary.frames + summary.unknown_frames == 0;
    if nothing && window.end() >= FILE_HEADER_BYTES as u64 && summary.damage.frames == 0 {
        return Err(SpoolError::NotSpool);
    }
    Ok(summary)
}

struct Reader<'a, S> {
    window: Window<'a, S>,
    decoder: Decoder,
    summary: FileSummary,
}

impl<S: Source> Reader<'_, S> {
    /// Checks the file header; returns where frames begin.
    fn file_header(&mut self) -> Result<u64, SpoolError> {
        let bytes = self.window.from(0, FILE_HEADER_BYTES);
        let header = FileHeader::parse(bytes);
        match header {
            Some(header) if header.major() != VERSION >> 16 => {
                Err(SpoolError::Version { major: header.major(), minor: header.version & 0xffff })
            }
            Some(_) => {
                self.summary.header = header;
                Ok(FILE_HEADER_BYTES as u64)
            }
            None if bytes.is_empty() => Ok(0),
            None => {
                self.summary.damage.add(0, DamageKind::FileHeader);
                let next = self.next_header(0);
                self.summary.damage.bytes += next;
                Ok(next)
            }
        }
    }

    /// Reads the frame at `at` or skips what is not one; returns where to go on.
    fn step(&mut self, at: u64, sink: &mut impl FrameSink) -> u64 {
        let bytes = self.window.from(at, FRAME_HEADER_BYTES);
        let Some(header) = FrameHeader::parse(bytes) else {
            let cut = FRAME_MAGIC.starts_with(&bytes[..bytes.len().min(FRAME_MAGIC.len())]);
            return self.skip(at, if cut { DamageKind::CutOff } else { DamageKind::Bytes }, at + 1);
        };
        if header.payload_bytes as usize > MAX_RAW_BYTES {
            return self.lose(at, &header, DamageKind::Undecodable, at + 1);
        }
        let end = FRAME_HEADER_BYTES + header.payload_bytes as usize;
        // With the header of the next one, which shows where a damaged frame ends.
        let bytes = self.window.from(at, end + FRAME_HEADER_BYTES);
        let Some(payload) = bytes.get(FRAME_HEADER_BYTES..end) else {
            return self.lose(at, &header, DamageKind::CutOff, at + 1);
        };
        if crc32c::crc32c(payload) != header.payload_crc {
            let next = after(bytes, &header);
            return self.lose(at, &header, DamageKind::Checksum, at + next as u64);
        }
        let (kind, flags, raw_bytes) = (header.kind, header.flags, header.raw_bytes);
        let end = at + end as u64;
        match self.decoder.payload(kind, flags, raw_bytes, payload, sink) {
            Ok(true) => {
                self.summary.frames += 1;
                self.summary.records += u64::from(header.records);
            }
            Ok(false) => self.summary.unknown_frames += 1,
            Err(_) => return self.lose(at, &header, DamageKind::Undecodable, end),
        }
        self.summary.saw(header.sequence);
        end
    }

    /// Counts a frame as damaged and goes on from the next header at or behind `from`.
    fn lose(&mut self, at: u64, header: &FrameHeader, kind: DamageKind, from: u64) -> u64 {
        self.summary.damage.frames += 1;
        self.summary.damage.records += u64::from(header.records);
        self.skip(at, kind, from)
    }

    fn skip(&mut self, at: u64, kind: DamageKind, from: u64) -> u64 {
        self.summary.damage.add(at, kind);
        let next = self.next_header(from);
        self.summary.damage.bytes += next - at;
        next
    }

    /// Offset of the next intact frame header at or behind `from`, or the end.
    fn next_header(&mut self, from: u64) -> u64 {
        let mut at = from;
        loop {
            let bytes = self.window.from(at, FRAME_HEADER_BYTES);
            if let Some(found) = header_in(bytes, 0) {
                return at + found as u64;
            }
            // A header may have begun in the last bytes.
            let searched = (bytes.len() + 1).saturating_sub(FRAME_HEADER_BYTES);
            if searched == 0 {
                return self.window.end();
            }
            at = self.window.behind_hole(at + searched as u64);
        }
    }
}

/// Where to look for the next frame behind the damaged one that `bytes` begin with.
///
/// A frame that begins where this one should end shows that only its payload changed, or that it was
/// cut by just the length of the frames in between. Their sequence numbers tell: what a payload
/// happens to hold is not taken for frames.
fn after(bytes: &[u8], header: &FrameHeader) -> usize {
    let end = FRAME_HEADER_BYTES + header.payload_bytes as usize;
    let next = FrameHeader::parse(&bytes[end..]);
    if next.is_none() && end < bytes.len() {
        return 1;
    }
    let between = |inner: &FrameHeader| {
        inner.sequence > header.sequence && next.is_none_or(|next| inner.sequence < next.sequence)
    };
    let bytes = &bytes[..bytes.len().min(end + FRAME_HEADER_BYTES)];
    let mut from = 1;
    while let Some(inner) = header_in(bytes, from).filter(|&inner| inner < end) {
        if FrameHeader::parse(&bytes[inner..]).is_some_and(|header| between(&header)) {
            return inner;
        }
        from = inner + 1;
    }
    end
}

/// Offset of the first intact frame header at or behind `from`.
fn header_in(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at += find(bytes.get(at..)?, FRAME_MAGIC)?;
        if FrameHeader::parse(&bytes[at..]).is_some() {
            return Some(at);
        }
        at += 1;
    }
}

fn find(bytes: &[u8], magic: [u8; 4]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += bytes.get(at..)?.iter().position(|&byte| byte == magic[0])?;
        if bytes[at..].starts_with(&magic) {
            return Some(at);
        }
        at += 1;
    }
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

    /// A file that gives a few bytes at a time and says where its zeros are.
    struct Slow<'a>(&'a [u8], usize);

    impl Source for Slow<'_> {
        fn read_at(&mut self, offset: u64, into: &mut [u8]) -> usize {
            let few = into.len().min(self.1);
            self.0.read_at(offset, &mut into[..few])
        }
        fn next_data(&mut self, offset: u64) -> u64 {
            let rest = self.0.get(offset as usize..).unwrap_or_default();
            let zeros = rest.iter().take_while(|&&byte| byte == 0).count();
            offset + zeros as u64
        }
    }

    #[test]
    fn a_file_is_the_same_in_pieces_of_any_size_whatever_is_damaged() {
        let mut file = file_header(7, 1).to_vec();
        for number in 0..6 {
            strings_frame(number.into(), number, &[&format!("name {number}")], &mut file);
        }
        let mut files: Vec<Vec<u8>> =
            (0..file.len()).step_by(3).map(|len| file[..len].to_vec()).collect();
        for at in (0..file.len()).step_by(5) {
            let mut flipped = file.clone();
            flipped[at] ^= 0x10;
            let mut with_hole = file.clone();
            with_hole.splice(at..at, [0; 300]);
            files.extend([flipped, with_hole]);
        }
        for file in &files {
            let mut whole = Strings::default();
            let told = read(file, &mut whole);
            for few in [1, 7, 39, 64] {
                let mut pieces = Strings::default();
                assert_eq!(read_from(&mut Slow(file, few), &mut pieces), told);
                assert_eq!(pieces, whole);
            }
        }
    }

    #[test]
    fn no_more_than_a_frame_and_a_piece_is_held_of_a_file_without_end() {
        /// Bytes that never end well: not a hole, and never a frame.
        struct Endless {
            left: u64,
            most: usize,
        }
        impl Source for Endless {
            fn read_at(&mut self, offset: u64, into: &mut [u8]) -> usize {
                self.most = self.most.max(into.len());
                let taken = self.left.saturating_sub(offset).min(into.len() as u64) as usize;
                into[..taken].fill(0xF5);
                taken
            }
        }
        let mut endless = Endless { left: 50 << 20, most: 0 };
        assert_eq!(read_from(&mut endless, &mut Strings::default()), Err(SpoolError::NotSpool));
        assert!(endless.most <= 1 << 20, "{}", endless.most);
    }
}
