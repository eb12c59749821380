//! Runs that can be asked.

use crate::answer::{Answer, Query};
use crate::pool::Pool;
use crate::registry::Stores;
use crate::source::{self, Here};
use crate::{Limits, SqlError, attr, durations, statements, tables, views, wrong};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::TrackConsumersPool;
use datafusion::execution::object_store::ObjectStoreRegistry;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::sql::parser::Statement;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::runtime::Handle;

/// Names under which the engine files the tables.
const CATALOG: (&str, &str) = ("hodo", "runs");

/// Told of what took long.
pub type Note = fn(&str);

/// Which runs to ask.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Folders, beginnings of ids, addresses; the newest run if empty.
    pub names: Vec<String>,
    /// All runs of `dir`, whatever `names` says.
    pub all: bool,
    /// Where runs are.
    pub dir: PathBuf,
    /// For tables that are not kept and for what does not fit the memory. Whoever made the folder
    /// removes it.
    pub scratch: PathBuf,
}

/// Runs that were opened, ready for queries.
pub struct Session {
    context: SessionContext,
    limits: Limits,
    /// Where queries run. Whoever waits for them has a thread of its own, so that time and signals
    /// are noticed however busy these are.
    engine: Handle,
}

impl Session {
    /// Opens runs; queries will run on the threads that this runs on.
    pub async fn open(asked: &Asked, limits: Limits, note: Note) -> Result<Session, SqlError> {
        let here = Here { dir: &asked.dir, scratch: &asked.scratch, note };
        let stores = Arc::new(Stores::default());
        let sources = match asked.all {
            true => source::all(&here, &*stores)?,
            false => source::find(&asked.names, &here, &*stores).await?,
        };
        let context = context(limits, &asked.scratch, stores)?;
        let sources = source::check(&context, sources, note).await?;
        tables::register(&context, &sources)?;
        views::register(&context).await.map_err(|e| SqlError::Failed(e.to_string()))?;
        Ok(Session { context, limits, engine: Handle::current() })
    }

    /// The tables and views, by name.
    pub fn tables(&self) -> Vec<String> {
        let schema = self.context.catalog(CATALOG.0).and_then(|c| c.schema(CATALOG.1));
        let mut names = schema.map(|schema| schema.table_names()).unwrap_or_default();
        names.sort();
        names
    }

    /// The columns of a table.
    pub async fn schema(&self, table: &str) -> Result<SchemaRef, SqlError> {
        let found = self.context.table_provider(table).await;
        found.map(|t| t.schema()).map_err(|e| wrong::explain(e, table, &self.tables()))
    }

    /// The statements of a text. Those that do anything but read are refused.
    pub fn statements(&self, text: &str) -> Result<Vec<Statement>, SqlError> {
        statements::statements(text)
    }

    /// Starts a statement of `text`; `most` cuts what it gives.
    pub async fn start(
        &self,
        statement: Statement,
        text: &str,
        most: Option<usize>,
    ) -> Result<Answer, SqlError> {
        let query =
            Query { context: self.context.clone(), tables: self.tables(), text: text.to_owned() };
        Answer::start(query, statement, most, self.limits, &self.engine).await
    }
}

fn context(
    limits: Limits,
    scratch: &Path,
    stores: Arc<dyn ObjectStoreRegistry>,
) -> Result<SessionContext, SqlError> {
    let mut config = SessionConfig::new()
        .with_target_partitions(limits.threads)
        .with_information_schema(true)
        .with_default_catalog_and_schema(CATALOG.0, CATALOG.1);
    let options = config.options_mut();
    // Rows that a filter or the best so far of an `order by ... limit` rules out are not decoded.
    options.execution.parquet.pushdown_filters = true;
    options.execution.parquet.reorder_filters = true;
    // A view keeps its order: `select * from slowest` gives the slowest first.
    options.sql_parser.enable_subquery_sort_elimination = false;
    let runtime = runtime(limits, scratch, stores);
    let runtime = runtime.map_err(|e| SqlError::Failed(e.to_string()))?;
    let context = SessionContext::new_with_config_rt(config, runtime);
    context.register_udf(attr::function());
    context.register_udaf(durations::function());
    Ok(context)
}

fn runtime(
    limits: Limits,
    scratch: &Path,
    stores: Arc<dyn ObjectStoreRegistry>,
) -> datafusion::error::Result<Arc<RuntimeEnv>> {
    let pool = TrackConsumersPool::new(
        Pool::new(limits.memory_bytes),
        NonZeroUsize::MIN.saturating_add(2),
    );
    let disk = DiskManagerBuilder::default()
        .with_mode(DiskManagerMode::Directories(vec![scratch.to_owned()]));
    RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(pool))
        .with_disk_manager_builder(disk)
        .with_object_store_registry(stores)
        .build_arc()
}
