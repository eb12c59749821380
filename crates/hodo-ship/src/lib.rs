//! Sends the files of a run to a collector: while they grow, and what an outage left behind.
//!
//! A run's files only grow, so what is sent are their bytes, each once: the collector says how many
//! it holds for good, and the rest follows. Nothing here runs in the recorded program, takes a lock
//! that its recorder wants, or writes into the folder of a process.
//!
//! [`ship`] is the whole of it. `docs/collector.md` has the requests and what is promised.

mod client;
mod error;
mod file;
mod frames;
mod lives;
mod lock;
mod pace;
mod parts;
mod priority;
mod round;
mod secrets;
mod send;
mod shipper;
mod status;
mod tls;

pub use client::{Server, Token, check, check_address};
pub use error::ShipError;
pub use hodo_record::binding::host;
pub use priority::step_back;
pub use secrets::{shown, shown_token};
pub use shipper::{Mode, Settings, Shipped, Watch, is_all_there, refuse, ship};
pub use status::{State, Status, is_gone, log_file, status_of, statuses};
