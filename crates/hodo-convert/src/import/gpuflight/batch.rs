//! A batch: rows of numbers whose columns stand beside them.

use serde_json::Value;

/// Rows by the names of their columns: older files have fewer.
pub struct Batch<'a> {
    base_ns: i64,
    columns: Vec<&'a str>,
    rows: &'a [Value],
}

impl<'a> Batch<'a> {
    /// The batch in a record.
    pub fn new(record: &'a Value) -> Batch<'a> {
        let list = |key: &str| record[key].as_array().map_or(&[][..], Vec::as_slice);
        Batch {
            base_ns: record["base_time_ns"].as_i64().unwrap_or(0),
            columns: list("columns").iter().map(|c| c.as_str().unwrap_or_default()).collect(),
            rows: list("rows"),
        }
    }

    /// Its rows.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows
            .iter()
            .map(|row| Row { batch: self, values: row.as_array().map_or(&[][..], Vec::as_slice) })
    }
}

/// A row.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    batch: &'a Batch<'a>,
    values: &'a [Value],
}

impl<'a> Row<'a> {
    fn get(&self, column: &str) -> Option<&'a Value> {
        let at = self.batch.columns.iter().position(|c| *c == column)?;
        self.values.get(at)
    }

    /// A whole number that is not below 0.
    pub fn number(&self, column: &str) -> Option<u64> {
        self.get(column)?.as_u64()
    }

    /// The same where only 32 bits make sense; 0 when there is none.
    pub fn half(&self, column: &str) -> u32 {
        self.number(column).and_then(|n| u32::try_from(n).ok()).unwrap_or(0)
    }

    /// Any number.
    pub fn float(&self, column: &str) -> Option<f64> {
        self.get(column)?.as_f64()
    }

    /// When it was, nanoseconds since 1970; a row may be before the batch's first.
    pub fn at_ns(&self) -> i64 {
        let dt_ns = self.get("dt_ns").and_then(Value::as_i64).unwrap_or(0);
        self.batch.base_ns.saturating_add(dt_ns)
    }

    /// Start and end.
    pub fn times(&self) -> (i64, i64) {
        let start_ns = self.at_ns();
        let duration = self.get("duration_ns").and_then(Value::as_i64).unwrap_or(0).max(0);
        (start_ns, start_ns.saturating_add(duration))
    }

    /// All its numbers with their columns.
    pub fn values(&self) -> impl Iterator<Item = (&'a str, f64)> {
        let pairs = self.batch.columns.iter().zip(self.values);
        pairs.filter_map(|(column, value)| Some((*column, value.as_f64()?)))
    }
}
