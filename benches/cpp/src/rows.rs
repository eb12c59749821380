//! The rows that the benches in Rust have too.

#[path = "../../src/rows/floors.rs"]
pub mod floors;
#[allow(dead_code, reason = "not every row stands in both tables")]
#[path = "../../src/rows/ours.rs"]
pub mod ours;
#[path = "../../src/rows/tracy.rs"]
pub mod tracy;
