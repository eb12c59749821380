//! The parts of a column, of process after process, as one.

use super::{Column, Data};
use crate::packed::{Field, Kind};
use std::collections::HashMap;

/// Times that are missing only where a run is damaged: a column that has them all says so.
const MOSTLY_THERE: [&str; 5] = ["start_ns", "duration_ns", "self_ns", "overhead_ns", "at_ns"];

/// The parts in a row. Whether values can be missing is up to the field, not to the rows there are:
/// the type of a column is the same for every run.
pub(super) fn joined(field: &Field, mut parts: Vec<Column>) -> Column {
    let column = match parts.len() {
        0 => Column::none_of(field),
        1 => parts.remove(0),
        _ => one(field, parts),
    };
    let is_known_there = !field.optional || MOSTLY_THERE.contains(&field.name);
    let valid = match column.valid {
        _ if field.kind == Kind::Text => None,
        None if is_known_there => None,
        None => Some(vec![true; column.len()]),
        Some(valid) if is_known_there && valid.iter().all(|&there| there) => None,
        valid => valid,
    };
    Column { valid, ..column }
}

fn one(field: &Field, parts: Vec<Column>) -> Column {
    let has_gaps = parts.iter().any(|part| part.valid.is_some());
    let mut valid: Vec<bool> = Vec::new();
    let mut all = Column::none_of(field);
    let mut places = HashMap::new();
    for part in parts {
        if has_gaps {
            let rows = part.len();
            valid.extend(part.valid.unwrap_or_else(|| vec![true; rows]));
        }
        match (&mut all.data, part.data) {
            (Data::I64(all), Data::I64(more)) => all.extend(more),
            (Data::F64(all), Data::F64(more)) => all.extend(more),
            (Data::Text { codes, texts }, Data::Text { codes: more, texts: own }) => {
                let places: Vec<i32> =
                    own.into_iter().map(|text| place(&mut places, texts, text)).collect();
                let code = |code: i32| places.get(code as usize).copied().unwrap_or(-1);
                codes.extend(more.into_iter().map(code));
            }
            // Every part of a column is of the field's kind.
            _ => {}
        }
    }
    Column { valid: has_gaps.then_some(valid), ..all }
}

fn place(places: &mut HashMap<String, i32>, texts: &mut Vec<String>, text: String) -> i32 {
    *places.entry(text).or_insert_with_key(|text| {
        texts.push(text.clone());
        texts.len() as i32 - 1
    })
}
