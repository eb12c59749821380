//! Asking: statements one after the other, their rows to a sink, Ctrl-C stops them.

use hodo_sql::output::{Format, Sink, sink};
use hodo_sql::{Session, SqlError};
use std::future::Future;
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Instant;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// A session and how its answers are written.
pub struct Asker<'a> {
    pub session: &'a Session,
    pub format: Format,
    /// Where to, if not to standard output.
    pub output: Option<&'a Path>,
    /// Whether to tell how many rows there were and how long it took.
    pub is_chatty: bool,
}

impl Asker<'_> {
    /// Answers all statements of a text.
    pub async fn answer(&self, text: &str) -> Result<(), SqlError> {
        let statements = self.session.statements(text)?;
        if statements.is_empty() {
            return Err(SqlError::Query("there is no query; see hodo sql --help".into()));
        }
        if self.format == Format::Parquet && statements.len() > 1 {
            return Err(SqlError::Query("Parquet holds the rows of one statement only".into()));
        }
        match self.output {
            Some(file) => self.into_file(text, statements, file).await,
            None => {
                let mut out = sink(self.format, Box::new(io::stdout()));
                self.all(text, statements, &mut *out).await
            }
        }
    }

    /// The file appears under its name when it is complete; nothing is left when it is not.
    async fn into_file(
        &self,
        text: &str,
        statements: Vec<hodo_sql::Statement>,
        file: &Path,
    ) -> Result<(), SqlError> {
        let failed =
            |e: io::Error| SqlError::Failed(format!("cannot write {}: {e}", file.display()));
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        // The user's mask takes away what others may not do.
        let permissions = std::fs::Permissions::from_mode(0o666);
        let draft = tempfile::Builder::new()
            .permissions(permissions)
            .tempfile_in(folder.unwrap_or(Path::new(".")))
            .map_err(failed)?;
        hodo_sql::remove_at_end(draft.path());
        let mut out = sink(self.format, Box::new(draft.as_file()));
        self.all(text, statements, &mut *out).await?;
        drop(out);
        draft.persist(file).map_err(|e| failed(e.error))?;
        Ok(())
    }

    async fn all(
        &self,
        text: &str,
        statements: Vec<hodo_sql::Statement>,
        out: &mut dyn Sink,
    ) -> Result<(), SqlError> {
        for statement in statements {
            self.one(text, statement, out).await?;
        }
        out.finish()
    }

    async fn one(
        &self,
        text: &str,
        statement: hodo_sql::Statement,
        out: &mut dyn Sink,
    ) -> Result<(), SqlError> {
        let began = Instant::now();
        let mut answer = self.session.start(statement, text, self.most()).await?;
        out.begin(answer.schema())?;
        let mut rows = 0;
        while let Some(batch) = answer.next().await? {
            rows += batch.num_rows();
            out.rows(&batch)?;
        }
        out.end()?;
        if self.is_chatty {
            let rows = self.most().map_or(rows, |most| rows.min(most - 1));
            let rows = hodo_sql::plural(rows as u64, "row");
            println!("({rows}, {:.2} s)", began.elapsed().as_secs_f64());
        }
        Ok(())
    }

    /// Rows to ask for: one more than a table shows, which tells that there are more.
    fn most(&self) -> Option<usize> {
        match self.format {
            Format::Table(options) if options.most > 0 => Some(options.most.saturating_add(1)),
            _ => None,
        }
    }
}

/// Does `work` until it is done or Ctrl-C, SIGTERM or SIGHUP comes.
pub async fn interruptible<T>(
    work: impl Future<Output = Result<T, SqlError>>,
) -> Result<T, SqlError> {
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let [mut interrupt, mut terminate, mut hangup] = kinds.map(signal);
    let (interrupt, terminate, hangup) = (interrupt.as_mut(), terminate.as_mut(), hangup.as_mut());
    let came = |kind: SignalKind| Err(SqlError::Interrupted(kind.as_raw_value() as u8));
    tokio::select! {
        outcome = work => outcome,
        () = received(interrupt) => came(kinds[0]),
        () = received(terminate) => came(kinds[1]),
        () = received(hangup) => came(kinds[2]),
    }
}

/// Until a signal comes; for ever where it cannot be waited for.
async fn received(signal: Result<&mut Signal, &mut io::Error>) {
    match signal {
        Ok(signal) => _ = signal.recv().await,
        Err(_) => std::future::pending().await,
    }
}

/// Whether titles may stand out.
pub fn is_coloured(told: Option<bool>) -> bool {
    let variable =
        |name| std::env::var_os(name).is_some_and(|value: std::ffi::OsString| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    told.unwrap_or_else(|| {
        variable("CLICOLOR_FORCE") || io::stdout().is_terminal() && !variable("NO_COLOR") && !dumb
    })
}

/// Says something beside the data.
pub fn note(words: &str) {
    // A note that nobody can receive is no failure.
    let _ = writeln!(io::stderr(), "{words}");
}
