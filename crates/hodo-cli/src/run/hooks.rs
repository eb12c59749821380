//! The words of `--hooks` and `HODO_HOOKS`, checked before a program starts: Python itself could only
//! warn in the middle of what the program says.

/// The frameworks that Python has hooks for.
pub const FRAMEWORKS: [&str; 6] = ["torch", "transformers", "lightning", "keras", "jax", "sklearn"];
/// Other names of theirs.
const ALIASES: [&str; 3] = ["scikit-learn", "pytorch", "pytorch_lightning"];
/// What is recorded besides.
const MORE: [&str; 2] = ["memory", "collectives"];
/// All frameworks.
const ALL: [&str; 5] = ["1", "all", "on", "yes", "true"];
/// None of them, where it stands alone.
const NONE: [&str; 5] = ["", "0", "off", "no", "false"];

/// What `--hooks` takes, as it was said.
pub fn asked(text: &str) -> Result<String, String> {
    check(text).map(|()| text.to_owned())
}

/// Whether all words are known; else which is not, and what would be.
pub fn check(text: &str) -> Result<(), String> {
    if NONE.contains(&text.trim().to_lowercase().as_str()) {
        return Ok(());
    }
    match text.split(',').map(str::trim).find(|word| !is_known(&word.to_lowercase())) {
        None => Ok(()),
        Some(strange) => Err(format!(
            "`{strange}` is neither a framework nor a setting of hooks; name some of {}, and with them \
             layers=2, {}",
            FRAMEWORKS.join(", "),
            MORE.join(", ")
        )),
    }
}

fn is_known(word: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    let names = [&FRAMEWORKS[..], &ALIASES, &MORE, &ALL];
    // Python passes over what is between two commas, and over what a parent left for its children.
    word.is_empty()
        || word == "inherited"
        || word.strip_prefix("layers=").is_some_and(is_number)
        || names.iter().any(|names| names.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_python_takes_is_taken_and_a_misspelt_word_is_named() {
        for good in [
            "all",
            "",
            "off",
            "torch",
            " Torch , sklearn,",
            "scikit-learn,layers=2,memory",
            "collectives",
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for (bad, word) in [
            ("torhc", "torhc"),
            ("torch,layer=2", "layer=2"),
            ("torch,layers=", "layers="),
            ("layers=-1", "layers=-1"),
            ("torch jax", "torch jax"),
            ("torch,off", "off"),
            ("app=x", "app=x"),
        ] {
            let why = check(bad).unwrap_err();
            assert!(
                why.starts_with(&format!("`{word}` is neither")) && why.contains("sklearn"),
                "{why}"
            );
        }
    }

    /// Python has the list that counts.
    #[test]
    fn the_names_are_those_of_python() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/hodo/hooks/__init__.py");
        let text = std::fs::read_to_string(file).unwrap();
        let between = |begins: &str, ends: &str| {
            let (_, rest) = text.split_once(begins).unwrap_or_else(|| panic!("{begins} in {file}"));
            rest.split_once(ends).unwrap().0.to_owned()
        };
        let keys = |text: &str| -> Vec<String> {
            let keys = text.match_indices("\": ");
            keys.map(|(at, _)| text[..at].rsplit_once('"').unwrap().1.to_owned()).collect()
        };
        let frameworks = between("\nFRAMEWORKS: dict[str, dict[str, str]] = {\n", "\n}\n");
        let outer: String = frameworks
            .lines()
            .filter(|line| line.starts_with("    \""))
            .map(|l| l.split('{').next().unwrap())
            .collect();
        assert_eq!(keys(&outer), FRAMEWORKS);
        assert_eq!(keys(&between("\nALIASES = {", "}")), ALIASES);
        let listed = |words: &[&str]| {
            words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ")
        };
        for words in [&MORE[..], &ALL, &NONE] {
            assert!(text.contains(&format!("in ({})", listed(words))), "{words:?}");
        }
        assert!(text.contains("INHERITED = \"inherited\"") && text.contains("\"layers=\""));
    }
}
