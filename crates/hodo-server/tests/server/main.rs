//! The server from outside: who it refuses, what it answers, how it keeps up with a run.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on stops")]

mod client;
mod collect;
mod guard;
mod limits;
mod live;
mod opening;
mod routes;
