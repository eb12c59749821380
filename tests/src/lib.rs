//! What the victim programs and the tests that kill them share.

pub mod acks;
pub mod plan;
