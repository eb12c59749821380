//! The spool and the arena from outside: what goes in comes out, whatever happens to the bytes.

mod collect;
mod made;
mod round_trip;
