//! The spool and the arena from outside: what goes in comes out, whatever happens to the bytes.

// Helpers panic as tests do: on what must not happen.
#![allow(clippy::unwrap_used)]

mod arena;
mod arena_sample;
mod collect;
mod document;
mod gpu;
mod limits;
mod machine;
mod made;
mod made_gpu;
mod round_trip;
mod sample;
mod spool_damage;
mod versions;
