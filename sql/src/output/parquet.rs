//! Parquet, of one result.

use super::{Sink, failed};
use crate::SqlError;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::{Compression, ZstdLevel};
use datafusion::parquet::file::properties::WriterProperties;
use std::io::Write;

/// Where the file stands.
enum Stage<W: Write + Send> {
    Waiting(W),
    Writing(ArrowWriter<W>),
    Done,
}

/// Writes one result, zstd.
pub struct Parquet<W: Write + Send>(Stage<W>);

impl<W: Write + Send> Parquet<W> {
    pub fn new(out: W) -> Parquet<W> {
        Parquet(Stage::Waiting(out))
    }
}

impl<W: Write + Send> Sink for Parquet<W> {
    fn begin(&mut self, schema: SchemaRef) -> Result<(), SqlError> {
        let Stage::Waiting(out) = std::mem::replace(&mut self.0, Stage::Done) else {
            return Err(SqlError::Query(
                "a Parquet file holds the rows of one statement only".into(),
            ));
        };
        let zstd = Compression::ZSTD(ZstdLevel::default());
        let properties = WriterProperties::builder().set_compression(zstd).build();
        let writer = ArrowWriter::try_new(out, schema, Some(properties)).map_err(failed)?;
        self.0 = Stage::Writing(writer);
        Ok(())
    }

    fn rows(&mut self, batch: &RecordBatch) -> Result<(), SqlError> {
        match &mut self.0 {
            Stage::Writing(writer) => writer.write(batch).map_err(failed),
            _ => Ok(()),
        }
    }

    fn end(&mut self) -> Result<(), SqlError> {
        if let Stage::Writing(writer) = std::mem::replace(&mut self.0, Stage::Done) {
            writer.into_inner().map_err(failed)?.flush()?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), SqlError> {
        Ok(())
    }
}
