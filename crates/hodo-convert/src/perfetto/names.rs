//! Interned names: each is spelt out once, in the packet that first uses it.

use super::proto::{InternedData, InternedName, InternedText};
use crate::gpu::{Key, Title};
use hodo_trace::{Names, Process};
use std::collections::{HashMap, HashSet};

/// Annotations hodo adds to what the program set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Own {
    /// The scope's id.
    ScopeId = 1,
    /// Its parent's, where it is not drawn inside it.
    ParentId,
    /// The process its parent belongs to, where that is another one.
    ParentProcess,
    /// The user's index.
    Index,
    /// CPU time.
    CpuNs,
    /// Why there is no CPU time.
    CpuMissing,
    /// The mark `hodo.overhead`.
    Overhead,
    /// Left by a panic or an exception.
    Failed,
    /// Never closed.
    Open,
    /// A mark's value.
    Value,
    /// A mark's attributes.
    Attributes,
}

impl Own {
    const COUNT: u64 = 11;

    fn text(self) -> &'static str {
        match self {
            Own::ScopeId => "hodo.scope_id",
            Own::ParentId => "hodo.parent_id",
            Own::ParentProcess => "hodo.parent_process",
            Own::Index => "index",
            Own::CpuNs => "cpu_ns",
            Own::CpuMissing => "cpu_not_captured",
            Own::Overhead => hodo_trace::OVERHEAD_MARK,
            Own::Failed => "failed",
            Own::Open => "open_at_end",
            Own::Value => "value",
            Own::Attributes => "attributes",
        }
    }
}

/// Categories of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Category {
    /// An ordinary scope.
    Scope = 1,
    /// Left by a panic or an exception.
    Failed,
    /// Never closed.
    Open,
    /// A mark.
    Mark,
    /// A call that launched GPU work.
    Launch,
    /// GPU work.
    Gpu,
    /// A kernel.
    Kernel,
    /// A copy.
    Copy,
    /// Memory set.
    Set,
}

impl Category {
    fn text(self) -> &'static str {
        match self {
            Category::Scope => "scope",
            Category::Failed => "failed",
            Category::Open => "open",
            Category::Mark => "mark",
            Category::Launch => "launch",
            Category::Gpu => "gpu",
            Category::Kernel => "kernel",
            Category::Copy => "copy",
            Category::Set => "set",
        }
    }
}

/// What the packets of one process have spelt out so far, and what the next one must.
pub struct Interned<'a> {
    names: &'a Names,
    events: HashSet<u64>,
    keys: HashSet<u64>,
    /// A bit each.
    categories: u64,
    gpu_keys: u64,
    titles: HashMap<Title, u64>,
    values: HashMap<String, u64>,
    fresh: InternedData,
}

/// Numbers from here on are not those of the run's own strings.
const BEYOND: u64 = 1 << 32 | 1 << 16;
/// The name of a launch.
const LAUNCH: u64 = BEYOND;

impl<'a> Interned<'a> {
    /// Nothing spelt out yet.
    pub fn new(names: &'a Names) -> Interned<'a> {
        let none = HashSet::new;
        Interned {
            names,
            events: none(),
            keys: none(),
            categories: 0,
            gpu_keys: 0,
            titles: HashMap::new(),
            values: HashMap::new(),
            fresh: InternedData::default(),
        }
    }

    /// The number of an event's name.
    pub fn event(&mut self, name: u32) -> u64 {
        let iid = u64::from(name) + 1;
        if self.events.insert(iid) {
            self.fresh.event_names.push(entry(iid, &self.names.text(name)));
        }
        iid
    }

    /// The number of an attribute's key.
    pub fn key(&mut self, key: u32) -> u64 {
        let iid = Own::COUNT + 1 + u64::from(key);
        if self.keys.insert(iid) {
            self.fresh.debug_annotation_names.push(entry(iid, &self.names.text(key)));
        }
        iid
    }

    /// The number of one of hodo's own keys.
    pub fn own(&mut self, own: Own) -> u64 {
        let iid = own as u64;
        if self.keys.insert(iid) {
            self.fresh.debug_annotation_names.push(entry(iid, own.text()));
        }
        iid
    }

    /// The number of the name of a launch.
    pub fn launch(&mut self) -> u64 {
        if self.events.insert(LAUNCH) {
            self.fresh.event_names.push(entry(LAUNCH, "launch"));
        }
        LAUNCH
    }

    /// The number of the name of GPU work.
    pub fn title(&mut self, title: Title, process: &Process) -> u64 {
        let next = LAUNCH + 1 + self.titles.len() as u64;
        *self.titles.entry(title).or_insert_with(|| {
            self.fresh.event_names.push(entry(next, &title.text(process)));
            next
        })
    }

    /// The number of a key of GPU work.
    pub fn gpu_key(&mut self, key: Key) -> u64 {
        let iid = BEYOND + key as u64;
        let bit = 1 << key as u64;
        if self.gpu_keys & bit == 0 {
            self.gpu_keys |= bit;
            self.fresh.debug_annotation_names.push(entry(iid, key.text()));
        }
        iid
    }

    /// The number of a text that comes often.
    pub fn value(&mut self, text: &str) -> u64 {
        if let Some(&iid) = self.values.get(text) {
            return iid;
        }
        let iid = self.values.len() as u64 + 1;
        self.values.insert(text.to_owned(), iid);
        self.fresh
            .debug_annotation_string_values
            .push(InternedText { iid: Some(iid), text: Some(text.as_bytes().to_vec()) });
        iid
    }

    /// The number of a category.
    pub fn category(&mut self, category: Category) -> u64 {
        let iid = category as u64;
        if self.categories & 1 << iid == 0 {
            self.categories |= 1 << iid;
            self.fresh.event_categories.push(entry(iid, category.text()));
        }
        iid
    }

    /// What the next packet must spell out.
    pub fn take(&mut self) -> Option<InternedData> {
        let fresh = std::mem::take(&mut self.fresh);
        (fresh != InternedData::default()).then_some(fresh)
    }
}

fn entry(iid: u64, name: &str) -> InternedName {
    InternedName { iid: Some(iid), name: Some(name.to_owned()) }
}
