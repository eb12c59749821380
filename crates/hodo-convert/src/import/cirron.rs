//! Spool folders of the Cirron SDK (schema version 1): a JSON object a file, with spans and marks.
//!
//! A span is written when it closes, so its parent comes after it and marks may come before: all
//! wait until the last file is read. Times are the wall clock's.

use super::ImportError;
use super::build::{Builder, Process};
use super::json::{Document, Stop, parse};
use super::pool::{Given, Pool, Set};
use super::rows::{NewMark, Parent, Scope};
use super::sort::Sorter;
use super::source::Entry;
use hodo_format::record::{SpanId, flag};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::io::Read;

/// Spans and marks that are known by their ids.
const MOST_IDS: usize = 1 << 23;
/// Parents that are in no file.
const MOST_MISSING: usize = 1 << 20;

const WORDS: usize = 11;
/// Bits of a row's second word.
const SPAN: u64 = 0;
const MARK: u64 = 1;
const HAS_INDEX: u64 = 2;
const HAS_END: u64 = 4;
const SUMMARY: u64 = 2;

/// All files of one path.
#[derive(Default)]
pub struct Importer {
    state: Option<State>,
}

struct State {
    processes: HashMap<(u64, u64), u32>,
    /// Process and own id of a span.
    ids: HashMap<u128, (u32, SpanId)>,
    marks: HashSet<u128>,
    counts: HashMap<(u32, u32), u64>,
    rows: Sorter<WORDS>,
    pool: Pool,
    order: u64,
}

impl Importer {
    /// Takes one file.
    pub fn file(&mut self, entry: Entry<'_>, builder: &mut Builder) -> Result<(), ImportError> {
        let is_part = entry.path.extension().is_some_and(|e| e == "tmp");
        if is_part {
            builder.notes.count("files that were being written, left out");
            return Ok(());
        }
        let state = self.state.get_or_insert_with(|| State::new(builder));
        let mut document = Document::new(entry.bytes);
        match state.batch(&mut document, builder) {
            Ok(()) => Ok(()),
            Err(Stop::Failed(error)) => Err(error),
            Err(Stop::Damaged { offset, why }) => {
                let path = entry.path.display();
                builder.notes.place(format!(
                    "{path} is damaged at byte {offset} ({why}); what stands before is imported"
                ));
                Ok(())
            }
        }
    }

    /// Ties spans and marks to their parents.
    pub fn finish(self, builder: &mut Builder) -> Result<(), ImportError> {
        self.state.map_or(Ok(()), |state| state.finish(builder))
    }
}

/// A parent that is in no file, and what is in it.
struct Missing {
    id: SpanId,
    start_ns: i64,
    end_ns: i64,
}

impl State {
    fn new(builder: &Builder) -> State {
        State {
            processes: HashMap::new(),
            ids: HashMap::new(),
            marks: HashSet::new(),
            counts: HashMap::new(),
            rows: Sorter::new(builder.folder()),
            pool: Pool::new(builder.folder()),
            order: 0,
        }
    }

    fn batch(
        &mut self,
        document: &mut Document<impl Read>,
        builder: &mut Builder,
    ) -> Result<(), Stop> {
        let mut bytes = Vec::new();
        document.expect(b'{')?;
        let mut first = true;
        while document.another(&mut first, b'}')? {
            let key = document.key(&mut bytes)?;
            let is_list = document.next_token()? == Some(b'[');
            if !is_list || !matches!(key.as_str(), "spans" | "marks" | "snapshots") {
                document.element(&mut bytes)?;
                continue;
            }
            document.expect(b'[')?;
            let mut first = true;
            while document.another(&mut first, b']')? {
                document.element(&mut bytes)?;
                let mut mended = Vec::new();
                let Ok(value) = parse::<Value>(&bytes, &mut mended) else {
                    builder.notes.count("records that cannot be read, left out");
                    continue;
                };
                match key.as_str() {
                    "spans" => self.span(&value, builder)?,
                    "marks" => self.mark(&value, builder)?,
                    _ => builder.notes.count("snapshots of tensors, left out"),
                }
            }
        }
        Ok(())
    }

    fn process(&mut self, span: &Value, builder: &mut Builder) -> u32 {
        let key = (span["pid"].as_u64().unwrap_or(0), span["rank"].as_u64().unwrap_or(0));
        if let Some(&known) = self.processes.get(&key) {
            return known;
        }
        let mut process = Process::default();
        process.pid = u32::try_from(key.0).unwrap_or(0);
        process.rank = u32::try_from(key.1).ok();
        process.wall_offset_ns = Some(0);
        process.gpu.insert("missing".into(), "not_in_source".into());
        let number = builder.process(process);
        self.processes.insert(key, number);
        number
    }

    fn span(&mut self, span: &Value, builder: &mut Builder) -> Result<(), ImportError> {
        let (Some(id), Some(start_ns)) = (hex(&span["id"]), span["start_ns"].as_i64()) else {
            builder.notes.count("spans without an id or a time, left out");
            return Ok(());
        };
        if self.ids.contains_key(&id) {
            builder.notes.count("spans that are there twice, as a fork writes them, left out");
            return Ok(());
        }
        if self.ids.len() >= MOST_IDS {
            builder.notes.count("spans past the limit, left out");
            return Ok(());
        }
        let process = self.process(span, builder);
        let thread = builder.thread(process, span["thread_id"].as_u64().unwrap_or(0));
        let count = self.counts.entry((process, thread)).or_default();
        *count += 1;
        self.ids.insert(id, (process, SpanId::new(thread, *count)));
        let end_ns = span["end_ns"].as_i64();
        if end_ns.is_some_and(|end| end < start_ns) {
            builder
                .notes
                .count("spans that ended before they began (the clock was set), of no length");
        }
        let name = match &span["name"] {
            Value::String(name) => builder.strings.number(name),
            other => builder.strings.number(&other.to_string()),
        };
        let index = span["index"].as_i64();
        let mut set = Set::default();
        if index.is_none() {
            attribute("index", &span["index"], &mut set, builder);
        }
        // The time of the whole process: no CPU time of the scope.
        attribute("process_cpu_ns", &span["cpu_ns"], &mut set, builder);
        attribute("gpu_ns", &span["gpu_ns"], &mut set, builder);
        attribute("memory_peak_bytes", &span["memory_peak_bytes"], &mut set, builder);
        for (key, value) in span["attrs"].as_object().into_iter().flatten() {
            attribute(key, value, &mut set, builder);
        }
        let parent = split(hex(&span["parent_id"]).unwrap_or(0));
        let attrs = self.pool.put(&set).map_err(ImportError::Write)?;
        let has_index = if index.is_some() { HAS_INDEX } else { 0 };
        let has_end = if end_ns.is_some() { HAS_END } else { 0 };
        self.push([
            0,
            SPAN | has_index | has_end,
            split(id).0,
            split(id).1,
            parent.0,
            parent.1,
            name.into(),
            start_ns as u64,
            end_ns.unwrap_or(start_ns).max(start_ns) as u64,
            index.unwrap_or(0) as u64,
            attrs,
        ])
    }

    fn mark(&mut self, mark: &Value, builder: &mut Builder) -> Result<(), ImportError> {
        let Some(at_ns) = mark["ts_ns"].as_i64() else {
            builder.notes.count("marks without a time, left out");
            return Ok(());
        };
        if let Some(id) = hex(&mark["id"])
            && self.marks.len() < MOST_IDS
            && !self.marks.insert(id)
        {
            builder.notes.count("marks that are there twice, as a fork writes them, left out");
            return Ok(());
        }
        let name = builder.strings.number(mark["name"].as_str().unwrap_or_default());
        let mut set = Set::default();
        value(mark, &mut set);
        if let Some(attrs) = mark["attrs"].as_object().filter(|attrs| !attrs.is_empty()) {
            set.push(0, &Given::Json(&Value::Object(attrs.clone()).to_string()));
        }
        let span = split(hex(&mark["span_id"]).unwrap_or(0));
        let summary = if mark["kind"] == "summary" { SUMMARY } else { 0 };
        let attrs = self.pool.put(&set).map_err(ImportError::Write)?;
        let at = at_ns as u64;
        self.push([0, MARK | summary, 0, 0, span.0, span.1, name.into(), at, at, 0, attrs])
    }

    fn push(&mut self, mut row: [u64; WORDS]) -> Result<(), ImportError> {
        self.order += 1;
        row[0] = self.order;
        self.rows.push(row).map_err(ImportError::Write)
    }

    fn finish(mut self, builder: &mut Builder) -> Result<(), ImportError> {
        let rows = std::mem::replace(&mut self.rows, Sorter::new(builder.folder()));
        let mut rows = rows.sorted().map_err(ImportError::Write)?;
        let mut missing = HashMap::new();
        let mut set = Set::default();
        while let Some(row) = rows.next().map_err(ImportError::Write)? {
            set.load(&self.pool, row[10]).map_err(ImportError::Write)?;
            if row[1] & 1 == MARK {
                self.write_mark(&row, &set, builder)?;
            } else {
                self.write_span(&row, &set, &mut missing, builder)?;
            }
        }
        sessions(&missing, builder)
    }

    fn write_span(
        &mut self,
        row: &[u64; WORDS],
        set: &Set,
        missing: &mut HashMap<(u32, u128), Missing>,
        builder: &mut Builder,
    ) -> Result<(), ImportError> {
        let id = self.ids.get(&joined(row[2], row[3])).copied();
        let Some((process, id)) = id else { return Ok(()) };
        let (start_ns, end_ns) = (row[7] as i64, row[8] as i64);
        let above = joined(row[4], row[5]);
        let parent = match self.ids.get(&above) {
            Some((of, parent)) if *of == process => *parent,
            Some(_) => SpanId::NONE,
            None if above == 0 || missing.len() >= MOST_MISSING => SpanId::NONE,
            None => {
                let count = self.counts.entry((process, id.thread())).or_default();
                let lost = missing.entry((process, above)).or_insert_with(|| {
                    *count += 1;
                    Missing { id: SpanId::new(id.thread(), *count), start_ns, end_ns }
                });
                lost.start_ns = lost.start_ns.min(start_ns);
                lost.end_ns = lost.end_ns.max(end_ns);
                lost.id
            }
        };
        let scope = Scope {
            process,
            thread: id.thread(),
            name: row[6] as u32,
            start_ns,
            end_ns,
            flags: if row[1] & HAS_END == 0 { flag::LEFT_OPEN } else { 0 },
            index: (row[1] & HAS_INDEX != 0).then_some(row[9] as i64),
            id: Some(id),
            parent: Parent::Is(parent),
            ..Scope::default()
        };
        builder.scope(&scope, set)
    }

    /// Writes a mark to its span's process; of one without a span nothing says which that is.
    fn write_mark(
        &self,
        row: &[u64; WORDS],
        set: &Set,
        builder: &mut Builder,
    ) -> Result<(), ImportError> {
        let span = self.ids.get(&joined(row[4], row[5])).copied();
        let first = || Some((self.processes.values().copied().min()?, SpanId::NONE));
        let Some((process, span)) = span.or_else(first) else {
            builder.notes.count("marks of no process, left out");
            return Ok(());
        };
        let mark = NewMark {
            process,
            thread: span.thread(),
            name: row[6] as u32,
            at_ns: row[7] as i64,
            summary: row[1] & SUMMARY != 0,
            span: Some(span),
        };
        builder.mark(&mark, set)
    }
}

/// A program that ends without `shutdown()` leaves its session span unwritten: where all of a
/// process's spans lack the same parent, it is that one. Other parents stay lost.
fn sessions(
    missing: &HashMap<(u32, u128), Missing>,
    builder: &mut Builder,
) -> Result<(), ImportError> {
    let mut of_process: HashMap<u32, u64> = HashMap::new();
    missing.keys().for_each(|(process, _)| *of_process.entry(*process).or_default() += 1);
    let name = builder.strings.number("cirron.session");
    for ((process, _), lost) in missing {
        if of_process.get(process) != Some(&1) {
            builder.notes.count("spans around others that are in no file, shown as lost");
            continue;
        }
        builder.notes.count("sessions that were not written, shown as open");
        let scope = Scope {
            process: *process,
            thread: lost.id.thread(),
            name,
            start_ns: lost.start_ns,
            end_ns: lost.end_ns,
            flags: flag::LEFT_OPEN,
            id: Some(lost.id),
            parent: Parent::Is(SpanId::NONE),
            ..Scope::default()
        };
        builder.scope(&scope, &Set::default())?;
    }
    Ok(())
}

/// An id of 32 hex digits; `root` and null are none.
fn hex(value: &Value) -> Option<u128> {
    let text = value.as_str().filter(|text| text.len() <= 32)?;
    u128::from_str_radix(text, 16).ok().filter(|&id| id != 0)
}

fn split(id: u128) -> (u64, u64) {
    ((id >> 64) as u64, id as u64)
}

fn joined(high: u64, low: u64) -> u128 {
    u128::from(high) << 64 | u128::from(low)
}

fn attribute(key: &str, value: &Value, set: &mut Set, builder: &mut Builder) {
    let key = builder.strings.number(key);
    match value {
        Value::Null => {}
        Value::Bool(v) => set.push(key, &Given::Bool(*v)),
        Value::Number(n) => match n.as_i64() {
            Some(n) => set.push(key, &Given::I64(n)),
            None => set.push(key, &Given::F64(n.as_f64().unwrap_or(f64::NAN))),
        },
        Value::String(text) => set.push(key, &Given::Text(text)),
        other => set.push(key, &Given::Json(&other.to_string())),
    }
}

/// A mark's value, of the type it says.
fn value(mark: &Value, set: &mut Set) {
    let nonfinite = match mark["value_nonfinite"].as_str() {
        Some("inf") => f64::INFINITY,
        Some("-inf") => f64::NEG_INFINITY,
        _ => f64::NAN,
    };
    match (&mark["value"], mark["value_type"].as_str()) {
        (Value::Null, _) => set.push(0, &Given::F64(nonfinite)),
        (Value::Bool(v), _) => set.push(0, &Given::Bool(*v)),
        (Value::String(text), _) => set.push(0, &Given::Text(text)),
        (Value::Number(n), Some("int")) if n.is_i64() => {
            set.push(0, &Given::I64(n.as_i64().unwrap_or(0)));
        }
        (Value::Number(n), _) => set.push(0, &Given::F64(n.as_f64().unwrap_or(f64::NAN))),
        (other, _) => set.push(0, &Given::Text(&other.to_string())),
    }
}
