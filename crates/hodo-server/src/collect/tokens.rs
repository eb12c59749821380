//! Who may ask: tokens, of which only the hashes are kept.

use super::durable;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// The file of tokens in the store's folder.
const FILE: &str = "tokens.json";
/// Random bytes of a token.
const SECRET_BYTES: usize = 32;
/// How tokens begin, so that they are known where they should not be.
const PREFIX: &str = "hodo_";
/// The longest name of a token.
const NAME_BYTES: usize = 64;

/// What a token is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenKind {
    /// Sends runs.
    Ingest,
    /// Reads them: the page and its API.
    Read,
    /// Both, of all runs, and removes them.
    Admin,
}

impl TokenKind {
    /// All kinds.
    pub const ALL: [TokenKind; 3] = [TokenKind::Ingest, TokenKind::Read, TokenKind::Admin];

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            TokenKind::Ingest => "ingest",
            TokenKind::Read => "read",
            TokenKind::Admin => "admin",
        }
    }
}

/// A token as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenInfo {
    /// Its id, by which it owns runs: a token of the same name made later is another.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it is for.
    pub kind: TokenKind,
    /// SHA-256 of its text, hex digits.
    pub sha256: String,
    /// Seconds since 1970 when it was made.
    pub made_s: u64,
    /// Bytes that its runs may take; none: as many as all may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// Requests in a second; none: the usual number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u32>,
}

/// Limits of a token that is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokenLimits {
    /// Bytes that its runs may take.
    pub max_bytes: Option<u64>,
    /// Requests in a second.
    pub rate: Option<u32>,
}

/// The tokens of a store, as they are in its file now.
pub struct Tokens {
    path: PathBuf,
    read: Mutex<(Option<Stamp>, Arc<Vec<TokenInfo>>)>,
}

/// By which a changed file is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    length: u64,
    changed: (i64, i64),
}

#[derive(Default, Serialize, Deserialize)]
struct File {
    format: u32,
    tokens: Vec<TokenInfo>,
}

impl Tokens {
    /// The tokens of the store in `dir`.
    pub fn new(dir: &Path) -> Tokens {
        Tokens { path: dir.join(FILE), read: Mutex::default() }
    }

    /// All of them. A file that changed is read again, so that a token that is removed is worth
    /// nothing at once; one that was there and is gone is an error, since nothing removes it.
    pub fn all(&self) -> io::Result<Arc<Vec<TokenInfo>>> {
        let now = stamp(&self.path)?;
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if now.is_none() && read.0.is_some() {
            let words = format!("{} is gone", self.path.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, words));
        }
        if read.0 != now {
            *read = (now, Arc::new(load(&self.path)?));
        }
        Ok(read.1.clone())
    }

    /// The token whose text is `given`. Takes as long for a wrong one as for a right one.
    pub fn find(&self, given: &str) -> Option<TokenInfo> {
        let hash = hash(given);
        let all = self.all().ok()?;
        all.iter().fold(None, |found, token| {
            if is_same(&token.sha256, &hash) { Some(token.clone()) } else { found }
        })
    }

    /// Whether a token is still worth what it was.
    pub fn has(&self, token: &TokenInfo) -> bool {
        let is_same = |one: &TokenInfo| (&one.id, &one.sha256) == (&token.id, &token.sha256);
        self.all().is_ok_and(|all| all.iter().any(is_same))
    }

    /// Makes a token; its text is told now and never again.
    pub fn add(&self, name: &str, kind: TokenKind, limits: TokenLimits) -> io::Result<String> {
        let bad = |words: String| io::Error::new(io::ErrorKind::InvalidInput, words);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.len() > NAME_BYTES || !name.chars().all(is_plain) {
            return Err(bad(format!(
                "`{name}` is no name for a token: letters, digits, `-`, `_` and `.`, {NAME_BYTES} \
                 at most"
            )));
        }
        // The folder of a store is for whoever runs the collector alone, also before its first start.
        self.path.parent().map_or(Ok(()), durable::make_folders)?;
        let _held = self.hold()?;
        let mut tokens = load(&self.path)?;
        if tokens.iter().any(|token| token.name == name) {
            return Err(bad(format!(
                "there is a token `{name}` already; remove it, or name another"
            )));
        }
        let text = format!("{PREFIX}{}", random_hex(SECRET_BYTES)?);
        let made_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
        let (id, sha256) = (random_hex(8)?, hash(&text));
        let TokenLimits { max_bytes, rate } = limits;
        tokens.push(TokenInfo { id, name: name.to_owned(), kind, sha256, made_s, max_bytes, rate });
        self.write(tokens)?;
        Ok(text)
    }

    /// Gives the token of that name another text, told now and never again; none where there is none.
    /// Its id stays, and with it its runs.
    pub fn rotate(&self, name: &str) -> io::Result<Option<String>> {
        let _held = self.hold()?;
        let mut tokens = load(&self.path)?;
        let Some(token) = tokens.iter_mut().find(|token| token.name == name) else {
            return Ok(None);
        };
        let text = format!("{PREFIX}{}", random_hex(SECRET_BYTES)?);
        token.sha256 = hash(&text);
        self.write(tokens)?;
        Ok(Some(text))
    }

    /// Removes the token of that name; false where there is none.
    pub fn remove(&self, name: &str) -> io::Result<bool> {
        let _held = self.hold()?;
        let mut tokens = load(&self.path)?;
        let before = tokens.len();
        tokens.retain(|token| token.name != name);
        let is_gone = tokens.len() < before;
        if is_gone {
            self.write(tokens)?;
        }
        Ok(is_gone)
    }

    /// One at a time reads, changes and writes: a token that is removed does not come back with one
    /// that is added meanwhile. Let go when the file is closed.
    fn hold(&self) -> io::Result<std::fs::File> {
        let file = durable::open(&self.path.with_extension("lock"), true)?;
        file.lock()?;
        Ok(file)
    }

    fn write(&self, tokens: Vec<TokenInfo>) -> io::Result<()> {
        let file = File { format: 1, tokens };
        durable::replace(&self.path, &serde_json::to_vec_pretty(&file)?)
    }
}

fn load(path: &Path) -> io::Result<Vec<TokenInfo>> {
    let text = match std::fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read?,
    };
    let file: File = serde_json::from_slice(&text).map_err(|error| {
        let words = format!("{} is damaged: {error}", path.display());
        io::Error::new(io::ErrorKind::InvalidData, words)
    })?;
    Ok(file.tokens)
}

fn stamp(path: &Path) -> io::Result<Option<Stamp>> {
    use std::os::unix::fs::MetadataExt;
    match path.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
        Ok(file) => Ok(Some(Stamp {
            inode: file.ino(),
            length: file.len(),
            changed: (file.ctime(), file.ctime_nsec()),
        })),
    }
}

fn hash(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn random_hex(bytes: usize) -> io::Result<String> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random)
        .map_err(|error| io::Error::other(format!("no random numbers: {error}")))?;
    Ok(hex(&random))
}

/// In a time that does not tell how much of it is right.
fn is_same(own: &str, given: &str) -> bool {
    let (own, given) = (own.as_bytes(), given.as_bytes());
    let differing = own.iter().zip(given).fold(0, |all, (a, b)| all | (a ^ b));
    own.len() == given.len() && std::hint::black_box(differing) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::testing::Folder;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_token_is_kept_as_its_hash_alone() -> io::Result<()> {
        let folder = Folder::new();
        let tokens = Tokens::new(folder.path());
        let text = tokens.add("gpu-node-1", TokenKind::Ingest, TokenLimits::default())?;
        assert_eq!(text.len(), PREFIX.len() + 64);
        let file = folder.path().join(FILE);
        assert!(!std::fs::read_to_string(&file)?.contains(&text[PREFIX.len()..]));
        assert_eq!(file.metadata()?.permissions().mode() & 0o777, 0o600);
        let found = tokens.find(&text).map(|token| (token.name, token.kind));
        assert_eq!(found, Some(("gpu-node-1".to_owned(), TokenKind::Ingest)));
        for wrong in ["", "hodo_", &text[1..], &text.to_uppercase(), &format!("{text}0")] {
            assert_eq!(tokens.find(wrong), None, "{wrong}");
        }
        // Neither its hash nor its id is worth anything.
        let kept = tokens.all()?[0].clone();
        assert_eq!((tokens.find(&kept.sha256), tokens.find(&kept.id)), (None, None));
        Ok(())
    }

    #[test]
    fn a_removed_token_is_worth_nothing_at_once() -> io::Result<()> {
        let folder = Folder::new();
        let (server, program) = (Tokens::new(folder.path()), Tokens::new(folder.path()));
        let text = program.add("one", TokenKind::Read, TokenLimits::default())?;
        let first = server.find(&text).map(|token| token.id);
        assert!(first.is_some());
        assert!(program.remove("one")? && !program.remove("one")?);
        assert_eq!(server.find(&text), None);
        let again = program.add("one", TokenKind::Read, TokenLimits::default())?;
        assert_ne!(server.find(&again).map(|token| token.id), first, "it is another token");
        Ok(())
    }

    #[test]
    fn many_who_change_tokens_at_once_lose_none() -> io::Result<()> {
        let folder = Folder::new();
        std::thread::scope(|scope| {
            for one in 0..4 {
                // Each as a program of its own.
                let tokens = Tokens::new(folder.path());
                scope.spawn(move || {
                    for number in 0..10 {
                        let name = format!("t{one}-{number}");
                        let made = tokens.add(&name, TokenKind::Read, TokenLimits::default());
                        assert!(made.is_ok(), "{made:?}");
                    }
                    assert!(tokens.remove(&format!("t{one}-3")).is_ok_and(|is_gone| is_gone));
                });
            }
        });
        let left = Tokens::new(folder.path()).all()?;
        assert_eq!(left.len(), 36);
        assert!(left.iter().all(|token| !token.name.ends_with("-3")));
        Ok(())
    }

    #[test]
    fn names_are_plain_and_there_once() -> io::Result<()> {
        let folder = Folder::new();
        let tokens = Tokens::new(folder.path());
        tokens.add("a", TokenKind::Read, TokenLimits::default())?;
        for wrong in ["a", "", "a b", "a/b", "ä", &"a".repeat(65)] {
            assert!(tokens.add(wrong, TokenKind::Read, TokenLimits::default()).is_err(), "{wrong}");
        }
        Ok(())
    }

    #[test]
    fn a_token_with_another_text_is_the_same_token() -> io::Result<()> {
        let folder = Folder::new();
        let tokens = Tokens::new(folder.path());
        let old = tokens.add("gpu-node-1", TokenKind::Ingest, TokenLimits::default())?;
        let before = tokens.find(&old).map(|token| token.id);
        let new = tokens.rotate("gpu-node-1")?.unwrap_or_default();
        assert_eq!(tokens.find(&old), None);
        assert_eq!(tokens.find(&new).map(|token| token.id), before);
        assert_eq!(tokens.rotate("another")?, None);
        Ok(())
    }
}
