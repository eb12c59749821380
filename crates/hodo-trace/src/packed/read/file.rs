//! One Parquet file, a column of a row group at a time.

use super::column::Column;
use crate::packed::coding::Undecodable;
use crate::packed::schema::{GROUP_ROWS, Kind, SCHEMA, SCHEMA_KEY, TABLE_KEY, Table};
use crate::packed::values::Values;
use crate::read::plain;
use parquet::basic::Type;
use parquet::column::page::PageReader;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// Why a file, or a part of it, cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("{0}")]
    Parquet(#[from] ParquetError),
    #[error("a column {0}")]
    Undecodable(#[from] Undecodable),
    #[error("{0}")]
    Odd(String),
    #[error("its tables have schema {0}, and this version of hodo knows up to {SCHEMA}")]
    Newer(u32),
}

pub(super) fn odd<T>(why: impl Into<String>) -> Result<T, Unreadable> {
    Err(Unreadable::Odd(why.into()))
}

/// A table's file.
pub(crate) struct TableFile {
    file: SerializedFileReader<File>,
    table: Table,
    /// Whether something in it could not be read.
    spoilt: Arc<AtomicBool>,
}

impl TableFile {
    pub(crate) fn open(path: &Path, table: Table) -> Result<TableFile, Unreadable> {
        let file = SerializedFileReader::new(plain::open(path)?)?;
        let keys = file.metadata().file_metadata().key_value_metadata();
        let value = |key: &str| keys?.iter().find(|k| k.key == key)?.value.as_deref();
        let schema = value(SCHEMA_KEY).and_then(|text| text.parse().ok());
        match (schema, value(TABLE_KEY)) {
            (Some(newer), _) if newer > SCHEMA => Err(Unreadable::Newer(newer)),
            (Some(_), Some(name)) if name == table.name() => {
                Ok(TableFile { file, table, spoilt: Arc::default() })
            }
            (Some(_), Some(name)) => odd(format!("it is of the table `{name}`")),
            _ => odd("hodo did not write it"),
        }
    }

    /// Whether something in it could not be read.
    pub(super) fn is_spoilt(&self) -> bool {
        self.spoilt.load(Relaxed)
    }

    /// Row groups.
    pub(crate) fn groups(&self) -> usize {
        self.file.metadata().num_row_groups()
    }

    /// Rows and bytes of a group, and where it begins.
    pub(crate) fn extent(&self, group: usize) -> (usize, u64, u64) {
        let group = self.file.metadata().row_group(group);
        let first = group.columns().first().map_or(0, |column| column.data_page_offset());
        let not_negative = |number: i64| u64::try_from(number).unwrap_or(0);
        let rows = not_negative(group.num_rows()) as usize;
        (rows, not_negative(group.compressed_size()), not_negative(first))
    }

    /// Columns of a group.
    pub(super) fn scan<const N: usize>(
        &self,
        group: usize,
        names: [&str; N],
    ) -> Result<Scan<N>, Unreadable> {
        let mut columns = Vec::with_capacity(N);
        for name in names {
            columns.push(self.open_column(group, name)?);
        }
        match columns.try_into() {
            Ok(columns) => Ok(Scan { columns, spoilt: self.spoilt.clone() }),
            Err(_) => odd("a column is missing"),
        }
    }

    /// A column of a group.
    pub(crate) fn column(&self, group: usize, name: &str) -> Result<Values, Unreadable> {
        let (mut column, mut pages) = self.open_column(group, name)?;
        let mut read = || {
            while let Some(page) = pages.get_next_page()? {
                column.page(page)?;
            }
            std::mem::take(&mut column).finish()
        };
        read().inspect_err(|_| self.spoilt.store(true, Relaxed))
    }

    fn open_column(
        &self,
        group: usize,
        name: &str,
    ) -> Result<(Column, Box<dyn PageReader>), Unreadable> {
        self.find_column(group, name).inspect_err(|_| self.spoilt.store(true, Relaxed))
    }

    fn find_column(
        &self,
        group: usize,
        name: &str,
    ) -> Result<(Column, Box<dyn PageReader>), Unreadable> {
        let (rows, ..) = self.extent(group);
        if rows > GROUP_ROWS {
            return odd(format!("{rows} rows together, of which hodo writes {GROUP_ROWS} at most"));
        }
        let columns = self.file.metadata().file_metadata().schema_descr().columns();
        let field = self.table.fields().iter().find(|field| field.name == name);
        let at = columns.iter().position(|column| column.name() == name);
        let Some((field, at)) = field.zip(at) else { return odd(format!("no column `{name}`")) };
        let expected = match field.kind {
            Kind::Whole => Type::INT64,
            Kind::Number => Type::DOUBLE,
            Kind::Text => Type::BYTE_ARRAY,
        };
        let levels = columns[at].max_def_level();
        if columns[at].physical_type() != expected || columns[at].max_rep_level() > 0 || levels > 1
        {
            return odd(format!("the column `{name}` is of another type"));
        }
        let pages = self.file.get_row_group(group)?.get_column_page_reader(at)?;
        Ok((Column::new(field.kind, levels == 1, rows), pages))
    }

    /// A column of whole numbers that are all there.
    pub(crate) fn wholes(&self, group: usize, name: &str) -> Result<Vec<i64>, Unreadable> {
        match self.column(group, name)? {
            Values::Whole(values, None) => Ok(values),
            _ => odd(format!("the column `{name}` lacks values")),
        }
    }

    /// A column of whole numbers, and where they are there unless everywhere.
    pub(crate) fn some_wholes(
        &self,
        group: usize,
        name: &str,
    ) -> Result<(Vec<i64>, Option<Vec<bool>>), Unreadable> {
        match self.column(group, name)? {
            Values::Whole(values, there) => Ok((values, there)),
            _ => odd(format!("the column `{name}` is of another type")),
        }
    }

    /// A column of floats that are all there.
    pub(crate) fn numbers(&self, group: usize, name: &str) -> Result<Vec<f64>, Unreadable> {
        match self.column(group, name)? {
            Values::Number(values, None) => Ok(values),
            _ => odd(format!("the column `{name}` lacks values")),
        }
    }

    /// A column of texts.
    pub(crate) fn texts(
        &self,
        group: usize,
        name: &str,
    ) -> Result<(Vec<u32>, Vec<String>), Unreadable> {
        match self.column(group, name)? {
            Values::Text(codes, texts) => Ok((codes, texts)),
            _ => odd(format!("the column `{name}` is of another type")),
        }
    }
}

/// Some columns of a row group, read together some rows at a time.
pub(super) struct Scan<const N: usize> {
    columns: [(Column, Box<dyn PageReader>); N],
    spoilt: Arc<AtomicBool>,
}

impl<const N: usize> Scan<N> {
    /// Reads the next rows, in the place of those before; how many, none after the last.
    pub(super) fn next(&mut self) -> Result<Option<usize>, Unreadable> {
        self.read().inspect_err(|_| self.spoilt.store(true, Relaxed))
    }

    fn read(&mut self) -> Result<Option<usize>, Unreadable> {
        let mut rows = None;
        for (column, pages) in &mut self.columns {
            column.clear();
            while let Some(page) = pages.get_next_page()? {
                if column.page(page)? {
                    break;
                }
            }
            if *rows.get_or_insert(column.len()) != column.len() {
                return odd("its columns do not have the same rows");
            }
        }
        Ok(rows.filter(|&rows| rows > 0))
    }

    /// The columns, in the order they were asked for.
    pub(super) fn columns(&self) -> [&Column; N] {
        self.columns.each_ref().map(|(column, _)| column)
    }
}
