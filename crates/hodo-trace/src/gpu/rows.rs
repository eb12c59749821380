//! GPU work as columns: about 40 bytes a kernel.

use super::words::Words;
use crate::taken_back::TakenBack;
use hodo_format::gpu::{Detail, Kernel, Work, flag};
use hodo_format::record::SpanId;
use std::collections::HashMap;

/// A piece of work's place in [`WorkRows`].
pub type WorkRow = u32;

/// The GPU work of a process.
#[derive(Debug, Default)]
pub struct WorkRows {
    kinds: Vec<Kind>,
    kind: Vec<u32>,
    flags: Vec<u16>,
    start: Vec<u64>,
    /// `end - start`, wrapping: work without an end comes back without one.
    length: Words,
    correlation: Vec<u32>,
    span: Vec<SpanId>,
    launched: Vec<u64>,
    node: Rare,
    captured: Rare,
    forward: Rare,
    bytes: Rare,
    address: Rare,
    codes: Codes,
}

/// What many pieces of work have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Kind {
    device: u32,
    context: u32,
    stream: u32,
    thread: u32,
    graph: u32,
    /// Without bytes and address.
    detail: Detail,
}

/// Finds kinds while rows are added.
#[derive(Debug, Default)]
struct Codes {
    of: HashMap<Kind, u32>,
    /// By kind, the one that followed it last: in a loop it does again.
    next: Vec<u32>,
    last: u32,
}

/// A column that takes no room until a row has a value.
#[derive(Debug, Default)]
struct Rare(Vec<u64>);

impl Rare {
    fn set(&mut self, row: usize, value: u64) {
        if value != 0 {
            self.0.resize(row, 0);
            self.0.push(value);
        }
    }

    fn get(&self, row: WorkRow) -> u64 {
        self.0.get(row as usize).copied().unwrap_or(0)
    }

    fn permute(&mut self, order: &[WorkRow]) {
        if !self.0.is_empty() {
            self.0 = order.iter().map(|&row| self.get(row)).collect();
        }
    }
}

impl WorkRows {
    /// Pieces of work.
    pub fn len(&self) -> usize {
        self.kind.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.kind.is_empty()
    }

    /// Every row.
    pub fn rows(&self) -> impl DoubleEndedIterator<Item = WorkRow> + ExactSizeIterator + use<> {
        0..self.len() as WorkRow
    }

    /// One piece of work, as it was recorded.
    pub fn get(&self, row: WorkRow) -> Work {
        let kind = &self.kinds[self.kind[row as usize] as usize];
        Work {
            flags: self.flags(row),
            device: kind.device,
            context: kind.context,
            stream: kind.stream,
            start: self.start(row),
            end: self.start(row).wrapping_add(self.length.get(row)),
            correlation: self.correlation[row as usize],
            span: self.span(row),
            launched: self.launched(row),
            thread: kind.thread,
            graph: kind.graph,
            node: self.node.get(row),
            captured: self.captured(row),
            forward: self.forward(row),
            detail: self.detail(row),
        }
    }

    /// All work, in order.
    pub fn iter(&self) -> impl Iterator<Item = Work> {
        self.rows().map(|row| self.get(row))
    }

    /// [`flag`] bits.
    pub fn flags(&self, row: WorkRow) -> u16 {
        self.flags[row as usize]
    }

    /// Device, as CUDA numbers it in the process.
    pub fn device(&self, row: WorkRow) -> u32 {
        self.kinds[self.kind[row as usize] as usize].device
    }

    /// Ticks when it began; 0 when its times were not taken.
    pub fn start(&self, row: WorkRow) -> u64 {
        self.start[row as usize]
    }

    /// Ticks when it began and ended; none when one of them is not known.
    pub fn interval(&self, row: WorkRow) -> Option<(u64, u64)> {
        let start = self.start(row);
        let end = start.wrapping_add(self.length.get(row));
        let known = start != 0 && end >= start && self.flags(row) & UNTIMED == 0;
        known.then_some((start, end))
    }

    /// The scope that launched it.
    pub fn span(&self, row: WorkRow) -> SpanId {
        self.span[row as usize]
    }

    /// Ticks when the call that caused it began; 0 when not known.
    pub fn launched(&self, row: WorkRow) -> u64 {
        self.launched[row as usize]
    }

    /// The thread that made that call, as the operating system numbers it; 0 when not known.
    pub fn thread(&self, row: WorkRow) -> u32 {
        self.kinds[self.kind[row as usize] as usize].thread
    }

    /// The scope that was innermost when its graph node was captured.
    pub fn captured(&self, row: WorkRow) -> SpanId {
        SpanId(self.captured.get(row))
    }

    /// Puts work where it is, of scopes that were taken back.
    pub(crate) fn move_scopes(&mut self, taken_back: &TakenBack) {
        if taken_back.is_empty() {
            return;
        }
        let moved = |word: &mut u64| *word = taken_back.around(SpanId(*word)).0;
        self.span.iter_mut().for_each(|span| *span = taken_back.around(*span));
        self.captured.0.iter_mut().chain(&mut self.forward.0).for_each(moved);
    }

    /// The scope of the forward operation whose gradient it is.
    pub fn forward(&self, row: WorkRow) -> SpanId {
        SpanId(self.forward.get(row))
    }

    /// What it is.
    pub fn detail(&self, row: WorkRow) -> Detail {
        let mut detail = self.kinds[self.kind[row as usize] as usize].detail;
        match &mut detail {
            Detail::Copy { bytes, .. } | Detail::Set { bytes, .. } => *bytes = self.bytes.get(row),
            Detail::Memory { bytes, address, .. } => {
                (*bytes, *address) = (self.bytes.get(row), self.address.get(row));
            }
            Detail::Kernel(_) | Detail::Sync { .. } => {}
        }
        detail
    }

    /// The kernel it is, if it is one.
    pub fn kernel(&self, row: WorkRow) -> Option<&Kernel> {
        match &self.kinds[self.kind[row as usize] as usize].detail {
            Detail::Kernel(kernel) => Some(kernel),
            _ => None,
        }
    }

    /// Whether it keeps a device busy: kernels, copies and sets do, waiting and allocating do not.
    pub fn is_busy(&self, row: WorkRow) -> bool {
        let detail = &self.kinds[self.kind[row as usize] as usize].detail;
        !matches!(detail, Detail::Sync { .. } | Detail::Memory { .. })
    }

    /// Devices that did any of it, in order of number.
    pub fn devices(&self) -> Vec<u32> {
        let mut devices: Vec<u32> = self.kinds.iter().map(|kind| kind.device).collect();
        devices.sort_unstable();
        devices.dedup();
        devices
    }

    /// Contexts of a device that did any of it, in order of number.
    pub fn contexts(&self, device: u32) -> Vec<u32> {
        let kinds = self.kinds.iter().filter(|kind| kind.device == device);
        let mut contexts: Vec<u32> = kinds.map(|kind| kind.context).collect();
        contexts.sort_unstable();
        contexts.dedup();
        contexts
    }

    /// The same work by the scope that launched it.
    pub fn by_scope(&self) -> WorkByScope {
        let mut rows: Vec<(SpanId, WorkRow)> =
            self.rows().map(|row| (self.span(row), row)).collect();
        rows.sort_unstable();
        WorkByScope(rows)
    }

    /// String ids of the kernels' names; some come several times.
    pub(crate) fn kernel_names(&self) -> impl Iterator<Item = u32> {
        self.kinds.iter().filter_map(|kind| match kind.detail {
            Detail::Kernel(kernel) => Some(kernel.name),
            _ => None,
        })
    }

    /// Says which scope a piece of work belongs to, and how that is known.
    pub(crate) fn set_scope(&mut self, row: WorkRow, scope: SpanId, how: u16) {
        let flags = &mut self.flags[row as usize];
        *flags = *flags & !flag::SCOPE | how;
        self.span[row as usize] = scope;
    }

    /// Whether it was taken; work past the last possible row is not.
    pub(crate) fn push(&mut self, work: &Work) -> bool {
        let row = self.len();
        if row >= WorkRow::MAX as usize {
            return false;
        }
        let mut detail = work.detail;
        match &mut detail {
            Detail::Copy { bytes, .. } | Detail::Set { bytes, .. } => {
                self.bytes.set(row, std::mem::take(bytes));
            }
            Detail::Memory { bytes, address, .. } => {
                self.bytes.set(row, std::mem::take(bytes));
                self.address.set(row, std::mem::take(address));
            }
            Detail::Kernel(_) | Detail::Sync { .. } => {}
        }
        let Work { device, context, stream, thread, graph, .. } = *work;
        let kind = self.code(&Kind { device, context, stream, thread, graph, detail });
        self.kind.push(kind);
        self.flags.push(work.flags);
        self.start.push(work.start);
        self.length.push(work.end.wrapping_sub(work.start));
        self.correlation.push(work.correlation);
        self.span.push(work.span);
        self.launched.push(work.launched);
        self.node.set(row, work.node);
        self.captured.set(row, work.captured.0);
        self.forward.set(row, work.forward.0);
        true
    }

    fn code(&mut self, kind: &Kind) -> u32 {
        let codes = &mut self.codes;
        let guess = codes.next.get(codes.last as usize).copied().unwrap_or(0);
        if self.kinds.get(guess as usize) == Some(kind) {
            codes.last = guess;
            return guess;
        }
        let code = *codes.of.entry(*kind).or_insert_with(|| {
            self.kinds.push(*kind);
            codes.next.push(0);
            self.kinds.len() as u32 - 1
        });
        if let Some(next) = codes.next.get_mut(codes.last as usize) {
            *next = code;
        }
        codes.last = code;
        code
    }

    /// Sorts by start and gives back what only adding rows needed.
    pub(crate) fn sort_by_start(&mut self) {
        self.codes = Codes::default();
        if self.start.is_sorted() {
            return;
        }
        let mut order: Vec<WorkRow> = self.rows().collect();
        order.sort_by_key(|&row| self.start(row));
        permute(&mut self.kind, &order);
        permute(&mut self.flags, &order);
        permute(&mut self.start, &order);
        permute(&mut self.correlation, &order);
        permute(&mut self.span, &order);
        permute(&mut self.launched, &order);
        self.length.permute(&order);
        let rare = [
            &mut self.node,
            &mut self.captured,
            &mut self.forward,
            &mut self.bytes,
            &mut self.address,
        ];
        rare.into_iter().for_each(|column| column.permute(&order));
    }
}

/// Rows of [`WorkRows`] by the scope that launched them.
#[derive(Debug)]
pub struct WorkByScope(Vec<(SpanId, WorkRow)>);

impl WorkByScope {
    /// What a scope launched itself, in order; with [`SpanId::NONE`] what no scope did.
    pub fn of(&self, scope: SpanId) -> impl Iterator<Item = WorkRow> {
        let from = self.0.partition_point(|row| row.0 < scope);
        self.0[from..].iter().take_while(move |row| row.0 == scope).map(|row| row.1)
    }
}

/// Its times are not to be relied on.
const UNTIMED: u16 = flag::UNFINISHED | flag::UNSTAMPED;

fn permute<T: Copy>(column: &mut Vec<T>, order: &[WorkRow]) {
    *column = order.iter().map(|&row| column[row as usize]).collect();
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn detail() -> impl Strategy<Value = Detail> {
        let kernel = |name| Kernel { name, grid: [name, 1, 1], ..Kernel::default() };
        prop_oneof![
            (0..3u32).prop_map(move |name| Detail::Kernel(kernel(name))),
            (0..3u64).prop_map(|bytes| Detail::Copy { bytes, direction: 1, from: 2, to: 3 }),
            (0..3u64, 0..2u64).prop_map(|(bytes, address)| Detail::Memory {
                freed: false,
                bytes,
                address,
                memory: 3
            }),
        ]
    }

    fn work() -> impl Strategy<Value = Work> {
        let numbers = prop::array::uniform7(0..6u64);
        (numbers, detail()).prop_map(
            |([start, end, span, node, forward, device, launched], detail)| Work {
                flags: node as u16,
                device: device as u32,
                context: 1,
                stream: 7,
                start,
                end,
                correlation: span as u32,
                span: SpanId(span),
                launched,
                thread: device as u32,
                graph: node as u32,
                node,
                captured: SpanId(node),
                forward: SpanId(forward),
                detail,
            },
        )
    }

    proptest! {
        #[test]
        fn rows_come_back_in_order_of_start(mut all in prop::collection::vec(work(), 0..60)) {
            let mut rows = WorkRows::default();
            all.iter().for_each(|work| assert!(rows.push(work)));
            prop_assert_eq!(rows.iter().collect::<Vec<_>>(), all.clone());
            rows.sort_by_start();
            all.sort_by_key(|work| work.start);
            prop_assert_eq!(rows.iter().collect::<Vec<_>>(), all);
        }
    }
}
