//! A run as tables, and a run read back from them.
//!
//! `hodo pack` and `hodo export --to parquet` write the tables ([`Tables`] gives them, the schema
//! says how they are stored); [`crate::Run::open`] reads such a folder as it reads a recorded one.

pub mod coding;
mod fingerprint;
pub(crate) mod read;
mod rows;
mod schema;
mod side;
mod span_bits;
mod values;
mod work;

/// The file that says that a folder is a packed run, in [`HIDDEN`].
pub const SIDE_FILE: &str = "side.json";
/// The folder of the tables that are for everyone.
pub const TABLES: &str = "tables";
/// The folder of what only hodo reads.
pub const HIDDEN: &str = "pack";

/// Both of them.
pub const FOLDERS: [&str; 2] = [TABLES, HIDDEN];

pub use fingerprint::{Fingerprint, Seen};
pub use read::{check, check_lengths};
pub use rows::{Rows, Tables, Whose};
pub use schema::{Coding, Field, GROUP_ROWS, Kind, SCHEMA, SCHEMA_KEY, TABLE_KEY, Table};
pub use side::{Side, SideFile};
pub(crate) use side::{SideDamage, SideMachine};
pub use values::{NO_TEXT, Quick, Same, Values};

/// The name of the file with the rows of a process or machine; of the whole run where it is empty.
pub fn file_name(whose: Whose<'_>) -> String {
    match whose {
        "" => "000.parquet".to_owned(),
        whose => format!("{whose}-000.parquet"),
    }
}

/// Whether the run in `folder` is packed.
pub fn is_packed(folder: &std::path::Path) -> bool {
    folder.join(HIDDEN).join(SIDE_FILE).is_file()
}
