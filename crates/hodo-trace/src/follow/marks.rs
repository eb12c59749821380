//! Marks by name: the newest value, and the last ones.

use super::process::{Followed, Told};
use std::collections::{HashMap, VecDeque};

/// Names that are kept.
const MOST: usize = 512;
/// Values of a name that are kept.
const VALUES: usize = 256;

/// The marks of a run.
#[derive(Default)]
pub(super) struct Marks {
    pub(super) of: HashMap<Box<str>, Latest>,
}

/// One name.
#[derive(Default)]
pub(super) struct Latest {
    pub(super) text: String,
    pub(super) at_ns: u64,
    pub(super) count: u64,
    pub(super) values: VecDeque<f64>,
}

impl Marks {
    pub(super) fn add(&mut self, mark: &Told, process: &Followed) {
        let name = process.heard.names.text(mark.name);
        if self.of.len() >= MOST && !self.of.contains_key(&*name) {
            return;
        }
        let latest = self.of.entry((*name).into()).or_default();
        latest.count += process.weight;
        latest.at_ns = process.moment_ns(mark.at);
        latest.text = mark.value.display(&process.heard.names);
        if let Some(value) = mark.value.as_f64() {
            latest.values.push_back(value);
            if latest.values.len() > VALUES {
                latest.values.pop_front();
            }
        }
    }
}
