//! Some rows of one column, whatever it is stored in.

use std::collections::HashMap;
use std::hash::Hash;

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
}

impl Values {
    /// Rows.
    pub fn len(&self) -> usize {
        match self {
            Values::Whole(values, _) => values.len(),
            Values::Number(values, _) => values.len(),
            Values::Text(codes, _) => codes.len(),
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
        let (values, there) = values.map(|v| (v.unwrap_or(0), v.is_some())).unzip();
        Values::Whole(values, Some(there))
    }

    pub(crate) fn numbers(values: impl Iterator<Item = Option<f64>>) -> Values {
        let (values, there) = values.map(|v| (v.unwrap_or(0.0), v.is_some())).unzip();
        Values::Number(values, Some(there))
    }

    /// One text, or none, for every row.
    pub(crate) fn same_text(text: Option<&str>, rows: usize) -> Values {
        match text {
            Some(text) => Values::Text(vec![0; rows], vec![text.to_owned()]),
            None => Values::Text(vec![NO_TEXT; rows], Vec::new()),
        }
    }

    /// One number, or none, for every row.
    pub(crate) fn same_whole(value: Option<i64>, rows: usize) -> Values {
        match value {
            Some(value) => Values::Whole(vec![value; rows], None),
            None => Values::Whole(vec![0; rows], Some(vec![false; rows])),
        }
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

/// Texts, each kept once.
#[derive(Default)]
struct Texts {
    texts: Vec<String>,
    places: HashMap<String, u32>,
}

impl Texts {
    fn place(&mut self, text: &str) -> u32 {
        if let Some(&place) = self.places.get(text) {
            return place;
        }
        let place = self.texts.len() as u32;
        self.texts.push(text.to_owned());
        self.places.insert(text.to_owned(), place);
        place
    }
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
        let text = |key: u32| (key != 9).then(|| if key == 3 { "a" } else { "b" });
        let expected = Values::Text(vec![0, NO_TEXT, 1, 0, NO_TEXT], vec!["a".into(), "b".into()]);
        assert_eq!(Values::by_key(keys.into_iter(), text), expected);
        let alike = Values::by_key([Some(1u32), Some(2)].into_iter(), |_| Some("x"));
        assert_eq!(alike, Values::Text(vec![0, 0], vec!["x".into()]));
    }
}
