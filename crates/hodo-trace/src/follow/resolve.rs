//! Which path each scope of a process is at.
//!
//! A child's record comes before its parent's: the parent is open, or it closed in the same look.
//! One that opened while the files were being read is neither; its children wait for the next look.

use super::paths::{PathId, Paths, ROOT};
use crate::Names;
use hodo_format::record::{Span, SpanId};
use std::collections::{HashMap, HashSet};

/// Most scopes that wait for the next look.
const MOST_WAITING: usize = 1 << 16;
/// Longer chains of parents are damage.
const MOST_STEPS: usize = 1 << 12;

/// What is known of the scopes of a process.
#[derive(Default)]
pub(super) struct Resolver {
    /// The paths of scopes that were open or parents at the last look, and at this one.
    before: HashMap<SpanId, PathId>,
    now: HashMap<SpanId, PathId>,
    /// Closed scopes whose parent was not known.
    waiting: Vec<Span>,
    /// Run-wide numbers of the process's names.
    names: Vec<Option<u32>>,
}

/// What one look gave.
pub(super) struct Batch {
    pub(super) closed: Vec<Span>,
    pub(super) open: Vec<Span>,
    /// There will be no other look.
    pub(super) is_last: bool,
}

/// Scopes with their paths.
pub(super) type Placed = Vec<(Span, PathId)>;

impl Resolver {
    /// Places the scopes that closed and those that are open. `root` is where the process's
    /// outermost scopes hang.
    pub(super) fn place(
        &mut self,
        Batch { closed, open, is_last }: Batch,
        names: &Names,
        root: PathId,
        paths: &mut Paths,
    ) -> (Placed, Placed) {
        self.before = std::mem::take(&mut self.now);
        let open = still_open(open, &closed);
        let waited = std::mem::take(&mut self.waiting);
        let parents = parents(&waited, &closed, &open);
        let mut walk = Walk { resolver: self, parents: &parents, names, root, paths, last: None };
        let mut placed = Vec::with_capacity(waited.len() + closed.len());
        for (span, patient) in
            waited.into_iter().map(|s| (s, false)).chain(closed.into_iter().map(|s| (s, !is_last)))
        {
            match walk.path(&span, patient) {
                Some(path) => placed.push((span, path)),
                None => walk.resolver.waiting.push(span),
            }
        }
        let open = open.into_iter().map(|s| (s, walk.path(&s, false).unwrap_or(ROOT))).collect();
        self.waiting.truncate(MOST_WAITING);
        (placed, open)
    }

    /// Where a scope of this process is, if that is known.
    pub(super) fn path_of(&self, id: SpanId) -> Option<PathId> {
        self.now.get(&id).or_else(|| self.before.get(&id)).copied()
    }

    fn name(&mut self, local: u32, names: &Names, paths: &mut Paths) -> u32 {
        let Some(text) = names.get(local) else { return paths.intern(&names.text(local)) };
        let at = local as usize;
        if at >= self.names.len() {
            self.names.resize(at + 1, None);
        }
        *self.names[at].get_or_insert_with(|| paths.intern(text))
    }
}

/// Without those that closed after they were seen open.
fn still_open(mut open: Vec<Span>, closed: &[Span]) -> Vec<Span> {
    let mut ids: HashSet<SpanId> = open.iter().map(|span| span.id).collect();
    closed.iter().for_each(|span| {
        ids.remove(&span.id);
    });
    open.retain(|span| ids.contains(&span.id));
    open
}

/// Name and parent of every scope that is open, or that another one names as its parent.
fn parents(waited: &[Span], closed: &[Span], open: &[Span]) -> HashMap<SpanId, (u32, SpanId)> {
    let mut wanted: HashMap<SpanId, (u32, SpanId)> = HashMap::new();
    let mut last = SpanId::NONE;
    for span in waited.iter().chain(closed).chain(open) {
        if span.parent != last {
            wanted.insert(span.parent, (0, SpanId::NONE));
            last = span.parent;
        }
    }
    let mut found = HashMap::with_capacity(wanted.len() + open.len());
    for span in waited.iter().chain(closed) {
        if wanted.contains_key(&span.id) {
            found.insert(span.id, (span.name, span.parent));
        }
    }
    found.extend(open.iter().map(|span| (span.id, (span.name, span.parent))));
    found
}

struct Walk<'a> {
    resolver: &'a mut Resolver,
    parents: &'a HashMap<SpanId, (u32, SpanId)>,
    names: &'a Names,
    root: PathId,
    paths: &'a mut Paths,
    /// The last parent's path: siblings come one after another.
    last: Option<(SpanId, PathId)>,
}

impl Walk<'_> {
    /// The path of a scope; none for one that may be placed at the next look.
    fn path(&mut self, span: &Span, patient: bool) -> Option<PathId> {
        let parent = match self.last {
            Some((id, path)) if id == span.parent => path,
            _ => self.of_parent(span.parent, patient)?,
        };
        self.last = Some((span.parent, parent));
        let name = self.resolver.name(span.name, self.names, self.paths);
        let path = self.paths.child(parent, name);
        if self.parents.contains_key(&span.id) {
            self.resolver.now.insert(span.id, path);
        }
        Some(path)
    }

    fn of_parent(&mut self, parent: SpanId, patient: bool) -> Option<PathId> {
        let mut chain: Vec<(SpanId, u32)> = Vec::new();
        let mut next = parent;
        let mut path = loop {
            if next.is_none() {
                break self.root;
            }
            if let Some(&known) = self.resolver.now.get(&next) {
                break known;
            }
            match self.parents.get(&next) {
                Some(&(name, up)) if chain.len() < MOST_STEPS => {
                    chain.push((next, name));
                    next = up;
                }
                _ => match self.resolver.before.get(&next) {
                    Some(&known) => break known,
                    None if patient => return None,
                    None => break self.paths.lost(),
                },
            }
        };
        for (id, name) in chain.into_iter().rev() {
            let name = self.resolver.name(name, self.names, self.paths);
            path = self.paths.child(path, name);
            self.resolver.now.insert(id, path);
        }
        Some(path)
    }
}
