//! SQL over runs: recorded, packed or exported, on disk or in an object store, one or a folder full.
//!
//! [`Session::open`] finds the runs, [`Session::start`] runs a statement that only reads, within
//! [`Limits`]; [`output`] writes the rows.

mod answer;
mod attr;
mod durations;
mod error;
mod guard;
mod limits;
mod made;
mod nearest;
pub mod output;
mod pool;
mod registry;
mod schema;
mod session;
mod source;
mod spoilt;
mod statements;
mod tables;
mod term;
mod views;
mod wrong;

pub use answer::Answer;
pub use datafusion::sql::parser::Statement;
pub use error::SqlError;
pub use guard::remove_at_end;
pub use limits::{Limits, parse_bytes, parse_timeout};
pub use session::{Asked, Note, Session};
pub use statements::is_ended;
pub use term::text::{plural, safe as printable};
pub use views::VIEWS;
