//! A run as the rows of its tables, a column and a stretch of rows at a time: whoever writes them
//! holds no more than that.

mod attrs;
mod health;
mod marks;
mod processes;
mod samples;
mod spans;
mod work;

use super::schema::Table;
use super::values::Values;
use crate::links::Links;
use crate::select::Selection;
use crate::tree::paths::Paths;
use crate::{Process, Row, Run};
use hodo_format::record::SpanId;
use std::ops::Range;

/// Rows of a table.
pub trait Rows {
    /// How many there are.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One column of some of them; the names are those of [`Table::fields`].
    fn column(&self, name: &'static str, rows: Range<usize>) -> Values;
}

/// A run that is asked for its tables.
pub struct Tables<'a> {
    run: &'a Run,
    links: Links,
    paths: Paths,
}

/// What a table's rows are of, by which its files are named.
pub type Whose<'a> = &'a str;

impl<'a> Tables<'a> {
    /// The tables of `run`.
    pub fn new(run: &'a Run) -> Tables<'a> {
        let links = Links::new(&run.processes);
        let all: Vec<Selection> = run.processes.iter().map(|_| Selection::All).collect();
        let paths = Paths::new(run, &links, &all);
        Tables { run, links, paths }
    }

    /// Calls `visit` with every table that has rows, process by process, until it fails.
    pub fn each<E>(
        &self,
        mut visit: impl FnMut(Table, Whose<'_>, &dyn Rows) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut visit = |table, whose: &str, rows: &dyn Rows| match rows.is_empty() {
            true => Ok(()),
            false => visit(table, whose, rows),
        };
        for at in 0..self.run.processes.len() {
            let of = Of::new(self, at);
            let whose = of.process.folder.file_name().unwrap_or_default().to_string_lossy();
            let whose: &str = &whose;
            {
                let spans = spans::Spans::new(&of);
                visit(Table::Spans, whose, &spans)?;
                visit(Table::SpanTicks, whose, &spans::Ticks::new(&of))?;
            }
            visit(Table::Marks, whose, &marks::Marks(&of))?;
            visit(Table::MarkTicks, whose, &marks::Ticks(&of))?;
            visit(Table::Attrs, whose, &attrs::Attrs(&of))?;
            visit(Table::AttrWords, whose, &attrs::Words(&of))?;
            visit(Table::Kernels, whose, &work::Kernels::new(&of))?;
            visit(Table::Copies, whose, &work::Copies(work::Rows::others(&of)))?;
            visit(Table::Work, whose, &work::Raw(&of))?;
        }
        for machine in &self.run.machines {
            let whose = machine.file_stem();
            visit(Table::Samples, &whose, &samples::Samples::new(self.run, machine))?;
            visit(Table::Readings, &whose, &samples::Readings::new(machine))?;
        }
        visit(Table::Processes, "", &processes::Processes(self.run))?;
        visit(Table::Health, "", &health::Health::new(self.run))
    }
}

impl Tables<'_> {
    /// What ties the processes together.
    pub(crate) fn links(&self) -> &Links {
        &self.links
    }

    /// Calls `visit` with the rows of one table that is for everyone, empty ones too: with the place
    /// of the process that they are of, where they are of one.
    pub(crate) fn each_of(&self, table: Table, mut visit: impl FnMut(Option<usize>, &dyn Rows)) {
        match table {
            Table::Samples => {
                for machine in &self.run.machines {
                    visit(None, &samples::Samples::new(self.run, machine));
                }
            }
            Table::Processes => visit(None, &processes::Processes(self.run)),
            Table::Health => visit(None, &health::Health::new(self.run)),
            _ => {
                for at in 0..self.run.processes.len() {
                    Of::new(self, at).rows(table, |rows| visit(Some(at), rows));
                }
            }
        }
    }
}

/// One process of a run.
struct Of<'a> {
    tables: &'a Tables<'a>,
    at: usize,
    process: &'a Process,
}

impl<'a> Of<'a> {
    fn new(tables: &'a Tables<'a>, at: usize) -> Of<'a> {
        Of { tables, at, process: &tables.run.processes[at] }
    }

    fn rows(&self, table: Table, visit: impl FnOnce(&dyn Rows)) {
        match table {
            Table::Spans => visit(&spans::Spans::new(self)),
            Table::Marks => visit(&marks::Marks(self)),
            Table::Attrs => visit(&attrs::Attrs(self)),
            Table::Kernels => visit(&work::Kernels::new(self)),
            Table::Copies => visit(&work::Copies(work::Rows::others(self))),
            _ => {}
        }
    }

    /// The columns that every table of a process begins with.
    fn common(&self, name: &str, rows: usize) -> Values {
        let info = &self.process.info;
        match name {
            "run" => Values::same_text(Some(&self.tables.run.info.id), rows),
            "process" => Values::same_text(Some(&hex(self.process)), rows),
            "pid" => Values::same_whole(Some(info.pid.into()), rows),
            "rank" => Values::same_whole(info.rank.map(i64::from), rows),
            // A column of the schema that a table does not fill is missing, never made up.
            _ => Values::same_text(None, rows),
        }
    }

    /// Paths of scopes: names from the outermost one, joined by `/`.
    fn paths(&self, scopes: impl Iterator<Item = Option<Row>>) -> Values {
        let paths = &self.tables.paths;
        let nodes = scopes.map(|row| paths.node(self.at, row?));
        Values::by_key(nodes, |node| Some(paths.path(node).join("/")))
    }

    /// The path of scopes that may not have been read.
    fn paths_of(&self, scopes: impl Iterator<Item = SpanId>) -> Values {
        self.paths(scopes.map(|scope| self.process.spans.row_of(scope)))
    }

    /// A moment; none where times are not known.
    fn moment(&self, ticks: u64) -> Option<i64> {
        self.process.is_timed().then(|| self.process.clock.steady_ns(ticks))
    }

    /// A duration; none where times are not known.
    fn length(&self, ticks: u64) -> Option<i64> {
        self.process.is_timed().then(|| self.process.clock.duration_ns(ticks) as i64)
    }
}

/// The process's half of its ids.
fn hex(process: &Process) -> String {
    format!("{:016x}", process.process)
}

/// A scope's id; none for no scope.
fn id(scope: SpanId) -> Option<i64> {
    (!scope.is_none()).then_some(scope.0 as i64)
}
