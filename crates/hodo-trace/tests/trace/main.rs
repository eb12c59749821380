//! Whole runs, written by hand and read back.

mod crash;
mod damage;
mod live;
mod merge;
mod oracle;
mod support;
mod tree;
