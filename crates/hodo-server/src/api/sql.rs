//! Questions in SQL, answered by the program `hodo-sql`.

use super::extract::Body;
use crate::error::ApiError;
use crate::state::Shared;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Value, json};
use std::fmt::Formatter;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

const PROGRAM: &str = "hodo-sql";
const VARIABLE: &str = "HODO_SQL";
/// The longest a statement may take, and the program as a whole.
const STATEMENT_TIME: &str = "30s";
const WHOLE_TIME: Duration = Duration::from_secs(60);
const MEMORY: &str = "1g";
/// Rows of one answer.
const MOST_ROWS: usize = 5000;
/// What the program may write; more is no answer for a page.
const MOST_BYTES: u64 = 64 << 20;
/// Runs that one question may be about.
pub const MOST_RUNS: usize = 64;

/// A question.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    query: String,
    #[serde(default)]
    runs: Vec<String>,
}

/// `POST /api/sql`.
pub async fn ask(
    State(shared): State<Shared>,
    Body(Question { query, runs }): Body<Question>,
) -> Result<Json<Value>, ApiError> {
    let program = program().ok_or_else(|| ApiError::new(StatusCode::NOT_IMPLEMENTED, advice()))?;
    if query.trim().is_empty() {
        return Err(ApiError::bad("the query is empty; try: select * from tree"));
    }
    if runs.len() > MOST_RUNS {
        return Err(ApiError::bad(format!(
            "{} runs are too many; ask {MOST_RUNS} at most",
            runs.len()
        )));
    }
    let mut command = Command::new(program);
    command.args(["--json", "--timeout", STATEMENT_TIME, "--memory", MEMORY]);
    command.arg("--dir").arg(shared.store.dir());
    for run in &runs {
        command.arg(shared.store.folder_of(run)?);
    }
    command.arg("-").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.kill_on_drop(true);
    let began = Instant::now();
    let failed = |error| {
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, format!("cannot run {PROGRAM}: {error}"))
    };
    let child = command.spawn().map_err(failed)?;
    let said = tokio::time::timeout(WHOLE_TIME, converse(child, &query)).await;
    let said = said.map_err(|_| {
        ApiError::new(
            StatusCode::GATEWAY_TIMEOUT,
            "the query took too long; ask for less, or ask `hodo sql`",
        )
    })?;
    let (answer, errors, is_good) = said.map_err(failed)?;
    if !is_good {
        return Err(ApiError::bad(errors.trim().trim_start_matches("error: ").to_owned()));
    }
    Ok(Json(rows(&answer, began.elapsed())?))
}

/// Whether questions can be asked.
pub fn is_there() -> bool {
    program().is_some()
}

/// What the program wrote, its complaints, whether it was content.
async fn converse(mut child: Child, query: &str) -> std::io::Result<(Vec<u8>, String, bool)> {
    let (mut to, from, complaints) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let tell = async {
        if let Some(to) = &mut to {
            // A program that has heard enough closes its ear.
            let _ = to.write_all(query.as_bytes()).await;
        }
        drop(to.take());
    };
    let listen = async {
        let mut answer = Vec::new();
        if let Some(from) = from {
            from.take(MOST_BYTES).read_to_end(&mut answer).await?;
        }
        std::io::Result::Ok(answer)
    };
    let errors = async {
        let mut errors = Vec::new();
        if let Some(complaints) = complaints {
            complaints.take(1 << 16).read_to_end(&mut errors).await?;
        }
        std::io::Result::Ok(String::from_utf8_lossy(&errors).into_owned())
    };
    let ((), answer, errors) = tokio::join!(tell, listen, errors);
    let answer = answer?;
    if answer.len() as u64 >= MOST_BYTES {
        child.kill().await?;
        return Ok((Vec::new(), "the answer is too large; add a limit".to_owned(), false));
    }
    Ok((answer, errors?, child.wait().await?.success()))
}

/// What the program writes; other keys are of no use here.
#[derive(Deserialize)]
struct Answer {
    results: Vec<Table>,
}

#[derive(Deserialize)]
struct Table {
    columns: Vec<Value>,
    rows: Vec<Row>,
}

/// The values of an object in the order they stand: those of a join may have one name twice.
struct Row(Vec<Value>);

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Row, D::Error> {
        struct Values;
        impl<'de> Visitor<'de> for Values {
            type Value = Row;

            fn expecting(&self, to: &mut Formatter<'_>) -> std::fmt::Result {
                to.write_str("a row as an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Row, M::Error> {
                let mut values = Vec::new();
                while let Some((_, value)) = map.next_entry::<IgnoredAny, Value>()? {
                    values.push(value);
                }
                Ok(Row(values))
            }
        }
        from.deserialize_map(Values)
    }
}

/// The last result, rows as arrays.
fn rows(answer: &[u8], took: Duration) -> Result<Value, ApiError> {
    let strange = || {
        let words = format!("{PROGRAM} answered strangely; is it as new as hodo?");
        ApiError::new(StatusCode::BAD_GATEWAY, words)
    };
    let answer: Answer = serde_json::from_slice(answer).map_err(|_| strange())?;
    let took_ms = took.as_millis() as u64;
    let Some(Table { columns, rows }) = answer.results.into_iter().next_back() else {
        return Ok(json!({"columns": [], "rows": [], "cut": false, "took_ms": took_ms}));
    };
    if rows.iter().any(|row| row.0.len() != columns.len()) {
        return Err(strange());
    }
    let cut = rows.len() > MOST_ROWS;
    let rows: Vec<Vec<Value>> = rows.into_iter().take(MOST_ROWS).map(|row| row.0).collect();
    Ok(json!({"columns": columns, "rows": rows, "cut": cut, "took_ms": took_ms}))
}

/// Beside this program, then on the path, then where the variable says.
fn program() -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let beside = std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.join(PROGRAM)));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join(PROGRAM));
    let told = std::env::var_os(VARIABLE).map(PathBuf::from);
    let is_program = |file: &PathBuf| {
        file.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
    };
    beside.into_iter().chain(on_path).chain(told).find(is_program)
}

fn advice() -> String {
    format!(
        "{PROGRAM} is not installed, which answers SQL: in hodo's sources, `make install-sql` or \
         `cargo install --path sql` installs it; {VARIABLE} names one that lies elsewhere"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(answer: &str) -> Option<Value> {
        rows(answer.as_bytes(), Duration::from_millis(3)).ok()
    }

    #[test]
    fn columns_of_one_name_keep_their_own_values() {
        let columns = r#"[{"name":"name","type":"Utf8"},{"name":"name","type":"Utf8"}]"#;
        let answer = format!(
            r#"{{"schema":"hodo.sql/1","results":[{{"columns":[],"rows":[]}},
            {{"columns":{columns},"rows":[{{"name":"a","name":"b"}},{{"name":null,"name":"c"}}]}}]}}"#
        );
        let told = told(&answer).unwrap();
        assert_eq!(told["rows"], json!([["a", "b"], [null, "c"]]));
        assert_eq!((&told["cut"], &told["took_ms"]), (&json!(false), &json!(3)));
    }

    #[test]
    fn an_answer_of_another_shape_is_said_to_be_strange() {
        assert_eq!(told(r#"{"results":[]}"#).unwrap()["rows"], json!([]));
        assert!(told("{}").is_none());
        let short = r#"{"results":[{"columns":[{"name":"a"},{"name":"b"}],"rows":[{"a":1}]}]}"#;
        assert!(told(short).is_none());
    }
}
