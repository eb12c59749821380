//! GPU work under the scopes that launched it.
//!
//! CUPTI and NVTX are never linked: the library that the program has mapped is used, and a machine
//! without one records scopes as before.

pub mod cupti;
pub mod nvtx;
