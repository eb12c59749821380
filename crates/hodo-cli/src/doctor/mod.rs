//! `hodo doctor`: what works on this machine, why not, and what to do.

mod cpu;
mod environment;
mod folder;
mod gpu;
mod machine;
mod runs;
mod trial;

use crate::args::{DoctorArgs, When};
use crate::output::{self, Outcome};
use crate::term::style::{self, DIM, GOOD, HOT, STRONG, WARM};
use crate::term::text;
use anstyle::Style;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// As good as it gets.
    Ok,
    /// Works, with a drawback.
    Warn,
    /// Does not work.
    Bad,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Warn => "warn",
            State::Bad => "bad",
        }
    }

    fn look(self) -> (Style, &'static str) {
        match self {
            State::Ok => (GOOD, "✓"),
            State::Warn => (WARM, "!"),
            State::Bad => (HOT, "✗"),
        }
    }
}

/// One line of the doctor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What was looked at.
    pub name: &'static str,
    /// How it ended.
    pub state: State,
    /// What was found, and why.
    pub found: String,
    /// What to do about it.
    pub todo: Option<String>,
}

impl Check {
    /// All is well.
    pub fn ok(name: &'static str, found: impl Into<String>) -> Check {
        Check { name, state: State::Ok, found: found.into(), todo: None }
    }

    /// Works, with a drawback and a way out.
    pub fn warn(name: &'static str, found: impl Into<String>, todo: impl Into<String>) -> Check {
        Check { name, state: State::Warn, found: found.into(), todo: Some(todo.into()) }
    }

    /// Does not work, with a way out.
    pub fn bad(name: &'static str, found: impl Into<String>, todo: impl Into<String>) -> Check {
        Check { name, state: State::Bad, found: found.into(), todo: Some(todo.into()) }
    }
}

/// Runs the verb.
pub fn run(args: &DoctorArgs, dir: &Path, color: When) -> Outcome {
    let checks = all(dir);
    if args.json {
        output::json(&document(dir, &checks))?;
    } else {
        style::stdout(color).write_all(text(&checks, style::columns(None)).as_bytes())?;
    }
    Ok(if checks.iter().any(|c| c.state == State::Bad) { 1 } else { 0 })
}

fn all(dir: &Path) -> Vec<Check> {
    // Before the trial, which takes space of its own.
    let folder = folder::all(dir);
    let trial = trial::record(&folder::nearest(dir));
    let mut checks = vec![trial::check(&trial)];
    if let Ok(health) = &trial {
        checks.extend([cpu::clock(health.clock), cpu::cpu_time(health.cpu_time)]);
    }
    checks.extend([cpu::rseq(), cpu::perf_events()]);
    checks.extend(folder);
    checks.extend([machine::file_size_limit(), machine::memory()]);
    checks.extend(gpu::all());
    checks.extend([environment::check(), library(), runs::count(dir)]);
    checks
}

/// What `hodo run` needs.
fn library() -> Check {
    const NAME: &str = "library";
    match crate::run::library::find() {
        Ok(path) => Check::ok(NAME, format!("{}: hodo run works", path.display())),
        Err(why) => Check::warn(NAME, "hodo run does not work", why),
    }
}

fn document(dir: &Path, checks: &[Check]) -> Value {
    let lines: Vec<Value> = checks
        .iter()
        .map(|c| json!({"name": c.name, "state": c.state.word(), "found": c.found, "todo": c.todo}))
        .collect();
    json!({
        "schema": "hodo.doctor/1",
        "hodo": env!("CARGO_PKG_VERSION"),
        "platform": machine::platform(),
        "dir": dir.display().to_string(),
        "checks": lines,
    })
}

fn text(checks: &[Check], width: usize) -> String {
    let title = format!("hodo {}", env!("CARGO_PKG_VERSION"));
    let platform = style::paint(DIM, &machine::platform());
    let mut out = format!("{}  {platform}\n\n", style::paint(STRONG, &title));
    checks.iter().for_each(|check| out += &lines(check, width));
    out + "\n" + &verdict(checks) + "\n"
}

/// A check: its sign, its name, what was found, and under it what to do.
fn lines(check: &Check, width: usize) -> String {
    const INDENT: usize = 17;
    let room = width.saturating_sub(INDENT).max(30);
    let (look, sign) = check.state.look();
    let hanging = format!("\n{:INDENT$}", "");
    let name = style::paint(DIM, &format!("{:<12}", check.name));
    let found = text::wrap(&check.found, room).join(&hanging);
    let mut out = format!(" {} {name}  {found}\n", style::paint(look, sign));
    if let Some(todo) = &check.todo {
        let todo = text::wrap(todo, room.saturating_sub(2)).join(&format!("{hanging}  "));
        out += &format!("{:INDENT$}{} {todo}\n", "", style::paint(look, "→"));
    }
    out
}

fn verdict(checks: &[Check]) -> String {
    let count = |state| checks.iter().filter(|c| c.state == state).count();
    match (count(State::Bad), count(State::Warn)) {
        (0, 0) => style::paint(GOOD, "All well: hodo records at full speed here."),
        (0, warn) => style::paint(WARM, &format!("hodo works here; {warn} to look at.")),
        (bad, _) => {
            style::paint(HOT, &format!("{bad} to mend before hodo can record to disk here."))
        }
    }
}
