//! Whether two runs are the same, without holding both.

use super::rows::{Rows, Tables, Whose};
use super::side::Side;
use super::values::{NO_TEXT, SEED, Same, Values, mix, mix_text};
use super::{GROUP_ROWS, Table};
use crate::Run;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::Range;

/// Numbers that are the same for two runs only if they hold the same.
#[derive(Debug, PartialEq, Eq)]
pub struct Fingerprint {
    side: String,
    columns: BTreeMap<(String, String, &'static str), u64>,
}

impl Fingerprint {
    /// That of `run`.
    pub fn of(run: &Run) -> Fingerprint {
        let mut all = Fingerprint::begin(run);
        let done: Result<(), Infallible> = Tables::new(run).each(|table, whose, rows| {
            let seen = Seen::new(rows);
            for first in (0..rows.len()).step_by(GROUP_ROWS) {
                let range = first..(first + GROUP_ROWS).min(rows.len());
                for field in table.fields() {
                    seen.column(field.name, range.clone());
                }
            }
            all.add(table, whose, seen);
            Ok(())
        });
        let Ok(()) = done;
        all
    }

    /// That of `run` but for its tables, which are added as whoever writes them asks for their rows.
    pub fn begin(run: &Run) -> Fingerprint {
        let side = Side::of(run).json().unwrap_or_default();
        Fingerprint { side, columns: BTreeMap::new() }
    }

    /// Adds a table of which every column was asked for, from the first row to the last, in groups of
    /// [`GROUP_ROWS`].
    pub fn add(&mut self, table: Table, whose: Whose<'_>, seen: Seen<'_>) {
        let key = |column| (table.name().to_owned(), whose.to_owned(), column);
        let columns = seen.hashes.into_inner().into_iter();
        self.columns.extend(columns.map(|(column, hash)| (key(column), hash)));
    }

    /// What differs first, in words; none when nothing does.
    pub fn difference(&self, other: &Fingerprint) -> Option<String> {
        if let Some(((table, whose, column), _)) =
            self.columns.iter().find(|(key, hash)| other.columns.get(*key) != Some(hash))
        {
            return Some(format!("the column `{column}` of the table {table} of {whose}"));
        }
        if self.columns.len() != other.columns.len() {
            return Some("the tables".to_owned());
        }
        (self.side != other.side).then(|| "what is told of its processes".to_owned())
    }
}

/// Rows of a table that remember what was asked of them.
pub struct Seen<'a> {
    rows: &'a dyn Rows,
    hashes: RefCell<BTreeMap<&'static str, u64>>,
}

impl<'a> Seen<'a> {
    /// Around `rows`.
    pub fn new(rows: &'a dyn Rows) -> Seen<'a> {
        Seen { rows, hashes: RefCell::default() }
    }
}

impl Rows for Seen<'_> {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn column(&self, name: &'static str, rows: Range<usize>) -> Values {
        let values = self.rows.column(name, rows);
        let mut hashes = self.hashes.borrow_mut();
        let hash = hashes.entry(name).or_insert(SEED);
        *hash = mix_values(*hash, &values);
        values
    }
}

fn mix_values(hash: u64, values: &Values) -> u64 {
    match values {
        Values::Whole(all, there) => {
            mix_there(all.iter().fold(hash, |hash, value| mix(hash, *value as u64)), there)
        }
        Values::Number(all, there) => {
            mix_there(all.iter().fold(hash, |hash, value| mix(hash, value.to_bits())), there)
        }
        Values::Text(codes, texts) => {
            let texts: Vec<u64> = texts.iter().map(|text| mix_text(text)).collect();
            let word = |code: &u32| match *code {
                NO_TEXT => 0,
                code => texts[code as usize],
            };
            codes.iter().fold(hash, |hash, code| mix(hash, word(code)))
        }
        Values::Same(same, rows) => {
            let word = match same {
                Same::None => 0,
                Same::Whole(value) => *value as u64,
                Same::Text(text) => mix_text(text),
            };
            mix(mix(hash, word), *rows as u64)
        }
    }
}

/// Which values are missing: nothing where none is, however that is written.
fn mix_there(hash: u64, there: &Option<Vec<bool>>) -> u64 {
    let there = there.as_deref().unwrap_or_default();
    let missing = there.iter().enumerate().filter(|(_, is_there)| !**is_there);
    missing.fold(hash, |hash, (row, _)| mix(hash, row as u64))
}
