//! Strings by number, of which a file cannot bring more than memory takes.

use std::collections::HashMap;
use std::rc::Rc;

/// Most bytes of different strings.
const MOST_BYTES: usize = 192 << 20;
/// Longest string that is kept whole; a longer one is cut.
const LONGEST_BYTES: usize = 16 << 10;
/// What stands for strings past the limit.
const TOO_MANY: &str = "(too many different names)";

/// Strings of a run, numbered from 1 as they first appear; 0 is none.
#[derive(Debug)]
pub struct Strings {
    numbers: HashMap<Rc<str>, u32>,
    texts: Vec<Rc<str>>,
    bytes: usize,
    /// Strings that had to be left out.
    pub refused: u64,
}

impl Default for Strings {
    fn default() -> Strings {
        let mut strings =
            Strings { numbers: HashMap::new(), texts: Vec::new(), bytes: 0, refused: 0 };
        strings.number(TOO_MANY);
        strings
    }
}

impl Strings {
    /// The number of `text`.
    pub fn number(&mut self, text: &str) -> u32 {
        let text = &text[..text.floor_char_boundary(LONGEST_BYTES)];
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        // A map's entry takes about as much again.
        self.bytes += text.len() + 64;
        if self.bytes > MOST_BYTES {
            self.refused += 1;
            return 1;
        }
        let text: Rc<str> = text.into();
        self.texts.push(Rc::clone(&text));
        let number = self.texts.len() as u32;
        self.numbers.insert(text, number);
        number
    }

    /// All of them in the order of their numbers.
    pub fn all(&self) -> Vec<&str> {
        self.texts.iter().map(|text| &**text).collect()
    }

    /// The string of a number.
    pub fn text(&self, number: u32) -> &str {
        let at = (number as usize).checked_sub(1);
        at.and_then(|at| self.texts.get(at)).map_or("", |text| text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_numbered_once_and_not_without_end() {
        let mut strings = Strings::default();
        assert_eq!((strings.number("a"), strings.number("b"), strings.number("a")), (2, 3, 2));
        assert_eq!(strings.all(), [TOO_MANY, "a", "b"]);
        strings.bytes = MOST_BYTES;
        assert_eq!((strings.number("c"), strings.number("b"), strings.refused), (1, 3, 1));
        let long = "ö".repeat(LONGEST_BYTES);
        let mut strings = Strings::default();
        strings.number(&long);
        assert_eq!(strings.all()[1].len(), LONGEST_BYTES);
    }
}
