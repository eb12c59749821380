//! What a file says of itself: when it was recorded, its processes, threads and GPUs.

use super::File;
use super::event::{Event, text};
use crate::import::rows::Scope;
use crate::import::{ImportError, NO_DATE};
use hodo_format::record::flag;
use serde_json::Value;
use std::collections::BTreeSet;

/// Names of processes and threads that are remembered.
const MOST_NAMES: usize = 1 << 20;
/// Times of a clock that counts from 1970 are past this: the year 2001.
const SINCE_1970_NS: i64 = 1_000_000_000_000_000_000;

impl File<'_> {
    /// What the file says of itself.
    pub(super) fn about(&mut self, key: &str, value: &Value) {
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

    pub(super) fn metadata(&mut self, event: &Event<'_>) {
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

    /// Ends what has no end, and describes processes and threads.
    pub(super) fn finish(mut self) -> Result<(), ImportError> {
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
            self.builder.notes.place(NO_DATE.into());
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
