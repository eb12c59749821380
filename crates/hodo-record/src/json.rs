//! Just enough JSON to write `run.json` and `process.json` without a library.

use std::fmt::Write;

/// An object under construction.
#[derive(Debug, Default)]
pub struct Object {
    text: String,
}

impl Object {
    /// Adds a member whose value is JSON already.
    pub fn raw(mut self, key: &str, json: &str) -> Self {
        self.text.push_str(if self.text.is_empty() { "{\n  " } else { ",\n  " });
        quote(&mut self.text, key);
        self.text.push_str(": ");
        // What an object of its own ends with is no part of the value.
        self.text.push_str(json.trim_end());
        self
    }

    /// Adds text.
    pub fn text(self, key: &str, value: &str) -> Self {
        let mut quoted = String::new();
        quote(&mut quoted, value);
        self.raw(key, &quoted)
    }

    /// Adds text, or null.
    pub fn maybe_text(self, key: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(key, value),
            None => self.raw(key, "null"),
        }
    }

    /// Adds a whole number.
    pub fn number(self, key: &str, value: u64) -> Self {
        self.raw(key, &value.to_string())
    }

    /// Adds a whole number, or null.
    pub fn maybe_number(self, key: &str, value: Option<u64>) -> Self {
        match value {
            Some(value) => self.number(key, value),
            None => self.raw(key, "null"),
        }
    }

    /// Adds a list of texts.
    pub fn texts(self, key: &str, values: &[String]) -> Self {
        let mut list = String::from("[");
        for (i, value) in values.iter().enumerate() {
            list.push_str(if i == 0 { "" } else { ", " });
            quote(&mut list, value);
        }
        list.push(']');
        self.raw(key, &list)
    }

    /// The finished document.
    pub fn finish(mut self) -> String {
        self.text.push_str(if self.text.is_empty() { "{}\n" } else { "\n}\n" });
        self.text
    }
}

fn quote(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if (c as u32) < 0x20 || c == '\u{7f}' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_and_quotes_are_escaped() {
        let text = Object::default().text("a\"b", "\u{1b}[31m\n\\").maybe_number("n", None).finish();
        assert_eq!(text, "{\n  \"a\\\"b\": \"\\u001b[31m\\u000a\\\\\",\n  \"n\": null\n}\n");
    }
}
