//! Completion of tables, columns, words of SQL and commands.

use super::commands::COMMANDS;
use super::words::WORDS;
use hodo_sql::is_ended;
use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Result};

/// What the line editor asks while somebody types.
pub struct Helper {
    tables: Vec<String>,
    columns: Vec<String>,
}

impl Helper {
    pub fn new(tables: Vec<String>, columns: Vec<String>) -> Helper {
        Helper { tables, columns }
    }

    /// Where the word before the cursor begins, and what it may become.
    fn candidates(&self, line: &str) -> (usize, Vec<String>) {
        if line.starts_with('.') && !line.contains(char::is_whitespace) {
            let names = COMMANDS.iter().map(|(name, _)| *name);
            return (0, names.filter(|name| name.starts_with(line)).map(str::to_owned).collect());
        }
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let start = line
            .rfind(|c| !is_part(c))
            .map_or(0, |at| at + line[at..].chars().next().map_or(1, char::len_utf8));
        let word = line[start..].to_lowercase();
        let tables = self.tables.iter().map(String::as_str);
        let all: Vec<&str> = match wants_table(&line[..start]) {
            true => tables.collect(),
            false => {
                let columns = self.columns.iter().map(String::as_str);
                columns.chain(tables).chain(WORDS.iter().copied()).collect()
            }
        };
        let fits = all.into_iter().filter(|name| name.starts_with(&word)).map(str::to_owned);
        (start, fits.collect())
    }
}

/// Whether a table must follow.
fn wants_table(before: &str) -> bool {
    let last = before.split_whitespace().next_back().unwrap_or("").to_lowercase();
    matches!(last.as_str(), "from" | "join" | "describe" | ".schema")
}

impl Completer for Helper {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> Result<(usize, Vec<String>)> {
        Ok(self.candidates(&line[..at]))
    }
}

impl Validator for Helper {
    /// A line goes on until its statement ends; a command or nothing is one line.
    fn validate(&self, context: &mut ValidationContext<'_>) -> Result<ValidationResult> {
        let text = context.input().trim();
        match text.is_empty() || text.starts_with('.') || is_ended(text) {
            true => Ok(ValidationResult::Valid(None)),
            false => Ok(ValidationResult::Incomplete),
        }
    }
}

impl Hinter for Helper {
    type Hint = String;
}

impl Highlighter for Helper {}
impl rustyline::Helper for Helper {}

#[cfg(test)]
mod tests {
    use super::*;

    fn helper() -> Helper {
        let own = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Helper::new(own(&["spans", "slowest"]), own(&["self_ns", "start_ns"]))
    }

    #[test]
    fn what_fits_the_place_is_offered() {
        let of = |line| helper().candidates(line);
        assert_eq!(of("select * from sp"), (14, vec!["spans".to_owned()]));
        assert_eq!(of("select * from s").1, ["spans", "slowest"]);
        assert_eq!(of("select sum(sel"), (11, vec!["self_ns".to_owned(), "select".to_owned()]));
        assert_eq!(of(".sc"), (0, vec![".schema".to_owned()]));
        assert_eq!(of(".schema slo"), (8, vec!["slowest".to_owned()]));
        assert_eq!(of("SEL").1, ["self_ns", "select"]);
    }
}
