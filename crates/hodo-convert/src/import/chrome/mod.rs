//! Chrome trace JSON, plain: what `chrome://tracing` reads, torch.profiler (Kineto) writes, and
//! `hodo export --to chrome` too.

mod about;
pub(super) mod attributes;
mod begun;
pub(super) mod event;
mod marks;
mod pairs;
pub(super) mod work;

use super::build::{Builder, Process};
use super::json::{Document, Stop, parse};
use super::pool::Set;
use super::rows::{Scope, Sort};
use super::source::Entry;
use super::{ImportError, json};
use begun::Stacks;
use event::{Args, Event, ns, text};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Read;
use work::Category;

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
            self.builder.notes.count(match event.ts {
                None => "events without a time, left out",
                Some(_) => "events at a time that no clock has, left out",
            });
            return Ok(());
        };
        let length_ns = event.dur.and_then(ns).unwrap_or(0);
        if length_ns < 0 {
            self.builder.notes.count("events that end before they begin, taken to have no length");
        }
        let end_ns = start_ns.saturating_add(length_ns.max(0));
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
        let step = numbered_step(&name);
        let mut scope = Scope {
            process,
            thread,
            name: self.builder.strings.number(step.map_or(&name, |(step, _)| step)),
            start_ns: times.0,
            end_ns: times.1,
            sort: sort(category, &name, args),
            ..Scope::default()
        };
        self.attributes(args);
        self.own(event, args, &mut scope);
        scope.index = scope.index.or(step.map(|(_, number)| number));
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
}

/// torch's profiler numbers its steps in their names, as in `ProfilerStep#3`: one scope, many times.
fn numbered_step(name: &str) -> Option<(&str, i64)> {
    let (step, number) = name.split_once('#').filter(|(step, _)| *step == "ProfilerStep")?;
    Some((step, number.parse().ok()?))
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
