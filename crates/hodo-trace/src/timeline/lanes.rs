//! Which row of its track each slice is drawn in: under the scope it was opened in, and beside
//! whatever is open at the same time.

use crate::Row;

/// Rows of one track; what would need more shares the last.
pub(super) const MOST_LANES: usize = 1024;

/// Gives slices their lanes, in the order they begin.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    /// By lane what was put there last, and when it ends.
    last: Vec<(Row, u64)>,
}

impl Lanes {
    /// The lane of the next slice, which is open from `start` to `end`.
    pub(super) fn place(&mut self, row: Row, parent: Option<Row>, start: u64, end: u64) -> usize {
        let above = parent.and_then(|parent| {
            self.last.iter().position(|&(row, end)| row == parent && end >= start)
        });
        let first = above.map_or(0, |lane| lane + 1);
        let free = self.last.iter().skip(first).position(|&(_, end)| end <= start);
        let lane = free.map_or(self.last.len(), |at| first + at).min(MOST_LANES - 1);
        match self.last.get_mut(lane) {
            Some(last) => *last = (row, end.max(if lane + 1 == MOST_LANES { last.1 } else { 0 })),
            None => self.last.push((row, end)),
        }
        lane
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_are_under_their_parent_and_what_overlaps_is_beside() {
        let mut lanes = Lanes::default();
        assert_eq!(lanes.place(0, None, 0, 100), 0);
        assert_eq!(lanes.place(1, Some(0), 10, 40), 1);
        assert_eq!(lanes.place(2, Some(1), 10, 20), 2);
        assert_eq!(lanes.place(3, Some(0), 30, 50), 2, "it overlaps its sibling");
        assert_eq!(lanes.place(4, Some(0), 50, 60), 1);
        assert_eq!(lanes.place(5, None, 100, 110), 0);
    }

    #[test]
    fn a_child_of_a_scope_that_has_closed_is_not_pushed_down() {
        let mut lanes = Lanes::default();
        assert_eq!(lanes.place(0, None, 0, 10), 0);
        assert_eq!(lanes.place(1, Some(0), 20, 30), 0);
    }

    #[test]
    fn more_than_all_lanes_share_the_last() {
        let mut lanes = Lanes::default();
        let all = (0..MOST_LANES as Row + 5).map(|row| lanes.place(row, None, 0, 10));
        let all: Vec<usize> = all.collect();
        assert_eq!(all[MOST_LANES - 1..], [MOST_LANES - 1; 6]);
    }
}
