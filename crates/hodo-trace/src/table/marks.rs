use super::{Column, Data, Texts};
use crate::links::Links;
use crate::select::{Selection, select};
use crate::{Filter, MarkRow, Process, Run};

/// The marks of `run` in scopes that `filter` keeps, in the order they were made; those outside any
/// scope only where all is kept. The columns:
///
/// `name`, `kind` (`point` or `summary`), `at_ns` since 1970, `value` (numbers; missing for texts),
/// `text` (texts), `scope` (its id; missing outside any), `process`, `pid`, `rank` and
/// `attributes` (a JSON object).
pub fn mark_columns(run: &Run, filter: &Filter) -> Vec<Column> {
    let links = Links::new(&run.processes);
    let kept = select(run, &links, filter);
    let mut rows: Vec<(i64, usize, usize)> = Vec::new();
    for (at, process) in run.processes.iter().enumerate() {
        let marks = process.marks.iter().enumerate();
        let marks = marks.filter(|(_, mark)| is_kept(mark, process, &kept[at]));
        rows.extend(marks.map(|(place, mark)| (process.clock.steady_ns(mark.at), at, place)));
    }
    rows.sort_unstable();
    Table { run, rows }.columns()
}

fn is_kept(mark: &MarkRow, process: &Process, kept: &Selection) -> bool {
    match process.spans.row_of(mark.span) {
        Some(row) => kept.keeps(row),
        None => matches!(kept, Selection::All),
    }
}

struct Table<'a> {
    run: &'a Run,
    /// Moment, process, place of the mark.
    rows: Vec<(i64, usize, usize)>,
}

impl<'a> Table<'a> {
    fn marks(&self) -> impl Iterator<Item = (&'a Process, &'a MarkRow)> + '_ {
        self.rows.iter().map(|&(_, at, place)| {
            let process = &self.run.processes[at];
            (process, &process.marks[place])
        })
    }

    fn columns(&self) -> Vec<Column> {
        let at = self.rows.iter().map(|r| self.run.processes[r.1].is_timed().then_some(r.0));
        let values = self.marks().map(|(_, mark)| mark.value.as_f64());
        let scopes = self.marks().map(|(_, m)| Some(m.span.0).filter(|_| !m.span.is_none()));
        let pids = self.marks().map(|(process, _)| process.info.pid).collect();
        vec![
            self.texts("name", |process, mark, _| Some(process.names.text(mark.name).into_owned())),
            self.texts("kind", |_, mark, _| {
                Some(if mark.summary { "summary" } else { "point" }.to_owned())
            }),
            Column::partly("at_ns", at, Data::I64).or_whole(),
            Column::partly("value", values, Data::F64),
            self.texts("text", |process, mark, _| {
                let is_text = mark.value.as_f64().is_none();
                is_text.then(|| mark.value.display(&process.names))
            }),
            Column::partly("scope", scopes, Data::U64),
            self.texts("process", |process, _, _| Some(format!("{:016x}", process.process))),
            Column::new("pid", Data::U32(pids)),
            Column::partly("rank", self.marks().map(|(p, _)| p.info.rank), Data::U32),
            self.texts("attributes", |process, _, place| {
                Some(process.mark_attrs.of(place)?.display(&process.names))
            }),
        ]
    }

    fn texts(
        &self,
        name: &'static str,
        of: impl Fn(&'a Process, &'a MarkRow, usize) -> Option<String>,
    ) -> Column {
        let mut texts = Texts::default();
        for ((process, mark), row) in self.marks().zip(&self.rows) {
            texts.push(of(process, mark, row.2).as_deref());
        }
        texts.column(name)
    }
}
