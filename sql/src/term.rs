//! Text and numbers for a terminal, by the same code as the `hodo` program's.

#![allow(dead_code, reason = "the program uses all of it, hodo sql a part")]

#[path = "../../crates/hodo-cli/src/term/number.rs"]
pub mod number;
#[path = "../../crates/hodo-cli/src/term/text.rs"]
pub mod text;
