//! How much a request unfolds to, counted before it is: an empty span takes two bytes in a request
//! and hundreds in memory.

use super::Refusal;
use axum::http::StatusCode;

/// Spans in one request.
pub(super) const MOST_SPANS: usize = 100_000;
/// Spans, attributes, events and values in one request.
const MOST_ITEMS: usize = 1_000_000;
/// Commas and brackets in one that is JSON: a span has some twenty, without its attributes.
const MOST_SIGNS: usize = 4 * MOST_ITEMS;
/// No deeper: neither does the one who unfolds it.
const MOST_DEPTH: usize = 100;

/// What a message is, as far as others are in it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Request,
    ResourceSpans,
    Resource,
    ScopeSpans,
    Span,
    Event,
    KeyValue,
    AnyValue,
    List,
    Object,
}

impl Kind {
    /// The message in the field of that number.
    fn inside(self, field: u64) -> Option<Kind> {
        match (self, field) {
            (Kind::Request, 1) => Some(Kind::ResourceSpans),
            (Kind::ResourceSpans, 1) => Some(Kind::Resource),
            (Kind::ResourceSpans, 2) => Some(Kind::ScopeSpans),
            (Kind::Resource, 1) | (Kind::Span, 9) | (Kind::Event, 3) => Some(Kind::KeyValue),
            (Kind::ScopeSpans, 2) => Some(Kind::Span),
            (Kind::Span, 11) => Some(Kind::Event),
            (Kind::KeyValue, 2) => Some(Kind::AnyValue),
            (Kind::AnyValue, 5) => Some(Kind::List),
            (Kind::AnyValue, 6) => Some(Kind::Object),
            (Kind::List, 1) => Some(Kind::AnyValue),
            (Kind::Object, 1) => Some(Kind::KeyValue),
            _ => None,
        }
    }
}

#[derive(Default)]
struct Count {
    spans: usize,
    items: usize,
}

/// Refuses a request in protobuf that has too much in it.
pub(super) fn protobuf(request: &[u8]) -> Result<(), Refusal> {
    let mut count = Count::default();
    walk(request, Kind::Request, 0, &mut count);
    check(count.spans > MOST_SPANS || count.items > MOST_ITEMS)
}

/// Spans in a request that was taken.
pub(super) fn spans(request: &[u8]) -> u64 {
    let mut count = Count::default();
    walk(request, Kind::Request, 0, &mut count);
    count.spans as u64
}

/// The same of one in JSON.
pub(super) fn json(request: &[u8]) -> Result<(), Refusal> {
    let signs = request.iter().filter(|byte| matches!(byte, b',' | b'{' | b'['));
    check(signs.take(MOST_SIGNS + 1).count() > MOST_SIGNS)
}

pub(super) fn check(is_too_much: bool) -> Result<(), Refusal> {
    let words = format!(
        "a request has {MOST_SPANS} spans at most, and {MOST_ITEMS} of them with their attributes \
         and events; send fewer at a time"
    );
    if is_too_much { Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, words)) } else { Ok(()) }
}

/// Counts what is in a message. What is damaged ends it: who unfolds it ends there too.
fn walk(mut message: &[u8], kind: Kind, depth: usize, count: &mut Count) -> Option<()> {
    while !message.is_empty() {
        let key = varint(&mut message)?;
        let bytes = match key & 7 {
            0 => {
                varint(&mut message)?;
                0
            }
            1 => 8,
            2 => usize::try_from(varint(&mut message)?).ok()?,
            5 => 4,
            // A group is passed over by those who do not know it, field by field.
            3 | 4 => 0,
            _ => return None,
        };
        let (inside, rest) = message.split_at_checked(bytes)?;
        message = rest;
        let Some(inner) = kind.inside(key >> 3).filter(|_| key & 7 == 2) else { continue };
        count.items += 1;
        count.spans += usize::from(inner == Kind::Span);
        if count.items > MOST_ITEMS || depth >= MOST_DEPTH {
            return None;
        }
        walk(inside, inner, depth + 1, count)?;
    }
    Some(())
}

pub(super) fn varint(message: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = message.split_first()?;
        *message = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use hodo_convert::otlp::proto::{KeyValue, Request, ResourceSpans, ScopeSpans, Span};
    use prost::Message;

    fn request(spans: Vec<Span>) -> Vec<u8> {
        let scope_spans = vec![ScopeSpans { scope: None, spans }];
        let resource_spans = vec![ResourceSpans { resource: None, scope_spans }];
        Request { resource_spans }.encode_to_vec()
    }

    #[test]
    fn many_that_are_nearly_empty_are_refused_before_they_are_unfolded() {
        assert!(protobuf(&request(vec![Span::default(); MOST_SPANS])).is_ok());
        let many = request(vec![Span::default(); MOST_SPANS + 1]);
        assert!(many.len() < 300_000);
        assert_eq!(protobuf(&many).err().map(|refusal| refusal.status.as_u16()), Some(413));
        let attributes = vec![KeyValue::default(); MOST_ITEMS];
        assert!(protobuf(&request(vec![Span { attributes, ..Span::default() }])).is_err());
        assert!(json("[{},".repeat(MOST_SIGNS / 3 + 1).as_bytes()).is_err());
        assert!(json("x".repeat(1 << 23).as_bytes()).is_ok());
    }

    #[test]
    fn what_others_pass_over_hides_nothing() {
        let many = request(vec![Span::default(); MOST_SPANS + 1]);
        // A group of a field that nobody knows, a number, and then the spans.
        let before = [0x3b, 0x08, 0x01, 0x3c, 0x38, 0x80, 0x01];
        assert!(Request::decode([&before[..], &many].concat().as_slice()).is_ok());
        assert!(protobuf(&[&before[..], &many].concat()).is_err());
        for damaged in [&b"\xff\xff\xff"[..], &[0x0a, 0xff], &[0x0a; 64], &[0x80; 32]] {
            assert!(protobuf(damaged).is_ok(), "who unfolds it says what is wrong");
        }
    }
}
