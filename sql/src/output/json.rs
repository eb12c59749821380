//! JSON: an array of objects, an object a line, or one document.

use super::{Sink, failed};
use crate::SqlError;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::json::WriterBuilder;
use datafusion::arrow::json::writer::LineDelimited;
use serde_json::json;
use std::io::Write;

/// What stands around the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// `[...]` for every result.
    Array,
    /// Nothing.
    Lines,
    /// A document with all results and their columns.
    Document,
}

/// Writes a row as an object; null is written too.
pub struct Json<W> {
    out: W,
    frame: Frame,
    results: usize,
    rows: usize,
}

impl<W: Write> Json<W> {
    pub fn new(out: W, frame: Frame) -> Json<W> {
        Json { out, frame, results: 0, rows: 0 }
    }

    fn put(&mut self, text: &str) -> Result<(), SqlError> {
        Ok(self.out.write_all(text.as_bytes())?)
    }

    fn head(&mut self) -> Result<(), SqlError> {
        self.put(if self.results == 0 { "{\"schema\":\"hodo.sql/1\",\"results\":[" } else { "," })
    }
}

impl<W: Write> Sink for Json<W> {
    fn begin(&mut self, schema: SchemaRef) -> Result<(), SqlError> {
        match self.frame {
            Frame::Array => self.put("[")?,
            Frame::Lines => {}
            Frame::Document => {
                self.head()?;
                let columns = schema.fields().iter().map(
                    |field| json!({"name": field.name(), "type": field.data_type().to_string()}),
                );
                let columns = serde_json::Value::Array(columns.collect());
                self.put(&format!("{{\"columns\":{columns},\"rows\":["))?;
            }
        }
        (self.results, self.rows) = (self.results + 1, 0);
        Ok(())
    }

    fn rows(&mut self, batch: &RecordBatch) -> Result<(), SqlError> {
        let mut lines = Vec::new();
        let mut writer =
            WriterBuilder::new().with_explicit_nulls(true).build::<_, LineDelimited>(&mut lines);
        writer.write(batch).map_err(failed)?;
        writer.finish().map_err(failed)?;
        drop(writer);
        if self.frame == Frame::Lines {
            return Ok(self.out.write_all(&lines)?);
        }
        for line in lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            self.put(if self.rows == 0 { "\n" } else { ",\n" })?;
            self.out.write_all(line)?;
            self.rows += 1;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), SqlError> {
        match self.frame {
            Frame::Array => self.put("\n]\n"),
            Frame::Lines => Ok(()),
            Frame::Document => self.put("\n]}"),
        }
    }

    fn finish(&mut self) -> Result<(), SqlError> {
        if self.frame == Frame::Document {
            if self.results == 0 {
                self.head()?;
            }
            self.put("]}\n")?;
        }
        Ok(self.out.flush()?)
    }
}
