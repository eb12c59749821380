//! Whole runs, written by hand and read back.
#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

mod clock;
mod crash;
mod damage;
mod diff;
mod energy;
mod energy_oracle;
mod follow;
mod gpu;
mod gpu_by_time;
mod gpu_lost;
mod gpu_oracle;
mod gpu_samples;
mod list;
mod live;
mod machine;
mod mark_attrs;
mod merge;
mod oracle;
mod shipped;
mod support;
mod table;
mod tree;
mod verdict;
