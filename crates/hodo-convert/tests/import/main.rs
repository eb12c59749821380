//! Imports, read back as every command reads a run.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on stops")]

mod bombs;
mod chrome;
mod cirron;
mod gpuflight;
mod perfetto;
mod support;
