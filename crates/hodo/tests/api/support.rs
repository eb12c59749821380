//! Records a piece of code and shows what was recorded.

use hodo::{Config, Started};
use hodo_trace::{Process, ReadOptions, Row, Run, flag};
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// There is one recorder in a process, and tests share the process.
static RECORDER: Mutex<()> = Mutex::new(());

/// Keeps the recorder to the caller, for tests of what happens while it is off.
pub fn alone() -> MutexGuard<'static, ()> {
    RECORDER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records `work` and reads the run back. `HODO_CLOCK` and `HODO_CPU` choose how, so that every test
/// can also be run with `HODO_CPU=off`, which takes the recorder's slow paths.
pub fn record(work: impl FnOnce()) -> Run {
    let _alone = alone();
    let dir = tempfile::tempdir().expect("a temporary folder");
    let config = Config { dir: Some(dir.path().into()), share_run: false, ..Config::from_env() };
    let recording = hodo::init(config);
    assert_eq!(recording.started(), &Started::On);
    let folder = hodo::health().run.expect("a run folder");
    work();
    drop(recording);
    let run = Run::open(&folder, &ReadOptions::default()).expect("a readable run");
    for process in &run.processes {
        assert_eq!(process.account.unexplained, 0, "records went missing");
    }
    run
}

/// What `work` records, as an indented tree: `name[index] {attributes} flags`, then marks.
pub fn tree_of(work: impl FnOnce()) -> String {
    let run = record(work);
    let mut text = String::from("\n");
    for process in &run.processes {
        Printer::new(process).children(None, 0, &mut text);
    }
    text
}

struct Printer<'a> {
    process: &'a Process,
    rows: Vec<Row>,
}

impl<'a> Printer<'a> {
    fn new(process: &'a Process) -> Self {
        let mut rows: Vec<Row> = process.spans.rows().collect();
        rows.sort_by_key(|&row| (process.spans.start(row), process.spans.id(row)));
        Printer { process, rows }
    }

    fn children(&self, parent: Option<Row>, depth: usize, text: &mut String) {
        for &row in self.rows.iter().filter(|&&row| self.process.spans.parent_row(row) == parent) {
            self.line(row, depth, text);
            self.marks(row, depth + 1, text);
            self.children(Some(row), depth + 1, text);
        }
    }

    fn line(&self, row: Row, depth: usize, text: &mut String) {
        let span = self.process.span(row);
        let names = &self.process.names;
        write!(text, "{:1$}{2}", "", depth * 2, span.name()).unwrap();
        if let Some(index) = span.index() {
            write!(text, "[{index}]").unwrap();
        }
        let attrs = span.attrs().iter();
        let mut pairs: Vec<_> =
            attrs.map(|a| format!("{}={}", names.text(a.key), a.value.display(names))).collect();
        // The recorder promises no order among attributes that are set together, and tells a panic
        // by this attribute or by the flag, which the trace unites.
        pairs.sort();
        pairs.retain(|pair| pair != "error=panic");
        if !pairs.is_empty() {
            write!(text, " {{{}}}", pairs.join(", ")).unwrap();
        }
        for (bit, word) in FLAGS {
            if self.process.spans.flags(row) & bit != 0 {
                write!(text, " {word}").unwrap();
            }
        }
        text.push('\n');
    }

    fn marks(&self, row: Row, depth: usize, text: &mut String) {
        let names = &self.process.names;
        let id = self.process.spans.id(row);
        for mark in self.process.marks.iter().filter(|mark| mark.span == id) {
            let summary = if mark.summary { " (summary)" } else { "" };
            let (name, value) = (names.text(mark.name), mark.value.display(names));
            writeln!(text, "{:1$}* {name} = {value}{summary}", "", depth * 2).unwrap();
        }
    }
}

const FLAGS: [(u16, &str); 6] = [
    (flag::FAILED, "failed"),
    (flag::BENCH, "bench"),
    (flag::ITERATION, "iteration"),
    (flag::WARMUP, "warmup"),
    (flag::OUT_OF_ORDER, "out-of-order"),
    (flag::LEFT_OPEN, "left-open"),
];
