//! Why a warp stood, in a word.

use std::collections::HashMap;

/// What every name of CUPTI's begins with.
const PREFIX: &str = "smsp__pcsamp_warps_issue_stalled_";

/// The reason without the part that is the same for all: `long_scoreboard`,
/// `long_scoreboard_not_issued`.
pub fn word(name: &str) -> &str {
    name.strip_prefix(PREFIX).unwrap_or(name)
}

/// The reasons a context has, by CUPTI's number.
#[derive(Clone, Debug, Default)]
pub struct Reasons(HashMap<u32, String>);

impl Reasons {
    /// Reasons by number and CUPTI's name.
    pub fn new<'a>(names: impl IntoIterator<Item = (u32, &'a str)>) -> Reasons {
        Reasons(names.into_iter().map(|(index, name)| (index, word(name).to_owned())).collect())
    }

    /// The word for a number; for one that CUPTI did not name, the number.
    pub fn word(&self, index: u32) -> String {
        self.0.get(&index).cloned().unwrap_or_else(|| format!("reason_{index}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_what_they_have_in_common() {
        let name = |end: &str| format!("smsp__pcsamp_warps_issue_stalled_{end}");
        let (long, other) = (name("long_scoreboard"), name("wait_not_issued"));
        let reasons = Reasons::new([(7, long.as_str()), (9, other.as_str()), (1, "odd")]);
        assert_eq!(reasons.word(7), "long_scoreboard");
        assert_eq!(reasons.word(9), "wait_not_issued");
        assert_eq!(reasons.word(1), "odd");
        assert_eq!(reasons.word(3), "reason_3");
    }
}
