//! Logs of GPUFlight (wire version 1): a folder of channels, a JSON object a line.
//!
//! Kernels carry the names of their scopes, not which instance launched them, and no time of their
//! launch: the instance is the last of that path that began before the kernel did. Scopes carry no
//! thread: their depth says which one is around them.

mod batch;
mod scopes;
mod work;

use super::ImportError;
use super::build::{Builder, Process};
use super::lines::{Line, Lines};
use super::pool::{Given, Set};
use super::rows::NewMark;
use super::source::Entry;
use batch::Batch;
use scopes::Scopes;
use serde_json::Value;
use std::collections::HashMap;
use work::Works;

/// Entries of the dictionaries of a session.
const MOST_WORDS: usize = 1 << 20;
/// Sessions of one folder.
const MOST_SESSIONS: usize = 4096;
/// A time further from the session's beginning is a broken one.
const FAR_NS: i64 = 30 * 86_400 * 1_000_000_000;

/// All sessions of one path.
#[derive(Default)]
pub struct Importer {
    sessions: Vec<Session>,
    by_id: HashMap<String, usize>,
}

/// What is known of one session, or of the sessions of one run.
struct Session {
    process: u32,
    /// When it began, 0 when not told.
    start_ns: i64,
    /// The last moment of anything in it.
    last_ns: i64,
    kernels: HashMap<u64, u32>,
    scope_names: HashMap<u64, u32>,
    metrics: HashMap<u64, String>,
    scopes: Scopes,
    works: Works,
}

impl Importer {
    /// Takes one file.
    pub fn file(&mut self, entry: Entry<'_>, builder: &mut Builder) -> Result<(), ImportError> {
        let path = entry.path.display().to_string();
        let mut lines = Lines::new(entry.bytes);
        loop {
            let begun = lines.offset;
            let next = match lines.next() {
                Err(ImportError::Damaged(why)) => {
                    builder.notes.place(format!(
                        "{path} is damaged at byte {} ({why}); what stands before is imported",
                        lines.offset
                    ));
                    return Ok(());
                }
                other => other?,
            };
            match next {
                Line::End => return Ok(()),
                Line::TooLong(bytes) => builder.notes.place(format!(
                    "{path}: a line of {bytes} bytes at byte {begun} is longer than any record, \
                     left out"
                )),
                Line::Whole if lines.line.trim_ascii().is_empty() => {}
                Line::Whole | Line::Cut => match serde_json::from_slice::<Value>(&lines.line) {
                    Ok(record) => self.record(&record, builder)?,
                    Err(error) => builder.notes.place(format!(
                        "{path}: the line at byte {begun} cannot be read ({error}), left out"
                    )),
                },
            }
        }
    }

    fn record(&mut self, record: &Value, builder: &mut Builder) -> Result<(), ImportError> {
        let kind = record["type"].as_str().unwrap_or_default();
        match kind {
            "transport_window" | "" => {
                builder.notes.count("records without a type, or about files, left out");
                return Ok(());
            }
            "transport_window_loss" => {
                builder.notes.place("the tool lost a part of its own log".into());
                return Ok(());
            }
            _ => {}
        }
        let Some(at) = self.session(record, builder) else {
            builder.notes.count("records of sessions past the limit, left out");
            return Ok(());
        };
        self.sessions[at].record(kind, record, builder)
    }

    /// The session a record is of: those of one run and process are one.
    fn session(&mut self, record: &Value, builder: &mut Builder) -> Option<usize> {
        let id = record["session_id"].as_str().unwrap_or_default();
        if let Some(&at) = self.by_id.get(id) {
            return Some(at);
        }
        let run = record["run_id"].as_str().filter(|run| !run.is_empty());
        let run = run.map(|run| format!("run {run} {}", record["pid"]));
        let known = run.as_ref().and_then(|run| self.by_id.get(run)).copied();
        let at = match known {
            Some(at) => at,
            None if self.sessions.len() == MOST_SESSIONS => return None,
            None => {
                let mut process = Process::default();
                process.wall_offset_ns = Some(0);
                let process = builder.process(process);
                self.sessions.push(Session::new(process, builder));
                self.sessions.len() - 1
            }
        };
        self.by_id.insert(id.to_owned(), at);
        run.map(|run| self.by_id.insert(run, at));
        Some(at)
    }

    /// Joins what was found in different files.
    pub fn finish(self, builder: &mut Builder) -> Result<(), ImportError> {
        for session in self.sessions {
            session.finish(builder)?;
        }
        Ok(())
    }
}

impl Session {
    fn new(process: u32, builder: &mut Builder) -> Session {
        Session {
            process,
            start_ns: 0,
            last_ns: 0,
            kernels: HashMap::new(),
            scope_names: HashMap::new(),
            metrics: HashMap::new(),
            scopes: Scopes::new(process, builder),
            works: Works::new(process, builder),
        }
    }

    fn record(
        &mut self,
        kind: &str,
        record: &Value,
        builder: &mut Builder,
    ) -> Result<(), ImportError> {
        match kind {
            "job_start" | "init" => self.job(record, builder),
            "shutdown" | "segment_end" | "run_end" => self.saw(record["ts_ns"].as_i64()),
            "dictionary_update" => self.dictionary(record, builder),
            "scope_event_batch" => self.scope_events(record, builder)?,
            "scope_begin" | "scope_end" => self.scope_event(kind, record, builder)?,
            "nvtx_marker_event" => self.nvtx(record, builder)?,
            "kernel_event_batch" => self.kernel_batch(record, builder)?,
            "kernel_detail" => self.works.detail(record, builder)?,
            "memcpy_event_batch" => self.copies(record, builder)?,
            "synchronization_event_batch" => self.waits(record, builder)?,
            "memory_alloc_event_batch" => self.allocations(record, builder)?,
            "memset_event" | "kernel_event" | "memcpy_event" => {
                if self.is_possible(&record["start_ns"]) {
                    self.saw(record["end_ns"].as_i64());
                    self.works.single(kind, record, builder)?;
                } else {
                    builder.notes.count(BROKEN);
                }
            }
            "device_metric_batch" | "host_metric_batch" => self.readings(kind, record, builder)?,
            "pm_sample_batch" => self.counters(record, builder)?,
            "perf_metric_event" => self.perf(record, builder)?,
            "profile_sample_batch" => {
                let rows = record["rows"].as_array().map_or(0, Vec::len) as u64;
                builder.notes.add("samples of instructions, left out", rows);
            }
            "graph_launch_event" | "graph_node_definition" => {
                builder.notes.count("records of whole graphs, left out");
            }
            "cubin_disassembly" | "ptx_disassembly" | "source_file_content" => {
                builder.notes.count("records of machine code and sources, left out");
            }
            known if is_about_itself(known) => {
                builder.notes.count("records of the tool about itself, left out");
            }
            other => {
                let other: String = other.chars().take(64).collect();
                builder.notes.count(&format!("records of the unknown type {other}, left out"));
            }
        }
        Ok(())
    }

    fn saw(&mut self, ns: Option<i64>) {
        self.last_ns = self.last_ns.max(ns.filter(|&ns| self.is_near(ns)).unwrap_or(0));
    }

    fn is_near(&self, ns: i64) -> bool {
        ns > 0 && (self.start_ns == 0 || (ns - self.start_ns).abs() < FAR_NS)
    }

    fn is_possible(&self, ns: &Value) -> bool {
        ns.as_i64().is_some_and(|ns| self.is_near(ns))
    }

    fn job(&mut self, record: &Value, builder: &mut Builder) {
        let Some(process) = builder.process_mut(self.process) else { return };
        let text = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
        process.pid = record["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok()).unwrap_or(0);
        (process.name, process.host) = (text("app"), text("hostname"));
        for key in ["devices", "gpu_static_devices", "cuda_static_devices"] {
            for device in record[key].as_array().into_iter().flatten().take(1024) {
                let id = device["id"].as_u64().and_then(|id| u32::try_from(id).ok());
                if let (Some(id), Some(name)) = (id, device["name"].as_str()) {
                    process.devices.insert(id, name.to_owned());
                }
            }
        }
        let is_monitor = record["session_kind"] == "monitor";
        let missing = if is_monitor { "monitor" } else { "not_in_source" };
        process.gpu.insert("missing".into(), missing.into());
        if self.start_ns == 0 {
            self.start_ns = record["ts_ns"].as_i64().unwrap_or(0).max(0);
        }
        self.last_ns = self.last_ns.max(self.start_ns);
    }

    fn dictionary(&mut self, record: &Value, builder: &mut Builder) {
        let words = |key: &str| record[key].as_object().into_iter().flatten();
        let entry = |(id, text): (&String, &Value)| {
            Some((id.parse::<u64>().ok()?, text.as_str()?.to_owned()))
        };
        for (id, text) in words("kernel_dict").filter_map(entry) {
            if self.kernels.len() < MOST_WORDS {
                self.kernels.insert(id, builder.strings.number(&text));
            }
        }
        for (id, text) in words("scope_name_dict").filter_map(entry) {
            if self.scope_names.len() < MOST_WORDS {
                self.scope_names.insert(id, builder.strings.number(&text));
                self.scopes.name(builder.strings.number(&text), &text);
            }
        }
        for (id, text) in words("metric_dict").filter_map(entry) {
            if self.metrics.len() < MOST_WORDS {
                self.metrics.insert(id, text);
            }
        }
    }

    fn scope_events(&mut self, record: &Value, builder: &mut Builder) -> Result<(), ImportError> {
        let batch = Batch::new(record);
        for row in batch.rows() {
            let at_ns = row.at_ns();
            if !self.is_near(at_ns) {
                builder.notes.count(BROKEN);
                continue;
            }
            self.last_ns = self.last_ns.max(at_ns);
            let name = row.number("name_id").and_then(|id| self.scope_names.get(&id)).copied();
            let name = name.unwrap_or_else(|| builder.strings.number("(name not told)"));
            let key = (row.number("scope_instance_id").unwrap_or(0), name);
            match row.number("event_type") {
                Some(0 | 2) => {
                    let mut set = Set::default();
                    for key in ["repeat", "warmup"] {
                        if let Some(n) = row.number(key).filter(|&n| n > 0) {
                            set.push(builder.strings.number(key), &Given::I64(n as i64));
                        }
                    }
                    if row.number("event_type") == Some(2) {
                        set.push(builder.strings.number("continued"), &Given::Bool(true));
                    }
                    let depth = row.number("depth").unwrap_or(0);
                    self.scopes.begin(key, depth, at_ns, set, builder);
                }
                Some(1 | 3) => self.scopes.end(key, at_ns, builder)?,
                _ => builder.notes.count("scope events of an unknown kind, left out"),
            }
        }
        Ok(())
    }

    /// Begin and end as versions before 1.0 wrote them.
    fn scope_event(
        &mut self,
        kind: &str,
        record: &Value,
        builder: &mut Builder,
    ) -> Result<(), ImportError> {
        let Some(at_ns) = record["ts_ns"].as_i64().filter(|&ns| self.is_near(ns)) else {
            builder.notes.count(BROKEN);
            return Ok(());
        };
        self.last_ns = self.last_ns.max(at_ns);
        let text = record["name"].as_str().unwrap_or_default();
        let name = builder.strings.number(text);
        self.scopes.name(name, text);
        let depth = record["scope_depth"].as_u64().unwrap_or(0);
        // No instance is told: that of a name at a depth is one at a time.
        let key = (u64::MAX - depth.min(1 << 20), name);
        if kind == "scope_end" {
            return self.scopes.end(key, at_ns, builder);
        }
        let mut set = Set::default();
        if let Some(tag) = record["tag"].as_str().filter(|tag| !tag.is_empty()) {
            set.push(builder.strings.number("tag"), &Given::Text(tag));
        }
        self.scopes.begin(key, depth, at_ns, set, builder);
        Ok(())
    }

    fn nvtx(&mut self, record: &Value, builder: &mut Builder) -> Result<(), ImportError> {
        let name = builder.strings.number(record["name"].as_str().unwrap_or_default());
        let (start, end) = (record["start_ns"].as_i64(), record["end_ns"].as_i64());
        let Some(start_ns) = start.filter(|&ns| self.is_near(ns)) else {
            builder.notes.count(BROKEN);
            return Ok(());
        };
        let end_ns = end.filter(|&ns| self.is_near(ns)).unwrap_or(start_ns).max(start_ns);
        self.last_ns = self.last_ns.max(end_ns);
        let mut set = Set::default();
        if let Some(domain) = record["domain"].as_str().filter(|domain| !domain.is_empty()) {
            set.push(builder.strings.number("domain"), &Given::Text(domain));
        }
        self.scopes.range(name, (start_ns, end_ns), &set, builder)
    }

    fn mark(
        &mut self,
        name: &str,
        at_ns: i64,
        value: f64,
        builder: &mut Builder,
    ) -> Result<(), ImportError> {
        if !self.is_near(at_ns) {
            builder.notes.count(BROKEN);
            return Ok(());
        }
        self.last_ns = self.last_ns.max(at_ns);
        let mut set = Set::default();
        set.push(0, &Given::F64(value));
        let name = builder.strings.number(name);
        let span = Some(hodo_format::record::SpanId::NONE);
        let (process, thread) = (self.process, 0);
        builder.mark(&NewMark { process, thread, name, at_ns, summary: false, span }, &set)
    }

    /// Readings of the machine, as marks outside any scope.
    fn readings(
        &mut self,
        kind: &str,
        record: &Value,
        builder: &mut Builder,
    ) -> Result<(), ImportError> {
        let batch = Batch::new(record);
        for row in batch.rows() {
            let of = match (kind, row.number("device_id")) {
                ("device_metric_batch", Some(device)) => format!("gpu{device}"),
                ("device_metric_batch", None) => "gpu".to_owned(),
                _ => "host".to_owned(),
            };
            for (column, value) in row.values() {
                let (column, value) = match column {
                    "dt_ns" | "device_id" => continue,
                    // A copy of another column, and 0 where the device does not tell.
                    "temp_junction_c" => continue,
                    "temp_mem_c" | "voltage_mv" | "fan_speed_pct" if value == 0.0 => continue,
                    "cpu_pct_x100" => ("cpu_pct", value / 100.0),
                    other => (other, value),
                };
                self.mark(&format!("{of}.{column}"), row.at_ns(), value, builder)?;
            }
        }
        Ok(())
    }

    /// Hardware counters, as marks outside any scope.
    fn counters(&mut self, record: &Value, builder: &mut Builder) -> Result<(), ImportError> {
        let batch = Batch::new(record);
        for row in batch.rows() {
            let metric = row.number("metric_id").and_then(|id| self.metrics.get(&id)).cloned();
            let device = row.number("device_id").unwrap_or(0);
            let name = format!("gpu{device}.{}", metric.as_deref().unwrap_or("(metric not told)"));
            if let Some(value) = row.float("value") {
                self.mark(&name, row.at_ns(), value, builder)?;
            }
        }
        Ok(())
    }

    fn perf(&mut self, record: &Value, builder: &mut Builder) -> Result<(), ImportError> {
        let of = record["name"].as_str().unwrap_or_default();
        let at_ns = record["start_ns"].as_i64().unwrap_or(0);
        for (key, value) in record.as_object().into_iter().flatten() {
            let is_metric = key.ends_with("_pct") || key.ends_with("_bytes");
            // -1 stands for a metric that was not read.
            if let Some(value) = value.as_f64().filter(|&v| is_metric && v >= 0.0) {
                self.mark(&format!("{of}.{key}"), at_ns, value, builder)?;
            }
        }
        Ok(())
    }

    fn finish(mut self, builder: &mut Builder) -> Result<(), ImportError> {
        self.scopes.finish(self.last_ns, builder)?;
        self.works.finish(&self.scopes, builder)
    }
}

const BROKEN: &str = "records with a time that cannot be, left out";

fn is_about_itself(kind: &str) -> bool {
    const KINDS: [&str; 13] = [
        "capture_capabilities",
        "counter_data_quality_summary",
        "deep_window_event",
        "deep_window_rule_summary",
        "execution_signature",
        "kernel_perf_metric_event",
        "pm_sampling_config",
        "sass_config",
        "segment_start",
        "source_capture_manifest",
        "system_sample",
        "system_start",
        "system_stop",
    ];
    KINDS.contains(&kind)
}
