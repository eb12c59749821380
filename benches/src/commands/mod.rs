//! What the program does, one command each.

pub mod count;
pub mod instructions;
pub mod large_cost;
pub mod launches;
pub mod pack_cost;
pub mod record;
pub mod report_cost;
pub mod scopes;
pub mod spool_rate;

/// What a command answers: nothing, or why it could not.
pub type Done = Result<(), Box<dyn std::error::Error>>;
