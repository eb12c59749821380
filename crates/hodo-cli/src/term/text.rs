//! Text from a run made safe to print: a scope's name must not be able to drive the terminal.

use std::fmt::Write;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// `text` with every character that a terminal acts on, or that reorders or hides text, written as an escape.
pub fn safe(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        push_safe(&mut out, c);
    }
    out
}

fn push_safe(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\t' => out.push_str("\\t"),
        '\r' => out.push_str("\\r"),
        '\x1b' => out.push_str("\\e"),
        c if is_unsafe(c) => {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{{{:x}}}", c as u32);
        }
        c => out.push(c),
    }
}

/// Control characters (C0, DEL, C1), and format characters that reorder, hide or join text.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Terminal cells `text` takes.
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// `text` in at most `cells`, its end replaced by `…` when it is longer.
pub fn fit(text: &str, cells: usize) -> String {
    if width(text) <= cells {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > cells {
            break;
        }
        out.push(c);
    }
    if cells > 0 {
        out.push('…');
    }
    out
}

/// `text` broken between words into lines of at most `cells`; a longer word stays whole.
pub fn wrap(text: &str, cells: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().filter(|l| l.is_empty() || width(l) + 1 + width(word) <= cells);
        match line {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) => line.extend([" ", word]),
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

/// `1 scope`, `2 scopes`.
pub fn plural(n: u64, one: &str) -> String {
    let (stem, ending) = match one.strip_suffix('y') {
        _ if n == 1 => (one, ""),
        Some(stem) => (stem, "ies"),
        None if one.ends_with("ss") || one.ends_with("ch") => (one, "es"),
        None => (one, "s"),
    };
    format!("{} {stem}{ending}", super::number::count(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_do_not_reach_the_terminal() {
        assert_eq!(safe("a\x1b[2Jb"), "a\\e[2Jb");
        assert_eq!(safe("x\u{9b}31m\u{7f}"), "x\\u{9b}31m\\u{7f}");
        assert_eq!(safe("one\r\ntwo\t\0"), "one\\r\\ntwo\\t\\u{0}");
        assert_eq!(safe("ab\u{202e}cd\u{200b}"), "ab\\u{202e}cd\\u{200b}");
        assert_eq!(safe("Größe 模型 🚀"), "Größe 模型 🚀");
    }

    #[test]
    fn fitting_counts_cells_not_characters() {
        assert_eq!(fit("forward", 7), "forward");
        assert_eq!(fit("forward", 4), "for…");
        assert_eq!(fit("模型模型", 5), "模型…");
        assert_eq!(fit("abc", 0), "");
    }

    #[test]
    fn wrapping_breaks_between_words() {
        assert_eq!(wrap("10 produced = 10 stored", 13), ["10 produced =", "10 stored"]);
        assert_eq!(wrap("extraordinarily", 5), ["extraordinarily"]);
        assert_eq!(wrap("as is", usize::MAX), ["as is"]);
    }

    #[test]
    fn plurals() {
        assert_eq!(plural(1, "process"), "1 process");
        assert_eq!(plural(2, "process"), "2 processes");
        assert_eq!(plural(12_345, "scope"), "12 345 scopes");
        assert_eq!((plural(1, "copy"), plural(2, "copy")), ("1 copy".into(), "2 copies".into()));
        assert_eq!(plural(0, "batch"), "0 batches");
    }
}
