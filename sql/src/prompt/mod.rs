//! The prompt: lines until a semicolon, history, completion, commands that begin with a dot.

mod commands;
mod complete;
mod words;

use crate::ask::{self, Asker};
use commands::Command;
use complete::Helper;
use hodo_sql::SqlError;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor};
use std::path::PathBuf;
use tokio::runtime::Runtime;

const PROMPT: &str = "hodo> ";

/// Reads and answers until Ctrl-D or `.quit`.
pub fn run(runtime: &Runtime, asker: &Asker<'_>) -> Result<(), SqlError> {
    let columns = runtime.block_on(commands::columns(asker.session));
    let mut editor = editor(Helper::new(asker.session.tables(), columns))?;
    let history = history_file();
    if let Some(file) = &history {
        // A history that cannot be read is an empty one.
        let _ = editor.load_history(file);
    }
    println!("{} tables and views; .help explains, Ctrl-D leaves", asker.session.tables().len());
    loop {
        match editor.readline(PROMPT) {
            Ok(line) if line.trim().is_empty() => {}
            Ok(line) => {
                let _ = editor.add_history_entry(line.trim_end());
                if let Some(file) = &history {
                    let _ = editor.append_history(file);
                }
                if !answer(runtime, asker, line.trim()) {
                    return Ok(());
                }
            }
            // Ctrl-C drops the line.
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => return Ok(()),
            Err(error) => return Err(SqlError::Failed(format!("cannot read the line: {error}"))),
        }
    }
}

fn editor(helper: Helper) -> Result<Editor<Helper, FileHistory>, SqlError> {
    let config = Config::builder().completion_type(CompletionType::List).auto_add_history(false);
    let failed = |error| SqlError::Failed(format!("cannot use this terminal: {error}"));
    let mut editor = Editor::with_config(config.build()).map_err(failed)?;
    editor.set_helper(Some(helper));
    Ok(editor)
}

/// Answers one line; false to leave.
fn answer(runtime: &Runtime, asker: &Asker<'_>, line: &str) -> bool {
    let outcome = match Command::parse(line) {
        Some(Command::Quit) => return false,
        Some(command) => runtime.block_on(command.run(asker.session)),
        None => runtime.block_on(ask::interruptible(asker.answer(line))),
    };
    if let Err(error) = outcome {
        crate::say_error(&error);
    }
    true
}

/// Where lines are kept: in the state folder of the user.
fn history_file() -> Option<PathBuf> {
    let told = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|p| p.is_absolute());
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/state"));
    let folder = told.or_else(home)?.join("hodo");
    std::fs::create_dir_all(&folder).ok()?;
    Some(folder.join("sql_history"))
}
