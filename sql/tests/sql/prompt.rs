//! The prompt on a real terminal.

use crate::made::Folder;
use crate::program::{folder, wait_until_at_work};
use crate::samples;
use crate::tmux::Tmux;

fn start(dir: &Folder) -> Option<Tmux> {
    let tmux = Tmux::start(100, 40, dir.path())?;
    // A history of its own.
    tmux.line(&format!("export XDG_STATE_HOME={}/state", dir.path().display()));
    tmux.line("clear; hodo-sql");
    tmux.wait("the prompt", |screen| screen.contains("hodo>"));
    Some(tmux)
}

#[test]
fn a_statement_may_take_several_lines() {
    let dir = folder(&samples::training(100));
    let Some(tmux) = start(&dir) else { return };
    tmux.line("select name, count(*) as n");
    tmux.line("from spans where name = 'batch' group by name;");
    let screen = tmux.wait("the answer", |screen| screen.contains("(1 row"));
    assert!(screen.contains("batch  6"), "{screen}");
}

#[test]
fn commands_show_what_there_is() {
    let dir = folder(&samples::training(100));
    let Some(tmux) = start(&dir) else { return };
    tmux.line(".tables");
    tmux.wait("tables", |screen| screen.contains("gpu_idle") && screen.contains("spans "));
    tmux.line(".schema marks");
    let screen = tmux.wait("columns", |screen| screen.contains("at_ns"));
    assert!(screen.contains("value                  double"), "{screen}");
    tmux.line(".schmea");
    tmux.wait("advice", |screen| screen.contains("no command .schmea; .help shows them"));
    tmux.line(".help");
    tmux.wait("help", |screen| screen.contains(".quit"));
    tmux.line(".quit");
    tmux.wait("the shell", |screen| screen.trim_end().ends_with('$'));
}

#[test]
fn tab_completes_tables_and_columns() {
    let dir = folder(&samples::training(100));
    let Some(tmux) = start(&dir) else { return };
    tmux.ask(&["send-keys", "-l", "select max(dur"]);
    tmux.key("Tab");
    tmux.wait("a column", |screen| screen.contains("select max(duration"));
    tmux.ask(&["send-keys", "-l", "_ns) as most_ns from slow"]);
    tmux.key("Tab");
    tmux.wait("a table", |screen| screen.contains("from slowest"));
    tmux.line(";");
    tmux.wait("the answer", |screen| screen.contains("210 ms"));
}

#[test]
fn ctrl_c_stops_a_query_and_keeps_the_prompt() {
    let dir = folder(&samples::training(100));
    let Some(tmux) = start(&dir) else { return };
    tmux.line("select count(*) from generate_series(1, 100000000000) a where a.value % 7 = 3;");
    // Before that it would drop the line.
    wait_until_at_work(tmux.child());
    tmux.key("C-c");
    tmux.wait("the end of it", |screen| screen.contains("error: interrupted"));
    tmux.line("select 41 + 1 as answer;");
    tmux.wait("an answer", |screen| screen.contains("42"));
    // A wrong query keeps the prompt too.
    tmux.line("select * from span;");
    tmux.wait("the advice", |screen| screen.contains("did you mean `spans`?"));
    tmux.key("C-d");
    tmux.wait("the shell", |screen| screen.trim_end().ends_with('$'));
}

#[test]
fn history_outlives_the_prompt() {
    let dir = folder(&samples::training(100));
    let Some(tmux) = start(&dir) else { return };
    tmux.line("select 'remember me' as words;");
    tmux.wait("the answer", |screen| screen.contains("(1 row"));
    tmux.key("C-d");
    tmux.wait("the shell", |screen| screen.trim_end().ends_with('$'));
    tmux.line("clear; hodo-sql");
    tmux.wait("the prompt", |screen| screen.contains("hodo>") && !screen.contains("remember"));
    tmux.key("Up");
    tmux.wait("the line", |screen| screen.contains("remember me"));
}
