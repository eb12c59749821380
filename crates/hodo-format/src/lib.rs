//! The bytes hodo writes: ring records, the arena that holds them, and the spool frames.
//!
//! Everything here is pure layout and coding: no threads, no files, no policy. The recorder
//! writes these layouts, the reader decodes them, and `docs/spool-format.md` describes them.

pub mod arena;
pub mod gpu;
pub mod machine;
pub mod record;
pub mod ship;
pub mod spool;
