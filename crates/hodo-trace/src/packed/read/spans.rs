//! The scopes of a packed process.

use super::file::{TableFile, Unreadable};
use super::{Reading, Table};
use crate::packed::values::NO_TEXT;
use crate::spans::SpansBuilder;
use crate::{Clock, Names, Spans, TraceError};
use hodo_format::record::{Span, SpanId, flag};
use std::collections::HashMap;

impl Reading<'_, '_> {
    pub(super) fn spans(&mut self, clock: &Clock, names: &mut Names) -> Result<Spans, TraceError> {
        let rows = self.side.rows.spans;
        let mut builder = SpansBuilder::default();
        // A claim that the file cannot bear out is not believed.
        let bytes = self.path(Table::Spans).metadata().map_or(0, |file| file.len());
        builder.reserve(rows.min(bytes) as usize);
        let mut open = Vec::new();
        let mut ids = NameIds::new(names, &self.side.lost_names);
        let (first_open, whose) = (self.side.first_open, format!("{:016x}", self.side.process));
        let mut row = 0;
        self.groups([Table::Spans, Table::SpanTicks], rows, |[spans, ticks], group| {
            let columns = Columns::read(spans, ticks, group, &whose);
            let first = row;
            row += spans.extent(group).0 as u64;
            columns?.each(clock, &mut ids, |at, span| match first + at as u64 {
                row if row < first_open => {
                    builder.push(&span);
                }
                _ => open.push(span),
            })
        })?;
        Ok(builder.finish(&open))
    }
}

/// Texts back to string ids; one that is none gets a new one.
struct NameIds<'a> {
    names: &'a mut Names,
    ids: HashMap<String, u32>,
}

impl NameIds<'_> {
    fn new<'a>(names: &'a mut Names, lost: &[(u32, String)]) -> NameIds<'a> {
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

/// A row group.
struct Columns {
    flags: Vec<i64>,
    id: Vec<i64>,
    parent: Vec<i64>,
    name: (Vec<u32>, Vec<String>),
    index: Vec<i64>,
    start: Time,
    duration: Time,
    cpu: Time,
    overhead: Time,
}

/// A time as it is told, and what that rounded away.
struct Time {
    ns: Vec<i64>,
    there: Option<Vec<bool>>,
    rest: Vec<i64>,
}

impl Time {
    fn read(
        spans: &TableFile,
        ticks: &TableFile,
        group: usize,
        [ns, rest]: [&str; 2],
    ) -> Result<Time, Unreadable> {
        let (ns, there) = spans.some_wholes(group, ns)?;
        Ok(Time { ns, there, rest: ticks.wholes(group, rest)? })
    }

    #[inline]
    fn ticks(&self, row: usize, nearest: impl Fn(i64) -> u64) -> u64 {
        let told = self.there.as_ref().is_none_or(|there| there[row]);
        let ticks = if told { nearest(self.ns[row]) } else { 0 };
        ticks.wrapping_add(self.rest[row] as u64)
    }
}

impl Columns {
    fn read(
        spans: &TableFile,
        ticks: &TableFile,
        group: usize,
        whose: &str,
    ) -> Result<Columns, Unreadable> {
        let time = |names| Time::read(spans, ticks, group, names);
        Ok(Columns {
            flags: ticks.wholes(group, "flags")?,
            id: spans.wholes(group, "id")?,
            parent: parents(spans, group, whose)?,
            name: spans.texts(group, "name")?,
            index: spans.some_wholes(group, "index")?.0,
            start: time(["start_ns", "start"])?,
            duration: time(["duration_ns", "duration"])?,
            cpu: time(["cpu_ns", "cpu"])?,
            overhead: time(["overhead_ns", "overhead"])?,
        })
    }

    fn each(
        &self,
        clock: &Clock,
        ids: &mut NameIds<'_>,
        mut take: impl FnMut(usize, Span),
    ) -> Result<(), Unreadable> {
        let (codes, texts) = &self.name;
        let names: Vec<u32> = texts.iter().map(|text| ids.id(text)).collect();
        for row in 0..self.id.len() {
            let Some(&name) = names.get(codes[row] as usize) else {
                return Err(Unreadable::Odd("a scope has no name".to_owned()));
            };
            let flags = self.flags[row] as u16;
            let start = self.start.ticks(row, |ns| clock.nearest_tick(ns));
            let length = |time: &Time| time.ticks(row, |ns| clock.nearest_length(ns));
            let has_index = flags & flag::HAS_INDEX != 0;
            take(
                row,
                Span {
                    flags,
                    name,
                    id: SpanId(self.id[row] as u64),
                    parent: SpanId(self.parent[row] as u64),
                    start,
                    end: start.wrapping_add(length(&self.duration)),
                    cpu: length(&self.cpu),
                    index: if has_index { self.index[row] } else { 0 },
                    overhead: length(&self.overhead),
                },
            );
        }
        Ok(())
    }
}

/// Parents inside the process; that of an outermost scope may be in another.
fn parents(spans: &TableFile, group: usize, whose: &str) -> Result<Vec<i64>, Unreadable> {
    let (mut parents, _) = spans.some_wholes(group, "parent")?;
    let (codes, texts) = spans.texts(group, "parent_process")?;
    let own: Vec<bool> = texts.iter().map(|text| text == whose).collect();
    for (parent, &code) in parents.iter_mut().zip(&codes) {
        if code == NO_TEXT || !own.get(code as usize).copied().unwrap_or(false) {
            *parent = SpanId::NONE.0 as i64;
        }
    }
    Ok(parents)
}
