//! A number that a process's parent inherits when the process has ended and was waited for.

/// One such number of one process: CPU time, or bytes.
///
/// The kernel adds what a child used to its parent's own, at the moment it is gone. What was seen
/// of the child counts already, so that much of the parent's growth does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// As the kernel says it: with that of children waited for.
    value: u64,
    /// What was there before this process was to be counted.
    before: u64,
    /// Seen of children that are gone.
    inherited: u64,
    /// The process's own part; never falls.
    own: u64,
}

impl Tally {
    /// Of a process that counts from now on; what it used before does not.
    pub fn from_now(value: u64) -> Tally {
        Tally { value, before: value, ..Tally::default() }
    }

    /// Takes a new reading.
    pub fn read(&mut self, value: u64) {
        self.value = self.value.max(value);
        let own = self.value.saturating_sub(self.before.saturating_add(self.inherited));
        self.own = self.own.max(own);
    }

    /// A child of it is gone: its own part and what it inherited come to this one.
    pub fn inherit(&mut self, child: &Tally) {
        self.inherited = self.inherited.saturating_add(child.value);
    }

    /// The process's own part.
    pub fn own(&self) -> u64 {
        self.own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_that_ends_is_counted_once_with_what_was_not_seen_of_it() {
        let (mut parent, mut child) = (Tally::default(), Tally::default());
        parent.read(100);
        child.read(40);
        // It went on to 50 and was waited for.
        parent.inherit(&child);
        parent.read(100 + 50);
        assert_eq!(parent.own() + child.own(), 150);
    }

    #[test]
    fn a_parent_that_is_read_before_the_child_is_known_to_be_gone_counts_it_once_in_the_end() {
        let (mut parent, mut child) = (Tally::default(), Tally::default());
        child.read(40);
        parent.read(100 + 40);
        assert_eq!(parent.own(), 140);
        parent.inherit(&child);
        parent.read(140);
        assert_eq!(parent.own(), 140, "it never goes back");
        parent.read(190);
        assert_eq!(parent.own() + child.own(), 190, "and is right again later");
    }

    #[test]
    fn a_child_nobody_waits_for_is_kept() {
        let (mut parent, mut child) = (Tally::default(), Tally::default());
        parent.read(100);
        child.read(40);
        parent.inherit(&child);
        parent.read(100);
        assert_eq!(parent.own() + child.own(), 140);
    }

    #[test]
    fn what_was_before_does_not_count() {
        let mut late = Tally::from_now(1000);
        late.read(1010);
        assert_eq!(late.own(), 10);
        let mut parent = Tally::default();
        parent.read(5);
        parent.inherit(&late);
        parent.read(5 + 1010);
        assert_eq!(parent.own(), 5);
    }
}
