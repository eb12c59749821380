//! Every part of the API, read back as a tree.

#![cfg(not(feature = "off"))]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod attribute;
mod bench;
mod depth;
mod futures;
mod handles;
mod init;
mod loops;
mod scopes;
mod slots;
mod support;
#[cfg(feature = "telemetry")]
mod telemetry;
#[cfg(feature = "tracing")]
mod tracing;
mod values;
