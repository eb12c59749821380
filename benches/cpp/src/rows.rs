//! The rows that the benches in Rust have too.

#[path = "../../src/rows/floors.rs"]
pub mod floors;
#[path = "../../src/rows/ours.rs"]
pub mod ours;
#[path = "../../src/rows/tracy.rs"]
pub mod tracy;
