//! The scopes of a packed process.

use super::ahead::ahead;
use super::column::Column;
use super::file::{TableFile, Unreadable};
use super::{Reading, Table};
use crate::clock::Backwards;
use crate::packed::span_bits::SpanBits;
use crate::spans::SpansBuilder;
use crate::{Clock, Names, Spans, TraceError};
use hodo_format::record::{Span, SpanId, flag};
use std::collections::HashMap;

const COLUMNS: [&str; 8] =
    ["id", "parent", "name", "index", "start_ns", "duration_ns", "cpu_ns", "overhead_ns"];
const TICKS: [&str; 5] =
    ["bits", SpanBits::LANES[0], SpanBits::LANES[1], SpanBits::LANES[2], SpanBits::LANES[3]];

/// Rows that are handed over together: few enough that they are still in the processor's cache.
const BATCH_ROWS: usize = 4096;

impl Reading<'_, '_> {
    pub(super) fn spans(&mut self, clock: &Clock, names: &mut Names) -> Result<Spans, TraceError> {
        let rows = self.side.rows.spans;
        let mut builder = SpansBuilder::default();
        let mut open = Vec::new();
        let mut rows_read = Rows {
            clock: clock.backwards(),
            ids: NameIds::new(names, &self.side.lost_names),
            // Only then can a parent be in another process.
            whose: self.side.info.parent.is_some().then(|| format!("{:016x}", self.side.process)),
        };
        let first_open = self.side.first_open;
        let mut first = 0;
        self.groups([Table::Spans, Table::SpanTicks], rows, |[spans, ticks], group, took| {
            let begin = first;
            first += spans.extent(group).0 as u64;
            let put_away = |span: Span| {
                let row = begin + *took as u64;
                *took += 1;
                if row < first_open {
                    builder.push(&span);
                } else {
                    open.push(span);
                }
            };
            ahead(|hand_over| rows_read.each(spans, ticks, group, hand_over), put_away)
        })?;
        Ok(builder.finish(&open))
    }
}

/// Texts back to string ids; one that is none gets a new one.
struct NameIds<'a> {
    names: &'a mut Names,
    ids: HashMap<String, u32>,
}

impl<'a> NameIds<'a> {
    fn new(names: &'a mut Names, lost: &[(u32, String)]) -> NameIds<'a> {
        let mut ids = HashMap::new();
        for (id, text) in names.iter() {
            ids.entry(text.to_owned()).or_insert(id);
        }
        for (id, text) in lost {
            ids.entry(text.clone()).or_insert(*id);
        }
        NameIds { names, ids }
    }

    fn id(&mut self, text: &str) -> u32 {
        if let Some(&id) = self.ids.get(text) {
            return id;
        }
        let id = self.names.end();
        self.names.insert(id, text);
        self.ids.insert(text.to_owned(), id);
        id
    }
}

/// What rows are made with.
struct Rows<'a> {
    clock: Backwards,
    ids: NameIds<'a>,
    whose: Option<String>,
}

impl Rows<'_> {
    /// Hands over the scopes of a row group.
    fn each(
        &mut self,
        spans: &TableFile,
        ticks: &TableFile,
        group: usize,
        hand_over: &mut dyn FnMut(&mut Vec<Span>),
    ) -> Result<(), Unreadable> {
        let mut columns = spans.scan(group, COLUMNS)?;
        let mut rests = ticks.scan(group, TICKS)?;
        let mut around = match self.whose {
            Some(_) => Some(spans.scan(group, ["parent_process"])?),
            None => None,
        };
        let (mut names, mut batch) = (Vec::new(), Vec::new());
        while let Some(rows) = columns.next()? {
            let others = around.as_mut().map(|around| around.next()).transpose()?.flatten();
            if rests.next()? != Some(rows) || (around.is_some() && others != Some(rows)) {
                return Err(Unreadable::Odd("its columns do not have the same rows".to_owned()));
            }
            let [id, parent, name, index, start, duration, cpu, overhead] = columns.columns();
            let [bits, large @ ..] = rests.columns();
            let around = around.as_ref().map(|around| around.columns()[0]);
            names.clear();
            names.extend(name.texts.iter().map(|text| self.ids.id(text)));
            let clock = self.clock;
            let length = |ns: &Column, rest: i64, row: usize| {
                let told = if ns.is_there(row) { clock.length(ns.wholes[row]) } else { 0 };
                told.wrapping_add(rest as u64)
            };
            for row in 0..rows {
                let Some(&name) = names.get(name.codes[row] as usize) else {
                    return Err(Unreadable::Odd("a scope has no name".to_owned()));
                };
                let SpanBits { flags, rests } =
                    SpanBits::again(bits.wholes[row], |lane| large[lane].wholes[row]);
                let told = if start.is_there(row) { clock.moment(start.wholes[row]) } else { 0 };
                let start = told.wrapping_add(rests[0] as u64);
                let has_index = flags & flag::HAS_INDEX != 0;
                let is_inside = around.is_none_or(|around| self.is_own(around, row));
                let parent = if is_inside { parent.wholes[row] as u64 } else { SpanId::NONE.0 };
                batch.push(Span {
                    flags,
                    name,
                    id: SpanId(id.wholes[row] as u64),
                    parent: SpanId(parent),
                    start,
                    end: start.wrapping_add(length(duration, rests[1], row)),
                    cpu: length(cpu, rests[2], row),
                    index: if has_index { index.wholes[row] } else { 0 },
                    overhead: length(overhead, rests[3], row),
                });
                if batch.len() == BATCH_ROWS {
                    hand_over(&mut batch);
                }
            }
            hand_over(&mut batch);
        }
        Ok(())
    }

    /// Whether the parent of a row is in the process itself.
    fn is_own(&self, around: &Column, row: usize) -> bool {
        let whose = around.texts.get(around.codes[row] as usize);
        whose.is_some() && whose == self.whose.as_ref()
    }
}
