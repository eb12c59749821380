//! What an import has to say besides the run: what was left out, and why.

use std::collections::BTreeMap;

/// Kinds of things that are counted one by one; more are counted together.
const MOST_KINDS: usize = 64;
/// Damage that is told place by place.
const MOST_PLACES: usize = 16;

/// Counts and places, in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    counts: BTreeMap<String, u64>,
    places: Vec<String>,
    more_places: u64,
}

impl Notes {
    /// Counts one more of a kind.
    pub fn count(&mut self, what: &str) {
        self.add(what, 1);
    }

    /// Counts several of a kind.
    pub fn add(&mut self, what: &str, n: u64) {
        if n == 0 {
            return;
        }
        if let Some(count) = self.counts.get_mut(what) {
            *count += n;
        } else {
            let rest = "records of many further kinds";
            let what = if self.counts.len() < MOST_KINDS { what } else { rest };
            *self.counts.entry(what.to_owned()).or_default() += n;
        }
    }

    /// Tells of something at one place.
    pub fn place(&mut self, words: String) {
        if self.places.len() < MOST_PLACES {
            self.places.push(words);
        } else {
            self.more_places += 1;
        }
    }

    /// All of it, a line each: places first.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = self.places.clone();
        if self.more_places > 0 {
            lines.push(format!("and {} more places like these", self.more_places));
        }
        lines.extend(self.counts.iter().map(|(what, n)| format!("{n} {what}")));
        lines
    }
}
