//! Interned strings: scope names, attribute keys, literal values.
//!
//! A string keeps its id for the life of the process, across shutdown, start and fork; every arena
//! gets all of them before a record can use them.

use crate::process::Process;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Longest interned string in bytes; longer ones are cut and end in an ellipsis.
pub const MAX_NAME_BYTES: usize = 1024;
/// Longest symbol of a compiler: kernels made of templates take thousands of bytes, and those of one
/// template differ at the end.
pub const MAX_SYMBOL_BYTES: usize = 16 << 10;
/// Most strings that are interned; later ones all become [`TOO_MANY`].
pub const MAX_NAMES: usize = 1 << 20;
/// What stands for a string that found no place.
pub const TOO_MANY: &str = "(too many names)";
/// Its id.
pub const TOO_MANY_ID: u32 = 1;

/// Strings that were refused because there were too many.
static REFUSED: AtomicU64 = AtomicU64::new(0);
static NAMES: Mutex<Names> = Mutex::new(Names { ids: None, texts: Vec::new() });

/// Every string with its id; leaked, since ids stay valid for the life of the process.
pub struct Names {
    ids: Option<HashMap<&'static str, u32>>,
    texts: Vec<&'static str>,
}

impl Names {
    fn ids(&mut self) -> &mut HashMap<&'static str, u32> {
        if self.texts.is_empty() {
            self.texts.extend(["", TOO_MANY]);
        }
        self.ids.get_or_insert_with(|| HashMap::from([("", 0), (TOO_MANY, TOO_MANY_ID)]))
    }

    /// Every string, in order of its id.
    pub fn texts(&mut self) -> &[&'static str] {
        self.ids();
        &self.texts
    }
}

/// The table, locked.
pub fn lock() -> std::sync::MutexGuard<'static, Names> {
    crate::lock(&NAMES)
}

/// Strings refused so far.
pub fn refused() -> u64 {
    REFUSED.load(Ordering::Relaxed)
}

/// The id of `text`, new or known. In the arena of `process` before this returns.
pub fn intern(text: &str, process: Option<&Process>) -> u32 {
    intern_within(text, MAX_NAME_BYTES, process)
}

/// The same with another limit of bytes.
pub fn intern_within(text: &str, limit: usize, process: Option<&Process>) -> u32 {
    let text = cut(text, limit);
    let mut names = lock();
    if let Some(&id) = names.ids().get(&*text) {
        return id;
    }
    let id = names.texts.len() as u32;
    let kept = names.texts.len() < MAX_NAMES && process.is_none_or(|p| p.strings.keep(p, id, &text));
    if !kept {
        REFUSED.fetch_add(1, Ordering::Relaxed);
        return TOO_MANY_ID;
    }
    let text: &'static str = Box::leak(text.into_owned().into_boxed_str());
    names.texts.push(text);
    names.ids().insert(text, id);
    id
}

/// `text`, or as much of it as fits with an ellipsis, ending between characters.
fn cut(text: &str, limit: usize) -> std::borrow::Cow<'_, str> {
    if text.len() <= limit {
        return text.into();
    }
    let end = floor_boundary(text, limit - '…'.len_utf8());
    format!("{}…", &text[..end]).into()
}

/// The last character boundary at or before `at`.
pub fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_text_has_the_same_id() {
        let one = intern("names-test", None);
        assert_eq!(one, intern("names-test", None));
        assert_ne!(one, intern("names-test 2", None));
        assert_eq!(intern("", None), 0);
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        let long = "ä".repeat(MAX_NAME_BYTES);
        let id = intern(&long, None);
        let text = lock().texts()[id as usize];
        assert!(text.len() <= MAX_NAME_BYTES && text.ends_with('…'), "{}", text.len());
    }
}
