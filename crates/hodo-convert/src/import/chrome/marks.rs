//! Counters and moments, as marks.

use super::File;
use super::attributes::given;
use super::event::{Args, Event, text};
use crate::import::ImportError;
use crate::import::pool::Given;
use crate::import::rows::NewMark;
use serde_json::Value;
use serde_json::value::RawValue;

impl File<'_> {
    /// A counter: a mark for each of its series.
    pub(super) fn counter(&mut self, event: &Event<'_>, at_ns: i64) -> Result<(), ImportError> {
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
    pub(super) fn instant(&mut self, event: &Event<'_>, at_ns: i64) -> Result<(), ImportError> {
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
}
