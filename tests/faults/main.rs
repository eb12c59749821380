//! hodo under faults: real programs, real signals, and the equation
//! `acknowledged = stored + lost[reason]` checked against a witness that is not hodo.
//!
//! `HODO_KILLS=1000` sets the number of kills, `HODO_HEAVY=1` runs the heavy forms,
//! `HODO_SEED=n` repeats the random moments of a run.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "this is a test")]

mod check;
mod clock;
mod cpu;
mod disk;
mod exits;
mod fork;
mod harness;
mod kill;
mod load;
mod names;
mod ranks;
mod rendezvous;
