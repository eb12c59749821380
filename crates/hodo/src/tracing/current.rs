//! Which spans a thread is inside of.

use crate::backend::{Attached, Link};

/// The spans entered on this thread and not yet exited, innermost last.
pub struct Current {
    entered: Vec<Entry>,
}

struct Entry {
    span: u64,
    link: Link,
    attached: Option<Attached>,
}

impl Current {
    pub const fn new() -> Self {
        Current { entered: Vec::new() }
    }

    pub fn enter(&mut self, span: u64, link: Link) {
        self.entered.push(Entry { span, link, attached: Some(link.attach()) });
    }

    /// `tracing` lets spans be exited in any order; the ones entered later are attached again, so
    /// that the innermost of them stays current.
    pub fn exit(&mut self, span: u64) {
        let Some(at) = self.entered.iter().rposition(|entry| entry.span == span) else { return };
        for entry in self.entered[at..].iter_mut().rev() {
            entry.attached = None;
        }
        self.entered.remove(at);
        for entry in &mut self.entered[at..] {
            entry.attached = Some(entry.link.attach());
        }
    }
}
