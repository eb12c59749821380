//! What is said of the windows, for `health()` and for the file.

use super::cubins::Counts;
use super::{Mode, Rows, Totals};
use hodo_record::binding::Object;

/// Windows that are told one by one: the newest.
const MOST_WINDOWS: usize = 64;

/// One window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Ticks when sampling had begun.
    pub start: u64,
    /// Ticks when the last work in it was done; 0 while it is open.
    pub end: u64,
    /// Whether kernels were serialised.
    pub mode: Mode,
    /// Only launches in a scope of this name count; empty for all.
    pub scope: String,
    /// Cycles between samples, as a power of two; none when not known.
    pub period: Option<u32>,
    /// Contexts that were sampled.
    pub contexts: u64,
    /// Nanoseconds that opening it held the program up.
    pub begin_ns: u64,
    /// Nanoseconds that closing it did.
    pub end_ns: u64,
    /// What CUPTI says of the samples.
    pub totals: Totals,
    /// Samples, each once.
    pub samples: u64,
    /// Of them: launched in a scope.
    pub in_scope: u64,
    /// Of them: of a launch that is not known.
    pub unknown: u64,
    /// Samples of launches that do not count.
    pub outside: u64,
    /// Samples that were too many to keep.
    pub refused: u64,
    /// Rows kept.
    pub rows: u64,
    /// Launches that were sampled.
    pub launches: u64,
    /// Kernels launched one by one meanwhile.
    pub kernels: u64,
    /// Of them: without a record of their times.
    pub kernels_missing: u64,
    /// What did not go as it should.
    pub notes: Vec<String>,
}

impl Window {
    /// Takes over what the rows counted.
    pub fn count(&mut self, rows: &Rows) {
        self.samples = rows.samples;
        self.in_scope = rows.in_scope;
        self.unknown = rows.unknown;
        self.outside = rows.outside;
        self.refused = rows.refused;
        self.rows = rows.len() as u64;
        self.launches = rows.launches() as u64;
    }

    fn json(&self) -> String {
        let truth = |is: bool| if is { "true" } else { "false" };
        Object::default()
            .text("kind", "pc-sampling")
            .number("start", self.start)
            .number("end", self.end)
            .text("mode", self.mode.word())
            .raw("serialized", truth(self.mode == Mode::Serialized))
            .maybe_text("scope", Some(self.scope.as_str()).filter(|scope| !scope.is_empty()))
            .maybe_number("period", self.period.map(|period| 1u64 << period))
            .number("contexts", self.contexts)
            .number("begin_ns", self.begin_ns)
            .number("end_ns", self.end_ns)
            .number("samples", self.samples)
            .number("in_scope", self.in_scope)
            .number("unknown_launch", self.unknown)
            .number("outside_scope", self.outside)
            .number("refused", self.refused)
            .number("taken", self.totals.taken)
            .number("dropped", self.totals.dropped)
            .number("foreign", self.totals.foreign)
            .number("instructions", self.totals.pcs)
            .number("fetches", self.totals.fetches)
            .raw("device_buffer_full", truth(self.totals.device_full))
            .number("rows", self.rows)
            .number("launches", self.launches)
            .number("kernels", self.kernels)
            .number("kernels_missing", self.kernels_missing)
            .texts("notes", &self.notes)
            .finish()
    }
}

/// All windows of a recorder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sampling {
    windows: Vec<Window>,
    /// Windows that are not told one by one any more.
    earlier: u64,
    /// Why the last window that was asked for was not opened; empty when it was.
    pub refused: String,
    /// Windows that were not opened.
    pub refusals: u64,
}

impl Sampling {
    /// No windows.
    pub const NONE: Sampling =
        Sampling { windows: Vec::new(), earlier: 0, refused: String::new(), refusals: 0 };

    /// A window was opened.
    pub fn opened(&mut self, window: Window) {
        if self.windows.len() == MOST_WINDOWS {
            self.windows.remove(0);
            self.earlier += 1;
        }
        self.refused.clear();
        self.windows.push(window);
    }

    /// The newest was closed.
    pub fn closed(&mut self, window: Window) {
        if let Some(open) = self.windows.last_mut() {
            *open = window;
        }
    }

    /// A window was asked for and not opened.
    pub fn refuse(&mut self, why: &str) {
        self.refused = why.into();
        self.refusals += 1;
    }

    /// As JSON, with what became of the modules; none when nothing was asked for.
    pub fn json(&self, cubins: Counts) -> Option<String> {
        if *self == Sampling::NONE && cubins == Counts::default() {
            return None;
        }
        let windows: Vec<String> = self.windows.iter().map(Window::json).collect();
        let modules = Object::default()
            .number("loaded", cubins.loaded)
            .number("kept_bytes", cubins.bytes as u64)
            .number("refused", cubins.refused)
            .number("saved_bytes", cubins.saved_bytes as u64)
            .finish();
        let refused = Some(self.refused.as_str()).filter(|why| !why.is_empty());
        let json = Object::default()
            .raw("windows", &format!("[{}]", windows.join(", ")))
            .number("earlier_windows", self.earlier)
            .number("refusals", self.refusals)
            .maybe_text("refused", refused)
            .raw("modules", &modules)
            .finish();
        Some(json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_asked_for_says_nothing() {
        assert_eq!(Sampling::NONE.json(Counts::default()), None);
    }

    #[test]
    fn windows_and_refusals_are_told() {
        let mut sampling = Sampling::default();
        sampling.refuse("no \"rights\"");
        let told = sampling.json(Counts::default()).unwrap();
        assert!(told.contains(r#""refused": "no \"rights\"""#), "{told}");
        for start in 1..=70 {
            sampling.opened(Window { start, ..Window::default() });
        }
        let open = Window { start: 70, end: 90, period: Some(10), ..Window::default() };
        sampling.closed(Window { scope: "forward".into(), ..open });
        let told = sampling.json(Counts { loaded: 2, ..Counts::default() }).unwrap();
        for part in [
            r#""earlier_windows": 6"#,
            r#""period": 1024"#,
            r#""scope": "forward""#,
            r#""serialized": true"#,
            r#""loaded": 2"#,
            r#""refusals": 1"#,
            r#""refused": null"#,
        ] {
            assert!(told.contains(part), "{part} in {told}");
        }
        assert_eq!(told.matches("\"start\"").count(), 64);
    }
}
