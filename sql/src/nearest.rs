//! The name that somebody probably meant.

/// The one of `names` that is written most like `wanted`, if any is like it.
pub fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = wanted.to_lowercase();
    let far = 1 + wanted.chars().count() / 3;
    let known = names.into_iter().map(|name| (distance(&wanted, &name.to_lowercase()), name));
    known.filter(|(distance, _)| *distance <= far).min().map(|(_, name)| name)
}

/// Letters to add, drop or change to get from one word to the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, x) in a.chars().enumerate() {
        let mut corner = at;
        row[0] = at + 1;
        for (k, &y) in b.iter().enumerate() {
            let change = corner + usize::from(x != y);
            corner = row[k + 1];
            row[k + 1] = change.min(corner + 1).min(row[k] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_and_a_far_one_is_not() {
        let names = ["spans", "marks", "samples", "duration_ns"];
        assert_eq!(nearest("span", names), Some("spans"));
        assert_eq!(nearest("duratoin_ns", names), Some("duration_ns"));
        assert_eq!(nearest("SAMPLE", names), Some("samples"));
        assert_eq!(nearest("elephant", names), None);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
