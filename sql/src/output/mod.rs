//! Rows as text or files.

mod cells;
mod csv;
mod json;
mod parquet;
mod table;

use crate::SqlError;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use std::io::{self, Write};

pub use table::TableOptions;

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Aligned columns for people.
    Table(TableOptions),
    /// Comma-separated values.
    Csv,
    /// An array of objects.
    Json,
    /// An object a line.
    Ndjson,
    /// One document with the results of all statements.
    Document,
    /// Parquet.
    Parquet,
}

/// Takes the results of statements, one after the other, and writes them.
pub trait Sink {
    /// A result begins.
    fn begin(&mut self, schema: SchemaRef) -> Result<(), SqlError>;
    /// Some of its rows.
    fn rows(&mut self, batch: &RecordBatch) -> Result<(), SqlError>;
    /// It is complete.
    fn end(&mut self) -> Result<(), SqlError>;
    /// All results are.
    fn finish(&mut self) -> Result<(), SqlError>;
}

/// What writes `format` to `out`.
pub fn sink<'a>(format: Format, out: Box<dyn Write + Send + 'a>) -> Box<dyn Sink + 'a> {
    let out = io::BufWriter::new(out);
    match format {
        Format::Table(options) => Box::new(table::Tables::new(out, options)),
        Format::Csv => Box::new(csv::Csv::new(out)),
        Format::Json => Box::new(json::Json::new(out, json::Frame::Array)),
        Format::Ndjson => Box::new(json::Json::new(out, json::Frame::Lines)),
        Format::Document => Box::new(json::Json::new(out, json::Frame::Document)),
        Format::Parquet => Box::new(parquet::Parquet::new(out)),
    }
}

/// What went wrong below a writer; whoever reads a pipe may have seen enough.
pub(crate) fn failed(error: impl std::error::Error + 'static) -> SqlError {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return SqlError::Output(io::Error::new(error.kind(), error.to_string()));
        }
        cause = error.source();
    }
    SqlError::Failed(format!("cannot write the rows: {error}"))
}
