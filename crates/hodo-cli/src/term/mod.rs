//! What a terminal needs: colours, width, safe text, numbers with units, aligned tables.

pub mod measure;
pub mod number;
pub mod style;
pub mod table;
pub mod text;
