//! Comma-separated values, as `hodo export --to csv` writes them.

use super::{Sink, cells};
use crate::SqlError;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use std::io::Write;

/// Writes a line of names, then a line a row; an empty line stands between two results.
pub struct Csv<W> {
    out: W,
    begun: bool,
}

impl<W: Write> Csv<W> {
    pub fn new(out: W) -> Csv<W> {
        Csv { out, begun: false }
    }

    fn line<'a>(&mut self, cells: impl Iterator<Item = Option<&'a str>>) -> Result<(), SqlError> {
        for (at, cell) in cells.enumerate() {
            if at > 0 {
                self.out.write_all(b",")?;
            }
            self.cell(cell)?;
        }
        Ok(self.out.write_all(b"\r\n")?)
    }

    fn cell(&mut self, cell: Option<&str>) -> Result<(), SqlError> {
        let Some(text) = cell else { return Ok(()) };
        // Empty text is told from null by its quotes.
        if text.is_empty() || text.contains([',', '"', '\n', '\r']) {
            write!(self.out, "\"{}\"", text.replace('"', "\"\""))?;
        } else {
            self.out.write_all(text.as_bytes())?;
        }
        Ok(())
    }
}

impl<W: Write> Sink for Csv<W> {
    fn begin(&mut self, schema: SchemaRef) -> Result<(), SqlError> {
        if std::mem::replace(&mut self.begun, true) {
            self.out.write_all(b"\r\n")?;
        }
        self.line(schema.fields().iter().map(|field| Some(field.name().as_str())))
    }

    fn rows(&mut self, batch: &RecordBatch) -> Result<(), SqlError> {
        let columns: Vec<_> = batch.columns().iter().map(cells::exact).collect::<Result<_, _>>()?;
        for row in 0..batch.num_rows() {
            self.line(columns.iter().map(|column| column[row].as_deref()))?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), SqlError> {
        Ok(())
    }

    fn finish(&mut self) -> Result<(), SqlError> {
        Ok(self.out.flush()?)
    }
}
