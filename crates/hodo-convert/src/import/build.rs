//! The one way from any source to a run: importers say what there was, this writes the folder.

mod join;
mod process;

use super::ImportError;
use super::notes::Notes;
use super::place::Placer;
use super::pool::{Pool, Set};
use super::rows::{
    ITEM_WORDS, Item, JOINT_WORDS, Joint, Kind, NewMark, NewWork, Parent, Scope, Sort, What, ticks,
};
use super::sort::{Sorted, Sorter};
use super::store::{Records, Works};
use super::strings::Strings;
use hodo_format::arena::Counts;
use hodo_format::gpu::Detail;
use hodo_format::record::{SpanId, flag};
use hodo_format::spool::ThreadInfo;
use join::{Group, count, joint};
pub use process::Process;
use process::{Thread, gpu_state, process_json, thread_info};
use std::io;
use std::path::{Path, PathBuf};

/// Threads of a process that are kept apart; what further ones did counts to the last.
pub const MOST_THREADS: u32 = 1 << 20;
/// Processes of a run that are kept apart.
pub const MOST_PROCESSES: usize = 1 << 12;

/// What an import made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Processes with anything in them.
    pub processes: u64,
    /// Scopes and marks.
    pub records: Counts,
    /// Kernels.
    pub kernels: u64,
    /// Copies.
    pub copies: u64,
    /// Sets.
    pub sets: u64,
    /// Waits.
    pub waits: u64,
    /// Of all this work, what no call was found for.
    pub without_launch: u64,
}

/// A run in the making.
pub struct Builder {
    folder: PathBuf,
    /// Names, keys and kernels.
    pub strings: Strings,
    /// What there is to say besides.
    pub notes: Notes,
    processes: Vec<Process>,
    pool: Pool,
    items: Sorter<ITEM_WORDS>,
    joints: Sorter<JOINT_WORDS>,
    order: u64,
    lanes: u32,
}

impl Builder {
    /// A run in `folder`, which is there and empty.
    pub fn new(folder: &Path) -> Builder {
        Builder {
            folder: folder.to_owned(),
            strings: Strings::default(),
            notes: Notes::default(),
            processes: Vec::new(),
            pool: Pool::new(folder),
            items: Sorter::new(folder),
            joints: Sorter::new(folder),
            order: 0,
            lanes: 0,
        }
    }

    /// Where files that wait may be.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Adds a process; its number is how others name it. Past the limit all are one.
    pub fn process(&mut self, mut process: Process) -> u32 {
        if self.processes.len() == MOST_PROCESSES {
            self.notes.count("processes past the limit, taken as one");
            return MOST_PROCESSES as u32 - 1;
        }
        if process.id.is_none_or(|id| self.processes.iter().any(|p| p.id == Some(id))) {
            process.id = Some(random());
        }
        self.processes.push(process);
        self.processes.len() as u32 - 1
    }

    /// A process that was added.
    pub fn process_mut(&mut self, number: u32) -> Option<&mut Process> {
        self.processes.get_mut(number as usize)
    }

    /// The number of the thread that the source calls `os_tid`.
    pub fn thread(&mut self, process: u32, os_tid: u64) -> u32 {
        let Some(process) = self.processes.get_mut(process as usize) else { return 0 };
        if let Some(&number) = process.by_os_tid.get(&os_tid) {
            return number;
        }
        let last = process.threads.last().map_or(0, |thread| thread.number);
        if last >= MOST_THREADS {
            self.notes.count("threads past the limit, taken as one");
            return last;
        }
        process.by_os_tid.insert(os_tid, last + 1);
        let number = last + 1;
        process.threads.push(Thread { number, os_tid, ..Thread::default() });
        number
    }

    /// Makes sure that a thread whose number the source gave is there.
    pub fn numbered_thread(&mut self, process: u32, number: u32, os_tid: u64, name: &str) {
        let Some(process) = self.processes.get_mut(process as usize) else { return };
        if number == 0 || number > MOST_THREADS {
            return;
        }
        let at = process.threads.partition_point(|t| t.number < number);
        if process.threads.get(at).is_none_or(|t| t.number != number) {
            process.threads.insert(at, Thread { number, os_tid, ..Thread::default() });
        }
        if let Some(thread) = process.thread_mut(number) {
            thread.os_tid = os_tid;
            thread.name = name.to_owned();
        }
    }

    /// A number that stands for no thread: what is on it is placed by itself, and has ids that say
    /// which thread it was of.
    pub fn lane(&mut self) -> u32 {
        self.lanes += 1;
        MOST_THREADS.saturating_add(self.lanes)
    }

    /// Names a thread.
    pub fn name_thread(&mut self, process: u32, number: u32, name: &str) {
        let thread = self.process_mut(process).and_then(|p| p.thread_mut(number));
        if let Some(thread) = thread {
            thread.name = name.to_owned();
        }
    }

    /// Adds a scope. One without CPU time says so.
    pub fn scope(&mut self, scope: &Scope, attrs: &Set) -> Result<(), ImportError> {
        let mut flags = scope.flags;
        if flags & flag::CPU_MASK == 0 && scope.cpu_ns.is_none() {
            flags |= flag::CPU_OFF;
        }
        if scope.index.is_some() {
            flags |= flag::HAS_INDEX;
        }
        let (start, end) = (ticks(scope.start_ns), ticks(scope.end_ns));
        if scope.overhead_ns.is_some()
            && let Some(process) = self.process_mut(scope.process)
        {
            process.has_overhead = true;
        }
        if let Some(id) = scope.id {
            self.numbered_id(scope.process, id);
        }
        let attrs = self.pool.put(attrs).map_err(ImportError::Write)?;
        self.item(Item {
            process: scope.process,
            thread: scope.thread,
            start,
            end: end.max(start),
            order: 0,
            kind: Kind::Scope,
            sort: scope.sort,
            flags,
            name: scope.name,
            id: scope.id.unwrap_or_default().0,
            parent: scope.parent,
            index: scope.index.unwrap_or(0),
            cpu: scope.cpu_ns.unwrap_or(0).min(end.saturating_sub(start)),
            overhead: scope.overhead_ns.unwrap_or(0),
            attrs,
        })
    }

    fn numbered_id(&mut self, process: u32, id: SpanId) {
        let Some(process) = self.processes.get_mut(process as usize) else { return };
        if process.thread_mut(id.thread()).is_none() {
            let number = id.thread();
            let at = process.threads.partition_point(|t| t.number < number);
            process.threads.insert(at, Thread { number, ..Thread::default() });
        }
        if let Some(thread) = process.thread_mut(id.thread()) {
            thread.last_id = thread.last_id.max(id.sequence());
        }
    }

    /// Adds a call that may have launched the work of `correlation`. `waits` is what it waited for,
    /// as a sync of GPU work has it.
    pub fn call(
        &mut self,
        (process, thread): (u32, u32),
        (start_ns, end_ns): (i64, i64),
        correlation: u32,
        waits: Option<u8>,
    ) -> Result<(), ImportError> {
        let (start, end) = (ticks(start_ns), ticks(end_ns));
        self.item(Item {
            process,
            thread,
            start,
            end: start,
            order: 0,
            kind: Kind::Launch,
            sort: Sort::Call,
            flags: 0,
            name: 0,
            id: correlation.into(),
            parent: Parent::ByTime,
            index: 0,
            cpu: 0,
            overhead: 0,
            attrs: 0,
        })?;
        let Some(what) = waits else { return Ok(()) };
        let work = NewWork {
            correlation,
            ..NewWork::new(process, Detail::Sync { what }, start_ns, end_ns)
        };
        let mut joint = joint(&work);
        (joint.what, joint.end) = (What::Wait, end.max(start));
        self.joints.push(joint.words()).map_err(ImportError::Write)
    }

    /// Adds a mark. The first of `attrs` is its value, a second the JSON of its attributes.
    pub fn mark(&mut self, mark: &NewMark, attrs: &Set) -> Result<(), ImportError> {
        let at = ticks(mark.at_ns);
        let attrs = self.pool.put(attrs).map_err(ImportError::Write)?;
        self.item(Item {
            process: mark.process,
            thread: mark.thread,
            start: at,
            end: at,
            order: 0,
            kind: Kind::Mark,
            sort: Sort::Op,
            flags: mark.summary.into(),
            name: mark.name,
            id: 0,
            parent: mark.span.map_or(Parent::ByTime, Parent::Is),
            index: 0,
            cpu: 0,
            overhead: 0,
            attrs,
        })
    }

    fn item(&mut self, item: Item) -> Result<(), ImportError> {
        self.order += 1;
        if let Some(process) = self.processes.get_mut(item.process as usize) {
            process.saw(item.start, item.end);
        }
        let row = Item { order: self.order, ..item }.words();
        self.items.push(row).map_err(ImportError::Write)
    }

    /// Adds GPU work.
    pub fn work(&mut self, work: &NewWork) -> Result<(), ImportError> {
        let joint = joint(work);
        if let Some(process) = self.processes.get_mut(work.process as usize) {
            process.saw(joint.start, joint.end);
        }
        self.joints.push(joint.words()).map_err(ImportError::Write)
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty() && self.joints.is_empty()
    }

    /// Nanoseconds since 1970 when the first process began.
    pub fn start_ns(&self) -> u64 {
        let starts = self.processes.iter().filter_map(|p| Some(p.wall_ns(p.first?)));
        starts.min().unwrap_or(0)
    }

    /// The process that began first.
    pub fn first_process(&self) -> Option<&Process> {
        self.processes.iter().filter(|p| p.first.is_some()).min_by_key(|p| p.first)
    }

    /// Writes the process folders; each is complete before it has its name.
    pub fn finish(mut self) -> io::Result<(Totals, Notes)> {
        let mut totals = Totals::default();
        let mut names = Vec::new();
        for process in &self.processes {
            if process.first.is_none() {
                names.push(None);
                continue;
            }
            let name = format!("p{}-{:08x}", process.pid, process.id() as u32);
            let part = self.folder.join(format!("new-{name}"));
            std::fs::create_dir(&part)?;
            std::fs::write(part.join("process.json"), process_json(process))?;
            totals.processes += 1;
            names.push(Some((part, name)));
        }
        self.records(&names, &mut totals)?;
        self.works(&names, &mut totals)?;
        for (part, name) in names.into_iter().flatten() {
            std::fs::rename(part, self.folder.join(name))?;
        }
        self.notes.add("names past the limit on different names", self.strings.refused);
        Ok((totals, self.notes))
    }

    fn records(&mut self, names: &Folders, totals: &mut Totals) -> io::Result<()> {
        let items = std::mem::replace(&mut self.items, Sorter::new(&self.folder));
        let mut items = Ahead::new(items.sorted()?)?;
        let strings = self.strings.all();
        for (number, process) in self.processes.iter().enumerate() {
            let Some((folder, _)) = &names[number] else { continue };
            let mut placer = Placer::new(&self.pool, Records::new(folder, process.id()));
            let mut thread = None;
            while let Some(row) = items.take(|row| row[0] >> 32 == number as u64)? {
                let item = Item::of(&row);
                if thread != Some(item.thread) {
                    thread = Some(item.thread);
                    let known = process.threads.iter().find(|t| t.number == item.thread);
                    let os_tid = known.map_or(0, |t| u32::try_from(t.os_tid).unwrap_or(0));
                    placer.thread(item.thread, os_tid, known.map_or(0, |t| t.last_id) + 1)?;
                }
                if let Some(joint) = placer.take(&item)? {
                    self.joints.push(joint.words())?;
                }
            }
            self.notes.add("scopes deeper than 512 levels, shown at that level", placer.too_deep);
            let records = placer.finish()?;
            let threads: Vec<ThreadInfo> = process.threads.iter().map(thread_info).collect();
            totals.records += records.finish(&strings, &process.anchors(), &threads)?;
        }
        Ok(())
    }

    fn works(&mut self, names: &Folders, totals: &mut Totals) -> io::Result<()> {
        let joints = std::mem::replace(&mut self.joints, Sorter::new(&self.folder));
        let mut joints = Ahead::new(joints.sorted()?)?;
        for (number, process) in self.processes.iter().enumerate() {
            let Some((folder, _)) = &names[number] else { continue };
            let mut works = Works::new(folder, process.id());
            let mut group = Group::default();
            let mut kept = 0u64;
            while let Some(row) = joints.take(|row| row[0] >> 32 == number as u64)? {
                let Some(work) = group.join(&Joint::of(&row)) else { continue };
                count(totals, &work);
                kept += 1;
                works.push(&work)?;
            }
            works.finish(&gpu_state(process, kept))?;
        }
        Ok(())
    }
}

/// Folders of the processes that have anything in them, and their names once they are complete.
type Folders = [Option<(PathBuf, String)>];

/// Sorted rows of which the next can be looked at.
struct Ahead<const N: usize> {
    rows: Sorted<N>,
    next: Option<[u64; N]>,
}

impl<const N: usize> Ahead<N> {
    fn new(mut rows: Sorted<N>) -> io::Result<Ahead<N>> {
        let next = rows.next()?;
        Ok(Ahead { rows, next })
    }

    /// The next row if it fits.
    fn take(&mut self, fits: impl Fn(&[u64; N]) -> bool) -> io::Result<Option<[u64; N]>> {
        let Some(row) = self.next.filter(fits) else { return Ok(None) };
        self.next = self.rows.next()?;
        Ok(Some(row))
    }
}

/// 64 bits that nobody else has.
pub fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::hash::RandomState::new().build_hasher().finish()
}
