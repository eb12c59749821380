//! The `hodo` program from outside: what it prints, what it refuses, what it returns.

mod exports;
mod help;
mod made;
mod program;
mod refusals;
mod report;
mod samples;
mod terminal;
mod whole;
