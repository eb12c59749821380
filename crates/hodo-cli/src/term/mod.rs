//! What a terminal needs: colours, width, safe text, numbers with units, aligned tables.

pub mod number;
pub mod style;
pub mod table;
pub mod text;
