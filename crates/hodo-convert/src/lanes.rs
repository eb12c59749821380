//! Places spans on rows so that no two on a row cross: what viewers can draw.

/// A span to place, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// Row of the span in its process.
    pub row: u32,
    /// Its id.
    pub id: u64,
    /// The scope it was opened in.
    pub parent: u64,
    /// When it began.
    pub start_ns: u64,
    /// When it ended; never before `start_ns`.
    pub end_ns: u64,
}

/// Where a span went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Lane, counted from 0.
    pub lane: usize,
    /// Whether it is drawn inside its parent.
    pub under_parent: bool,
}

/// A span that ended before the next one began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its lane.
    pub lane: usize,
    /// When it ended.
    pub end_ns: u64,
}

/// The lanes of one thread.
#[derive(Debug, Default)]
pub struct Lanes {
    open: Vec<Vec<Item>>,
}

impl Lanes {
    /// Places the next span; spans come in the order they were opened: by start, then by id.
    ///
    /// A span lies on its parent's lane when it nests there, else on the first lane where nothing
    /// is open: what is drawn inside a slice is always its child. Spans that ended by then are
    /// handed to `ended`, those of a lane from the inside out.
    pub fn place(&mut self, item: &Item, mut ended: impl FnMut(Ended)) -> Place {
        for (lane, open) in self.open.iter_mut().enumerate() {
            while let Some(top) =
                open.pop_if(|top| top.end_ns <= item.start_ns && !contains(top, item))
            {
                ended(Ended { lane, end_ns: top.end_ns });
            }
        }
        let inside = self.open.iter().position(|l| l.last().is_some_and(|top| contains(top, item)));
        let free = || self.open.iter().position(Vec::is_empty);
        let lane = inside.or_else(free).unwrap_or(self.open.len());
        if lane == self.open.len() {
            self.open.push(Vec::new());
        }
        self.open[lane].push(*item);
        Place { lane, under_parent: inside.is_some() }
    }

    /// Ends what is still open, each lane from the inside out.
    pub fn finish(self, mut ended: impl FnMut(Ended)) {
        for (lane, open) in self.open.into_iter().enumerate() {
            open.iter().rev().for_each(|top| ended(Ended { lane, end_ns: top.end_ns }));
        }
    }
}

/// Whether `item` is a child of `top` and ends in time; a child may lie at its parent's very end.
fn contains(top: &Item, item: &Item) -> bool {
    top.id == item.parent && item.start_ns <= top.end_ns && item.end_ns <= top.end_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(id: u64, parent: u64, start_ns: u64, end_ns: u64) -> Item {
        Item { row: id as u32, id, parent, start_ns, end_ns }
    }

    fn place(items: &[Item]) -> Vec<(u64, usize, bool)> {
        let mut lanes = Lanes::default();
        let placed = items.iter().map(|i| (i.id, lanes.place(i, |_| ())));
        placed.map(|(id, p)| (id, p.lane, p.under_parent)).collect()
    }

    #[test]
    fn nested_spans_share_a_lane() {
        let placed = place(&[item(1, 0, 0, 100), item(2, 1, 10, 20), item(3, 1, 20, 100)]);
        assert_eq!(placed, [(1, 0, false), (2, 0, true), (3, 0, true)]);
    }

    #[test]
    fn spans_that_cross_get_their_own_lane() {
        let placed = place(&[item(1, 0, 0, 100), item(2, 1, 10, 150), item(3, 1, 20, 30)]);
        assert_eq!(placed, [(1, 0, false), (2, 1, false), (3, 0, true)]);
    }

    #[test]
    fn siblings_that_overlap_do_not_look_like_parent_and_child() {
        let placed = place(&[item(1, 0, 0, 100), item(2, 0, 10, 90), item(3, 2, 20, 30)]);
        assert_eq!(placed, [(1, 0, false), (2, 1, false), (3, 1, true)]);
    }

    #[test]
    fn empty_spans_at_the_end_of_their_parent_stay_inside() {
        let placed = place(&[item(1, 0, 0, 10), item(2, 1, 10, 10), item(3, 0, 10, 20)]);
        assert_eq!(placed, [(1, 0, false), (2, 0, true), (3, 0, false)]);
    }

    #[test]
    fn spans_end_from_the_inside_out() {
        let mut lanes = Lanes::default();
        let mut ends = Vec::new();
        for i in [item(1, 0, 0, 10), item(2, 1, 2, 10), item(3, 0, 10, 30), item(4, 3, 11, 12)] {
            lanes.place(&i, |e| ends.push(e.end_ns));
        }
        assert_eq!(ends, [10, 10]);
        lanes.finish(|e| ends.push(e.end_ns));
        assert_eq!(ends, [10, 10, 12, 30]);
    }
}
