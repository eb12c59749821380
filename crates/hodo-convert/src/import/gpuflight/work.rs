//! GPU work: rows of kernels are joined with their details by correlation.

use super::batch::Batch;
use super::scopes::Scopes;
use super::{BROKEN, Session};
use crate::import::ImportError;
use crate::import::build::Builder;
use crate::import::rows::{By, NewWork};
use crate::import::sort::Sorter;
use hodo_format::gpu::{Detail, Kernel, flag, memory};
use hodo_format::record::SpanId;
use serde_json::Value;
use std::collections::HashMap;

/// Different paths that work was launched in.
const MOST_PATHS: usize = 1 << 16;
/// In the place of a path: the tool had nothing to say.
const NOT_TOLD: u64 = u64::MAX;

const DETAIL: u64 = 0;
const KERNEL: u64 = 1;
const WORDS: usize = 9;

/// The work of a session that waits for its details, or for its scopes.
pub struct Works {
    process: u32,
    rows: Sorter<WORDS>,
    paths: HashMap<String, u64>,
    texts: Vec<String>,
    order: u64,
    later: Vec<(NewWork, u64)>,
}

fn halves(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn half(value: &Value) -> u32 {
    number(value).and_then(|n| u32::try_from(n).ok()).unwrap_or(0)
}

/// A number, perhaps in quotes.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// `(8192,1,1)`.
fn three(value: &Value) -> [u32; 3] {
    let text = value.as_str().unwrap_or_default();
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok());
    std::array::from_fn(|_| numbers.next().unwrap_or(0))
}

impl Works {
    /// None yet.
    pub fn new(process: u32, builder: &Builder) -> Works {
        Works {
            process,
            rows: Sorter::new(builder.folder()),
            paths: HashMap::new(),
            texts: Vec::new(),
            order: 0,
            later: Vec::new(),
        }
    }

    fn path(&mut self, value: &Value) -> u64 {
        let Some(text) = value.as_str() else { return NOT_TOLD };
        if let Some(&known) = self.paths.get(text) {
            return known;
        }
        if self.texts.len() == MOST_PATHS {
            return NOT_TOLD;
        }
        let number = self.texts.len() as u64;
        self.paths.insert(text.to_owned(), number);
        self.texts.push(text.to_owned());
        number
    }

    /// What a kernel's detail says.
    pub fn detail(&mut self, record: &Value, builder: &mut Builder) -> Result<(), ImportError> {
        let (grid, block) = (three(&record["grid"]), three(&record["block"]));
        let Some(correlation) = number(&record["corr_id"]) else {
            builder.notes.count("details of no kernel, left out");
            return Ok(());
        };
        let path = self.path(&record["user_scope"]);
        self.push([
            correlation,
            DETAIL,
            0,
            halves(grid[0], grid[1]),
            halves(grid[2], block[0]),
            halves(block[1], block[2]),
            halves(half(&record["static_shared"]), half(&record["local_mem_per_thread_bytes"])),
            path,
            0,
        ])
    }

    fn push(&mut self, mut row: [u64; WORDS]) -> Result<(), ImportError> {
        self.order += 1;
        row[2] = self.order;
        self.rows.push(row).map_err(ImportError::Write)
    }

    /// Work that has a record of its own, with its path.
    pub fn single(
        &mut self,
        kind: &str,
        record: &Value,
        builder: &mut Builder,
    ) -> Result<(), ImportError> {
        let bytes = number(&record["bytes"]).unwrap_or(0);
        let name = record["name"].as_str().unwrap_or_default();
        let detail = match kind {
            "memset_event" => Detail::Set { bytes, memory: memory::DEVICE },
            "memcpy_event" => {
                let direction = u8::try_from(half(&record["copy_kind"])).unwrap_or(0);
                Detail::Copy { bytes, direction, from: 0, to: 0 }
            }
            _ => Detail::Kernel(Kernel {
                name: builder.strings.number(name),
                grid: three(&record["grid"]),
                block: three(&record["block"]),
                registers: half(&record["num_regs"]) as u16,
                static_shared: half(&record["static_shared"]),
                dynamic_shared: half(&record["dyn_shared"]),
                local: half(&record["local_bytes"]),
            }),
        };
        let start_ns = record["start_ns"].as_i64().unwrap_or(0);
        let end_ns = record["end_ns"].as_i64().unwrap_or(start_ns);
        let work = NewWork {
            correlation: half(&record["corr_id"]),
            device: half(&record["device_id"]),
            stream: half(&record["stream_id"]),
            launched_ns: record["api_start_ns"].as_i64().filter(|&ns| ns > 0),
            ..NewWork::new(self.process, detail, start_ns, end_ns)
        };
        let path = self.path(&record["user_scope"]);
        // These are few: the tool gathers what comes often in batches.
        self.later.push((work, path));
        if self.later.len() == 1 << 20 {
            builder.notes.count("pieces of work past the limit, left out");
            self.later.pop();
        }
        Ok(())
    }

    fn by(&self, path: u64, at_ns: i64, scopes: &Scopes) -> By {
        let text = usize::try_from(path).ok().and_then(|path| self.texts.get(path));
        match text.map(String::as_str) {
            None | Some("") => By::Source(flag::UNKNOWN, SpanId::NONE),
            Some(path) => match scopes.instance(path, at_ns) {
                Some(id) => By::Source(flag::BY_LAUNCH, id),
                // Outside scopes there is a word for that, or nothing but the call.
                None if !path.contains('|') => By::Source(flag::NO_SCOPE, SpanId::NONE),
                None => By::Source(flag::UNKNOWN, SpanId::NONE),
            },
        }
    }

    /// Joins kernels with their details, and all with its scopes.
    pub fn finish(mut self, scopes: &Scopes, builder: &mut Builder) -> Result<(), ImportError> {
        for (work, path) in &self.later {
            let at_ns = work.launched_ns.unwrap_or(work.start_ns);
            builder.work(&NewWork { by: self.by(*path, at_ns, scopes), ..*work })?;
        }
        let rows = std::mem::replace(&mut self.rows, Sorter::new(builder.folder()));
        let mut rows = rows.sorted().map_err(ImportError::Write)?;
        let mut detail: Option<[u64; WORDS]> = None;
        let mut outside = 0;
        while let Some(row) = rows.next().map_err(ImportError::Write)? {
            if row[1] == DETAIL {
                detail = Some(row);
                continue;
            }
            let detail = detail.filter(|d| d[0] == row[0]);
            let (start_ns, end_ns) = (row[3] as i64, row[4] as i64);
            let path = detail.map_or(NOT_TOLD, |d| d[7]);
            let by = self.by(path, start_ns, scopes);
            outside += u64::from(by == By::Source(flag::NO_SCOPE, SpanId::NONE));
            let word = |at: usize| detail.map_or(0, |d| d[at]);
            let (high, low) = (|at: usize| (word(at) >> 32) as u32, |at: usize| word(at) as u32);
            let kernel = Kernel {
                name: (row[5] >> 32) as u32,
                grid: [high(3), low(3), high(4)],
                block: [low(4), high(5), low(5)],
                registers: row[6] as u16,
                static_shared: high(6),
                dynamic_shared: (row[6] >> 32) as u32,
                local: low(6),
            };
            builder.work(&NewWork {
                correlation: u32::try_from(row[0]).unwrap_or(0),
                stream: row[5] as u32,
                device: row[7] as u32,
                by,
                ..NewWork::new(self.process, Detail::Kernel(kernel), start_ns, end_ns)
            })?;
        }
        builder.notes.add(
            "kernels of the scope `global`: their thread had no scope open, so they are outside any",
            outside,
        );
        Ok(())
    }
}

impl Session {
    pub(super) fn kernel_batch(
        &mut self,
        record: &Value,
        builder: &mut Builder,
    ) -> Result<(), ImportError> {
        for row in Batch::new(record).rows() {
            let (start_ns, end_ns) = row.times();
            if !self.is_near(start_ns) || !self.is_near(end_ns) {
                builder.notes.count(BROKEN);
                continue;
            }
            self.last_ns = self.last_ns.max(end_ns);
            let name = row.number("kernel_id").and_then(|id| self.kernels.get(&id)).copied();
            let name = name.unwrap_or_else(|| builder.strings.number("(kernel not told)"));
            self.works.push([
                row.number("corr_id").unwrap_or(0),
                KERNEL,
                0,
                start_ns as u64,
                end_ns as u64,
                halves(name, row.half("stream_id")),
                halves(row.half("dyn_shared"), row.half("num_regs")),
                row.half("device_id").into(),
                0,
            ])?;
        }
        Ok(())
    }

    pub(super) fn copies(
        &mut self,
        record: &Value,
        builder: &mut Builder,
    ) -> Result<(), ImportError> {
        for row in Batch::new(record).rows() {
            let bytes = row.number("bytes").unwrap_or(0);
            let direction = u8::try_from(row.half("copy_kind")).unwrap_or(0);
            let detail = Detail::Copy { bytes, direction, from: 0, to: 0 };
            self.unattributed(detail, &row, builder)?;
        }
        Ok(())
    }

    pub(super) fn waits(
        &mut self,
        record: &Value,
        builder: &mut Builder,
    ) -> Result<(), ImportError> {
        for row in Batch::new(record).rows() {
            let what = u8::try_from(row.half("sync_type")).unwrap_or(0);
            self.unattributed(Detail::Sync { what }, &row, builder)?;
        }
        Ok(())
    }

    pub(super) fn allocations(
        &mut self,
        record: &Value,
        builder: &mut Builder,
    ) -> Result<(), ImportError> {
        for row in Batch::new(record).rows() {
            let detail = Detail::Memory {
                freed: row.number("memory_op") == Some(2),
                bytes: row.number("bytes").unwrap_or(0),
                address: row.number("address").unwrap_or(0),
                memory: u8::try_from(row.half("memory_kind")).unwrap_or(0),
            };
            self.unattributed(detail, &row, builder)?;
        }
        Ok(())
    }

    /// Work of which the log does not say who asked for it.
    fn unattributed(
        &mut self,
        detail: Detail,
        row: &super::batch::Row<'_>,
        builder: &mut Builder,
    ) -> Result<(), ImportError> {
        let (start_ns, end_ns) = row.times();
        if !self.is_near(start_ns) || !self.is_near(end_ns) {
            builder.notes.count(BROKEN);
            return Ok(());
        }
        self.last_ns = self.last_ns.max(end_ns);
        // All ones stand for none.
        let number = |column: &str| Some(row.half(column)).filter(|&n| n != u32::MAX).unwrap_or(0);
        builder.work(&NewWork {
            correlation: number("corr_id"),
            device: number("device_id"),
            context: number("context_id"),
            stream: number("stream_id"),
            by: By::Source(flag::UNKNOWN, SpanId::NONE),
            ..NewWork::new(self.process, detail, start_ns, end_ns)
        })
    }
}
