//! Reading a whole spool file, damaged or not.

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
    fn add(&mut self, offset: usize, kind: DamageKind) {
        if self.places.len() < MAX_PLACES {
            self.places.push(Place { offset: offset as u64, kind });
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
pub fn read(bytes: &[u8], sink: &mut impl FrameSink) -> Result<FileSummary, SpoolError> {
    let mut reader = Reader { bytes, decoder: Decoder::new(), summary: FileSummary::default() };
    let mut at = reader.file_header()?;
    while at < bytes.len() {
        at = reader.step(at, sink);
    }
    let summary = reader.summary;
    let nothing = summary.header.is_none() && summary.frames + summary.unknown_frames == 0;
    if nothing && bytes.len() >= FILE_HEADER_BYTES && summary.damage.frames == 0 {
        return Err(SpoolError::NotSpool);
    }
    Ok(summary)
}

struct Reader<'a> {
    bytes: &'a [u8],
    decoder: Decoder,
    summary: FileSummary,
}

impl<'a> Reader<'a> {
    /// Checks the file header; returns where frames begin.
    fn file_header(&mut self) -> Result<usize, SpoolError> {
        let header = FileHeader::parse(self.bytes);
        match header {
            Some(header) if header.major() != VERSION >> 16 => {
                Err(SpoolError::Version { major: header.major(), minor: header.version & 0xffff })
            }
            Some(_) => {
                self.summary.header = header;
                Ok(FILE_HEADER_BYTES)
            }
            None if self.bytes.is_empty() => Ok(0),
            None => {
                self.summary.damage.add(0, DamageKind::FileHeader);
                let next = self.next_header(0);
                self.summary.damage.bytes += next as u64;
                Ok(next)
            }
        }
    }

    /// Reads the frame at `at` or skips what is not one; returns where to go on.
    fn step(&mut self, at: usize, sink: &mut impl FrameSink) -> usize {
        let Some(header) = FrameHeader::parse(&self.bytes[at..]) else {
            let cut = FRAME_MAGIC.starts_with(self.magic_at(at));
            return self.skip(at, if cut { DamageKind::CutOff } else { DamageKind::Bytes }, at + 1);
        };
        let begin = at + FRAME_HEADER_BYTES;
        let end = begin.saturating_add(header.payload_bytes as usize);
        let Some(payload) = self.bytes.get(begin..end) else {
            return self.lose(at, &header, DamageKind::CutOff, at + 1);
        };
        if payload.len() > MAX_RAW_BYTES {
            return self.lose(at, &header, DamageKind::Undecodable, at + 1);
        }
        if crc32c::crc32c(payload) != header.payload_crc {
            let next = self.after(at, &header);
            return self.lose(at, &header, DamageKind::Checksum, next);
        }
        self.frame(at, &header, payload, sink)
    }

    /// Where to look for the next frame behind a damaged one.
    ///
    /// A frame that begins where this one should end shows that only its payload changed, or that
    /// it was cut by just the length of the frames in between. Their sequence numbers tell: what a
    /// payload happens to hold is not taken for frames.
    fn after(&self, at: usize, header: &FrameHeader) -> usize {
        let end = at + FRAME_HEADER_BYTES + header.payload_bytes as usize;
        let next = FrameHeader::parse(&self.bytes[end..]);
        if next.is_none() && end < self.bytes.len() {
            return at + 1;
        }
        let between = |inner: &FrameHeader| {
            inner.sequence > header.sequence
                && next.is_none_or(|next| inner.sequence < next.sequence)
        };
        let mut inner = self.next_header(at + 1);
        while inner < end {
            if FrameHeader::parse(&self.bytes[inner..]).is_some_and(|header| between(&header)) {
                return inner;
            }
            inner = self.next_header(inner + 1);
        }
        end
    }

    /// Delivers an intact frame; returns where to go on.
    fn frame(
        &mut self,
        at: usize,
        header: &FrameHeader,
        payload: &[u8],
        sink: &mut impl FrameSink,
    ) -> usize {
        let end = at + FRAME_HEADER_BYTES + payload.len();
        let raw_bytes = header.raw_bytes;
        match self.decoder.payload(header.kind, header.flags, raw_bytes, payload, sink) {
            Ok(true) => {
                self.summary.frames += 1;
                self.summary.records += u64::from(header.records);
            }
            Ok(false) => self.summary.unknown_frames += 1,
            Err(_) => return self.lose(at, header, DamageKind::Undecodable, end),
        }
        self.summary.saw(header.sequence);
        end
    }

    /// Counts a frame as damaged and goes on from the next header at or behind `from`.
    fn lose(&mut self, at: usize, header: &FrameHeader, kind: DamageKind, from: usize) -> usize {
        self.summary.damage.frames += 1;
        self.summary.damage.records += u64::from(header.records);
        self.skip(at, kind, from)
    }

    fn skip(&mut self, at: usize, kind: DamageKind, from: usize) -> usize {
        self.summary.damage.add(at, kind);
        let next = self.next_header(from);
        self.summary.damage.bytes += (next - at) as u64;
        next
    }

    /// Up to four bytes at `at`.
    fn magic_at(&self, at: usize) -> &'a [u8] {
        let rest = &self.bytes[at..];
        &rest[..rest.len().min(FRAME_MAGIC.len())]
    }

    /// Offset of the next intact frame header at or behind `from`, or the end.
    fn next_header(&self, from: usize) -> usize {
        let mut at = from;
        while let Some(found) = find(self.bytes.get(at..).unwrap_or_default(), FRAME_MAGIC) {
            if FrameHeader::parse(&self.bytes[at + found..]).is_some() {
                return at + found;
            }
            at += found + 1;
        }
        self.bytes.len()
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
