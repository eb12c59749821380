//! Scopes by their begin and end rows, and which instance of a path was open when.

use crate::import::ImportError;
use crate::import::build::Builder;
use crate::import::pool::Set;
use crate::import::rows::{Parent, Scope};
use hodo_format::record::{SpanId, flag};
use std::collections::HashMap;

/// Scopes that may be open at once.
const MOST_OPEN: usize = 1 << 18;
/// Instances of scopes that are remembered, for the work they launched.
const MOST_INSTANCES: usize = 1 << 24;
/// Longest path that is kept; the tool itself cuts at 255 characters.
const MOST_PATH_BYTES: usize = 256;

/// Instance and name; the instance alone is not unique.
pub type Key = (u64, u32);

struct Open {
    id: SpanId,
    parent: SpanId,
    depth: u64,
    start_ns: i64,
    attrs: Set,
    path: u32,
    order: u64,
}

/// The scopes of a session.
pub struct Scopes {
    process: u32,
    thread: u32,
    ranges: Option<u32>,
    names: HashMap<u32, String>,
    open: HashMap<Key, Vec<Open>>,
    /// Keys of open scopes by depth, in order of their begin.
    by_depth: HashMap<u64, Vec<(u64, Key)>>,
    count: u64,
    open_count: usize,
    paths: HashMap<String, u32>,
    texts: Vec<String>,
    /// Begin and id of the instances of each path.
    instances: Vec<Vec<(i64, SpanId)>>,
    instance_count: usize,
    sorted: bool,
}

impl Scopes {
    /// None yet.
    pub fn new(process: u32, builder: &mut Builder) -> Scopes {
        let thread = builder.thread(process, 0);
        builder.name_thread(process, thread, "(thread not told)");
        Scopes {
            process,
            thread,
            ranges: None,
            names: HashMap::new(),
            open: HashMap::new(),
            by_depth: HashMap::new(),
            count: 0,
            open_count: 0,
            paths: HashMap::new(),
            texts: Vec::new(),
            instances: Vec::new(),
            instance_count: 0,
            sorted: true,
        }
    }

    /// Spells out a name.
    pub fn name(&mut self, name: u32, text: &str) {
        self.names.entry(name).or_insert_with(|| text.to_owned());
    }

    fn path(&mut self, parent: Option<u32>, name: u32) -> u32 {
        let text = self.names.get(&name).map_or("", String::as_str);
        let mut path = match parent.and_then(|p| self.texts.get(p as usize)) {
            Some(above) => format!("{above}|{text}"),
            None => text.to_owned(),
        };
        path.truncate(path.floor_char_boundary(MOST_PATH_BYTES));
        if let Some(&known) = self.paths.get(&path) {
            return known;
        }
        let number = self.texts.len() as u32;
        self.texts.push(path.clone());
        self.paths.insert(path, number);
        self.instances.push(Vec::new());
        number
    }

    /// A scope begins: the newest one that is open at the depth above is around it.
    pub fn begin(&mut self, key: Key, depth: u64, at_ns: i64, attrs: Set, builder: &mut Builder) {
        if self.open_count == MOST_OPEN {
            builder.notes.count("scopes past the limit on open ones, left out");
            return;
        }
        self.count += 1;
        let above = depth.checked_sub(1).and_then(|above| self.by_depth.get(&above)?.last());
        let above = above.and_then(|(_, key)| self.open.get(key)?.last());
        let (parent, above) = above.map_or((SpanId::NONE, None), |open| (open.id, Some(open.path)));
        let path = self.path(above, key.1);
        let (id, order) = (SpanId::new(self.thread, self.count), self.count);
        if self.instance_count < MOST_INSTANCES {
            self.instance_count += 1;
            let of_path = &mut self.instances[path as usize];
            self.sorted &= of_path.last().is_none_or(|last| last.0 <= at_ns);
            of_path.push((at_ns, id));
        }
        let open = Open { id, parent, depth, start_ns: at_ns, attrs, path, order };
        self.open.entry(key).or_default().push(open);
        self.by_depth.entry(depth).or_default().push((order, key));
        self.open_count += 1;
    }

    /// A scope ends.
    pub fn end(&mut self, key: Key, at_ns: i64, builder: &mut Builder) -> Result<(), ImportError> {
        let stack = self.open.get_mut(&key);
        let Some(open) = stack.and_then(Vec::pop) else {
            builder.notes.count("ends of a scope that did not begin, left out");
            return Ok(());
        };
        if self.open.get(&key).is_some_and(Vec::is_empty) {
            self.open.remove(&key);
        }
        self.open_count -= 1;
        if let Some(keys) = self.by_depth.get_mut(&open.depth) {
            keys.retain(|(order, _)| *order != open.order);
        }
        self.write(key.1, open, at_ns, 0, builder)
    }

    fn write(
        &mut self,
        name: u32,
        open: Open,
        end_ns: i64,
        flags: u16,
        builder: &mut Builder,
    ) -> Result<(), ImportError> {
        let scope = Scope {
            process: self.process,
            thread: self.thread,
            name,
            start_ns: open.start_ns,
            end_ns: end_ns.max(open.start_ns),
            flags,
            id: Some(open.id),
            parent: Parent::Is(open.parent),
            ..Scope::default()
        };
        builder.scope(&scope, &open.attrs)
    }

    /// A range of NVTX: on a row of its own, placed by time.
    pub fn range(
        &mut self,
        name: u32,
        (start_ns, end_ns): (i64, i64),
        attrs: &Set,
        builder: &mut Builder,
    ) -> Result<(), ImportError> {
        let process = self.process;
        let thread = *self.ranges.get_or_insert_with(|| {
            let thread = builder.thread(process, u64::MAX);
            builder.name_thread(process, thread, "NVTX");
            thread
        });
        let scope = Scope { process, thread, name, start_ns, end_ns, ..Scope::default() };
        builder.scope(&scope, attrs)
    }

    /// Writes scopes that did not end.
    pub fn finish(&mut self, last_ns: i64, builder: &mut Builder) -> Result<(), ImportError> {
        let mut left: Vec<(u32, Open)> = std::mem::take(&mut self.open)
            .into_iter()
            .flat_map(|(key, stack)| stack.into_iter().map(move |open| (key.1, open)))
            .collect();
        left.sort_by_key(|(_, open)| open.order);
        builder.notes.add("scopes without an end, shown as open", left.len() as u64);
        for (name, open) in left {
            self.write(name, open, last_ns, flag::LEFT_OPEN, builder)?;
        }
        if !self.sorted {
            self.instances.iter_mut().for_each(|all| all.sort_unstable());
        }
        Ok(())
    }

    /// The instance of a path that began last before a moment. The path of a set ends with the
    /// call that made it, which is no scope.
    pub fn instance(&self, path: &str, at_ns: i64) -> Option<SpanId> {
        let above = path.rsplit_once('|').map(|(above, _)| above);
        let known = [Some(path), above].into_iter().flatten().find_map(|p| self.paths.get(p))?;
        let all = &self.instances[*known as usize];
        let after = all.partition_point(|(start_ns, _)| *start_ns <= at_ns);
        all.get(after.checked_sub(1)?).map(|(_, id)| *id)
    }
}
