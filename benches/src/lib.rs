//! What recording costs: hodo, the floor below it and its peers, measured by one harness.

pub mod machine;
pub mod measure;
pub mod rows;
pub mod table;
