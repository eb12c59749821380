//! What of an address or a token may be shown.

/// How tokens of `hodo serve` begin.
const BEGINS: &str = "hodo_";
/// Characters behind that beginning that tell one token from another and let nobody guess it.
const SHOWN: usize = 4;
/// A shorter word behind that beginning is no token.
const LEAST: usize = 16;

/// A token as it may be shown: its beginning, where it is one of `hodo serve`'s.
pub fn shown_token(token: &str) -> String {
    let secret = token.trim().strip_prefix(BEGINS).filter(|secret| secret.len() >= LEAST);
    let some: String =
        secret.map(|secret| secret.chars().take(SHOWN).collect()).unwrap_or_default();
    let begins = if secret.is_some() { BEGINS } else { "" };
    format!("{begins}{some}…")
}

/// Text, such as an address or a reason, without the passwords and tokens that somebody may have put into it.
pub fn shown(text: &str) -> String {
    let of_word = |text: &str| {
        let word = text.trim_end();
        without_tokens(&without_password(word)) + &text[word.len()..]
    };
    text.split_inclusive(char::is_whitespace).map(of_word).collect()
}

/// An address without the name and password that are before its host, and without what is asked there.
fn without_password(word: &str) -> String {
    let begins = word.find("://").map_or(0, |at| at + 3);
    let (scheme, rest) = word.split_at(begins);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let is_port = |text: &str| text.bytes().all(|c| c.is_ascii_digit());
    // A password with a slash in it hides what it belongs to, but is no port.
    let has_password = authority.split_once(':').is_some_and(|(_, rest)| !is_port(rest));
    let has_name = begins > 0 && authority.contains('@');
    // It may begin as a port does.
    let may_have_password = |at: usize| begins > 0 && rest[..at].contains(':');
    let hidden = rest.rfind('@').filter(|at| has_password || has_name || may_have_password(*at));
    let (before, rest) = hidden.map_or(("", rest), |at| ("…", &rest[at..]));
    let asked = rest.find(['?', '#']).filter(|_| begins > 0);
    let (rest, after) = asked.map_or((rest, ""), |at| (&rest[..=at], "…"));
    format!("{scheme}{before}{rest}{after}")
}

fn without_tokens(word: &str) -> String {
    let mut out = String::new();
    let mut rest = word;
    while let Some(at) = rest.find(BEGINS) {
        let (before, token) = rest.split_at(at);
        let is_of_it = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = token.find(|c| !is_of_it(c)).unwrap_or(token.len());
        out += before;
        match end >= BEGINS.len() + LEAST {
            true => out += &shown_token(&token[..end]),
            false => out += &token[..end],
        }
        rest = &token[end..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_token_its_beginning_is_shown() {
        assert_eq!(shown_token("hodo_fcea0123456789abcdef0123456789abcdef"), "hodo_fcea…");
        for short in ["", "abc", "hodo_abc", "a-token-of-some-proxy-that-is-long"] {
            assert_eq!(shown_token(short), "…", "{short}");
        }
    }

    #[test]
    fn addresses_are_shown_without_passwords_and_tokens() {
        for (address, told) in [
            ("https://runs.example:7430", "https://runs.example:7430"),
            ("https://me:hush@runs.example", "https://…@runs.example"),
            ("http://me:hu/sh@runs.example:1/x", "http://…@runs.example:1/x"),
            ("me:hush@runs.example:7430", "…@runs.example:7430"),
            ("https://me:12/34@runs.example", "https://…@runs.example"),
            ("https://a/?key=hush it says", "https://a/?… it says"),
            ("https://me:hush@a/?key=hush", "https://…@a/?…"),
            ("https://me:hu?sh@a", "https://…@a"),
            ("https://a/hodo_fcea0123456789abcdef", "https://a/hodo_fcea…"),
            ("hodo_fcea0123456789abcdef: not an address", "hodo_fcea…: not an address"),
            (
                "cannot read /home/me/hodo_token: No such file",
                "cannot read /home/me/hodo_token: No such file",
            ),
            ("mail a@b, see https://a/x@y", "mail a@b, see https://a/x@y"),
        ] {
            assert_eq!(shown(address), told);
        }
    }
}
