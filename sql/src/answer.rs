//! A statement that runs, and its rows as they come.

use crate::guard::Guard;
use crate::{Limits, SqlError, wrong};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::execution::context::SQLOptions;
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::{DataFrame, SessionContext};
use datafusion::sql::parser::Statement;
use futures::StreamExt;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Batches that wait for whoever takes the rows.
const AHEAD: usize = 4;

/// What a running query sends.
enum Piece {
    /// First, its columns.
    Columns(SchemaRef),
    /// Then rows.
    Rows(RecordBatch),
}

/// A statement to run: its text and the tables there are explain what is wrong with it.
pub struct Query {
    pub context: SessionContext,
    pub tables: Vec<String>,
    pub text: String,
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
        // These stand at the top of a plan or nowhere.
        let whole = matches!(
            plan,
            LogicalPlan::Explain(_) | LogicalPlan::Analyze(_) | LogicalPlan::DescribeTable(_)
        );
        let frame = self.context.execute_logical_plan(plan).await.map_err(explain)?;
        match most {
            Some(most) if !whole => frame.limit(0, Some(most)).map_err(explain),
            _ => Ok(frame),
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
    /// When it must have ended, its rows written.
    deadline: Option<Instant>,
    timeout: Option<Duration>,
    _memory: Guard,
}

impl Answer {
    /// Starts a query; its columns are known when this returns.
    pub(crate) async fn start(
        query: Query,
        statement: Statement,
        most: Option<usize>,
        limits: Limits,
        engine: &Handle,
    ) -> Result<Answer, SqlError> {
        let (send, batches) = mpsc::channel(AHEAD);
        // A task of its own: planning too may take longer than anyone wants to wait.
        let task = Some(engine.spawn(query.run(statement, most, send)));
        let (timeout, memory) = (limits.timeout, Guard::start(limits.memory_bytes));
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut answer = Answer { schema: None, batches, task, deadline, timeout, _memory: memory };
        if let Some(Piece::Columns(schema)) = answer.piece().await? {
            answer.schema = Some(schema);
        }
        Ok(answer)
    }

    /// Its columns.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone().unwrap_or_else(|| Arc::new(Schema::empty()))
    }

    /// The next rows; none when there are no more.
    pub async fn next(&mut self) -> Result<Option<RecordBatch>, SqlError> {
        match self.piece().await? {
            Some(Piece::Rows(batch)) => Ok(Some(batch)),
            _ => Ok(None),
        }
    }

    async fn piece(&mut self) -> Result<Option<Piece>, SqlError> {
        // Rows that are always there would never let anything else have a turn.
        tokio::task::yield_now().await;
        let piece = match self.deadline {
            None => self.batches.recv().await,
            Some(deadline) if Instant::now() >= deadline => return Err(self.too_late()),
            Some(deadline) => tokio::time::timeout_at(deadline.into(), self.batches.recv())
                .await
                .map_err(|_| self.too_late())?,
        };
        match piece {
            Some(piece) => Ok(Some(piece)),
            None => self.end().await.map(|()| None),
        }
    }

    /// How the query ended, once it sends nothing more.
    async fn end(&mut self) -> Result<(), SqlError> {
        let Some(task) = self.task.take() else { return Ok(()) };
        task.await.unwrap_or_else(|error| Err(SqlError::engine(error)))
    }

    fn too_late(&self) -> SqlError {
        let seconds = self.timeout.unwrap_or_default().as_secs_f64();
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
