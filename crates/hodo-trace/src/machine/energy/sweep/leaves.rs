//! The open scopes, and which of them are innermost.

use super::Receive;
use super::lane::Lane;
use crate::Row;
use crate::Run;
use crate::links::Links;
use std::collections::BinaryHeap;

/// A scope: place of its lane, and its row.
pub(super) type InLane = (usize, Row);

/// The open scopes of all lanes.
pub(super) struct Leaves {
    lanes: Vec<OfLane>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// When open scopes begin, the latest on top.
    begins: BinaryHeap<(i64, u32)>,
    /// How many open scopes have no open one inside.
    innermost: u64,
    /// Joules that one of them got so far.
    each: f64,
}

struct OfLane {
    /// Place of its process in the run.
    process: usize,
    /// The scope of another lane around its outermost ones.
    around: Option<InLane>,
    /// By row: of an open scope its slot and [`IS_OPEN`], else how many open ones it has inside.
    states: Vec<u32>,
}

const IS_OPEN: u32 = 1 << 31;

#[derive(Clone, Copy)]
struct Slot {
    scope: InLane,
    parent: Option<InLane>,
    /// Open scopes inside.
    inside: u32,
    /// What [`Leaves::each`] was when it came to be innermost.
    since: f64,
}

impl Leaves {
    pub(super) fn new(run: &Run, links: &Links, lanes: &[Lane<'_>]) -> Leaves {
        let of = |lane: &Lane<'_>| OfLane {
            process: lane.process,
            around: around(run, links, lanes, lane.process),
            states: vec![0; lane.spans.len()],
        };
        let lanes = lanes.iter().map(of).collect();
        let (slots, free, begins) = (Vec::new(), Vec::new(), BinaryHeap::new());
        Leaves { lanes, slots, free, begins, innermost: 0, each: 0.0 }
    }

    /// When the open scope begins that begins last.
    #[inline]
    pub(super) fn next(&self) -> Option<i64> {
        self.begins.peek().map(|top| top.0)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.innermost == 0
    }

    /// The innermost ones get joules in equal parts.
    #[inline]
    pub(super) fn get(&mut self, joules: f64) {
        self.each += joules / self.innermost as f64;
    }

    /// A scope comes to be open; `parent` is the one around it in its lane.
    pub(super) fn open(
        &mut self,
        scope: InLane,
        begins: i64,
        parent: Option<Row>,
        receive: &mut impl Receive,
    ) {
        let parent = parent.map(|row| (scope.0, row)).or(self.lanes[scope.0].around);
        if let Some(parent) = parent {
            self.child_opens(parent, receive);
        }
        let state = &mut self.lanes[scope.0].states[scope.1 as usize];
        let slot = Slot { scope, parent, inside: *state, since: self.each };
        self.innermost += u64::from(slot.inside == 0);
        let at = self.free.pop().unwrap_or(self.slots.len() as u32);
        *state = IS_OPEN | at;
        match self.slots.get_mut(at as usize) {
            Some(place) => *place = slot,
            None => self.slots.push(slot),
        }
        self.begins.push((begins, at));
    }

    /// The open scope that begins last is no more.
    pub(super) fn close(&mut self, receive: &mut impl Receive) {
        let Some((_, at)) = self.begins.pop() else { return };
        let slot = self.slots[at as usize];
        self.free.push(at);
        self.lanes[slot.scope.0].states[slot.scope.1 as usize] = slot.inside;
        if slot.inside == 0 {
            self.settle(slot, receive);
        }
        if let Some(parent) = slot.parent {
            self.child_closes(parent);
        }
        if self.innermost == 0 {
            // Small sums keep their digits.
            self.each = 0.0;
        }
    }

    fn child_opens(&mut self, parent: InLane, receive: &mut impl Receive) {
        let state = &mut self.lanes[parent.0].states[parent.1 as usize];
        if *state & IS_OPEN == 0 {
            *state += 1;
            return;
        }
        let slot = &mut self.slots[(*state & !IS_OPEN) as usize];
        slot.inside += 1;
        if slot.inside == 1 {
            let slot = *slot;
            self.settle(slot, receive);
        }
    }

    fn child_closes(&mut self, parent: InLane) {
        let state = &mut self.lanes[parent.0].states[parent.1 as usize];
        if *state & IS_OPEN == 0 {
            *state = state.saturating_sub(1);
            return;
        }
        let slot = &mut self.slots[(*state & !IS_OPEN) as usize];
        slot.inside = slot.inside.saturating_sub(1);
        if slot.inside == 0 {
            slot.since = self.each;
            self.innermost += 1;
        }
    }

    /// A scope that was innermost is no more, and has what it got.
    fn settle(&mut self, slot: Slot, receive: &mut impl Receive) {
        self.innermost -= 1;
        let joules = self.each - slot.since;
        if joules != 0.0 {
            receive.give((self.lanes[slot.scope.0].process, slot.scope.1), joules, false);
        }
    }
}

/// The scope that started a process, or the next one around that in a thread that counts, if its
/// process is in a lane too.
fn around(run: &Run, links: &Links, lanes: &[Lane<'_>], process: usize) -> Option<InLane> {
    let mut next = links.started_in[process];
    while let Some((at, row)) = next {
        let lane = lanes.iter().position(|lane| lane.process == at);
        if let Some(lane) = lane.filter(|&lane| lanes[lane].is_counted(row)) {
            return Some((lane, row));
        }
        let up = run.processes[at].spans.parent_row(row);
        next = up.map(|up| (at, up)).or(links.started_in[at]);
    }
    None
}
