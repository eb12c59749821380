//! A table that lacks rows: it has its columns, and says why when it is asked.

use crate::schema;
use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::Session;
use datafusion::datasource::{TableProvider, TableType};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;
use hodo_trace::packed::Table;
use std::sync::Arc;

/// The table, and what is wrong with it.
#[derive(Debug)]
pub struct Spoilt {
    table: Table,
    why: String,
}

impl Spoilt {
    /// A table that cannot be asked.
    pub fn new(table: Table, why: &str) -> Spoilt {
        Spoilt { table, why: why.to_owned() }
    }
}

#[async_trait]
impl TableProvider for Spoilt {
    fn schema(&self) -> SchemaRef {
        schema::of(self.table)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _: &dyn Session,
        _: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let why = format!("the table {} is damaged: {}", self.table.name(), self.why);
        Err(DataFusionError::IoError(std::io::Error::other(why)))
    }
}
