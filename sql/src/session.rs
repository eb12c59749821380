//! Runs that can be asked.

use crate::registry::Stores;
use crate::source::{self, Source};
use crate::{Limits, SqlError, attr, durations, statements, tables, views, wrong};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::execution::context::SQLOptions;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::object_store::ObjectStoreRegistry;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::prelude::{DataFrame, SessionConfig, SessionContext};
use datafusion::sql::parser::Statement;
use futures::StreamExt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// Names under which the engine files the tables.
const CATALOG: (&str, &str) = ("hodo", "runs");
/// Batches that wait for whoever takes the rows.
const AHEAD: usize = 4;

/// Which runs to ask.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Folders, beginnings of ids, addresses; the newest run if empty.
    pub names: Vec<String>,
    /// All runs of `dir`, whatever `names` says.
    pub all: bool,
    /// Where runs are.
    pub dir: PathBuf,
}

/// Runs that were opened, ready for queries.
#[derive(Debug)]
pub struct Session {
    context: SessionContext,
    limits: Limits,
    /// Keeps tables that were made for this session.
    _sources: Vec<Source>,
    /// What does not fit the memory goes here; it goes away with the session.
    _scratch: TempDir,
}

impl Session {
    /// Opens runs; `note` is told of what takes long.
    pub async fn open(
        asked: &Asked,
        limits: Limits,
        note: &(dyn Fn(&str) + Sync),
    ) -> Result<Session, SqlError> {
        let scratch = tempfile::Builder::new().prefix("hodo-sql-").tempdir();
        let scratch = scratch.map_err(|e| {
            SqlError::Failed(format!("cannot make a temporary folder: {e}; TMPDIR names another"))
        })?;
        let stores = Arc::new(Stores::default());
        let sources = match asked.all {
            true => source::all(&asked.dir, &*stores, note)?,
            false => source::find(&asked.names, &asked.dir, &*stores, note).await?,
        };
        let context = context(limits, scratch.path(), stores)?;
        tables::register(&context, &sources)?;
        source::check(&context, &sources).await?;
        views::register(&context).await.map_err(|e| SqlError::Failed(e.to_string()))?;
        Ok(Session { context, limits, _sources: sources, _scratch: scratch })
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
        let (send, batches) = mpsc::channel(AHEAD);
        let asked = Query { context: self.context.clone(), tables: self.tables(), text: text.to_owned() };
        // A task of its own: planning too may take longer than anyone wants to wait.
        let task = Some(tokio::spawn(asked.run(statement, most, send)));
        let deadline = self.limits.timeout.map(|timeout| Instant::now() + timeout);
        let mut answer =
            Answer { schema: None, batches, task, deadline, limits: self.limits };
        if let Some(Piece::Columns(schema)) = answer.piece().await? {
            answer.schema = Some(schema);
        }
        Ok(answer)
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
    let pool = FairSpillPool::new(limits.memory_bytes);
    let pool = TrackConsumersPool::new(pool, NonZeroUsize::MIN.saturating_add(2));
    let disk = DiskManagerBuilder::default()
        .with_mode(DiskManagerMode::Directories(vec![scratch.to_owned()]));
    RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(pool))
        .with_disk_manager_builder(disk)
        .with_object_store_registry(stores)
        .build_arc()
}

/// What a running query sends.
enum Piece {
    /// First, its columns.
    Columns(SchemaRef),
    /// Then rows.
    Rows(RecordBatch),
}

struct Query {
    context: SessionContext,
    tables: Vec<String>,
    text: String,
}

impl Query {
    async fn run(
        self,
        statement: Statement,
        most: Option<usize>,
        send: mpsc::Sender<Piece>,
    ) -> Result<(), SqlError> {
        let explain = |error| wrong::explain(error, &self.text, &self.tables);
        let frame = self.plan(statement, most).await?;
        let mut rows = frame.execute_stream().await.map_err(explain)?;
        // Nobody takes the rows any more: that is no failure of the query.
        let mut wanted = send.send(Piece::Columns(rows.schema())).await.is_ok();
        while let (true, Some(batch)) = (wanted, rows.next().await) {
            wanted = send.send(Piece::Rows(batch.map_err(explain)?)).await.is_ok();
        }
        Ok(())
    }

    async fn plan(&self, statement: Statement, most: Option<usize>) -> Result<DataFrame, SqlError> {
        let explain = |error| wrong::explain(error, &self.text, &self.tables);
        let plan = self.context.state().statement_to_plan(statement).await.map_err(explain)?;
        let reading = SQLOptions::new()
            .with_allow_ddl(false)
            .with_allow_dml(false)
            .with_allow_statements(false);
        reading.verify_plan(&plan).map_err(|e| {
            SqlError::NotAllowed(format!("hodo sql only reads: {}", e.strip_backtrace()))
        })?;
        let frame = self.context.execute_logical_plan(plan).await.map_err(explain)?;
        match most {
            Some(most) => frame.limit(0, Some(most)).map_err(explain),
            None => Ok(frame),
        }
    }
}

/// The rows of a statement, as they come.
#[derive(Debug)]
pub struct Answer {
    schema: Option<SchemaRef>,
    batches: mpsc::Receiver<Piece>,
    /// Until it has ended and said how.
    task: Option<JoinHandle<Result<(), SqlError>>>,
    deadline: Option<Instant>,
    limits: Limits,
}

impl Answer {
    /// Its columns.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone().unwrap_or_else(|| Arc::new(datafusion::arrow::datatypes::Schema::empty()))
    }

    /// The next rows; none when there are no more.
    pub async fn next(&mut self) -> Result<Option<RecordBatch>, SqlError> {
        match self.piece().await? {
            Some(Piece::Rows(batch)) => Ok(Some(batch)),
            _ => Ok(None),
        }
    }

    async fn piece(&mut self) -> Result<Option<Piece>, SqlError> {
        let piece = match self.deadline {
            None => self.batches.recv().await,
            Some(deadline) => {
                let late = tokio::time::timeout_at(deadline, self.batches.recv()).await;
                late.map_err(|_| self.too_late())?
            }
        };
        match piece {
            Some(piece) => Ok(Some(piece)),
            None => self.end().await.map(|()| None),
        }
    }

    /// How the query ended, once it sends nothing more.
    async fn end(&mut self) -> Result<(), SqlError> {
        let Some(task) = self.task.take() else { return Ok(()) };
        task.await.unwrap_or_else(|e| Err(SqlError::Failed(format!("the query engine failed: {e}"))))
    }

    fn too_late(&self) -> SqlError {
        let seconds = self.limits.timeout.unwrap_or_default().as_secs_f64();
        SqlError::Limit(format!(
            "the query took longer than {seconds} s and was stopped; --timeout gives it more time, \
             0 any"
        ))
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}
