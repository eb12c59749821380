//! Chrome trace JSON, plain: what `chrome://tracing` reads, torch.profiler (Kineto) writes, and
//! `hodo export --to chrome` too.

mod begun;
pub(super) mod event;
pub(super) mod work;

use super::build::{Builder, Process};
use super::json::{Document, Stop, parse};
use super::pool::{Given, Set};
use super::rows::{NewMark, Parent, Scope, Sort};
use super::source::Entry;
use super::{ImportError, json};
use begun::{Begun, Stacks};
use event::{Args, Event, ns, text};
use hodo_format::record::{SpanId, flag};
use hodo_trace::OVERHEAD_MARK;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::io::Read;
use work::Category;

/// Names of processes and threads that are remembered.
const MOST_NAMES: usize = 1 << 20;
/// Times of a clock that counts from 1970 are past this: the year 2001.
const SINCE_1970_NS: i64 = 1_000_000_000_000_000_000;

/// Imports one file.
pub fn import(entry: Entry<'_>, builder: &mut Builder) -> Result<(), ImportError> {
    let mut file = File::new(builder, entry.changed_ns);
    let mut document = Document::new(entry.bytes);
    let stop = file.document(&mut document).err();
    file.finish()?;
    match stop {
        None => Ok(()),
        Some(Stop::Damaged { offset, why }) => {
            let path = entry.path.display();
            builder.notes.place(format!(
                "{path} is damaged at byte {offset} ({why}); what stands before is imported"
            ));
            Ok(())
        }
        Some(Stop::Failed(error)) => Err(error),
    }
}

/// A file that is being imported.
struct File<'a> {
    builder: &'a mut Builder,
    changed_ns: Option<i64>,
    /// What its processes have in common: the one that did what is on a GPU's row.
    host: Option<u32>,
    processes: HashMap<i64, u32>,
    threads: HashMap<(i64, i64), (u32, u32)>,
    last: Option<((i64, i64), (u32, u32))>,
    process_names: HashMap<i64, String>,
    thread_names: HashMap<(i64, i64), String>,
    stacks: Stacks,
    /// Nanoseconds since 1970 of the moment 0.
    base_ns: Option<i64>,
    rank: (Option<u32>, Option<u32>),
    gpu: serde_json::Map<String, Value>,
    devices: Vec<(u32, String)>,
    set: Set,
    first_ns: Option<i64>,
    last_ns: i64,
    /// Rows of hodo's own export that are not a thread, by thread id.
    lanes: HashMap<(i64, i64), u32>,
}

impl<'a> File<'a> {
    fn new(builder: &'a mut Builder, changed_ns: Option<i64>) -> File<'a> {
        File {
            builder,
            changed_ns,
            host: None,
            processes: HashMap::new(),
            threads: HashMap::new(),
            last: None,
            process_names: HashMap::new(),
            thread_names: HashMap::new(),
            stacks: Stacks::default(),
            base_ns: None,
            rank: (None, None),
            gpu: serde_json::Map::new(),
            devices: Vec::new(),
            set: Set::default(),
            first_ns: None,
            last_ns: i64::MIN,
            lanes: HashMap::new(),
        }
    }

    /// Walks through the document: a list of events, or an object that has one.
    fn document(&mut self, document: &mut Document<impl Read>) -> Result<(), Stop> {
        let mut bytes = Vec::new();
        if document.next_token()? == Some(b'[') {
            return self.events(document, &mut bytes);
        }
        document.expect(b'{')?;
        let mut first = true;
        while document.another(&mut first, b'}')? {
            let key = document.key(&mut bytes)?;
            if key == "traceEvents" {
                self.events(document, &mut bytes)?;
                continue;
            }
            document.element(&mut bytes)?;
            let mut mended = Vec::new();
            if let Ok(value) = parse::<Value>(&bytes, &mut mended) {
                self.about(&key, &value);
            }
        }
        Ok(())
    }

    fn events(
        &mut self,
        document: &mut Document<impl Read>,
        bytes: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        document.expect(b'[')?;
        let (mut first, mut mended) = (true, Vec::new());
        while document.another(&mut first, b']')? {
            document.element(bytes)?;
            match json::parse::<Event<'_>>(bytes, &mut mended) {
                Ok(event) => self.event(&event)?,
                Err(_) => self.builder.notes.count("events that cannot be read, left out"),
            }
        }
        Ok(())
    }

    /// What the file says of itself.
    fn about(&mut self, key: &str, value: &Value) {
        let number = |value: &Value| u32::try_from(value.as_u64()?).ok();
        match key {
            "baseTimeNanoseconds" => self.base_ns = value.as_i64(),
            "otherData" => {
                let start = value["start_ns"].as_str().and_then(|ns| ns.parse().ok());
                self.base_ns = start.or(self.base_ns);
            }
            "distributedInfo" => {
                self.rank = (number(&value["rank"]), number(&value["world_size"]));
            }
            "deviceProperties" => {
                for device in value.as_array().into_iter().flatten().take(1024) {
                    let name = device["name"].as_str().unwrap_or("").to_owned();
                    self.devices.extend(number(&device["id"]).map(|id| (id, name)));
                }
            }
            "cupti_version" => self.told("version", value),
            "cuda_driver_version" => self.told("driver", value),
            _ => {}
        }
    }

    fn told(&mut self, key: &str, value: &Value) {
        self.gpu.insert(key.to_owned(), value.to_string().into());
    }

    fn event(&mut self, event: &Event<'_>) -> Result<(), Stop> {
        let phase = event.ph.map(text).unwrap_or_default();
        if phase == "M" {
            self.metadata(event);
            return Ok(());
        }
        let is_known = matches!(
            &*phase,
            "X" | "B" | "E" | "b" | "e" | "S" | "F" | "i" | "I" | "n" | "T" | "R" | "C"
        );
        if !is_known {
            self.left_out(&phase);
            return Ok(());
        }
        let Some(start_ns) = event.ts.and_then(ns) else {
            self.builder.notes.count("events without a time, left out");
            return Ok(());
        };
        let end_ns = start_ns.saturating_add(event.dur.and_then(ns).unwrap_or(0).max(0));
        self.first_ns = Some(self.first_ns.map_or(start_ns, |first| first.min(start_ns)));
        self.last_ns = self.last_ns.max(end_ns);
        match &*phase {
            "X" => self.slice(event, (start_ns, end_ns))?,
            "B" => self.begin(event, start_ns),
            "E" => self.end(event, start_ns)?,
            "b" | "S" => self.begin_async(event, start_ns),
            "e" | "F" => self.end_async(event, start_ns)?,
            "C" => self.counter(event, start_ns)?,
            _ => self.instant(event, start_ns)?,
        }
        Ok(())
    }

    fn left_out(&mut self, phase: &str) {
        let what = match phase {
            // Arrows: torch's lead from calls to work, which correlation tells too.
            "s" | "t" | "f" => return,
            "P" => "samples of the call stack, left out",
            "N" | "O" | "D" => "events about objects, left out",
            "v" | "V" => "memory dumps, left out",
            "c" => return,
            _ => "events of a kind that is not known, left out",
        };
        self.builder.notes.count(what);
    }

    fn metadata(&mut self, event: &Event<'_>) {
        let Some(name) = event.args.as_ref().and_then(|args| args.get("name")).map(text) else {
            return;
        };
        if self.process_names.len() + self.thread_names.len() >= MOST_NAMES {
            return;
        }
        let (pid, tid) = self.ids(event);
        match event.name.map(text).as_deref() {
            Some("process_name") => drop(self.process_names.insert(pid, name.into_owned())),
            Some("thread_name") => drop(self.thread_names.insert((pid, tid), name.into_owned())),
            _ => {}
        }
    }

    /// The file's numbers of process and thread; names get numbers that no system gives out.
    fn ids(&mut self, event: &Event<'_>) -> (i64, i64) {
        let mut id = |raw: Option<&RawValue>| {
            let text = raw.map(text).unwrap_or(Cow::Borrowed("0"));
            text.parse()
                .unwrap_or_else(|_| i64::MIN / 2 + i64::from(self.builder.strings.number(&text)))
        };
        (id(event.pid), id(event.tid))
    }

    /// Process and thread of an event, as the run numbers them.
    fn thread(&mut self, event: &Event<'_>) -> (u32, u32) {
        let ids = self.ids(event);
        if let Some((_, known)) = self.last.filter(|(last, _)| *last == ids) {
            return known;
        }
        let known = match self.threads.get(&ids) {
            Some(&known) => known,
            None => {
                let process = self.process(ids.0);
                let thread = self.builder.thread(process, ids.1 as u64);
                self.threads.insert(ids, (process, thread));
                (process, thread)
            }
        };
        self.last = Some((ids, known));
        known
    }

    fn process(&mut self, pid: i64) -> u32 {
        if let Some(&known) = self.processes.get(&pid) {
            return known;
        }
        let os_pid = u32::try_from(pid).unwrap_or(0);
        // Work may come before the first thing its process did on a thread.
        let unclaimed = self.host.filter(|_| self.processes.is_empty());
        let number = unclaimed.unwrap_or_else(|| self.builder.process(Process::default()));
        if let Some(process) = self.builder.process_mut(number) {
            process.pid = os_pid;
        }
        self.host = self.host.or(Some(number));
        self.processes.insert(pid, number);
        number
    }

    /// The process to which the file's GPU work belongs.
    fn host(&mut self) -> u32 {
        *self.host.get_or_insert_with(|| self.builder.process(Process::default()))
    }

    fn slice(&mut self, event: &Event<'_>, times: (i64, i64)) -> Result<(), ImportError> {
        let cat = event.cat.map(text).unwrap_or_default();
        let category = Category::of(&cat);
        let none = Args::default();
        let args = event.args.as_ref().unwrap_or(&none);
        if let Category::Own(what) = category {
            self.builder.notes.count(what);
            return Ok(());
        }
        let name = event.name.map(text).unwrap_or_default();
        if category.is_work() {
            let is_hodo = cat.starts_with("gpu,");
            let pid = self.ids(event);
            let process = if is_hodo { self.process(pid.0) } else { self.host() };
            let strings = &mut self.builder.strings;
            let mut work = work::work(category, process, &name, times, args, strings);
            if is_hodo {
                self.on_row(pid, &mut work);
            }
            return self.builder.work(&work);
        }
        let (process, thread) = self.thread(event);
        if category == Category::Call
            && let Some(correlation) = args.number("correlation")
        {
            let correlation = u32::try_from(correlation).unwrap_or(0);
            self.builder.call((process, thread), times, correlation, work::waits(&name))?;
        }
        let mut scope = Scope {
            process,
            thread,
            name: self.builder.strings.number(&name),
            start_ns: times.0,
            end_ns: times.1,
            sort: sort(category, &name, args),
            ..Scope::default()
        };
        self.attributes(args);
        self.own(event, args, &mut scope);
        self.builder.scope(&scope, &self.set)
    }

    /// Device and stream of work in hodo's own export: as the title of its row says.
    fn on_row(&mut self, row: (i64, i64), work: &mut super::rows::NewWork) {
        let Some(title) = self.thread_names.get(&row) else { return };
        let after = |word: &str| {
            let digits = title.split_once(word)?.1;
            digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        };
        work.device = after("GPU ").unwrap_or(0);
        work.stream = after("stream ").unwrap_or(0);
        work.context = after("context ").unwrap_or(0);
        let name = title.split_once(" (").and_then(|(_, rest)| rest.split_once(") stream"));
        let device = work.device;
        if let (Some((name, _)), Some(process)) = (name, self.builder.process_mut(work.process)) {
            process.devices.entry(device).or_insert_with(|| name.to_owned());
        }
    }

    /// Puts the arguments into the set, but for what only the profiler needs.
    fn attributes(&mut self, args: &Args<'_>) {
        self.set.clear();
        let is_hodo = args.get("hodo.scope_id").is_some();
        for (key, raw) in &args.0 {
            if is_bookkeeping(key) || is_hodo && is_own(key) {
                continue;
            }
            let key = self.builder.strings.number(key);
            given(raw, |value| self.set.push(key, &value));
        }
    }

    /// What hodo's own export says of a scope besides.
    fn own(&mut self, event: &Event<'_>, args: &Args<'_>, scope: &mut Scope) {
        let id = |key: &str| args.get(key).map(text).and_then(|id| work::scope_id(&id));
        let Some(own) = id("hodo.scope_id") else { return };
        scope.id = Some(own);
        let row = self.ids(event);
        scope.thread = match self.lanes.get(&row) {
            Some(&lane) => lane,
            None => {
                let lane = self.builder.lane();
                self.lanes.insert(row, lane);
                let os_tid = row.1 as u64 & 0x7fff_ffff;
                self.builder.numbered_thread(scope.process, own.thread(), os_tid, "");
                lane
            }
        };
        if let Some(parent) = id("hodo.parent_id") {
            scope.parent = Parent::Is(parent);
        }
        scope.index = args.get("index").and_then(|index| index.get().parse().ok());
        scope.cpu_ns = args.number("cpu_ns");
        scope.overhead_ns = args.number(OVERHEAD_MARK);
        for (key, bit) in [("failed", flag::FAILED), ("open_at_end", flag::LEFT_OPEN)] {
            if args.get(key).is_some() {
                scope.flags |= bit;
            }
        }
    }

    fn begin(&mut self, event: &Event<'_>, start_ns: i64) {
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

    fn end(&mut self, event: &Event<'_>, end_ns: i64) -> Result<(), ImportError> {
        let (process, thread) = self.thread(event);
        let Some(begun) = self.stacks.pop((process, thread)) else {
            self.builder.notes.count("ends of a scope that did not begin, left out");
            return Ok(());
        };
        let (name, start_ns) = (begun.name, begun.start_ns);
        let scope = Scope { process, thread, name, start_ns, end_ns, ..Scope::default() };
        self.builder.scope(&scope, &begun.attrs)
    }

    fn begin_async(&mut self, event: &Event<'_>, start_ns: i64) {
        let (key, (process, _)) = (self.async_key(event), self.thread(event));
        let own = event.args.as_ref().and_then(|args| args.get("hodo.scope_id"));
        let own = own.map(text).and_then(|id| work::scope_id(&id));
        let thread = self.builder.thread(process, begun::ASYNC_TID);
        let id = own.unwrap_or_else(|| SpanId::new(thread, self.stacks.next_async(process)));
        let mut begun = self.begun(event, start_ns);
        begun.id = id;
        if !self.stacks.push_async(key, begun) {
            self.builder.notes.count("scopes past the limit on open ones, left out");
        }
    }

    fn end_async(&mut self, event: &Event<'_>, end_ns: i64) -> Result<(), ImportError> {
        let (key, (process, _)) = (self.async_key(event), self.thread(event));
        let Some((begun, parent)) = self.stacks.pop_async(&key) else {
            self.builder.notes.count("ends of a scope that did not begin, left out");
            return Ok(());
        };
        self.unbound(process, begun, parent, end_ns, 0)
    }

    /// Adds a scope that is bound to no thread.
    fn unbound(
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

    /// A counter: a mark for each of its series.
    fn counter(&mut self, event: &Event<'_>, at_ns: i64) -> Result<(), ImportError> {
        let (process, thread) = self.thread(event);
        let counter = event.name.map(text).unwrap_or_default();
        for (series, raw) in event.args.iter().flat_map(|args| &args.0) {
            let single = series == "value" || *series == counter;
            let name = if single { counter.clone() } else { format!("{counter}.{series}").into() };
            let name = self.builder.strings.number(&name);
            self.set.clear();
            given(raw, |value| self.set.push(0, &value));
            let mark = NewMark { process, thread, name, at_ns, summary: false, span: None };
            self.builder.mark(&mark, &self.set)?;
        }
        Ok(())
    }

    /// A moment: a mark whose value is the event's, or that it happened.
    fn instant(&mut self, event: &Event<'_>, at_ns: i64) -> Result<(), ImportError> {
        let none = Args::default();
        let args = event.args.as_ref().unwrap_or(&none);
        let is_torchs = |pid: &RawValue| matches!(&*text(pid), "Traces" | "");
        if event.pid.is_some_and(is_torchs) {
            self.builder.notes.count("moments that the profiler noted of itself, left out");
            return Ok(());
        }
        let (process, thread) = self.thread(event);
        let name = self.builder.strings.number(&event.name.map(text).unwrap_or_default());
        self.set.clear();
        match args.get("value") {
            Some(raw) => given(raw, |value| self.set.push(0, &value)),
            None => self.set.push(0, &Given::Bool(true)),
        }
        let rest = args.0.iter().filter(|(key, _)| key != "value");
        let rest: serde_json::Map<String, Value> = rest
            .filter_map(|(key, raw)| Some((key.to_string(), serde_json::from_str(raw.get()).ok()?)))
            .collect();
        if !rest.is_empty() {
            self.set.push(0, &Given::Json(&Value::Object(rest).to_string()));
        }
        let mark = NewMark { process, thread, name, at_ns, summary: false, span: None };
        self.builder.mark(&mark, &self.set)
    }

    /// Ends what has no end, and describes processes and threads.
    fn finish(mut self) -> Result<(), ImportError> {
        let last_ns = self.last_ns.max(self.first_ns.unwrap_or(0));
        for ((process, thread), begun) in self.stacks.take() {
            self.builder.notes.count("scopes without an end, shown as open");
            let scope = Scope {
                process,
                thread,
                name: begun.name,
                start_ns: begun.start_ns,
                end_ns: last_ns,
                flags: flag::LEFT_OPEN,
                ..Scope::default()
            };
            self.builder.scope(&scope, &begun.attrs)?;
        }
        for (process, begun, parent) in self.stacks.take_async(&self.processes) {
            self.builder.notes.count("scopes without an end, shown as open");
            self.unbound(process, begun, parent, last_ns, flag::LEFT_OPEN)?;
        }
        let numbers: BTreeSet<u32> = self.processes.values().copied().chain(self.host).collect();
        for number in numbers {
            self.describe(number);
        }
        if self.base_ns.is_none() && !self.counts_from_1970() && self.first_ns.is_some() {
            self.builder.notes.place(super::NO_DATE.into());
        }
        for ((pid, tid), name) in &self.thread_names {
            let thread = self.threads.get(&(*pid, *tid));
            if let Some(&(process, thread)) = thread {
                self.builder.name_thread(process, thread, name);
            }
        }
        Ok(())
    }

    fn counts_from_1970(&self) -> bool {
        self.first_ns.is_some_and(|ns| ns > SINCE_1970_NS)
    }

    fn describe(&mut self, number: u32) {
        let named = self.processes.iter().find(|(_, n)| **n == number);
        let name = named.and_then(|(pid, _)| self.process_names.get(pid)).cloned();
        let counts_from_1970 = self.counts_from_1970();
        let Some(process) = self.builder.process_mut(number) else { return };
        process.name = name.unwrap_or_default();
        (process.rank, process.world_size) = self.rank;
        process.wall_offset_ns = self.base_ns.or(counts_from_1970.then_some(0));
        process.ended_by_ns = self.changed_ns;
        process.gpu = self.gpu.clone();
        process.gpu.insert("missing".into(), "not_in_source".into());
        process.devices.extend(self.devices.iter().cloned());
    }
}

fn sort(category: Category, name: &str, args: &Args<'_>) -> Sort {
    match category {
        Category::Call => Sort::Call,
        Category::Op if name.starts_with("autograd::engine::evaluate_function") => Sort::Asked,
        Category::Op if args.number("Fwd thread id").is_some_and(|thread| thread > 0) => {
            Sort::Asked
        }
        Category::Op => Sort::Op,
        _ => Sort::Annotation,
    }
}

/// Numbers by which torch's profiler ties its own records together.
fn is_bookkeeping(key: &str) -> bool {
    const KEYS: [&str; 9] = [
        "External id",
        "Record function id",
        "Ev Idx",
        "Fwd thread id",
        "Python id",
        "Python parent id",
        "Python module id",
        "correlation",
        "cbid",
    ];
    KEYS.contains(&key)
}

/// What hodo's own export adds to the attributes of a scope.
pub(super) fn is_own(key: &str) -> bool {
    matches!(key, "index" | "cpu_ns" | "failed" | "open_at_end") || key.starts_with("hodo.")
}

/// Gives a JSON value as one of an attribute; null is none.
pub(super) fn given(raw: &RawValue, give: impl FnOnce(Given<'_>)) {
    let json = raw.get();
    match json.as_bytes().first() {
        Some(b'"') => give(Given::Text(&text(raw))),
        Some(b'{' | b'[') => give(Given::Json(json)),
        Some(b't') => give(Given::Bool(true)),
        Some(b'f') => give(Given::Bool(false)),
        Some(b'n') | None => {}
        Some(_) => {
            let whole = json.parse().map(Given::I64);
            let float = || json.parse().map(Given::F64);
            if let Ok(number) = whole.or_else(|_| float()) {
                give(number);
            }
        }
    }
}
