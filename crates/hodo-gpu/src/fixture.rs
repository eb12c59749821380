//! A recording of what CUPTI told a real program, for tests to replay where there is no GPU.
//!
//! A file is [`MAGIC`] and then entries, each a `u8` that says what it is, a `u32` with the bytes
//! that follow, and its fields in the order of [`Entry`]: integers little-endian, texts and bytes
//! with a `u32` length before them, lists with a `u32` count. An entry of a newer sort is skipped.

use hodo_format::record::SpanId;

/// How a file begins; the last byte is the version.
pub const MAGIC: [u8; 8] = *b"hodogpu\x01";

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// What was recorded on.
    Capture {
        /// As `cuptiGetVersion` tells it.
        cupti: u32,
        /// As `cuDriverGetVersion` does.
        driver: u32,
    },
    /// A call of the driver, at its start or its end.
    Call(Call),
    /// A node of a graph was made, or copied.
    Node(Node),
    /// A scope that an entry after it speaks of.
    Scope {
        /// Its id.
        span: SpanId,
        /// That of the scope around it.
        parent: SpanId,
        /// Its name.
        name: String,
    },
    /// A buffer that CUPTI completed.
    Buffer(Buffer),
}

/// See [`Entry::Call`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// The calling thread, as the operating system numbers it.
    pub thread: u32,
    /// CUPTI's domain.
    pub domain: u32,
    /// CUPTI's number of the function.
    pub number: u32,
    /// 0 at the start, 1 at the end.
    pub site: u32,
    /// CUPTI's number of the call.
    pub correlation: u32,
    /// What it answered; 0 at the start.
    pub result: u32,
    /// How its scope is known: flags of the work.
    pub how: u32,
    /// When.
    pub ticks: u64,
    /// The scope it was attributed to.
    pub span: u64,
    /// The scope whose gradient it computes.
    pub forward: u64,
}

/// See [`Entry::Node`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// The calling thread, as the operating system numbers it.
    pub thread: u32,
    /// CUPTI's number of the event: made or copied.
    pub number: u32,
    /// The node's id.
    pub node: u64,
    /// That of the node it was copied from; 0 for none.
    pub original: u64,
    /// The scope it was attributed to.
    pub span: u64,
}

/// See [`Entry::Buffer`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buffer {
    /// Its valid bytes.
    pub bytes: Vec<u8>,
    /// Where CUPTI says that records begin.
    pub offsets: Vec<u32>,
    /// Names of kernels, by the offset of their records: the addresses there mean nothing any more.
    pub names: Vec<(u32, String)>,
}

const CAPTURE: u8 = 1;
const CALL: u8 = 2;
const NODE: u8 = 3;
const SCOPE: u8 = 4;
const BUFFER: u8 = 5;

impl Entry {
    /// Appends it to a file's bytes.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut fields = Fields::default();
        let tag = match self {
            Entry::Capture { cupti, driver } => {
                fields.small(&[*cupti, *driver]);
                CAPTURE
            }
            Entry::Call(call) => {
                let Call { thread, domain, number, site, correlation, result, how, .. } = *call;
                fields.small(&[thread, domain, number, site, correlation, result, how]);
                fields.large(&[call.ticks, call.span, call.forward]);
                CALL
            }
            Entry::Node(node) => {
                fields.small(&[node.thread, node.number]);
                fields.large(&[node.node, node.original, node.span]);
                NODE
            }
            Entry::Scope { span, parent, name } => {
                fields.large(&[span.0, parent.0]);
                fields.bytes(name.as_bytes());
                SCOPE
            }
            Entry::Buffer(buffer) => {
                fields.buffer(buffer);
                BUFFER
            }
        };
        out.push(tag);
        out.extend((fields.0.len() as u32).to_le_bytes());
        out.extend(fields.0);
    }
}

#[derive(Default)]
struct Fields(Vec<u8>);

impl Fields {
    fn small(&mut self, numbers: &[u32]) {
        numbers.iter().for_each(|number| self.0.extend(number.to_le_bytes()));
    }

    fn large(&mut self, numbers: &[u64]) {
        numbers.iter().for_each(|number| self.0.extend(number.to_le_bytes()));
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.small(&[bytes.len() as u32]);
        self.0.extend(bytes);
    }

    fn buffer(&mut self, buffer: &Buffer) {
        self.bytes(&buffer.bytes);
        self.small(&[buffer.offsets.len() as u32]);
        self.small(&buffer.offsets);
        self.small(&[buffer.names.len() as u32]);
        for (offset, name) in &buffer.names {
            self.small(&[*offset]);
            self.bytes(name.as_bytes());
        }
    }
}

/// The entries of a file; what is wrong with it where it is damaged.
pub fn read(file: &[u8]) -> Result<Vec<Entry>, String> {
    let mut rest = file.strip_prefix(&MAGIC).ok_or("not a recording of this version")?;
    let mut entries = Vec::new();
    while !rest.is_empty() {
        let at = file.len() - rest.len();
        let mut head = Cursor(rest);
        let tag = head.byte();
        let fields = head.bytes();
        let (Some(tag), Some(fields)) = (tag, fields) else {
            return Err(format!("the entry at byte {at} is cut"));
        };
        rest = head.0;
        let mut cursor = Cursor(fields);
        match cursor.entry(tag) {
            Some(entry) => entries.push(entry),
            None if tag > BUFFER => {}
            None => return Err(format!("the entry at byte {at} is damaged")),
        }
    }
    Ok(entries)
}

struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*head)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take().map(u8::from_le_bytes)
    }

    fn small(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn large(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.small()? as usize;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }

    fn entry(&mut self, tag: u8) -> Option<Entry> {
        Some(match tag {
            CAPTURE => Entry::Capture { cupti: self.small()?, driver: self.small()? },
            CALL => Entry::Call(Call {
                thread: self.small()?,
                domain: self.small()?,
                number: self.small()?,
                site: self.small()?,
                correlation: self.small()?,
                result: self.small()?,
                how: self.small()?,
                ticks: self.large()?,
                span: self.large()?,
                forward: self.large()?,
            }),
            NODE => Entry::Node(Node {
                thread: self.small()?,
                number: self.small()?,
                node: self.large()?,
                original: self.large()?,
                span: self.large()?,
            }),
            SCOPE => Entry::Scope {
                span: SpanId(self.large()?),
                parent: SpanId(self.large()?),
                name: self.text()?,
            },
            BUFFER => Entry::Buffer(self.buffer()?),
            _ => return None,
        })
    }

    fn buffer(&mut self) -> Option<Buffer> {
        let bytes = self.bytes()?.to_vec();
        let mut buffer = Buffer { bytes, ..Buffer::default() };
        for _ in 0..self.small()? {
            buffer.offsets.push(self.small()?);
        }
        for _ in 0..self.small()? {
            buffer.names.push((self.small()?, self.text()?));
        }
        Some(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_and_a_cut_file_is_told() {
        let buffer = Buffer { bytes: vec![1; 40], offsets: vec![0], names: vec![(0, "k".into())] };
        let entries = [
            Entry::Capture { cupti: 130_001, driver: 13_000 },
            Entry::Scope { span: SpanId(7), parent: SpanId::NONE, name: "step".into() },
            Entry::Call(Call { thread: 3, correlation: 9, span: 7, ..Call::default() }),
            Entry::Node(Node { node: 5, original: 4, ..Node::default() }),
            Entry::Buffer(buffer),
        ];
        let mut file = MAGIC.to_vec();
        entries.iter().for_each(|entry| entry.write(&mut file));
        assert_eq!(read(&file).as_deref(), Ok(&entries[..]));
        assert!(read(&file[..file.len() - 1]).is_err());
        assert!(read(b"something else").is_err());
    }
}
