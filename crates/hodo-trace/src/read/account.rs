//! Where every record went.

use super::collect::Collector;
use super::ranges::Ranges;
use crate::{Account, Thread};
use hodo_format::arena::{Counts, Loss};
use hodo_format::spool::{Losses, ThreadInfo};

/// What is known besides the records themselves.
pub(super) struct Known {
    pub(super) stored: Counts,
    pub(super) in_ring: Counts,
    /// Losses the arena counted; the catalog's are older or equal.
    pub(super) arena_lost: Option<[Counts; Loss::COUNT]>,
    /// Records the spool should hold, where that is certain.
    pub(super) should_be_stored: Option<Counts>,
    /// What is not here may still come.
    pub(super) is_coming: bool,
}

/// Sums up a process, and each of its threads.
pub(super) fn account(collector: &Collector, known: &Known) -> (Account, Vec<Thread>) {
    let lost = lost(collector, known);
    let mut account = Account {
        stored: known.stored,
        in_ring: known.in_ring,
        lost,
        newer: collector.newer,
        ..Account::default()
    };
    let mut threads = threads(collector);
    account.depth_dropped = threads.iter().map(|t| t.depth_dropped).sum();
    account.unexplained = unexplained(collector, known, &account, &threads);
    if known.is_coming {
        account.newer += std::mem::take(&mut account.unexplained);
    }
    account.produced = produced(collector, &account);
    settle(&mut threads, account.unexplained);
    (account, threads)
}

/// The larger of what arena and catalog counted: both only grow. What is here although the recorder
/// removed it, since it was shipped before, is not lost.
fn lost(collector: &Collector, known: &Known) -> [Counts; Loss::COUNT] {
    let arena = known.arena_lost.unwrap_or_default();
    let catalog = collector.losses.map(|l| l.lost).unwrap_or_default();
    let mut lost = std::array::from_fn(|reason| larger(arena[reason], catalog[reason]));
    let mut kept =
        known.should_be_stored.map_or(Counts::default(), |left| less(known.stored, left));
    for reason in REMOVED {
        let of = &mut lost[reason as usize];
        (*of, kept) = (less(*of, kept), less(kept, *of));
    }
    lost
}

/// Why records were stored once and are not any more.
const REMOVED: [Loss; 2] = [Loss::SpoolCap, Loss::SpoolGone];

/// Records that were stored once and that the recorder counts as gone.
pub(super) fn removed(lost: &[Counts; Loss::COUNT]) -> Counts {
    let mut all = Counts::default();
    REMOVED.iter().for_each(|&reason| all += lost[reason as usize]);
    all
}

fn less(a: Counts, b: Counts) -> Counts {
    Counts {
        spans: a.spans.saturating_sub(b.spans),
        marks: a.marks.saturating_sub(b.marks),
        attrs: a.attrs.saturating_sub(b.attrs),
    }
}

fn larger(a: Counts, b: Counts) -> Counts {
    Counts { spans: a.spans.max(b.spans), marks: a.marks.max(b.marks), attrs: a.attrs.max(b.attrs) }
}

/// Records that were made and are neither here nor counted as lost.
///
/// Three witnesses, the one that misses most is right: numbers missing between those read (losses
/// at a thread's very end leave no gap, so this may fall short); the recorder's count of what it
/// stored; and, after a clean shutdown, its count of what was made.
fn unexplained(collector: &Collector, known: &Known, account: &Account, threads: &[Thread]) -> u64 {
    let read = known.stored.records() + known.in_ring.records();
    let lost = account.lost_records();
    let missing: u64 = threads.iter().map(|t| t.unexplained).sum();
    let by_numbers = missing.saturating_sub(lost);
    let should_be_stored = known.should_be_stored.map_or(0, |s| s.records());
    let by_store = should_be_stored.saturating_sub(known.stored.records());
    let made = end(collector).map_or(0, |end| end.produced.records());
    let by_end = made.saturating_sub(lost + read);
    by_numbers.max(by_store).max(by_end)
}

fn end(collector: &Collector) -> Option<&Losses> {
    collector.losses.as_ref().filter(|_| collector.ended)
}

fn produced(collector: &Collector, account: &Account) -> Counts {
    let mut produced = Counts::default();
    for part in account.lost.iter().chain([&account.stored, &account.in_ring]) {
        produced += *part;
    }
    end(collector).map_or(produced, |end| larger(end.produced, produced))
}

/// Every thread that is known or has records; `unexplained` holds all that is missing, for now.
fn threads(collector: &Collector) -> Vec<Thread> {
    let numbers = collector.threads.keys().chain(collector.seen.keys());
    // Number 0 stands for scopes that nobody closed, written at the end for all threads.
    let mut numbers: Vec<u32> = numbers.copied().filter(|&number| number != 0).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let unknown = (ThreadInfo::default(), Ranges::default());
    let of = |number: u32| {
        let info = collector.threads.get(&number).unwrap_or(&unknown.0);
        let seen = collector.seen.get(&number).unwrap_or(&unknown.1);
        thread(number, info, seen, collector.complete_until(number, seen))
    };
    numbers.into_iter().map(of).collect()
}

fn thread(number: u32, info: &ThreadInfo, seen: &Ranges, complete_until: u64) -> Thread {
    let read = seen.len();
    let missing_inside = complete_until - seen.len_until(complete_until);
    Thread {
        number,
        os_tid: info.os_tid,
        name: info.name.clone(),
        started: info.started,
        ended: info.ended,
        produced: info.produced,
        lost: info.lost,
        read,
        unexplained: missing_inside.max(info.produced.records().saturating_sub(read)),
        depth_dropped: info.depth_dropped,
        out_of_order: info.out_of_order,
        double_closed: info.double_closed,
        wrong_thread: info.wrong_thread,
        cpu_syscalls: info.cpu_syscalls,
    }
}

/// Takes from every thread what its own losses explain; with a whole process explained, all.
fn settle(threads: &mut [Thread], process: u64) {
    for thread in threads {
        let lost: u64 = thread.lost.iter().map(Counts::records).sum();
        thread.unexplained = thread.unexplained.saturating_sub(lost).min(process);
    }
}
