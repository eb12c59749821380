//! Scopes that begin and end with an event each, on a thread or bound to none.

use super::File;
use super::begun::{ASYNC_TID, Begun};
use super::event::{Args, Event, text};
use super::work;
use crate::import::ImportError;
use crate::import::rows::{Parent, Scope};
use hodo_format::record::{SpanId, flag};

impl File<'_> {
    pub(super) fn begin(&mut self, event: &Event<'_>, start_ns: i64) {
        let (process, thread) = self.thread(event);
        let begun = self.begun(event, start_ns);
        if !self.stacks.push((process, thread), begun) {
            self.builder.notes.count("scopes past the limit on open ones, left out");
        }
    }

    fn begun(&mut self, event: &Event<'_>, start_ns: i64) -> Begun {
        let none = Args::default();
        self.attributes(event.args.as_ref().unwrap_or(&none));
        let name = event.name.map(text).unwrap_or_default();
        let name = self.builder.strings.number(&name);
        Begun { name, start_ns, attrs: std::mem::take(&mut self.set), id: SpanId::NONE }
    }

    pub(super) fn end(&mut self, event: &Event<'_>, end_ns: i64) -> Result<(), ImportError> {
        let (process, thread) = self.thread(event);
        let Some(begun) = self.stacks.pop((process, thread)) else {
            self.builder.notes.count("ends of a scope that did not begin, left out");
            return Ok(());
        };
        let (name, start_ns) = (begun.name, begun.start_ns);
        let scope = Scope { process, thread, name, start_ns, end_ns, ..Scope::default() };
        self.builder.scope(&scope, &begun.attrs)
    }

    pub(super) fn begin_async(&mut self, event: &Event<'_>, start_ns: i64) {
        let (key, (process, _)) = (self.async_key(event), self.thread(event));
        let own = event.args.as_ref().and_then(|args| args.get("hodo.scope_id"));
        let own = own.map(text).and_then(|id| work::scope_id(&id));
        let thread = self.builder.thread(process, ASYNC_TID);
        let id = own.unwrap_or_else(|| SpanId::new(thread, self.stacks.next_async(process)));
        let mut begun = self.begun(event, start_ns);
        begun.id = id;
        if !self.stacks.push_async(key, begun) {
            self.builder.notes.count("scopes past the limit on open ones, left out");
        }
    }

    pub(super) fn end_async(&mut self, event: &Event<'_>, end_ns: i64) -> Result<(), ImportError> {
        let (key, (process, _)) = (self.async_key(event), self.thread(event));
        let Some((begun, parent)) = self.stacks.pop_async(&key) else {
            self.builder.notes.count("ends of a scope that did not begin, left out");
            return Ok(());
        };
        self.unbound(process, begun, parent, end_ns, 0)
    }

    /// Adds a scope that is bound to no thread.
    pub(super) fn unbound(
        &mut self,
        process: u32,
        begun: Begun,
        parent: SpanId,
        end_ns: i64,
        flags: u16,
    ) -> Result<(), ImportError> {
        let scope = Scope {
            process,
            thread: begun.id.thread(),
            name: begun.name,
            start_ns: begun.start_ns,
            end_ns,
            flags: flag::CPU_OTHER_THREAD | flags,
            id: Some(begun.id),
            parent: Parent::Is(parent),
            ..Scope::default()
        };
        self.builder.scope(&scope, &begun.attrs)
    }

    /// What ties the ends of an asynchronous scope: category and id, in its process or in all.
    fn async_key(&mut self, event: &Event<'_>) -> String {
        let cat = event.cat.map(text).unwrap_or_default();
        let id = event.id.or(event.id2).map(text).unwrap_or_default();
        format!("{}\0{cat}\0{id}", self.ids(event).0)
    }
}
