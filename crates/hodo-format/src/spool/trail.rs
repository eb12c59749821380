//! What writer and reader of a RECORDS payload both know before a row, so that the row says only
//! what could not be guessed.
//!
//! Records of a thread come in the order scopes close. A scope with children closes after them,
//! so it starts just before its first child and ends just after its last; any other scope starts
//! just after the one before it ended.

use crate::record::SpanId;

/// Columns of a RECORDS payload, in the order they lie there.
pub(super) mod column {
    pub const RUNS: usize = 0;
    pub const KINDS: usize = 1;
    pub const SHAPES: usize = 2;
    pub const NAMES: usize = 3;
    pub const NAME_IDS: usize = 4;
    pub const IDS: usize = 5;
    pub const PARENTS: usize = 6;
    pub const FLAGS: usize = 7;
    pub const INDICES: usize = 8;
    pub const OVERHEADS: usize = 9;
    pub const CPUS: usize = 10;
    pub const GAPS: usize = 11;
    pub const LENGTHS: usize = 12;
    pub const SCOPES: usize = 13;
    pub const KEYS: usize = 14;
    pub const CODES: usize = 15;
    pub const TIMES: usize = 16;
    pub const INTEGERS: usize = 17;
    pub const FLOATS: usize = 18;
    pub const TEXT: usize = 19;
    pub const COUNT: usize = 20;
}

/// Bits of a span's shape byte.
pub(super) mod shape {
    /// The span is the parent of the newest group of children; no id is written.
    pub const CLOSES: u8 = 1 << 0;
    /// The id is written; else it is the one after the last leaf's.
    pub const ID: u8 = 1 << 1;
    /// Two bits: how the parent is known.
    pub const PARENT: u8 = 3 << 2;
    /// The parent of the newest group.
    pub const SIBLING: u8 = 0 << 2;
    /// The id before its own.
    pub const BEFORE: u8 = 1 << 2;
    /// No parent.
    pub const ROOT: u8 = 2 << 2;
    /// The parent is written.
    pub const WRITTEN: u8 = 3 << 2;
    /// Flags are written; else as the last span of this name.
    pub const FLAGS: u8 = 1 << 4;
    /// The index is written; else one more than the last span of this name.
    pub const INDEX: u8 = 1 << 5;
    /// CPU time is written; else all of the duration.
    pub const CPU: u8 = 1 << 6;
    /// Overhead is written; else as the last span of this name.
    pub const OVERHEAD: u8 = 1 << 7;
}

/// Kind code in the KINDS column of a record that could not be read when the frame was made: it
/// keeps its number and nothing else.
pub(super) const BLANK: u64 = 0;

/// Spans seen so far that share a parent which has not closed yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub parent: u64,
    /// Start of the first of them.
    pub start: u64,
}

const MAX_GROUPS: usize = 64;

/// The state a row is guessed from.
#[derive(Debug, Default)]
pub(super) struct Trail {
    groups: Vec<Group>,
    /// End of the span before, whatever its thread.
    pub last_end: u64,
    /// Id of the last span that closed no group.
    pub last_leaf: u64,
}

impl Trail {
    pub(super) fn clear(&mut self) {
        self.groups.clear();
        self.last_end = 0;
        self.last_leaf = 0;
    }

    /// A run of another thread, or after a gap, begins.
    pub(super) fn begin_run(&mut self, thread: u32) {
        self.groups.clear();
        self.last_leaf = SpanId::new(thread, 0).0;
    }

    #[inline]
    pub(super) fn newest(&self) -> Option<Group> {
        self.groups.last().copied()
    }

    #[inline]
    pub(super) fn pop(&mut self) {
        self.groups.pop();
    }

    /// The first span seen with this parent.
    #[inline]
    pub(super) fn push(&mut self, parent: u64, start: u64) {
        if self.groups.len() == MAX_GROUPS {
            self.groups.clear();
        }
        self.groups.push(Group { parent, start });
    }
}

/// What the last span of a name looked like.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NameState {
    pub id: u32,
    pub flags: u16,
    pub index: u64,
    pub overhead: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sixty_fifth_group_empties_the_stack() {
        let mut trail = Trail::default();
        (1..=64).for_each(|parent| trail.push(parent, 0));
        trail.push(65, 0);
        assert_eq!(trail.newest().map(|group| group.parent), Some(65));
        trail.pop();
        assert!(trail.newest().is_none());
    }
}
