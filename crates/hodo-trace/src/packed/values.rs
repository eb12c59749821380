//! Some rows of one column, whatever it is stored in.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// Stands for no text among codes.
pub const NO_TEXT: u32 = u32::MAX;

/// The values of a column for some rows in a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Whole numbers; a byte a row says whether there is one, unless all are there.
    Whole(Vec<i64>, Option<Vec<bool>>),
    /// Floats, likewise.
    Number(Vec<f64>, Option<Vec<bool>>),
    /// Texts: a place in the list for every row, [`NO_TEXT`] where there is none.
    Text(Vec<u32>, Vec<String>),
    /// The same in every one of so many rows.
    Same(Same, usize),
}

/// What is the same in every row.
#[derive(Clone, Debug, PartialEq)]
pub enum Same {
    /// No value.
    None,
    /// A whole number.
    Whole(i64),
    /// A text.
    Text(String),
}

impl Values {
    /// Rows.
    pub fn len(&self) -> usize {
        match self {
            Values::Whole(values, _) => values.len(),
            Values::Number(values, _) => values.len(),
            Values::Text(codes, _) => codes.len(),
            Values::Same(_, rows) => *rows,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn whole(values: impl Iterator<Item = i64>) -> Values {
        Values::Whole(values.collect(), None)
    }

    /// Whole numbers of which some are missing.
    pub(crate) fn wholes(values: impl Iterator<Item = Option<i64>>) -> Values {
        let (values, there): (Vec<i64>, Vec<bool>) =
            values.map(|v| (v.unwrap_or(0), v.is_some())).unzip();
        Values::Whole(values, Some(there).filter(|there| there.contains(&false)))
    }

    pub(crate) fn numbers(values: impl Iterator<Item = Option<f64>>) -> Values {
        let (values, there) = values.map(|v| (v.unwrap_or(0.0), v.is_some())).unzip();
        Values::Number(values, Some(there))
    }

    /// One text, or none, for every row.
    pub(crate) fn same_text(text: Option<&str>, rows: usize) -> Values {
        Values::Same(text.map_or(Same::None, |text| Same::Text(text.to_owned())), rows)
    }

    /// One number, or none, for every row.
    pub(crate) fn same_whole(value: Option<i64>, rows: usize) -> Values {
        Values::Same(value.map_or(Same::None, Same::Whole), rows)
    }

    /// Texts that are made once for each key.
    pub(crate) fn by_key<K: Key, T: AsRef<str>>(
        keys: impl Iterator<Item = Option<K>>,
        mut text: impl FnMut(K) -> Option<T>,
    ) -> Values {
        let mut texts = Texts::default();
        let mut known = K::Map::default();
        let codes = keys.map(|key| {
            let Some(key) = key else { return NO_TEXT };
            K::get_or(&mut known, key, || text(key).map_or(NO_TEXT, |t| texts.place(t.as_ref())))
        });
        let codes = codes.collect();
        Values::Text(codes, texts.texts)
    }

    /// Texts as they come.
    pub(crate) fn texts<T: AsRef<str>>(all: impl Iterator<Item = Option<T>>) -> Values {
        let mut texts = Texts::default();
        let codes = all.map(|text| text.map_or(NO_TEXT, |text| texts.place(text.as_ref())));
        let codes = codes.collect();
        Values::Text(codes, texts.texts)
    }
}

/// Texts, each kept once, but for a few that look alike.
#[derive(Default)]
struct Texts {
    texts: Vec<String>,
    places: HashMap<u64, u32, Quick>,
}

impl Texts {
    fn place(&mut self, text: &str) -> u32 {
        let next = self.texts.len() as u32;
        let place = *self.places.entry(mix_text(text)).or_insert(next);
        if place < next && self.texts[place as usize] == text {
            return place;
        }
        self.texts.push(text.to_owned());
        next
    }
}

/// Hashes of which every bit depends on every bit of the key already.
pub type Quick = BuildHasherDefault<Mixed>;

/// See [`Quick`].
#[derive(Default)]
pub struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = mix(self.0, word);
    }

    fn write_i64(&mut self, word: i64) {
        self.write_u64(word as u64);
    }
}

pub(super) const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline]
pub(super) fn mix(hash: u64, word: u64) -> u64 {
    let mixed = (hash ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed ^ mixed >> 32
}

pub(super) fn mix_text(text: &str) -> u64 {
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let hash = words.iter().fold(SEED, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    mix(mix(hash, u64::from_le_bytes(last)), text.len() as u64) | 1
}

/// What texts are made by.
pub(crate) trait Key: Copy {
    /// Keeps what was made.
    type Map: Default;

    fn get_or(map: &mut Self::Map, key: Self, make: impl FnOnce() -> u32) -> u32;
}

/// Numbers that count from 0: a list is quicker than a map.
impl Key for u32 {
    type Map = Dense;

    #[inline]
    fn get_or(map: &mut Dense, key: u32, make: impl FnOnce() -> u32) -> u32 {
        match map.list.get(key as usize) {
            Some(&place) if place != Dense::UNKNOWN => place,
            _ => map.add(key, make),
        }
    }
}

/// Places by number, in a list as far as that is small.
#[derive(Default)]
pub(crate) struct Dense {
    list: Vec<u32>,
    far: HashMap<u32, u32>,
}

impl Dense {
    const UNKNOWN: u32 = u32::MAX - 1;
    const LONGEST: usize = 1 << 24;

    #[cold]
    fn add(&mut self, key: u32, make: impl FnOnce() -> u32) -> u32 {
        let at = key as usize;
        if at >= Dense::LONGEST {
            return *self.far.entry(key).or_insert_with(make);
        }
        if at >= self.list.len() {
            self.list.resize(at + 1, Dense::UNKNOWN);
        }
        self.list[at] = make();
        self.list[at]
    }
}

/// Any other key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ByHash<K>(pub(crate) K);

impl<K: Copy + Eq + Hash> Key for ByHash<K> {
    type Map = HashMap<ByHash<K>, u32>;

    fn get_or(map: &mut Self::Map, key: Self, make: impl FnOnce() -> u32) -> u32 {
        *map.entry(key).or_insert_with(make)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_of_different_keys_are_kept_once() {
        let keys = [Some(3u32), None, Some(70_000_000), Some(3), Some(9)];
        let text = |key: u32| (key != 9).then_some(if key == 3 { "a" } else { "b" });
        let expected = Values::Text(vec![0, NO_TEXT, 1, 0, NO_TEXT], vec!["a".into(), "b".into()]);
        assert_eq!(Values::by_key(keys.into_iter(), text), expected);
        let alike = Values::by_key([Some(1u32), Some(2)].into_iter(), |_| Some("x"));
        assert_eq!(alike, Values::Text(vec![0, 0], vec!["x".into()]));
    }
}
