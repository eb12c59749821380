//! Exports of a run, and imports of what other tools recorded.
//!
//! Perfetto protobuf and Chrome JSON place every scope on a row of its thread; scopes that cross,
//! and scopes that were not bound to one thread, get rows of their own, and none is left out. GPU
//! work lies on a row of its stream, with an arrow from the call that launched it.

pub mod chrome;
pub mod folded;
mod gpu;
pub mod import;
mod lanes;
mod machine;
pub mod otlp;
pub mod parquet;
pub mod perfetto;
pub mod rows;
pub mod speedscope;
mod timeline;

/// Why an export stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The output could not be written.
    #[error("cannot write the trace: {0}")]
    Write(#[from] std::io::Error),
    /// A value could not be put into JSON.
    #[error("cannot put a value into JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// Called now and then with the scopes and pieces of GPU work done and those there are.
pub type OnProgress<'a> = &'a dyn Fn(u64, u64);
