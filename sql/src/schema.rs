//! The tables of a run as the query engine sees them; their home is `hodo_trace`.

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use hodo_trace::packed::{Kind, Table};
use std::sync::Arc;

/// The columns of a table. A file that lacks one has nulls there.
pub fn of(table: Table) -> SchemaRef {
    let fields: Vec<Field> = table
        .fields()
        .iter()
        .map(|field| Field::new(field.name, type_of(field.kind), true))
        .collect();
    Arc::new(Schema::new(fields))
}

fn type_of(kind: Kind) -> DataType {
    match kind {
        Kind::Whole => DataType::Int64,
        Kind::Number => DataType::Float64,
        Kind::Text => DataType::Utf8View,
    }
}
