use crate::{Last, TraceError, Value};
use hodo_format::record::SpanId;
use std::str::FromStr;

/// Which spans a view is made of. Empty: all of them.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Scopes with this name, and everything under them.
    pub name: Option<NamePattern>,
    /// Scopes with attributes like these (each holds, those on one attribute of one scope), and
    /// everything under them.
    pub conditions: Vec<Condition>,
    /// Processes of this rank.
    pub rank: Option<u32>,
    /// The process with this pid.
    pub pid: Option<u32>,
    /// Threads whose number this is, or whose name contains it.
    pub thread: Option<String>,
    /// This scope, by its process's half of the id and its own, and everything under it.
    pub scope: Option<(u64, SpanId)>,
    /// Scopes that were open between these moments, nanoseconds since 1970.
    pub open_in: Option<[i64; 2]>,
    /// The last of the scopes that all else keeps.
    pub last: Option<Last>,
}

/// Part of a name, or a glob when it has `*` or `?`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamePattern {
    text: String,
    glob: bool,
}

impl NamePattern {
    /// The pattern in `text`; upper and lower case count.
    pub fn new(text: &str) -> NamePattern {
        NamePattern { text: text.to_owned(), glob: text.contains(['*', '?']) }
    }

    /// Whether `name` fits.
    pub fn matches(&self, name: &str) -> bool {
        if self.glob {
            glob(self.text.as_bytes(), name.as_bytes())
        } else {
            name.contains(&self.text)
        }
    }
}

/// Linear-time glob: on a mismatch only the last `*` is retried.
fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                retry = Some((p, t));
                p += 1;
            }
            Some(&c) if c == b'?' || c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((star, from)) = retry else { return false };
                retry = Some((star, from + 1));
                p = star + 1;
                t = from + 1;
            }
        }
    }
    pattern[p..].iter().all(|&c| c == b'*')
}

/// How a condition compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
    /// `<`
    Less,
    /// `<=`
    AtMost,
}

impl Comparison {
    /// Whether only numbers can be compared so.
    fn is_of_numbers(self) -> bool {
        !matches!(self, Comparison::Equal | Comparison::NotEqual)
    }
}

/// A condition on one attribute, such as `variant=beam` or `loss>0.5`. `index` is the scope's index.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The attribute's key.
    pub key: String,
    /// How it compares.
    pub comparison: Comparison,
    /// What it is compared with.
    pub value: String,
}

const OPERATORS: [(&str, Comparison); 6] = [
    ("!=", Comparison::NotEqual),
    (">=", Comparison::AtLeast),
    ("<=", Comparison::AtMost),
    ("=", Comparison::Equal),
    (">", Comparison::Greater),
    ("<", Comparison::Less),
];

/// A filter written in one line: terms with spaces between, each of which has to hold. `rank=0`,
/// `pid=12` and `thread=loader` choose processes and threads, `key=value` and the other conditions
/// are on attributes, a word alone is a [`NamePattern`]. A value with spaces stands in quotes:
/// `variant="beam search"`; so does a name that would be read as something else.
impl FromStr for Filter {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Filter, TraceError> {
        let mut filter = Filter::default();
        for term in terms(text) {
            let number = |text: &str| text.parse().ok();
            let is_name = term.starts_with('"') || !term.contains(['=', '!', '<', '>']);
            match term.split_once('=').filter(|_| !is_name) {
                Some(("rank", rank)) if number(rank).is_some() => filter.rank = number(rank),
                Some(("pid", pid)) if number(pid).is_some() => filter.pid = number(pid),
                Some(("thread", thread)) => filter.thread = Some(unquoted(thread)?),
                _ if !is_name => filter.conditions.push(term.parse()?),
                _ if filter.name.is_some() && name(term).is_ok() => {
                    return Err(TraceError::TwoNames { text: text.to_owned() });
                }
                _ => filter.name = Some(NamePattern::new(&name(term)?)),
            }
        }
        Ok(filter)
    }
}

/// The terms of a filter, with their quotes.
fn terms(text: &str) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    let is_between = move |letter: char| {
        is_quoted ^= letter == '"';
        letter.is_whitespace() && !is_quoted
    };
    text.split(is_between).filter(|term| !term.is_empty())
}

fn fault<T>(text: &str, why: &'static str) -> Result<T, TraceError> {
    Err(TraceError::Filter { text: text.to_owned(), why })
}

/// A text without its quotes.
fn unquoted(text: &str) -> Result<String, TraceError> {
    match text.matches('"').count() % 2 {
        0 => Ok(text.replace('"', "")),
        _ => fault(text, "its quote is not closed; write variant=\"beam search\""),
    }
}

/// Whether a term is what other languages have between conditions.
fn is_word_between(term: &str) -> bool {
    let words = ["or", "and", "not", "||", "&&", "|", "&"];
    words.iter().any(|word| term.eq_ignore_ascii_case(word))
}

/// Whether brackets stand around it; `forward(x)` is a name.
fn is_bracketed(text: &str) -> bool {
    text.starts_with('(') && text.ends_with(')')
}

const NO_BRACKETS: &str =
    "a filter has no brackets; a name or a value that has one is written in quotes";

/// The name in a term. What looks like a part of another language is one in quotes only.
fn name(term: &str) -> Result<String, TraceError> {
    let is_quoted = term.contains('"');
    if is_word_between(term) {
        return fault(
            term,
            "all terms of a filter have to hold, and there is no other way to join them; a scope of \
             that name is written in quotes",
        );
    }
    let is_uneven = term.matches('(').count() != term.matches(')').count();
    if !is_quoted && (is_uneven || is_bracketed(term)) {
        return fault(term, NO_BRACKETS);
    }
    unquoted(term)
}

impl FromStr for Condition {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Condition, TraceError> {
        let refused = || TraceError::Condition { text: text.to_owned() };
        let at = text.find(['=', '!', '<', '>']).filter(|&at| at > 0).ok_or_else(refused)?;
        let (key, rest) = text.split_at(at);
        let (sign, comparison) =
            OPERATORS.into_iter().find(|(sign, _)| rest.starts_with(sign)).ok_or_else(refused)?;
        if key.trim_start().starts_with('(') {
            return fault(text, NO_BRACKETS);
        }
        let written = rest[sign.len()..].trim();
        let value = unquoted(written)?;
        if written == value {
            check_bare(text, sign, &value)?;
        }
        if comparison.is_of_numbers() && value.parse().map(f64::is_nan) != Ok(false) {
            return Err(TraceError::NotANumber { text: text.to_owned(), value });
        }
        Ok(Condition { key: key.trim().to_owned(), comparison, value })
    }
}

/// Refuses a value that means something in other languages; in quotes it is a text.
fn check_bare(text: &str, sign: &str, value: &str) -> Result<(), TraceError> {
    let is_number = |text: &str| text.parse::<f64>().is_ok();
    let is_range = value
        .split_once("..")
        .is_some_and(|(from, to)| is_number(from) && is_number(to.trim_start_matches('=')));
    if is_range {
        return fault(text, "write a range as two conditions: index>=100 index<=200");
    }
    let closed_more = value.matches(')').count() > value.matches('(').count();
    if closed_more || is_bracketed(value) {
        return fault(text, NO_BRACKETS);
    }
    // `~/` begins a path.
    if sign.ends_with('=') && value.starts_with(['~', '=']) && !value.starts_with("~/") {
        return fault(
            text,
            "there is no such comparison; write =, !=, >, >=, < or <=, and a value that begins so in \
             quotes",
        );
    }
    Ok(())
}

impl Condition {
    /// Whether `value` fits: as numbers where both are, else as text, which has no order.
    pub fn matches(&self, value: &Value, names: &crate::Names) -> bool {
        let order = match (value.as_f64(), self.value.parse::<f64>()) {
            (Some(a), Ok(b)) => a.partial_cmp(&b),
            _ if self.comparison.is_of_numbers() => return false,
            _ => Some(value.display(names).as_str().cmp(&self.value)),
        };
        let Some(order) = order else { return self.comparison == Comparison::NotEqual };
        match self.comparison {
            Comparison::Equal => order.is_eq(),
            Comparison::NotEqual => order.is_ne(),
            Comparison::Greater => order.is_gt(),
            Comparison::AtLeast => order.is_ge(),
            Comparison::Less => order.is_lt(),
            Comparison::AtMost => order.is_le(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Names;
    use proptest::prelude::*;

    /// Tries every way a star can match.
    fn by_trying(pattern: &[u8], text: &[u8]) -> bool {
        match (pattern.split_first(), text.split_first()) {
            (None, rest) => rest.is_none(),
            (Some((b'*', after)), rest) => {
                by_trying(after, text) || rest.is_some_and(|(_, rest)| by_trying(pattern, rest))
            }
            (Some((c, after)), Some((t, rest))) => (*c == b'?' || c == t) && by_trying(after, rest),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn a_glob_matches_what_trying_finds(pattern in "[ab*?]{0,7}", text in "[ab]{0,8}") {
            let found = glob(pattern.as_bytes(), text.as_bytes());
            prop_assert_eq!(found, by_trying(pattern.as_bytes(), text.as_bytes()));
        }
    }

    #[test]
    fn conditions_are_read_and_refused() {
        let read = |text: &str| text.parse::<Condition>().ok();
        let parts = |c: Condition| (c.key, c.comparison, c.value);
        let of =
            |key: &str, comparison, value: &str| (key.to_owned(), comparison, value.to_owned());
        assert_eq!(read("a=b").map(parts), Some(of("a", Comparison::Equal, "b")));
        assert_eq!(read("a != b=c").map(parts), Some(of("a", Comparison::NotEqual, "b=c")));
        assert_eq!(read("loss>=0.5").map(parts), Some(of("loss", Comparison::AtLeast, "0.5")));
        assert_eq!(read("note=").map(parts), Some(of("note", Comparison::Equal, "")));
        for refused in ["", "a", "=b", "a!b"] {
            assert!(read(refused).is_none(), "{refused}");
        }
    }

    #[test]
    fn numbers_compare_as_numbers_and_text_as_text() {
        let names = Names::default();
        let fits = |text: &str, value: Value| {
            text.parse::<Condition>().is_ok_and(|c| c.matches(&value, &names))
        };
        assert!(fits("x>9", Value::I64(10)));
        assert!(fits("x=1e1", Value::F64(10.0)));
        assert!(fits("x=true", Value::Bool(true)));
        assert!(!fits("x<1", Value::F64(f64::NAN)) && fits("x!=1", Value::F64(f64::NAN)));
        let text = || Value::Text { text: "abc".into(), cut: false };
        assert!(fits("x=abc", text()) && fits("x!=b", text()));
        assert!(!fits("x<5", text()) && !fits("x>5", text()), "text has no order");
    }

    #[test]
    fn what_filters_do_not_have_is_refused_with_words() {
        let refused = [
            "variant=\"unclosed",
            "load \"unclosed",
            "(",
            "index>100 or index<5",
            "index>100 and load",
            "load or",
            "index=100..200",
            "index=0..=9",
            "variant=~x",
            "index==3",
            "(index>3)",
            "(index=1)",
            "(index=1 index=2)",
            "index=(1)",
            "index=1)",
            "index=1 (rank=0)",
            "a=b c=d (x)",
        ];
        for text in refused {
            let refusal = text.parse::<Filter>().expect_err(text);
            assert!(
                matches!(refusal, TraceError::Filter { .. } | TraceError::NotANumber { .. }),
                "{text}: {refusal}"
            );
        }
        for text in ["variant=\"a", "index=100..200", "variant=~x"] {
            assert!(text.parse::<Condition>().is_err(), "--where {text}");
        }
        let value = |text: &str| text.parse::<Filter>().map(|f| f.conditions[0].value.clone()).ok();
        let taken =
            ["a=\"~x\"", "a=\"1..2\"", "a=~/data", "a=v1..v2", "a=(x", "a=\"(x)\"", "a=f(x)"];
        assert_eq!(
            taken.map(|t| value(t).unwrap_or_default()),
            ["~x", "1..2", "~/data", "v1..v2", "(x", "(x)", "f(x)"]
        );
        for (text, name) in [("\"or\"", "or"), ("forward(x)", "forward(x)"), ("\"a=b c\"", "a=b c")]
        {
            let filter: Filter = text.parse().expect(text);
            assert_eq!(filter.name, Some(NamePattern::new(name)));
        }
    }

    #[test]
    fn an_order_is_one_of_numbers() {
        for refused in ["lr>abc", "lr<=", "lr>=nan", "index<x"] {
            let refusal = refused.parse::<Condition>().expect_err(refused);
            assert!(matches!(refusal, TraceError::NotANumber { .. }), "{refusal}");
        }
        assert!("lr>=1e-3".parse::<Condition>().is_ok());
    }
}
