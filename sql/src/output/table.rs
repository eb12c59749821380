//! Aligned columns, cut to the width there is.

use super::Sink;
use super::cells::{self, Meaning};
use crate::SqlError;
use crate::term::text;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use std::io::Write;

const GAP: usize = 2;
/// A column is cut to this before a whole one is left out.
const NARROW: usize = 12;
const NULL: &str = "null";
/// Rows that decide how wide columns are.
const HELD: usize = 1000;

/// How tables look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableOptions {
    /// Cells a line may take.
    pub width: usize,
    /// Numbers as they are stored.
    pub exact: bool,
    /// Rows that are shown at most; 0 for all.
    pub most: usize,
    /// Titles stand out.
    pub colour: bool,
}

/// Writes tables; the first rows of a result are held, so that its columns line up.
pub struct Tables<W> {
    out: W,
    options: TableOptions,
    columns: Vec<Column>,
    /// The widths of the columns that are shown, once rows were written.
    shown: Option<Vec<usize>>,
    written: usize,
    begun: bool,
}

struct Column {
    title: String,
    meaning: Meaning,
    leans_right: bool,
    cells: Vec<Option<String>>,
}

impl<W: Write> Tables<W> {
    pub fn new(out: W, options: TableOptions) -> Tables<W> {
        Tables { out, options, columns: Vec::new(), shown: None, written: 0, begun: false }
    }

    fn held(&self) -> usize {
        self.columns.first().map_or(0, |column| column.cells.len())
    }

    /// Writes the rows that are held; says whether there are more than may be shown.
    fn write_held(&mut self) -> Result<bool, SqlError> {
        let rows = match self.options.most {
            0 => self.held(),
            most => self.held().min(most),
        };
        let more = self.held() > rows;
        self.columns.iter_mut().for_each(|column| column.cells.truncate(rows));
        if self.shown.is_none() {
            self.write_titles()?;
        }
        let shown = self.shown.clone().unwrap_or_default();
        for row in 0..rows {
            self.line(&shown, |c| c.cells[row].clone().unwrap_or_else(|| NULL.to_owned()))?;
        }
        self.columns.iter_mut().for_each(|column| column.cells.clear());
        self.written += rows;
        Ok(more)
    }

    fn write_titles(&mut self) -> Result<(), SqlError> {
        let natural: Vec<usize> = self.columns.iter().map(Column::natural).collect();
        let shown = layout(&natural, self.options.width);
        let [bold, plain] = if self.options.colour { ["\x1b[1m", "\x1b[0m"] } else { ["", ""] };
        write!(self.out, "{bold}")?;
        self.line(&shown, |column| column.title.clone())?;
        write!(self.out, "{plain}")?;
        self.shown = Some(shown);
        Ok(())
    }

    fn line(&mut self, shown: &[usize], of: impl Fn(&Column) -> String) -> Result<(), SqlError> {
        let mut line = String::new();
        for (column, &width) in self.columns.iter().zip(shown) {
            let cell = text::fit(&of(column), width);
            let pad = " ".repeat(width - text::width(&cell));
            let pieces = if column.leans_right { [&pad, &cell] } else { [&cell, &pad] };
            line.extend(pieces.into_iter().map(String::as_str).chain([&*" ".repeat(GAP)]));
        }
        writeln!(self.out, "{}", line.trim_end())?;
        Ok(())
    }
}

impl Column {
    fn natural(&self) -> usize {
        let cells = self.cells.iter().map(|cell| cell.as_deref().map_or(NULL.len(), text::width));
        cells.chain([text::width(&self.title)]).max().unwrap_or(0)
    }
}

/// The widths of the columns that are shown, which are the first ones.
fn layout(natural: &[usize], limit: usize) -> Vec<usize> {
    let mut widths = natural.to_vec();
    loop {
        let total = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
        let Some(excess) = total.checked_sub(limit).filter(|&excess| excess > 0) else {
            return widths;
        };
        match widths.iter_mut().max().filter(|width| **width > NARROW) {
            Some(width) => *width = (*width - excess.min(*width)).max(NARROW),
            None => match natural {
                [fewer @ .., _] if !fewer.is_empty() => return layout(fewer, limit),
                _ => return vec![limit.max(1)],
            },
        }
    }
}

impl<W: Write> Sink for Tables<W> {
    fn begin(&mut self, schema: SchemaRef) -> Result<(), SqlError> {
        let column = |field: &std::sync::Arc<datafusion::arrow::datatypes::Field>| Column {
            title: text::safe(field.name()),
            meaning: cells::meaning(field.name()),
            leans_right: field.data_type().is_numeric(),
            cells: Vec::new(),
        };
        self.columns = schema.fields().iter().map(column).collect();
        (self.shown, self.written) = (None, 0);
        if std::mem::replace(&mut self.begun, true) {
            writeln!(self.out)?;
        }
        Ok(())
    }

    fn rows(&mut self, batch: &RecordBatch) -> Result<(), SqlError> {
        for (column, values) in self.columns.iter_mut().zip(batch.columns()) {
            let cells = match self.options.exact {
                true => cells::exact(values)?,
                false => cells::readable(values, column.meaning)?,
            };
            column.cells.extend(cells.into_iter().map(|cell| cell.map(|cell| text::safe(&cell))));
        }
        if self.options.most == 0 && self.held() >= HELD {
            self.write_held()?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), SqlError> {
        let more = self.write_held()?;
        if more {
            let rows = text::plural(self.written as u64, "row");
            writeln!(self.out, "… only {rows} are shown; --rows 0 shows all")?;
        }
        let shown = self.shown.as_ref().map_or(0, Vec::len);
        if shown < self.columns.len() {
            let gone = self.columns[shown..].iter().map(|c| c.title.as_str());
            let gone = gone.collect::<Vec<_>>().join(", ");
            writeln!(self.out, "… no room for: {gone}")?;
        }
        Ok(self.out.flush()?)
    }

    fn finish(&mut self) -> Result<(), SqlError> {
        Ok(self.out.flush()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widest_column_gives_way_first_and_the_last_goes_before_none_can_be_read() {
        assert_eq!(layout(&[10, 20], 80), [10, 20]);
        assert_eq!(layout(&[10, 60], 40), [10, 28]);
        assert_eq!(layout(&[40, 60], 60), [40, 18]);
        assert_eq!(layout(&[30, 30, 30], 28), [14, 12]);
        assert_eq!(layout(&[100], 20), [20]);
    }
}
