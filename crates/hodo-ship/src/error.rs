//! Why a run was not shipped.

use std::path::PathBuf;
use std::time::Duration;

/// Why shipping ended before all was there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShipError {
    /// The address makes no sense.
    #[error("{0}: not an address like https://collector.example:7430")]
    Address(String),
    /// The address has a name and a password in it.
    #[error(
        "the address of the collector must not have a password in it; a token goes into HODO_TOKEN \
         or a file (--token-file)"
    )]
    Secret,
    /// The token would be sent in the open.
    #[error(
        "{0}: whoever is on the way there could read the token; use https://, or where the network \
         is your own --plain-http (HODO_PLAIN_HTTP=1)"
    )]
    Plain(String),
    /// The token cannot be sent.
    #[error("the token is empty or has characters that no token has; check HODO_TOKEN or its file")]
    Token,
    /// The file of the token cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    TokenFile {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// There is no token.
    #[error(
        "no token: set HODO_TOKEN, or name a file that has it (--token-file, HODO_TOKEN_FILE); \
         `hodo serve token add NAME --kind ingest` at the collector makes one"
    )]
    NoToken,
    /// A file of certificates cannot be used.
    #[error("{}: {why}", path.display())]
    Certificates {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The run's folder has a name that the collector does not take.
    #[error(
        "{0:?} cannot be the id of a run at a collector: letters, digits, `.`, `_` and `-`, at most \
         128, the first a letter or digit; rename the folder"
    )]
    Id(String),
    /// The folder is not a run's.
    #[error("{}: {why}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A file of the run cannot be read.
    #[error(
        "{0}; the rest was sent, and the collector was not told that this is all: mend that, and \
         `hodo push` goes on from there"
    )]
    Unreadable(String),
    /// The token is not one.
    #[error("{url} does not know this token ({why})")]
    Unauthorized {
        /// The collector.
        url: String,
        /// What it said.
        why: String,
    },
    /// The token may not do this.
    #[error("{url} refuses this run: {why}")]
    Forbidden {
        /// The collector.
        url: String,
        /// What it said.
        why: String,
    },
    /// Whoever answers is no collector.
    #[error("{url} answers, but not as a collector ({why}); is that `hodo serve`?")]
    NoCollector {
        /// The address.
        url: String,
        /// What it said.
        why: String,
    },
    /// Its certificate is not believed.
    #[error("{0}")]
    Stranger(String),
    /// Nothing was taken for too long.
    #[error(
        "gave up: for {} the collector took nothing ({why}); `hodo push` sends what is left",
        seconds(*.waited)
    )]
    GaveUp {
        /// How long.
        waited: Duration,
        /// What the last try failed with.
        why: String,
    },
    /// Some files were refused.
    #[error(
        "{count} of the run's files were refused, so the collector was not told that this is all; \
         the first: {first}"
    )]
    Files {
        /// How many.
        count: usize,
        /// Its name, and why.
        first: String,
    },
}

fn seconds(time: Duration) -> String {
    match time.as_secs() {
        s @ 0..120 => format!("{s} s"),
        s @ 120..7200 => format!("{} min", s / 60),
        s => format!("{} h", s / 3600),
    }
}
