//! Walks through a JSON document of any length: elements are captured one by one, and neither a
//! long text nor deep nesting takes more memory than it may.

use super::{ImportError, Limit};
use std::io::{self, Read};

/// Longest element that is captured.
pub const MOST_BYTES: usize = 32 << 20;
/// Deepest nesting; real traces have less than ten levels.
pub const DEEPEST: usize = 256;
const BUFFER_BYTES: usize = 256 << 10;

/// Where a document stopped making sense.
#[derive(Debug)]
pub enum Stop {
    /// It ended in the middle, or is no JSON from here on.
    Damaged {
        /// Bytes from the beginning.
        offset: u64,
        /// What was wrong.
        why: String,
    },
    /// It could not be read on.
    Failed(ImportError),
}

impl From<ImportError> for Stop {
    fn from(error: ImportError) -> Stop {
        Stop::Failed(error)
    }
}

type Walked<T> = Result<T, Stop>;

/// A document that is read piece by piece.
pub struct Document<R> {
    from: R,
    buffer: Vec<u8>,
    at: usize,
    filled: usize,
    /// Bytes in front of the buffer.
    before: u64,
}

impl<R: Read> Document<R> {
    /// The document in `from`.
    pub fn new(from: R) -> Document<R> {
        Document { from, buffer: vec![0; BUFFER_BYTES], at: 0, filled: 0, before: 0 }
    }

    /// Bytes passed.
    pub fn offset(&self) -> u64 {
        self.before + self.at as u64
    }

    /// Damage here.
    pub fn damaged(&self, why: impl Into<String>) -> Stop {
        Stop::Damaged { offset: self.offset(), why: why.into() }
    }

    fn peek(&mut self) -> Walked<Option<u8>> {
        if self.at == self.filled {
            self.before += self.filled as u64;
            (self.at, self.filled) = (0, 0);
            self.filled = loop {
                match self.from.read(&mut self.buffer) {
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    Err(e) => return Err(self.unreadable(e)),
                    Ok(n) => break n,
                }
            };
        }
        Ok(self.buffer[..self.filled].get(self.at).copied())
    }

    fn unreadable(&self, error: io::Error) -> Stop {
        match ImportError::from(error) {
            // A damaged or cut gzip stream is as good as a damaged document.
            ImportError::Damaged(why) => self.damaged(why),
            other => Stop::Failed(other),
        }
    }

    /// The next byte that is no white space; it is not passed.
    pub fn next_token(&mut self) -> Walked<Option<u8>> {
        loop {
            match self.peek()? {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                // A byte-order mark.
                Some(0xEF) if self.offset() == 0 => self.at = self.filled.min(3),
                other => return Ok(other),
            }
        }
    }

    /// Passes a byte that must come next.
    pub fn expect(&mut self, byte: u8) -> Walked<()> {
        match self.next_token()? {
            Some(found) if found == byte => {
                self.at += 1;
                Ok(())
            }
            found => Err(self.unexpected(found, &format!("`{}`", byte as char))),
        }
    }

    fn unexpected(&self, found: Option<u8>, wanted: &str) -> Stop {
        match found {
            None => self.damaged(format!("the file ends where {wanted} should be")),
            Some(byte) => {
                let byte = byte.escape_ascii();
                self.damaged(format!("`{byte}` where {wanted} should be"))
            }
        }
    }

    /// Whether another element follows in an array or object that ends with `end`; separators and
    /// the end are passed.
    pub fn another(&mut self, first: &mut bool, end: u8) -> Walked<bool> {
        let found = self.next_token()?;
        if found == Some(end) {
            self.at += 1;
            return Ok(false);
        }
        if !std::mem::take(first) {
            if found != Some(b',') {
                return Err(self.unexpected(found, "`,` or the end of the list"));
            }
            self.at += 1;
            // Tools that write as they go leave a comma behind.
            if self.next_token()? == Some(end) {
                self.at += 1;
                return Ok(false);
            }
        }
        match self.next_token()? {
            None => Err(self.unexpected(None, "an element")),
            Some(_) => Ok(true),
        }
    }

    /// The key of an object's next field; the colon behind it is passed.
    pub fn key(&mut self, bytes: &mut Vec<u8>) -> Walked<String> {
        if self.next_token()? != Some(b'"') {
            let found = self.peek()?;
            return Err(self.unexpected(found, "a key"));
        }
        self.element(bytes)?;
        let key = serde_json::from_slice(bytes).map_err(|e| self.damaged(e.to_string()))?;
        self.expect(b':')?;
        Ok(key)
    }

    /// Captures the next element whole, into `bytes`.
    pub fn element(&mut self, bytes: &mut Vec<u8>) -> Walked<()> {
        bytes.clear();
        let start = self.next_token()?;
        let begun = self.offset();
        let mut open: usize = 0;
        let (mut in_text, mut escaped) = (false, false);
        if matches!(start, None | Some(b',' | b']' | b'}' | b':')) {
            return Err(self.unexpected(start, "an element"));
        }
        loop {
            if self.peek()?.is_none() {
                return match (open, in_text) {
                    (0, false) => Ok(()),
                    _ => Err(Stop::Damaged {
                        offset: begun,
                        why: "the file ends inside the element that begins here".into(),
                    }),
                };
            }
            let from = self.at;
            let mut done = false;
            while let Some(&byte) = self.buffer[..self.filled].get(self.at) {
                if in_text {
                    match byte {
                        _ if escaped => escaped = false,
                        b'\\' => escaped = true,
                        b'"' => {
                            in_text = false;
                            done = open == 0;
                        }
                        _ => {}
                    }
                } else {
                    match byte {
                        b'"' => in_text = true,
                        b'{' | b'[' => {
                            open += 1;
                            if open > DEEPEST {
                                return Err(self.past(Limit::Depth, begun));
                            }
                        }
                        b'}' | b']' if open == 0 => break,
                        b'}' | b']' => {
                            open -= 1;
                            done = open == 0;
                        }
                        b',' | b' ' | b'\t' | b'\n' | b'\r' | b':' if open == 0 => break,
                        _ => {}
                    }
                }
                self.at += 1;
                if done {
                    break;
                }
            }
            if bytes.len() + (self.at - from) > MOST_BYTES {
                return Err(self.past(Limit::Element, begun));
            }
            bytes.extend_from_slice(&self.buffer[from..self.at]);
            if done || self.at < self.filled {
                return Ok(());
            }
        }
    }

    fn past(&self, limit: Limit, offset: u64) -> Stop {
        Stop::Failed(ImportError::Limit { limit, offset })
    }
}

/// Parses an element; where it has NaN or infinities, which JSON has not, as if they were null.
pub fn parse<'a, T: serde::Deserialize<'a>>(
    bytes: &'a [u8],
    mended: &'a mut Vec<u8>,
) -> Result<T, serde_json::Error> {
    match serde_json::from_slice(bytes) {
        Ok(parsed) => Ok(parsed),
        Err(error) => {
            mend(bytes, mended);
            if mended.is_empty() {
                return Err(error);
            }
            serde_json::from_slice(mended)
        }
    }
}

/// Replaces bare words that JSON does not know by null; nothing where there are none.
fn mend(bytes: &[u8], mended: &mut Vec<u8>) {
    mended.clear();
    let (mut in_text, mut escaped, mut found) = (false, false, false);
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if in_text {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_text = false,
                _ => {}
            }
        } else if byte == b'"' {
            in_text = true;
        } else if byte.is_ascii_alphabetic() || byte == b'-' {
            let ends = |b: &u8| !(b.is_ascii_alphanumeric() || matches!(b, b'-' | b'+' | b'.'));
            let len = bytes[at..].iter().position(ends).unwrap_or(bytes.len() - at);
            let word = &bytes[at..at + len];
            let is_number =
                word.iter().all(|b| matches!(b, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9'));
            let known = is_number || matches!(word, b"true" | b"false" | b"null");
            found |= !known;
            mended.extend_from_slice(if known { word } else { b"null" });
            at += len;
            continue;
        }
        mended.push(byte);
        at += 1;
    }
    if !found {
        mended.clear();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]
    use super::*;

    /// Gives one byte at a time.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let Some((first, rest)) = self.0.split_first() else { return Ok(0) };
            buffer[0] = *first;
            self.0 = rest;
            Ok(1)
        }
    }

    fn elements(text: &str) -> (Vec<String>, Option<(u64, String)>) {
        let (mut found, mut bytes) = (Vec::new(), Vec::new());
        let mut document = Document::new(Slow(text.as_bytes()));
        let mut walk = || -> Walked<()> {
            document.expect(b'[')?;
            let mut first = true;
            while document.another(&mut first, b']')? {
                document.element(&mut bytes)?;
                found.push(String::from_utf8_lossy(&bytes).into_owned());
            }
            Ok(())
        };
        let stop = walk().err().map(|stop| match stop {
            Stop::Damaged { offset, why } => (offset, why),
            Stop::Failed(error) => (u64::MAX, error.to_string()),
        });
        (found, stop)
    }

    #[test]
    fn elements_are_captured_whole() {
        let (found, stop) = elements(r#" [ {"a":"]}\"", "b":[1,{}]} , "x,y",-1.5e3,null, [] ,] "#);
        assert_eq!(found, [r#"{"a":"]}\"", "b":[1,{}]}"#, "\"x,y\"", "-1.5e3", "null", "[]"]);
        assert!(stop.is_none(), "{stop:?}");
    }

    #[test]
    fn damage_is_told_by_its_place() {
        let (found, stop) = elements(r#"[{"a":1},{"b":"#);
        assert_eq!(found.len(), 1);
        let (offset, why) = stop.unwrap();
        assert_eq!(offset, 9);
        assert!(why.contains("ends inside"), "{why}");
        assert_eq!(elements("[1 2]").1.unwrap().0, 3);
        assert_eq!(elements("[1,2").1.unwrap().0, 4);
    }

    #[test]
    fn nesting_has_an_end() {
        let deep = format!("[{}", "[".repeat(10_000));
        let (_, stop) = elements(&deep);
        assert!(stop.unwrap().1.contains("256 levels"));
    }

    #[test]
    fn words_that_json_does_not_know_are_null() {
        let mut mended = Vec::new();
        let found: serde_json::Value =
            parse(br#"{"a":NaN,"b":[-Infinity,-1,1e5,true],"c":"NaN \" inf"}"#, &mut mended)
                .unwrap();
        let expected = serde_json::json!({"a":null,"b":[null,-1,1e5,true],"c":"NaN \" inf"});
        assert_eq!(found, expected);
        let mut mended = Vec::new();
        assert!(parse::<serde_json::Value>(b"{\"a\":}", &mut mended).is_err());
    }
}
