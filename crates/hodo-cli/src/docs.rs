//! The reference in `docs/cli.md`, made from the command line itself.

use crate::args::Cli;
use clap::{Arg, Command, CommandFactory};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md");
const INTRODUCTION: &str = "\
# The `hodo` command

Made from the program's own help; `HODO_BLESS=1 cargo test -p hodo-cli docs` writes it anew.

Data goes to standard output, notes and progress to standard error. Colours appear only on a terminal.
`--json` prints one document; [report-json.md](report-json.md) explains every key of it, and what start, length,
state, self time and share mean, in text and in JSON alike.
Exit codes: 0 all well, 1 the work failed (`verify`: the run is not whole; `doctor`: something is bad),
2 the command line was wrong, 3 `gate` found a regression, 4 `diff` or `gate` could not compare. `run` returns what the program returned.
";

/// The whole page.
fn page() -> String {
    let mut hodo = Cli::command();
    hodo.build();
    let mut out = INTRODUCTION.to_owned();
    out += "\n## Flags of every verb\n\n";
    hodo.get_arguments().filter(|a| a.is_global_set()).for_each(|a| out += &flag(a));
    for verb in hodo.get_subcommands().filter(|v| v.get_name() != "help") {
        out += &section(verb);
    }
    out
}

fn section(verb: &Command) -> String {
    let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
    let mut out =
        format!("\n## `hodo {}`\n\n{}.\n\n", verb.get_name(), about.trim_end_matches('.'));
    for arg in verb
        .get_arguments()
        .filter(|a| !a.is_global_set() && !a.is_hide_set() && a.get_id() != "help")
    {
        out += &flag(arg);
    }
    out += &inner(verb, &format!("hodo {}", verb.get_name()));
    let examples = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
    let lines: Vec<String> = examples.lines().skip(1).map(example).collect();
    out + "\n```sh\n" + &lines.join("\n") + "\n```\n"
}

/// The verbs inside a verb, with what they take.
fn inner(verb: &Command, name: &str) -> String {
    let mut out = String::new();
    for verb in verb.get_subcommands().filter(|v| v.get_name() != "help") {
        let name = format!("{name} {}", verb.get_name());
        let own = |a: &&Arg| !a.is_global_set() && a.get_id() != "help";
        if !verb.has_subcommands() {
            let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
            out += &format!("- `{name}`: {}.\n", about.trim_end_matches('.'));
            verb.get_arguments().filter(own).for_each(|arg| out += &format!("  {}", flag(arg)));
        }
        out += &inner(verb, &name);
    }
    out
}

/// An example with the words that explain it as a comment.
fn example(line: &str) -> String {
    match line.trim().split_once("   ") {
        Some((command, words)) => format!("{command}  # {}", words.trim()),
        None => line.trim().to_owned(),
    }
}

fn flag(arg: &Arg) -> String {
    let short = arg.get_short().map(|s| format!("-{s}, ")).unwrap_or_default();
    let name = arg.get_long().map(|l| format!("{short}--{l}")).unwrap_or_default();
    let takes = arg.get_action().takes_values();
    let value = arg.get_value_names().unwrap_or_default().first().filter(|_| takes);
    let shown = [name, value.map(ToString::to_string).unwrap_or_default()].join(" ");
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    format!("- `{}`: {}.{}\n", shown.trim(), help.trim_end_matches('.'), extras(arg))
}

fn extras(arg: &Arg) -> String {
    let variable = arg.get_env().map(|e| format!(" Variable: `{}`.", e.to_string_lossy()));
    let variable = variable.unwrap_or_default();
    if !arg.get_action().takes_values() {
        return variable;
    }
    let names: Vec<String> =
        arg.get_possible_values().iter().map(|v| format!("`{}`", v.get_name())).collect();
    let choices =
        if names.is_empty() { String::new() } else { format!(" One of {}.", names.join(", ")) };
    let default =
        arg.get_default_values().first().map(|d| format!(" Default: `{}`.", d.to_string_lossy()));
    choices + &default.unwrap_or_default() + &variable
}

#[test]
fn docs_cli_md_is_what_the_program_says() {
    if std::env::var_os("HODO_BLESS").is_some() {
        std::fs::write(FILE, page()).unwrap();
    }
    let written = std::fs::read_to_string(FILE).unwrap_or_default();
    assert!(
        written == page(),
        "docs/cli.md is out of date; HODO_BLESS=1 cargo test -p hodo-cli docs writes it"
    );
}

#[test]
fn the_command_line_is_consistent() {
    Cli::command().debug_assert();
}
