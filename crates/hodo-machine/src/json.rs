//! Just enough of JSON to find a member of the objects that hodo itself writes.

/// The text of the value of member `key` in the object that `text` is; none where there is no such
/// member, or the text is no object.
pub fn member<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let mut rest = text.trim_start().strip_prefix('{')?.trim_start();
    while rest.starts_with('"') {
        let name_end = string_end(rest)?;
        let name = &rest[1..name_end - 1];
        let value = rest[name_end..].trim_start().strip_prefix(':')?.trim_start();
        let end = value_end(value)?;
        if name == key {
            return Some(value[..end].trim_end());
        }
        rest = value[end..].trim_start().strip_prefix(',')?.trim_start();
    }
    None
}

/// A whole number of an object.
pub fn number(text: &str, key: &str) -> Option<u64> {
    member(text, key)?.parse().ok()
}

/// A text of an object that holds no escapes; none for one that does.
pub fn text<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let quoted = member(text, key)?.strip_prefix('"')?.strip_suffix('"')?;
    (!quoted.contains('\\')).then_some(quoted)
}

/// Where the string that `text` begins with ends.
fn string_end(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// Where the value that `text` begins with ends.
fn value_end(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    let mut at = 0;
    loop {
        match text.as_bytes().get(at)? {
            b'"' => at += string_end(&text[at..])? - 1,
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return Some(at),
            b'}' | b']' => depth -= 1,
            b',' if depth == 0 => return Some(at),
            _ => {}
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_past_others() {
        let json =
            "{\n \"a\": \"}\\\",\", \"list\": [1, {\"pid\": 9}], \"pid\": 42 ,\"host\": \"n1\"}";
        assert_eq!(number(json, "pid"), Some(42));
        assert_eq!(text(json, "host"), Some("n1"));
        assert_eq!(text(json, "a"), None, "it has an escape");
        assert_eq!(member(json, "list"), Some("[1, {\"pid\": 9}]"));
        assert_eq!(member(json, "none"), None);
    }

    #[test]
    fn what_is_no_object_has_no_members() {
        for odd in
            ["", "{", "[1]", "{\"a\"", "{\"a\":", "{\"a\": 1", "{a: 1}", "{\"a\": \"", "null"]
        {
            assert_eq!(number(odd, "a"), None, "{odd:?}");
        }
    }
}
