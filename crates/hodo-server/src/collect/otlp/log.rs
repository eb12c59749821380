//! A log of requests: each is there whole, or not at all.

use super::weigh;
use crate::collect::durable;
use crate::collect::janitor::tell;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The file of a log in its folder.
const FILE: &str = "requests.log";
/// Length and checksum, before each request.
const HEAD_BYTES: usize = 8;
/// No request is longer.
const MOST_BYTES: u32 = 64 << 20;
/// How much is looked through at a time for the request behind damage.
const LOOKED_BYTES: usize = 1 << 20;
/// What all requests begin with, and each of the messages that they are made of.
const TAG: u8 = 0x0a;

/// A log that is added to.
pub struct Log {
    file: File,
    whole: Whole,
}

/// What of a log is whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Whole {
    /// Bytes.
    pub length: u64,
    /// Spans in them, those that came twice twice.
    pub spans: u64,
    /// Spans, at the least, of requests among them that a disk has spoilt.
    pub spoilt: u64,
}

impl Log {
    /// Opens the log in `folder`, or begins one. What a kill left of a request that was not answered
    /// is the last there is, and is cut off; what is damaged before others stays, and they do. A log of
    /// which `known` is known to be whole and all is not read again.
    pub fn open(folder: &Path, known: Option<Whole>) -> io::Result<Log> {
        if let Some(parent) = folder.parent() {
            durable::make_folder(parent)?;
        }
        durable::make_folder(folder)?;
        let path = folder.join(FILE);
        let file = durable::open(&path, true)?;
        let there = file.metadata()?.len();
        if let Some(whole) = known.filter(|whole| whole.length == there) {
            return Ok(Log { file, whole });
        }
        let whole = Requests::new(file.try_clone()?).whole()?;
        if whole.spoilt > 0 {
            let (path, spans) = (path.display(), whole.spoilt);
            tell(&format!("{path} is damaged: {spans} spans or more cannot be read, the rest can"));
        }
        file.set_len(whole.length)?;
        file.sync_all()?;
        durable::sync_folder(folder)?;
        Ok(Log { file, whole })
    }

    /// Its bytes.
    pub fn length(&self) -> u64 {
        self.whole.length
    }

    /// Its spans, those that came twice twice.
    pub fn spans(&self) -> u64 {
        self.whole.spans
    }

    /// What of it is whole, which is all.
    pub fn whole(&self) -> Whole {
        self.whole
    }

    /// Adds a request with so many spans; it is durable then.
    pub fn append(&mut self, request: &[u8], spans: u64) -> io::Result<()> {
        let length = u32::try_from(request.len()).ok().filter(|length| *length <= MOST_BYTES);
        let length = length.ok_or_else(|| io::Error::other("a request is too long for its log"))?;
        let head = [length.to_le_bytes(), crc32c::crc32c(request).to_le_bytes()].concat();
        let whole = [&head, request].concat();
        let written = self.file.write_all_at(&whole, self.length());
        if let Err(error) = written.and_then(|()| self.file.sync_data()) {
            // It is not answered, so it comes again.
            let _ = self.file.set_len(self.length());
            return Err(error);
        }
        self.whole.length += whole.len() as u64;
        self.whole.spans += spans;
        Ok(())
    }
}

impl Log {
    /// Takes back what was added since it was as `whole` says.
    pub fn cut(&mut self, whole: Whole) -> io::Result<()> {
        // Where the system refuses that, what comes next is written over it.
        self.whole = whole;
        self.file.set_len(whole.length)?;
        self.file.sync_data()
    }
}

/// The file of the log in `folder`.
pub fn path(folder: &Path) -> PathBuf {
    folder.join(FILE)
}

/// The requests of a log that are whole, from the first on.
pub struct Requests {
    from: BufReader<File>,
    /// The end of the last one.
    length: u64,
    spoilt: u64,
}

impl Requests {
    /// Of an open file.
    fn new(file: File) -> Requests {
        Requests { from: BufReader::with_capacity(1 << 20, file), length: 0, spoilt: 0 }
    }

    /// Of the log in `folder`.
    pub fn open(folder: &Path) -> io::Result<Requests> {
        File::open(path(folder)).map(Requests::new)
    }

    /// What of them is whole.
    pub fn whole(mut self) -> io::Result<Whole> {
        let mut spans = 0;
        for request in &mut self {
            spans += weigh::spans(&request?);
        }
        Ok(Whole { length: self.length, spans, spoilt: self.spoilt })
    }

    fn one(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let mut head = [0; HEAD_BYTES];
            if !filled(&mut self.from, &mut head)? {
                return Ok(None);
            }
            let (length, sum) = parsed(head);
            let mut request = vec![0; length.map_or(0, |length| length as usize)];
            let is_there = filled(&mut self.from, &mut request)? && length.is_some();
            if is_there && crc32c::crc32c(&request) == sum {
                self.length += (HEAD_BYTES + request.len()) as u64;
                return Ok(Some(request));
            }
            let Some(next) = next_whole(self.from.get_ref(), self.length)? else {
                return Ok(None);
            };
            request.truncate((next - self.length).saturating_sub(HEAD_BYTES as u64) as usize);
            self.spoilt += weigh::spans(&request).max(1);
            self.length = self.from.seek(SeekFrom::Start(next))?;
        }
    }
}

/// The length of a request, if it may be one, and its checksum.
fn parsed(head: [u8; HEAD_BYTES]) -> (Option<u32>, u32) {
    let [length, sum] =
        [0, 4].map(|at| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]));
    // None is empty: zeros are what a power failure left.
    ((1..=MOST_BYTES).contains(&length).then_some(length), sum)
}

/// Where the next request is that is whole, behind one at `at` that is not.
fn next_whole(file: &File, at: u64) -> io::Result<Option<u64>> {
    let end = file.metadata()?.len();
    // Where its length is right; else it may be anywhere.
    if let Some((length, _)) = head_at(file, at, end)?
        && is_whole(file, at + HEAD_BYTES as u64 + length, end)?
    {
        return Ok(Some(at + HEAD_BYTES as u64 + length));
    }
    let mut looked = vec![0; LOOKED_BYTES];
    let mut from = at + 1;
    while from + (HEAD_BYTES as u64) < end {
        let bytes = looked.len().min((end - from) as usize);
        file.read_exact_at(&mut looked[..bytes], from)?;
        let begins = looked[..bytes].windows(HEAD_BYTES + 1).enumerate();
        for (place, _) in begins.filter(|(_, bytes)| bytes[HEAD_BYTES] == TAG) {
            let place = from + place as u64;
            if is_made_of_messages(file, place, end)? && is_whole(file, place, end)? {
                return Ok(Some(place));
            }
        }
        from += (bytes - HEAD_BYTES) as u64;
    }
    Ok(None)
}

/// Length and checksum of what may be a request at `at`; none where it does not end before `end`.
fn head_at(file: &File, at: u64, end: u64) -> io::Result<Option<(u64, u32)>> {
    if at + HEAD_BYTES as u64 > end {
        return Ok(None);
    }
    let mut head = [0; HEAD_BYTES];
    file.read_exact_at(&mut head, at)?;
    let (length, sum) = parsed(head);
    let fits = |length: &u64| at + HEAD_BYTES as u64 + length <= end;
    Ok(length.map(u64::from).filter(fits).map(|length| (length, sum)))
}

fn is_whole(file: &File, at: u64, end: u64) -> io::Result<bool> {
    let Some((length, sum)) = head_at(file, at, end)? else { return Ok(false) };
    let mut request = vec![0; length as usize];
    file.read_exact_at(&mut request, at + HEAD_BYTES as u64)?;
    Ok(crc32c::crc32c(&request) == sum)
}

/// Whether messages fill what may be a request at `at`: that is seen without reading all of it, as
/// would be too much at every byte.
fn is_made_of_messages(file: &File, at: u64, end: u64) -> io::Result<bool> {
    let Some((length, _)) = head_at(file, at, end)? else { return Ok(false) };
    let mut at = at + HEAD_BYTES as u64;
    let end = at + length;
    while at < end {
        // A tag, and a length of ten bytes at the most.
        let mut message = [0; 11];
        let bytes = message.len().min((end - at) as usize);
        file.read_exact_at(&mut message[..bytes], at)?;
        let mut rest = &message[1..bytes];
        let inside = weigh::varint(&mut rest).filter(|_| message[0] == TAG);
        let next = inside.and_then(|inside| inside.checked_add(at + (bytes - rest.len()) as u64));
        let Some(next) = next.filter(|next| *next <= end) else { return Ok(false) };
        at = next;
    }
    Ok(true)
}

impl Iterator for Requests {
    type Item = io::Result<Vec<u8>>;

    fn next(&mut self) -> Option<io::Result<Vec<u8>>> {
        self.one().transpose()
    }
}

/// Fills `buffer`; false where the file ends before.
fn filled(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::testing::Folder;
    use hodo_convert::otlp::proto::{Request, ResourceSpans, ScopeSpans, Span};
    use prost::Message;

    fn requests(folder: &Path) -> io::Result<Vec<Vec<u8>>> {
        Requests::open(folder)?.collect()
    }

    /// A request with a span of that id.
    fn request(id: u8) -> Vec<u8> {
        let span = Span { span_id: vec![id; 8], name: "a".repeat(40), ..Span::default() };
        let scope_spans = vec![ScopeSpans { scope: None, spans: vec![span] }];
        let of = || ResourceSpans { resource: None, scope_spans: scope_spans.clone() };
        Request { resource_spans: vec![of(), of()] }.encode_to_vec()
    }

    #[test]
    fn a_byte_that_a_disk_spoilt_takes_no_request_but_its_own() -> io::Result<()> {
        let folder = Folder::new();
        let at = folder.path().join("logs/one");
        let mut log = Log::open(&at, None)?;
        for id in 0..4 {
            log.append(&request(id), 2)?;
        }
        drop(log);
        let whole = std::fs::read(path(&at))?;
        let one = whole.len() / 4;
        for spoilt in 0..3 * one {
            let mut bytes = whole.clone();
            bytes[spoilt] ^= [1, 0x80, 0xff][spoilt % 3];
            std::fs::write(path(&at), &bytes)?;
            let mut log = Log::open(&at, None)?;
            let left: Vec<_> = (0..4).filter(|id| usize::from(*id) != spoilt / one).collect();
            let there: Vec<_> = left.iter().map(|id| request(*id)).collect();
            assert_eq!(requests(&at)?, there, "{spoilt}");
            assert_eq!((log.length(), log.spans()), (whole.len() as u64, 6), "{spoilt}");
            assert!((1..=2).contains(&log.whole().spoilt), "{spoilt}");
            log.append(&request(9), 2)?;
            assert_eq!(requests(&at)?.len(), 4, "{spoilt}: more follows");
        }
        // Zeros at the end are no request.
        std::fs::write(path(&at), [&whole[..], &[0; 100]].concat())?;
        let log = Log::open(&at, None)?;
        assert_eq!((log.length(), log.whole().spoilt), (whole.len() as u64, 0));
        Ok(())
    }

    #[test]
    fn a_log_cut_anywhere_holds_the_requests_that_are_whole() -> io::Result<()> {
        let folder = Folder::new();
        let at = folder.path().join("logs/one");
        durable::make_folder(&folder.path().join("logs"))?;
        let mut log = Log::open(&at, None)?;
        let sent: Vec<Vec<u8>> = (0..3_u8).map(|n| vec![n; 10 + usize::from(n)]).collect();
        let mut ends = vec![0];
        for request in &sent {
            log.append(request, 1)?;
            ends.push(log.length());
        }
        drop(log);
        let whole = std::fs::read(path(&at))?;
        for length in 0..=whole.len() {
            std::fs::write(path(&at), &whole[..length])?;
            let kept = ends.iter().filter(|end| **end > 0 && **end <= length as u64).count();
            assert_eq!(requests(&at)?, sent[..kept], "{length}");
            let mut log = Log::open(&at, None)?;
            assert_eq!(log.length(), ends[kept], "{length}");
            log.append(b"more", 1)?;
            assert_eq!(requests(&at)?.len(), kept + 1);
        }
        Ok(())
    }
}
