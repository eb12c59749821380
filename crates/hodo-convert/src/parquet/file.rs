//! One Parquet file.

use super::Failure;
use super::chunk::Encoder;
use hodo_trace::packed::{GROUP_ROWS, Kind, Rows, SCHEMA, SCHEMA_KEY, TABLE_KEY, Table};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

const BUFFER_BYTES: usize = 1 << 20;

/// Writes the rows of a table as a Parquet file; `step` is called with the rows of each group that
/// is done.
pub(super) fn write(
    path: &Path,
    table: Table,
    rows: Option<&dyn Rows>,
    step: &mut dyn FnMut(usize),
) -> Result<Sum, Failure> {
    let out = Summed { file: File::create_new(path)?, sum: Sum::default() };
    let out = BufWriter::with_capacity(BUFFER_BYTES, out);
    let mut file = SerializedFileWriter::new(out, schema(table)?, properties(table))?;
    let mut encoder = Encoder::new()?;
    let columns = file.schema_descr().columns().to_vec();
    let len = rows.map_or(0, Rows::len);
    for first in (0..len).step_by(GROUP_ROWS) {
        let range = first..(first + GROUP_ROWS).min(len);
        let mut group = file.next_row_group()?;
        for (field, column) in table.fields().iter().zip(&columns) {
            let Some(rows) = rows else { continue };
            let values = rows.column(field.name, range.clone());
            let chunk = encoder.encode(field, column, &values)?;
            group.append_column(&chunk.bytes, chunk.close)?;
        }
        group.close()?;
        step(range.len());
    }
    let out = file.into_inner()?;
    let out = out.into_inner().map_err(|error| error.into_error())?;
    out.file.sync_all()?;
    Ok(out.sum)
}

/// What was written.
#[derive(Clone, Copy, Default)]
pub(super) struct Sum {
    pub(super) bytes: u64,
    pub(super) crc32c: u32,
}

/// A file that is summed up on the way.
struct Summed {
    file: File,
    sum: Sum,
}

impl Write for Summed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = self.file.write(bytes)?;
        self.sum.bytes += len as u64;
        self.sum.crc32c = crc32c::crc32c_append(self.sum.crc32c, &bytes[..len]);
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn properties(table: Table) -> Arc<WriterProperties> {
    let key = |key: &str, value: String| KeyValue::new(key.to_owned(), value);
    let keys = vec![key(SCHEMA_KEY, SCHEMA.to_string()), key(TABLE_KEY, table.name().to_owned())];
    let made_by = format!("hodo version {}", env!("CARGO_PKG_VERSION"));
    let properties = WriterProperties::builder().set_created_by(made_by);
    Arc::new(properties.set_key_value_metadata(Some(keys)).build())
}

fn schema(table: Table) -> Result<TypePtr, Failure> {
    let column = |field: &hodo_trace::packed::Field| {
        let (physical, logical) = match field.kind {
            Kind::Whole => (Physical::INT64, None),
            Kind::Number => (Physical::DOUBLE, None),
            Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let repetition = if field.optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let column = Type::primitive_type_builder(field.name, physical);
        let column = column.with_logical_type(logical).with_repetition(repetition).build()?;
        Ok::<_, Failure>(Arc::new(column))
    };
    let columns = table.fields().iter().map(column).collect::<Result<Vec<_>, _>>()?;
    Ok(Arc::new(Type::group_type_builder(table.name()).with_fields(columns).build()?))
}
