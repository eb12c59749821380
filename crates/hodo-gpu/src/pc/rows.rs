//! What a window saw: samples by kernel, instruction, reason and scope.

use super::buffer::Seen;
use super::cubins::Instruction;
use super::stall::Reasons;
use crate::launches::Launches;
use crate::names::Names;
use hodo_format::gpu::flag;
use hodo_format::record::SpanId;
use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString};

/// Rows that are kept; more are counted.
const MOST_ROWS: usize = 1 << 21;

/// What tells one row from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The instruction.
    pub instruction: Instruction,
    /// String id of the reason.
    pub stall: u32,
    /// The scope that launched.
    pub span: SpanId,
}

/// The rest of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// How often.
    pub samples: u64,
    /// The launch, the first of several; 0 when not known.
    pub correlation: u32,
}

/// What decides whose a sample is.
#[derive(Debug)]
pub struct Whose<'a> {
    /// Scopes by launch; none when they are not known.
    pub launches: Option<&'a Launches>,
    /// Launches that count; all if none.
    pub only: Option<&'a HashSet<u32>>,
    /// The scope of samples without a launch.
    pub otherwise: SpanId,
}

/// The rows of a window.
#[derive(Debug, Default)]
pub struct Rows {
    rows: HashMap<Key, Row>,
    names: Names,
    stalls: HashMap<u32, (u32, bool)>,
    /// Names of kernels by string id.
    pub kernels: HashMap<u32, CString>,
    /// Samples, each once: of reasons that are not about what the scheduler did.
    pub samples: u64,
    /// Of them: launched in a scope.
    pub in_scope: u64,
    /// Of them: of a launch that is not known.
    pub unknown: u64,
    /// Samples of launches that do not count.
    pub outside: u64,
    /// Samples that were too many rows.
    pub refused: u64,
    launches: HashSet<u32>,
}

impl Rows {
    /// Adds what was seen on a context with these reasons.
    pub fn add(&mut self, seen: &Seen, reasons: &Reasons, whose: &Whose<'_>) {
        let &Seen { correlation, samples, .. } = seen;
        let samples = u64::from(samples);
        let (stall, once) = *self.stalls.entry(seen.reason).or_insert_with(|| {
            let word = reasons.word(seen.reason);
            (hodo_record::intern(&word), !word.ends_with("_not_issued"))
        });
        let counted = if once { samples } else { 0 };
        if correlation != 0 && whose.only.is_some_and(|only| !only.contains(&correlation)) {
            self.outside += counted;
            return;
        }
        let (span, correlation) = self.span(correlation, counted, whose);
        // SAFETY: the address comes from CUPTI, which keeps the name.
        let kernel = unsafe { self.names.id(seen.name) };
        if seen.name != 0 {
            // SAFETY: as above.
            let text = || unsafe { CStr::from_ptr(seen.name as *const _) }.to_owned();
            self.kernels.entry(kernel).or_insert_with(text);
        }
        let instruction = Instruction { kernel, cubin: seen.cubin, offset: seen.offset };
        self.keep(Key { instruction, stall, span }, samples, correlation);
    }

    /// Counts a launch's samples; gives its scope, and the launch if it is known.
    fn span(&mut self, correlation: u32, counted: u64, whose: &Whose<'_>) -> (SpanId, u32) {
        self.samples += counted;
        if correlation != 0 {
            self.launches.insert(correlation);
        }
        let (span, known) = match (correlation, whose.launches) {
            (0, _) => (whose.otherwise, true),
            (_, None) => (SpanId::NONE, false),
            (correlation, Some(launches)) => {
                let launch = launches.find(correlation, 0);
                (launch.span, launch.how != flag::UNKNOWN)
            }
        };
        self.unknown += if known { 0 } else { counted };
        self.in_scope += if span == SpanId::NONE { 0 } else { counted };
        (span, if known { correlation } else { 0 })
    }

    fn keep(&mut self, key: Key, samples: u64, correlation: u32) {
        if let Some(row) = self.rows.get_mut(&key) {
            row.samples += samples;
        } else if self.rows.len() < MOST_ROWS {
            self.rows.insert(key, Row { samples, correlation });
        } else {
            self.refused += samples;
        }
    }

    /// Launches that were sampled.
    pub fn launches(&self) -> usize {
        self.launches.len()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// All of them, a kernel's together.
    pub fn sorted(&self) -> Vec<(Key, Row)> {
        let mut rows: Vec<(Key, Row)> = self.rows.iter().map(|(&key, &row)| (key, row)).collect();
        rows.sort_by_key(|(key, _)| {
            let Instruction { kernel, cubin, offset } = key.instruction;
            (key.span.0, kernel, cubin, offset, key.stall)
        });
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launches::Launch;

    fn seen(reason: u32, samples: u32, correlation: u32) -> Seen {
        let name = c"kernel".as_ptr() as u64;
        Seen { name, cubin: 1, offset: 16, reason, samples, correlation }
    }

    #[test]
    fn samples_belong_to_the_scope_that_launched() {
        let launches = Launches::default();
        let launch = |span| Launch { span: SpanId(span), how: flag::BY_LAUNCH, ..Launch::UNKNOWN };
        launches.put(7, launch(70));
        launches.put(8, launch(70));
        launches.put(9, launch(90));
        let only = HashSet::from([7, 8, 11]);
        let whose = Whose { launches: Some(&launches), only: Some(&only), otherwise: SpanId(1) };
        let reasons = Reasons::new([(5, "wait"), (6, "wait_not_issued")]);
        let mut rows = Rows::default();
        let all = [seen(5, 1, 7), seen(5, 2, 8), seen(5, 4, 9), seen(5, 8, 11), seen(6, 16, 7)];
        all.iter().for_each(|seen| rows.add(seen, &reasons, &whose));
        assert_eq!((rows.samples, rows.in_scope, rows.unknown, rows.outside), (11, 3, 8, 4));
        assert_eq!(rows.launches(), 3);
        let mut found: Vec<_> =
            rows.sorted().iter().map(|(key, row)| (key.span.0, row.samples)).collect();
        found.sort();
        // Without a recorder every string has the number 0, so the two reasons are one row.
        assert_eq!(found, [(0, 8), (70, 19)]);
    }

    #[test]
    fn without_launches_they_belong_to_the_window() {
        let whose = Whose { launches: None, only: None, otherwise: SpanId(3) };
        let mut rows = Rows::default();
        rows.add(&seen(5, 2, 0), &Reasons::default(), &whose);
        assert_eq!((rows.in_scope, rows.sorted()[0].0.span), (2, SpanId(3)));
    }
}
