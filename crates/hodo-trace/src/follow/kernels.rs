//! GPU work by name, lately.

use super::process::Followed;
use super::window::{Lately, Window};
use crate::gpu::{KernelName, direction};
use hodo_format::gpu::{Detail, Work};
use std::collections::HashMap;

/// Names that are kept apart; a program has a few hundred.
const MOST: usize = 4096;

/// Kernels, copies and sets by their short name.
#[derive(Default)]
pub(super) struct Kernels {
    of: HashMap<Box<str>, Window>,
    /// Short names by the name as the compiler wrote it.
    short: HashMap<Box<str>, Box<str>>,
}

impl Kernels {
    pub(super) fn add(&mut self, work: &Work, process: &Followed) {
        let Some(ended) = process.worked(work) else { return };
        let name = match work.detail {
            Detail::Kernel(kernel) => self.short(&process.heard.names.text(kernel.name)),
            Detail::Copy { direction: code, .. } => format!("[copy {}]", direction(code)).into(),
            Detail::Set { .. } => "[set]".into(),
            Detail::Sync { .. } | Detail::Memory { .. } => return,
        };
        if self.of.len() < MOST || self.of.contains_key(&name) {
            self.of.entry(name).or_default().add(ended);
        }
    }

    fn short(&mut self, raw: &str) -> Box<str> {
        if let Some(short) = self.short.get(raw) {
            return short.clone();
        }
        let short = KernelName::new(raw).short;
        if self.short.len() < MOST {
            self.short.insert(raw.into(), short.clone());
        }
        short
    }

    /// What ended lately, most time first.
    pub(super) fn lately(&self, edge_ns: u64) -> Vec<(&str, Lately)> {
        let lately = self.of.iter().map(|(name, window)| (&**name, window.lately(edge_ns)));
        let mut rows: Vec<(&str, Lately)> = lately.filter(|(_, sum)| sum.count > 0).collect();
        rows.sort_by(|a, b| b.1.total_ns.cmp(&a.1.total_ns).then(a.0.cmp(b.0)));
        rows
    }
}
