use super::{Column, Data, Texts, attributes};
use crate::links::Links;
use crate::select::select;
use crate::tree::paths::{Paths, ROOT};
use crate::{Cpu, Filter, Process, ProcessState, Row, Run, SpanView};
use hodo_format::record::SpanId;

/// A row of the table: place of the process, row of the scope.
type At = (u32, Row);

/// The scopes of `run` that `filter` keeps, in the order they opened. The columns:
///
/// `id`, `parent` (missing for an outermost scope), `process` (the upper half of both ids, 16 hex
/// digits), `parent_process` (that of a process started in another's scope), `name`, `index`,
/// `start_ns` since 1970, `duration_ns`, `cpu_ns`, `overhead_ns`, `state` (`closed`, `failed`,
/// `open`, `left open`), `pid`, `rank`, `thread`, `thread_name`, `depth`, `path` (names joined by
/// `/`) and `attributes` (a JSON object).
pub fn span_columns(run: &Run, filter: &Filter) -> Vec<Column> {
    let links = Links::new(&run.processes);
    let kept = select(run, &links, filter);
    let paths = Paths::new(run, &links, &kept);
    let mut rows: Vec<At> = Vec::new();
    for (at, process) in (0..).zip(&run.processes) {
        let before = rows.len();
        by_opening(process).for_each(|row| rows.push((at, row)));
        // Scopes that share an id are found once by it; damage makes such.
        if rows.len() - before != process.spans.len() {
            rows.truncate(before);
            rows.extend(process.spans.rows().map(|row| (at, row)));
        }
    }
    rows.retain(|&(at, row)| kept[at as usize].keeps(row));
    let span = |at: u32, row: Row| run.processes[at as usize].span(row);
    // Rows of a thread are in order already, which this sort makes use of.
    rows.sort_by_key(|&(at, row)| (span(at, row).start_ns(), span(at, row).id(), at));
    Table { run, links, paths, rows }.columns()
}

/// The rows of a process thread by thread, as each opened them.
fn by_opening(process: &Process) -> impl Iterator<Item = Row> {
    process.threads.iter().flat_map(|thread| process.spans.rows_of_thread(thread.number))
}

struct Table<'a> {
    run: &'a Run,
    links: Links,
    paths: Paths,
    rows: Vec<At>,
}

impl<'a> Table<'a> {
    fn columns(&self) -> Vec<Column> {
        let mut columns = self.identity();
        columns.extend(self.numbers());
        columns.extend(self.places());
        columns
    }

    fn spans(&self) -> impl Iterator<Item = SpanView<'a>> + '_ {
        self.rows.iter().map(|&(at, row)| self.process(at).span(row))
    }

    fn process(&self, at: u32) -> &'a Process {
        &self.run.processes[at as usize]
    }

    fn identity(&self) -> Vec<Column> {
        let ids = self.spans().map(|span| span.id().0).collect();
        let parents = self.rows.iter().map(|&at| self.parent(at).map(|(_, id)| id.0));
        vec![
            Column::new("id", Data::U64(ids)),
            Column::partly("parent", parents, Data::U64),
            self.processes("process", |at| Some(at.0 as usize)),
            self.processes("parent_process", |at| Some(self.parent(at)?.0)),
            self.names(),
            Column::partly("index", self.spans().map(|span| span.index()), Data::I64),
        ]
    }

    /// The scope around one: of its process, or the one that started its process.
    fn parent(&self, (at, row): At) -> Option<(usize, SpanId)> {
        let id = self.process(at).spans.parent(row);
        if !id.is_none() {
            return Some((at as usize, id));
        }
        let (process, row) = self.links.started_in[at as usize]?;
        Some((process, self.run.processes[process].spans.id(row)))
    }

    fn processes(&self, name: &'static str, of: impl Fn(At) -> Option<usize>) -> Column {
        let mut texts = Texts::default();
        let hex = |p: &Process| texts.place(&format!("{:016x}", p.process));
        let places: Vec<i32> = self.run.processes.iter().map(hex).collect();
        let code = |&at: &At| of(at).map_or(super::NO_TEXT, |at| places[at]);
        texts.codes = self.rows.iter().map(code).collect();
        texts.column(name)
    }

    fn names(&self) -> Column {
        let mut names = Texts::default();
        let mut known: Vec<Vec<i32>> = self.run.processes.iter().map(|_| Vec::new()).collect();
        for &(at, row) in &self.rows {
            let process = self.process(at);
            let id = process.spans.name(row) as usize;
            let known = &mut known[at as usize];
            if known.is_empty() {
                known.resize(process.names.end() as usize, super::NO_TEXT);
            }
            let place = match known.get(id) {
                Some(&place) if place != super::NO_TEXT => place,
                _ => names.place(&process.names.text(id as u32)),
            };
            if let Some(known) = known.get_mut(id) {
                *known = place;
            }
            names.codes.push(place);
        }
        names.column("name")
    }

    fn numbers(&self) -> Vec<Column> {
        let timed = |span: &SpanView<'_>| span.process.is_timed();
        let starts = self.spans().map(|s| timed(&s).then(|| s.start_ns()));
        // Signed: a difference of two of them may be below 0.
        let durations = self.spans().map(|s| timed(&s).then(|| s.duration_ns() as i64));
        let overheads =
            self.spans().map(|s| s.process.has_overhead().then(|| s.overhead_ns() as i64));
        let cpu = self.spans().map(|s| match s.cpu_ns() {
            Cpu::Captured(ns) => Some(ns as i64),
            Cpu::Missing(_) => None,
        });
        vec![
            Column::partly("start_ns", starts, Data::I64).or_whole(),
            Column::partly("duration_ns", durations, Data::I64).or_whole(),
            Column::partly("cpu_ns", cpu, Data::I64),
            Column::partly("overhead_ns", overheads, Data::I64).or_whole(),
            self.states(),
        ]
    }

    fn states(&self) -> Column {
        const STATES: [&str; 4] = ["closed", "failed", "open", "left open"];
        let code = |span: SpanView<'_>| match (span.is_open(), span.process.state) {
            (true, ProcessState::Live) => 2,
            (true, _) => 3,
            (false, _) => i32::from(span.is_failed()),
        };
        let texts = STATES.map(str::to_owned).to_vec();
        Column::new("state", Data::Text { codes: self.spans().map(code).collect(), texts })
    }

    fn places(&self) -> Vec<Column> {
        let pids = self.spans().map(|s| s.process.info.pid).collect();
        let threads = self.spans().map(|s| s.id().thread()).collect();
        let (paths, depths) = self.paths();
        vec![
            Column::new("pid", Data::U32(pids)),
            Column::partly("rank", self.spans().map(|s| s.process.info.rank), Data::U32),
            Column::new("thread", Data::U32(threads)),
            self.thread_names(),
            depths,
            paths,
            self.attributes(),
        ]
    }

    fn thread_names(&self) -> Column {
        let mut names = Texts::default();
        let mut last = (u32::MAX, u32::MAX, super::NO_TEXT);
        for &(at, row) in &self.rows {
            let process = self.process(at);
            let thread = process.spans.thread(row);
            if (last.0, last.1) != (at, thread) {
                last = (at, thread, names.place(&process.thread_name(thread)));
            }
            names.codes.push(last.2);
        }
        names.column("thread_name")
    }

    /// Paths and how many scopes are above; nodes are far fewer than rows.
    fn paths(&self) -> (Column, Column) {
        let mut texts = Texts::default();
        let mut known: Vec<Option<(i32, u32)>> = vec![None; self.paths.nodes.len()];
        let mut depths = Vec::with_capacity(self.rows.len());
        for &(at, row) in &self.rows {
            let node = self.paths.node(at as usize, row).unwrap_or(ROOT);
            let (place, depth) = *known[node as usize].get_or_insert_with(|| {
                let names = self.paths.path(node);
                (texts.place(&names.join("/")), names.len().saturating_sub(1) as u32)
            });
            texts.codes.push(place);
            depths.push(depth);
        }
        (texts.column("path"), Column::new("depth", Data::U32(depths)))
    }

    fn attributes(&self) -> Column {
        let mut texts = Texts::default();
        for span in self.spans() {
            let has_any = !span.process.attrs.all().is_empty();
            let text = has_any.then(|| attributes(span.attrs(), &span.process.names)).flatten();
            texts.push(text.as_deref());
        }
        texts.column("attributes")
    }
}
