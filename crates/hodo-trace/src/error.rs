use std::path::PathBuf;

/// Why a run could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// No such run.
    #[error("no run named `{name}` in {dir}; `hodo ls` shows the runs there")]
    NotFound {
        /// What was asked for.
        name: String,
        /// Where it was looked for.
        dir: PathBuf,
    },
    /// The folder holds no run at all.
    #[error("no runs in {dir}; `hodo demo` records one, --dir or HODO_DIR names another folder")]
    NoRuns {
        /// Where runs were looked for.
        dir: PathBuf,
    },
    /// More than one run begins with the given id.
    #[error("`{name}` fits {count} runs, among them {first} and {second}; give more of the id")]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// How many runs fit.
        count: usize,
        /// One of them.
        first: String,
        /// Another.
        second: String,
    },
    /// The folder is there but is not a run.
    #[error("{folder} is not a run: it has neither run.json nor a process folder")]
    NotARun {
        /// The folder.
        folder: PathBuf,
    },
    /// The operating system refused.
    #[error("cannot read {path}: {source}")]
    Io {
        /// What was being read.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A packed run that cannot be read at all.
    #[error(
        "{path} is damaged: {why}; without it hodo cannot read the packed run, whose tables other \
         tools can"
    )]
    Pack {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A run that a newer version packed.
    #[error(
        "{path} has schema {schema}, which a newer hodo wrote; this one knows up to {}: update hodo",
        crate::packed::SCHEMA
    )]
    NewerPack {
        /// The file.
        path: PathBuf,
        /// The schema it has.
        schema: u32,
    },
    /// A filter that cannot be understood.
    #[error(
        "`{text}` is not a condition; write key=value, key!=value, or key>number with >, >=, < or <="
    )]
    Condition {
        /// What was given.
        text: String,
    },
    /// A filter with something in it that filters do not have.
    #[error("`{text}` cannot be understood: {why}")]
    Filter {
        /// The part of it.
        text: String,
        /// Why, and what to write instead.
        why: &'static str,
    },
    /// A filter with two names, of which a scope has one.
    #[error("`{text}` has two names; write one, with * for what may stand between: data*load")]
    TwoNames {
        /// What was given.
        text: String,
    },
    /// What cannot be understood as the last of something.
    #[error(
        "`{text}` is neither a number of scopes nor a time with its unit; write 100, 500ms or 10s"
    )]
    Last {
        /// What was given.
        text: String,
    },
    /// A comparison that only numbers allow.
    #[error(
        "`{text}` compares with `{value}`, which is no number; >, >=, < and <= compare numbers, \
         = and != text too"
    )]
    NotANumber {
        /// What was given.
        text: String,
        /// What should be a number.
        value: String,
    },
}
