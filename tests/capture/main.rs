//! The capture of GPU work without a GPU.
//!
//! Programs run on a driver and a CUPTI that are FAKE (`fake-cupti/`): that shows how hodo loads,
//! attributes, stops and loses, and says nothing about a GPU. What real ones wrote is replayed from
//! the recordings in `data/gpu`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "this is a test")]

mod attach;
mod fakes;
mod losses;
mod replay;
mod scopes;
mod work;
