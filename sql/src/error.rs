//! What can go wrong, in words that say what to do.

use hodo_trace::TraceError;

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SqlError {
    /// A run could not be found or read.
    #[error("{0}")]
    Source(String),
    /// The query cannot be understood, or names what is not there.
    #[error("{0}")]
    Query(String),
    /// The query would change something.
    #[error("{0}")]
    NotAllowed(String),
    /// It took too long or too much memory.
    #[error("{0}")]
    Limit(String),
    /// Somebody pressed Ctrl-C, or the system asked for an end; by the number of the signal.
    #[error("interrupted")]
    Interrupted(u8),
    /// Something failed while the query ran.
    #[error("{0}")]
    Failed(String),
    /// The rows could not be written.
    #[error("cannot write the rows: {0}")]
    Output(#[from] std::io::Error),
}

impl SqlError {
    /// The exit code of a program that ends with it.
    pub fn exit_code(&self) -> u8 {
        match self {
            SqlError::Source(_) | SqlError::Failed(_) | SqlError::Output(_) => 1,
            SqlError::Query(_) | SqlError::NotAllowed(_) | SqlError::Limit(_) => 2,
            // What a shell says of a program that a signal ended.
            SqlError::Interrupted(signal) => 128 + signal,
        }
    }
}

impl SqlError {
    /// The engine gave up in the middle: it does so on files whose bytes make no sense.
    pub fn engine(error: tokio::task::JoinError) -> SqlError {
        let why = match error.try_into_panic() {
            Ok(panic) => match panic.downcast::<String>() {
                Ok(text) => *text,
                Err(panic) => panic.downcast_ref::<&str>().unwrap_or(&"").to_string(),
            },
            Err(error) => error.to_string(),
        };
        SqlError::Source(format!(
            "the query engine failed, as it does on damaged tables ({why}); `hodo verify` checks them"
        ))
    }
}

impl From<TraceError> for SqlError {
    fn from(error: TraceError) -> SqlError {
        SqlError::Source(error.to_string())
    }
}
