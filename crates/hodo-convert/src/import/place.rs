//! Places what threads did in one another by time, and writes it in the order it ended.

use super::pool::Pool;
use super::rows::{Item, Joint, Kind, Parent, Sort, What};
use super::store::Records;
use hodo_format::gpu::Detail;
use hodo_format::record::{Span, SpanId, flag};
use std::cmp::Reverse;
use std::io;

/// Scopes around a scope that are looked at.
const LOOK: usize = 1024;
/// Levels that are kept; what is deeper counts to the last of them.
const DEEPEST: u32 = 512;
/// Scopes that may be open at once; older ones are written as they are.
const MOST_OPEN: usize = 1 << 19;
/// Scopes of the user, and outermost operations of other threads, that are remembered.
const MOST_REMEMBERED: usize = 1 << 20;

/// A scope that has not ended yet.
struct Open {
    span: Span,
    attrs: u64,
    sort: Sort,
    depth: u32,
}

/// What one process did, thread by thread in order of time.
pub struct Placer<'a> {
    pub pool: &'a Pool,
    pub records: Records,
    thread: u32,
    os_tid: u32,
    next_id: u64,
    open: Vec<Open>,
    annotations: Vec<(u64, u64, SpanId)>,
    asked: Vec<(Span, u64)>,
    bytes: Vec<u8>,
    /// Scopes deeper than are kept in their place.
    pub too_deep: u64,
}

impl<'a> Placer<'a> {
    /// Begins with a process.
    pub fn new(pool: &'a Pool, records: Records) -> Placer<'a> {
        Placer {
            pool,
            records,
            thread: 0,
            os_tid: 0,
            next_id: 1,
            open: Vec::new(),
            annotations: Vec::new(),
            asked: Vec::new(),
            bytes: Vec::new(),
            too_deep: 0,
        }
    }

    /// The next thread. Ids of its scopes count up from `first_id`.
    pub fn thread(&mut self, number: u32, os_tid: u32, first_id: u64) -> io::Result<()> {
        self.end_thread()?;
        (self.thread, self.os_tid, self.next_id) = (number, os_tid, first_id);
        Ok(())
    }

    fn end_thread(&mut self) -> io::Result<()> {
        while let Some(open) = self.open.pop() {
            self.write(open)?;
        }
        Ok(())
    }

    /// The thread's next item; a call is answered with what it tells of work it launched.
    pub fn take(&mut self, item: &Item) -> io::Result<Option<Joint>> {
        self.close_until(item.start)?;
        match item.kind {
            Kind::Scope => self.scope(item).map(|()| None),
            Kind::Launch => Ok(Some(self.launch(item))),
            Kind::Mark => self.mark(item).map(|()| None),
        }
    }

    fn close_until(&mut self, now: u64) -> io::Result<()> {
        while let Some(open) = self.open.pop_if(|open| open.span.end <= now) {
            self.write(open)?;
        }
        if self.open.len() < MOST_OPEN {
            return Ok(());
        }
        // Below one that crosses them others have ended; if all last, the oldest must go.
        let (ended, mut open): (Vec<Open>, Vec<Open>) =
            self.open.drain(..).partition(|open| open.span.end <= now);
        let oldest = if open.len() > MOST_OPEN / 2 { open.len() / 2 } else { 0 };
        let oldest: Vec<Open> = open.drain(..oldest).collect();
        self.open = open;
        ended.into_iter().chain(oldest).try_for_each(|open| self.write(open))
    }

    fn scope(&mut self, item: &Item) -> io::Result<()> {
        let id = if item.id != 0 { SpanId(item.id) } else { self.fresh_id() };
        let (parent, depth) = match item.parent {
            Parent::Is(parent) => (parent, 0),
            Parent::ByTime => self.around(item.start, item.end),
        };
        let span = Span {
            flags: item.flags,
            name: item.name,
            id,
            parent,
            start: item.start,
            end: item.end,
            cpu: item.cpu,
            index: item.index,
            overhead: item.overhead,
        };
        let open = Open { span, attrs: item.attrs, sort: item.sort, depth };
        // What is bound to no thread has nothing to do with what this one does meanwhile.
        let is_unbound = item.flags & flag::CPU_MASK == flag::CPU_OTHER_THREAD;
        if is_unbound && item.parent != Parent::ByTime {
            return self.write(open);
        }
        self.open.push(open);
        Ok(())
    }

    fn fresh_id(&mut self) -> SpanId {
        self.next_id += 1;
        SpanId::new(self.thread, self.next_id - 1)
    }

    /// The innermost scope that has all of this time in it, and the level inside it.
    fn around(&mut self, start: u64, end: u64) -> (SpanId, u32) {
        let holds = |open: &&Open| open.span.start <= start && end <= open.span.end;
        match self.open.iter().rev().take(LOOK).find(holds) {
            None => (SpanId::NONE, 0),
            Some(open) if open.depth < DEEPEST => (open.span.id, open.depth + 1),
            Some(open) => {
                self.too_deep += 1;
                (open.span.parent, open.depth)
            }
        }
    }

    /// The innermost scope at a moment that is no call into the driver.
    fn innermost(&self, at: u64) -> SpanId {
        let is_it =
            |open: &&Open| open.sort != Sort::Call && open.span.start <= at && at < open.span.end;
        self.open.iter().rev().take(LOOK).find(is_it).map_or(SpanId::NONE, |open| open.span.id)
    }

    fn launch(&self, item: &Item) -> Joint {
        Joint {
            process: item.process,
            correlation: item.id as u32,
            what: What::Launch,
            span: self.innermost(item.start),
            launched: item.start,
            thread: self.os_tid,
            flags: 0,
            start: item.start,
            end: item.end,
            device: 0,
            context: 0,
            stream: 0,
            graph: 0,
            node: 0,
            detail: Detail::Sync { what: 0 },
        }
    }

    fn mark(&mut self, item: &Item) -> io::Result<()> {
        let span = match item.parent {
            Parent::Is(span) => span,
            Parent::ByTime => self.innermost(item.start),
        };
        self.pool.get(item.attrs, &mut self.bytes)?;
        let summary = item.flags != 0;
        let is_lane = self.thread > super::build::MOST_THREADS;
        let thread = if is_lane { span.thread() } else { self.thread };
        self.records.mark(thread, (item.name, span, item.start), summary, &self.bytes)
    }

    fn write(&mut self, open: Open) -> io::Result<()> {
        let Open { span, attrs, sort, .. } = open;
        match sort {
            Sort::Annotation if self.annotations.len() < MOST_REMEMBERED => {
                self.annotations.push((span.start, span.end, span.id));
            }
            Sort::Asked if span.parent.is_none() && self.asked.len() < MOST_REMEMBERED => {
                self.asked.push((span, attrs));
                return Ok(());
            }
            _ => {}
        }
        self.pool.get(attrs, &mut self.bytes)?;
        self.records.span(&span, &self.bytes)
    }

    /// Ends the process: what other threads asked for goes under what they had open meanwhile.
    pub fn finish(mut self) -> io::Result<Records> {
        self.end_thread()?;
        self.annotations.sort_unstable_by_key(|&(start, end, id)| (start, Reverse(end), id));
        self.asked.sort_unstable_by_key(|(span, _)| (span.start, span.id));
        let mut annotations = self.annotations.iter().peekable();
        let mut open: Vec<&(u64, u64, SpanId)> = Vec::new();
        for (span, attrs) in &mut self.asked {
            while let Some(next) = annotations.next_if(|next| next.0 <= span.start) {
                open.push(next);
            }
            while open.pop_if(|open| open.1 <= span.start).is_some() {}
            let holds = |open: &&&(u64, u64, SpanId)| span.end <= open.1;
            let around = open.iter().rev().take(LOOK).find(holds);
            span.parent = around.map_or(SpanId::NONE, |around| around.2);
            self.pool.get(*attrs, &mut self.bytes)?;
            self.records.span(span, &self.bytes)?;
        }
        Ok(self.records)
    }
}
