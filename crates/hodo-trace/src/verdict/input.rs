//! Scopes in which a program waits for its input.

use crate::{Process, Value};

/// The attribute by which a program says so itself: `hodo.scope("fetch", waits_for="input")`.
const ATTRIBUTE: (&str, &str) = ("waits_for", "input");

/// Names that mean it, without case and separators.
const NAMES: [&str; 12] = [
    "datawait",
    "inputwait",
    "waitforinput",
    "waitfordata",
    "dataloading",
    "dataload",
    "loaddata",
    "loadbatch",
    "nextbatch",
    "fetchbatch",
    "getbatch",
    "fetchdata",
];
/// Part of the names that frameworks give to it: `enumerate(DataLoader)#…__next__`.
const PART: &str = "dataloader";

/// Whether scopes of this name wait for input.
pub(super) fn is_input_name(name: &str) -> bool {
    let plain: String =
        name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    NAMES.contains(&plain.as_str()) || plain.contains(PART)
}

/// Rows of scopes that say so by their attribute.
pub(super) fn by_attribute(process: &Process) -> impl Iterator<Item = u32> {
    let says = |value: &Value| value.display(&process.names) == ATTRIBUTE.1;
    let attrs = process.attrs.all().iter();
    attrs
        .filter(move |attr| process.names.get(attr.key) == Some(ATTRIBUTE.0) && says(&attr.value))
        .filter_map(|attr| process.spans.row_of(attr.span))
}

/// By row, whether it or a scope around it waits for input.
pub(super) fn waits(process: &Process) -> Vec<bool> {
    let spans = &process.spans;
    let mut waits = vec![false; spans.len()];
    by_attribute(process).for_each(|row| waits[row as usize] = true);
    let named: Vec<bool> =
        (0..process.names.end()).map(|name| is_input_name(&process.names.text(name))).collect();
    spans.parents_first(|row, up| {
        let is_named = named.get(spans.name(row) as usize).copied().unwrap_or(false);
        waits[row as usize] |= is_named || up.is_some_and(|up| waits[up as usize]);
    });
    waits
}

#[cfg(test)]
mod tests {
    use super::is_input_name;

    #[test]
    fn names_that_wait_for_input() {
        for name in [
            "data_wait",
            "Data Loading",
            "next-batch",
            "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
        ] {
            assert!(is_input_name(name), "{name}");
        }
        for name in ["forward", "load", "load checkpoint", "data", "batch"] {
            assert!(!is_input_name(name), "{name}");
        }
    }
}
