//! Which rows a filter keeps.

use crate::links::Links;
use crate::{Condition, Filter, NamePattern, Process, Run, Value};

/// Rows kept in one process.
pub(crate) enum Selection {
    All,
    None,
    Rows(Vec<bool>),
}

impl Selection {
    #[inline]
    pub(crate) fn keeps(&self, row: u32) -> bool {
        match self {
            Selection::All => true,
            Selection::None => false,
            Selection::Rows(rows) => rows[row as usize],
        }
    }

    pub(crate) fn and(&mut self, other: Vec<bool>) {
        match self {
            Selection::All => *self = Selection::Rows(other),
            Selection::None => {}
            Selection::Rows(rows) => rows.iter_mut().zip(other).for_each(|(a, b)| *a &= b),
        }
    }
}

/// The rows of each process that `filter` keeps.
pub(crate) fn select(run: &Run, links: &Links, filter: &Filter) -> Vec<Selection> {
    let mut kept: Vec<_> = run.processes.iter().map(|p| of_process(p, filter)).collect();
    let mut narrow = |own: &dyn Fn(&Process) -> Vec<bool>| {
        for (kept, rows) in kept.iter_mut().zip(under(run, links, own)) {
            kept.and(rows);
        }
    };
    if let Some(pattern) = &filter.name {
        narrow(&|process| named(process, pattern));
    }
    for (at, condition) in filter.conditions.iter().enumerate() {
        let same = |other: &&Condition| other.key == condition.key;
        // Those on one attribute hold of one scope: the outer and the inner of two may have it.
        if !filter.conditions[..at].iter().any(|other| same(&other)) {
            let all: Vec<&Condition> = filter.conditions[at..].iter().filter(same).collect();
            narrow(&|process| fitting_all(process, &all));
        }
    }
    if let Some((process, scope)) = filter.scope {
        narrow(&|of| {
            of.spans.rows().map(|r| of.process == process && of.spans.id(r) == scope).collect()
        });
    }
    if let Some(thread) = &filter.thread {
        for (kept, process) in kept.iter_mut().zip(&run.processes) {
            kept.and(on_thread(process, thread));
        }
    }
    if let Some(range) = filter.open_in {
        for (kept, process) in kept.iter_mut().zip(&run.processes) {
            kept.and(open_in(process, range));
        }
    }
    if let Some(last) = filter.last {
        last.narrow(run, &mut kept);
    }
    kept
}

fn of_process(process: &Process, filter: &Filter) -> Selection {
    let rank = filter.rank.is_none_or(|rank| process.info.rank == Some(rank));
    let pid = filter.pid.is_none_or(|pid| process.info.pid == pid);
    if rank && pid { Selection::All } else { Selection::None }
}

/// Spreads what `own` says of single scopes to everything under them, across processes too.
fn under(run: &Run, links: &Links, own: &dyn Fn(&Process) -> Vec<bool>) -> Vec<Vec<bool>> {
    let mut all: Vec<Vec<bool>> = run.processes.iter().map(|_| Vec::new()).collect();
    for &at in &links.order {
        let process = &run.processes[at];
        let above = links.started_in[at].is_some_and(|(p, row)| all[p][row as usize]);
        let mut rows = own(process);
        process.spans.parents_first(|row, up| {
            rows[row as usize] |= up.map_or(above, |up| rows[up as usize]);
        });
        all[at] = rows;
    }
    all
}

fn named(process: &Process, pattern: &NamePattern) -> Vec<bool> {
    let mut fits: Vec<Option<bool>> = vec![None; process.names.end() as usize];
    let mut fit = |name: u32| match fits.get_mut(name as usize) {
        Some(known) => *known.get_or_insert_with(|| pattern.matches(&process.names.text(name))),
        None => pattern.matches(&process.names.text(name)),
    };
    process.spans.rows().map(|row| fit(process.spans.name(row))).collect()
}

fn fitting_all(process: &Process, conditions: &[&Condition]) -> Vec<bool> {
    let each = conditions.iter().map(|condition| fitting(process, condition));
    let both = |a: Vec<bool>, b: Vec<bool>| a.into_iter().zip(b).map(|(a, b)| a && b).collect();
    each.reduce(both).unwrap_or_default()
}

fn fitting(process: &Process, condition: &Condition) -> Vec<bool> {
    let spans = &process.spans;
    let mut rows = vec![false; spans.len()];
    if condition.key == "index" {
        for row in spans.rows() {
            let index = spans.index(row).map(Value::I64);
            rows[row as usize] = index.is_some_and(|i| condition.matches(&i, &process.names));
        }
    }
    let key = Some(condition.key.as_str());
    // In the order they were set, so the last value a scope got decides.
    for attr in process.attrs.all().iter().filter(|a| process.names.get(a.key) == key) {
        if let Some(row) = spans.row_of(attr.span) {
            rows[row as usize] = condition.matches(&attr.value, &process.names);
        }
    }
    rows
}

/// Scopes without times were open nobody knows when.
fn open_in(process: &Process, [from_ns, to_ns]: [i64; 2]) -> Vec<bool> {
    let is_open = |row| {
        let span = process.span(row);
        process.is_timed() && span.start_ns() < to_ns && span.end_ns() > from_ns
    };
    process.spans.rows().map(is_open).collect()
}

fn on_thread(process: &Process, wanted: &str) -> Vec<bool> {
    let number = wanted.parse::<u32>().ok();
    let fits = |thread: &&crate::Thread| {
        number.map_or_else(|| thread.name.contains(wanted), |n| n == thread.number)
    };
    let threads: Vec<u32> = process.threads.iter().filter(fits).map(|t| t.number).collect();
    let spans = &process.spans;
    spans.rows().map(|row| threads.binary_search(&spans.thread(row)).is_ok()).collect()
}
