//! Whether two runs are the same, without holding both.

use super::rows::Tables;
use super::side::Side;
use super::values::{NO_TEXT, SEED, Same, Values, mix, mix_text};
use super::{GROUP_ROWS, Table};
use crate::Run;
use std::collections::BTreeMap;
use std::convert::Infallible;

/// Numbers that are the same for two runs only if they hold the same.
#[derive(Debug, PartialEq, Eq)]
pub struct Fingerprint {
    side: String,
    columns: BTreeMap<(String, String, &'static str), u64>,
}

impl Fingerprint {
    /// That of `run`.
    pub fn of(run: &Run) -> Fingerprint {
        let mut columns = BTreeMap::new();
        let done: Result<(), Infallible> = Tables::new(run).each(|table, whose, rows| {
            for field in table.fields() {
                let mut hash = SEED;
                for first in (0..rows.len()).step_by(GROUP_ROWS) {
                    let range = first..(first + GROUP_ROWS).min(rows.len());
                    hash = mix_values(hash, &rows.column(field.name, range));
                }
                columns.insert((Table::name(table).to_owned(), whose.to_owned(), field.name), hash);
            }
            Ok(())
        });
        let Ok(()) = done;
        let side = Side::of(run).json().unwrap_or_default();
        Fingerprint { side, columns }
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

fn mix_values(hash: u64, values: &Values) -> u64 {
    let there = |there: &Option<Vec<bool>>, row: usize| match there {
        Some(there) => u64::from(there[row]),
        None => 1,
    };
    let pairs = |hash, row_words: &mut dyn Iterator<Item = (u64, u64)>| {
        row_words.fold(hash, |hash, (there, word)| mix(mix(hash, there), word))
    };
    match values {
        Values::Whole(all, t) => {
            pairs(hash, &mut all.iter().enumerate().map(|(row, v)| (there(t, row), *v as u64)))
        }
        Values::Number(all, t) => {
            pairs(hash, &mut all.iter().enumerate().map(|(row, v)| (there(t, row), v.to_bits())))
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
