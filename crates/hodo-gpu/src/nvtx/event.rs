//! What a range or a mark says of itself: its name, its payload, where it belongs.

use super::ranges::Own;
use super::registry::{self, Domain};
use super::{NO_MESSAGE, raw};
use hodo_record::Site;
use hodo_record::binding::{Raw, Slot, Table, code, table};
use std::fmt::Write;

/// An attribute: key, code of the value, value.
pub type Pair = (u32, u16, u64);

/// The value of a mark that has none.
pub const TRUE: (u16, u64) = (code::BOOL, 1);

static TAG: Site = Site::new("tag");
static CATEGORY: Site = Site::new("nvtx.category");
static PAYLOAD: Site = Site::new("nvtx.payload");
static UNNAMED: Site = Site::new(NO_MESSAGE);

/// The name in the recorder; 0 while none is on.
#[inline(always)]
pub fn name(own: &mut Own, event: &raw::Event) -> u32 {
    match event.message_type {
        // SAFETY: NVTX says that such a message is a text that ends in a NUL, or null.
        raw::message::ASCII => unsafe { own.names.at(event.message.cast()) },
        // SAFETY: as above.
        raw::message::WIDE => own.names.of(unsafe { raw::wide(event.message.cast()) }.as_bytes()),
        raw::message::REGISTERED => {
            registry::string(event.message).map_or_else(|| UNNAMED.id(), registry::Registered::name)
        }
        _ => UNNAMED.id(),
    }
}

/// Attributes of a range: at most as many as one record holds.
pub struct Attributes {
    pairs: [Pair; 3],
    count: usize,
}

impl Attributes {
    #[inline(always)]
    fn add(&mut self, key: &Site, (code, word): (u16, u64)) {
        self.pairs[self.count] = (key.id(), code, word);
        self.count += 1;
    }

    /// Hands them over, if there are any.
    #[inline(always)]
    pub fn with(&self, then: impl FnOnce(&[Pair])) {
        if self.count > 0 {
            then(&self.pairs[..self.count]);
        }
    }
}

/// The attributes of a range.
#[inline(always)]
pub fn attributes(domain: &Domain, event: &raw::Event) -> Attributes {
    let mut found = Attributes { pairs: [(0, 0, 0); 3], count: 0 };
    if let Some(tag) = &domain.tag {
        found.add(&TAG, (code::NAME, tag.name().into()));
    }
    if event.category != 0 {
        found.add(&CATEGORY, category(domain, event.category));
    }
    if let Some(payload) = event.payload() {
        found.add(&PAYLOAD, payload);
    }
    found
}

/// A category by its name, or by its number where it has none.
fn category(domain: &Domain, number: u32) -> (u16, u64) {
    match registry::category(domain, number) {
        Some(named) => (code::NAME, named.name().into()),
        None => (code::I64, number.into()),
    }
}

/// Sets attributes of a range, whatever its state.
#[cold]
#[inline(never)]
pub fn set_slowly(slot: *mut Slot, id: u64, pairs: &[Pair]) {
    let Some(table) = table() else { return };
    for &(key, code, word) in pairs {
        let value = Raw { code: code.into(), key, word, len: 0 };
        // SAFETY: one value, which is no text.
        unsafe { (table.set)(slot, id, &value, 1) };
    }
}

/// The attributes of a mark, as the JSON object that it takes.
pub fn mark_attributes(domain: &Domain, event: &raw::Event) -> Option<String> {
    if domain.tag.is_none() && event.category == 0 {
        return None;
    }
    let mut json = String::new();
    if let Some(tag) = &domain.tag {
        member(&mut json, "tag", &quoted(tag.text()));
    }
    if event.category != 0 {
        let named = registry::category(domain, event.category).map(|named| quoted(named.text()));
        member(&mut json, "nvtx.category", &named.unwrap_or_else(|| event.category.to_string()));
    }
    json.push('}');
    Some(json)
}

fn member(json: &mut String, key: &str, value: &str) {
    json.push(if json.is_empty() { '{' } else { ',' });
    json.extend(["\"", key, "\":", value]);
}

fn quoted(text: &str) -> String {
    let mut json = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => json.extend(['\\', character]),
            // Writing to a string cannot fail.
            '\0'..='\x1f' => drop(write!(json, "\\u{:04x}", u32::from(character))),
            _ => json.push(character),
        }
    }
    json.push('"');
    json
}

/// Makes a mark through the recorder's table; one of an older copy takes no attributes.
#[cold]
#[inline(never)]
pub fn mark_slowly(name: u32, value: &Raw, attributes: Option<String>) {
    const WITH_ATTRIBUTES: usize = std::mem::offset_of!(Table, mark_with) + size_of::<usize>();
    let Some(table) = table() else { return };
    let attributes = attributes.filter(|_| table.size as usize >= WITH_ATTRIBUTES);
    // SAFETY: the value is no text; the attributes live until the call returns.
    unsafe {
        match attributes {
            None => (table.mark)(name, value, false),
            Some(json) => (table.mark_with)(name, value, false, json.as_ptr(), json.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_of_marks_are_json() {
        let domain = registry::domain(registry::domain_handle("a \"b\"\\\n"));
        let event = raw::Event { category: 4, ..raw::Event::NONE };
        let json = mark_attributes(domain, &event);
        assert_eq!(json.as_deref(), Some(r#"{"tag":"a \"b\"\\\u000a","nvtx.category":4}"#));
        assert_eq!(mark_attributes(&registry::DEFAULT, &raw::Event::NONE), None);
        registry::name_category(&registry::DEFAULT, 9, "io");
        let event = raw::Event { category: 9, ..raw::Event::NONE };
        let json = mark_attributes(&registry::DEFAULT, &event);
        assert_eq!(json.as_deref(), Some(r#"{"nvtx.category":"io"}"#));
    }
}
