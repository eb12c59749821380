//! The `hodo` program from outside: what it prints, what it refuses, what it returns.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on stops")]

mod calibration;
mod compare;
mod documented;
mod exports;
mod exports_read;
mod gpu;
mod help;
mod imports;
mod limits;
mod live;
mod machine;
mod made;
mod made_machine;
mod monitor;
mod packed;
mod program;
mod readings;
mod refusals;
mod report;
mod run;
mod samples;
mod serve;
mod shipping;
mod sql;
mod terminal;
mod tmux;
mod top;
mod verdict;
mod view;
mod whole;
