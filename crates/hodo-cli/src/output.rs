//! How verbs answer: data on standard output, an exit code, or a failure that says what to do.

use hodo_trace::TraceError;
use serde_json::Value;
use std::io::{self, Write};
use std::path::Path;

/// The exit code of a verb that ran, or why it could not.
pub type Outcome = Result<u8, Failure>;

/// A scope is slower than allowed.
pub const REGRESSION: u8 = 3;
/// Two sides could not be compared.
pub const NOT_COMPARABLE: u8 = 4;

/// Why a verb could not do its work.
#[derive(Debug)]
pub enum Failure {
    /// The command line asks for something that cannot be: exit code 2.
    Usage(String),
    /// The work failed: exit code 1.
    Failed(String),
    /// There is too little, or nothing alike, to compare: exit code 4.
    NotComparable(String),
    /// Standard output could not be written.
    Output(io::Error),
}

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Failure {
        match error {
            TraceError::Condition { .. }
            | TraceError::NotANumber { .. }
            | TraceError::Filter { .. } => Failure::Usage(error.to_string()),
            other => Failure::Failed(other.to_string()),
        }
    }
}

/// Only writes to standard output are converted with `?`; other files go through [`file_error`].
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Output(error)
    }
}

/// A failure that names the file it happened to.
pub fn file_error(doing: &str, path: &Path, error: &io::Error) -> Failure {
    let hint = match (error.kind(), doing) {
        (io::ErrorKind::PermissionDenied, "read") => "; its owner may, or root",
        (io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem, _) => {
            "; name a place that you may write to, for runs by --dir or HODO_DIR"
        }
        _ => "",
    };
    Failure::Failed(format!("cannot {doing} {}: {error}{hint}", path.display()))
}

/// Says something beside the data, on standard error.
pub fn note(words: &str) {
    // A note that nobody can receive is no failure.
    let _ = writeln!(io::stderr(), "{}", crate::term::text::safe(words));
}

/// Prints one JSON document with sorted keys.
pub fn json(document: &Value) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    serde_json::to_writer_pretty(&mut out, document)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Says a failure on standard error and gives the exit code for it.
pub fn exit_code(outcome: Outcome) -> u8 {
    let (message, code) = match outcome {
        Ok(code) => return code,
        // Whoever read our output has seen enough, as in `hodo report | head`.
        Err(Failure::Output(e)) if e.kind() == io::ErrorKind::BrokenPipe => return 0,
        Err(Failure::Output(e)) => (format!("cannot write the output: {e}"), 1),
        Err(Failure::Failed(message)) => (message, 1),
        Err(Failure::Usage(message)) => (message, 2),
        Err(Failure::NotComparable(message)) => (message, NOT_COMPARABLE),
    };
    error(&message);
    code
}

/// Says a failure on standard error.
pub fn error(message: &str) {
    let message = crate::term::text::safe(message);
    // Nothing is left to do when standard error is gone too.
    let _ = writeln!(
        anstream::stderr(),
        "{} {message}",
        crate::term::style::paint(crate::term::style::HOT, "error:")
    );
}
