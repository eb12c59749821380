//! The program `hodo-sql` from outside: answers, refusals, formats, limits, stores, the prompt.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on stops")]

mod answers;
mod examples;
mod formats;
mod gpu;
mod kept;
mod limits;
mod program;
mod prompt;
mod readers;
mod refusals;
mod servers;
mod stores;

#[allow(dead_code, reason = "shared with the tests of the program")]
#[path = "../../../crates/hodo-cli/tests/cli/made.rs"]
mod made;
#[path = "../../../crates/hodo-cli/tests/collector/port.rs"]
mod port;
#[allow(dead_code, reason = "shared with the tests of the program")]
#[path = "../../../crates/hodo-cli/tests/cli/samples.rs"]
mod samples;
#[allow(dead_code, reason = "shared with the tests of the program")]
#[path = "../../../crates/hodo-cli/tests/cli/tmux.rs"]
mod tmux;
