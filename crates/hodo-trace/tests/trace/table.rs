//! Scopes as columns, and the last of them.

use crate::support::{Records, TestRun};
use hodo_format::record::{SpanId, Value};
use hodo_trace::packed::Table;
use hodo_trace::{Column, Data, Filter, Last, Run, columns, tree, tree_columns};

fn span_columns(run: &Run, filter: &Filter) -> Vec<Column> {
    columns(run, Table::Spans, filter)
}

fn mark_columns(run: &Run, filter: &Filter) -> Vec<Column> {
    columns(run, Table::Marks, filter)
}

/// A process with three steps, and a child process started in the second.
fn two_processes() -> Run {
    let mut parent = Records::new(1);
    let mut second = SpanId::NONE;
    for i in 0..3u64 {
        let step = parent.id(1);
        let inner = parent.scope(1, step, "inner", 100 * i + 10, 100 * i + 20);
        parent.attr(inner, "i", Value::I64(i as i64));
        parent.close(step, SpanId::NONE, "step", 100 * i + 1, 100 * i + 90);
        second = if i == 1 { step } else { second };
    }
    parent.mark(1, SpanId::NONE, "outside", 500, Value::F64(0.5), true);
    let mut child = Records::new(2);
    child.parent = Some((parent.process, second));
    child.rank = Some(3);
    child.scope(1, SpanId::NONE, "work", 150, 160);
    let test = TestRun::new();
    test.finished(&parent);
    test.finished(&child);
    test.read()
}

fn column<'a>(columns: &'a [Column], name: &str) -> &'a Column {
    columns.iter().find(|c| c.name == name).expect(name)
}

/// A column as a person reads it; `-` where a value is missing.
fn shown(columns: &[Column], name: &str) -> Vec<String> {
    let column = column(columns, name);
    let all: Vec<String> = match &column.data {
        Data::I64(v) => v.iter().map(i64::to_string).collect(),
        Data::F64(v) => v.iter().map(f64::to_string).collect(),
        Data::Text { codes, texts } => {
            let text = |&code: &i32| texts.get(code as usize).map_or("-", String::as_str);
            codes.iter().map(|code| text(code).to_owned()).collect()
        }
    };
    let valid = |row: usize| column.valid.as_ref().is_none_or(|valid| valid[row]);
    let show = |(row, text): (usize, String)| if valid(row) { text } else { "-".to_owned() };
    all.into_iter().enumerate().map(show).collect()
}

#[test]
fn rows_are_in_the_order_scopes_opened_with_paths_over_processes() {
    let run = two_processes();
    let columns = span_columns(&run, &Filter::default());
    assert_eq!(
        shown(&columns, "name"),
        ["step", "inner", "step", "inner", "work", "step", "inner"]
    );
    assert_eq!(shown(&columns, "path")[4], "step/work");
    assert_eq!(shown(&columns, "depth"), ["0", "1", "0", "1", "1", "0", "1"]);
    assert_eq!(shown(&columns, "rank"), ["-", "-", "-", "-", "3", "-", "-"]);
    assert_eq!(shown(&columns, "duration_ns")[..2], ["89", "10"]);
    assert_eq!(shown(&columns, "cpu_ns")[..2], ["44", "5"]);
    assert_eq!(shown(&columns, "attributes")[1], r#"{"i":0}"#);
    let (ids, parents) = (shown(&columns, "id"), shown(&columns, "parent"));
    assert_eq!((&parents[0][..], &parents[1], &parents[4]), ("-", &ids[0], &ids[2]));
    let (own, above) = (shown(&columns, "process"), shown(&columns, "parent_process"));
    assert_eq!((&above[4], &above[0][..]), (&own[0], "-"));
}

#[test]
fn the_last_scopes_by_number_and_by_time() {
    let run = two_processes();
    let names = |last| {
        let filter = Filter { last: Some(last), ..Filter::default() };
        assert_eq!(tree(&run, &filter).spans as usize, span_columns(&run, &filter)[0].len());
        shown(&span_columns(&run, &filter), "name")
    };
    assert_eq!(names(Last::Scopes(2)), ["step", "inner"]);
    assert_eq!(names(Last::Scopes(0)), [""; 0]);
    assert_eq!(names(Last::Scopes(100)).len(), 7);
    // The last moment known is that of the second anchor, 1001.
    assert_eq!(names(Last::Nanoseconds(1001 - 250)), ["step"]);
    assert_eq!(names(Last::Nanoseconds(1_000_000)).len(), 7);
}

#[test]
fn one_scope_with_all_inside_it_in_other_processes_too() {
    let run = two_processes();
    let second = run.processes[0].span(3);
    let filter =
        Filter { scope: Some((run.processes[0].process, second.id())), ..Filter::default() };
    assert_eq!(shown(&span_columns(&run, &filter), "name"), ["step", "inner", "work"]);
    assert!(shown(&mark_columns(&run, &filter), "name").is_empty());
}

#[test]
fn marks_are_rows_too() {
    let columns = mark_columns(&two_processes(), &Filter::default());
    assert_eq!(shown(&columns, "name"), ["outside"]);
    assert_eq!(shown(&columns, "kind"), ["summary"]);
    assert_eq!(shown(&columns, "value"), ["0.5"]);
    assert_eq!(shown(&columns, "scope"), ["-"]);
}

#[test]
fn the_tree_is_a_table_of_the_reports_numbers() {
    let run = two_processes();
    let columns = tree_columns(&run, &Filter::default());
    assert_eq!(shown(&columns, "path"), ["step", "step/inner", "step/work"]);
    assert_eq!(shown(&columns, "count"), ["3", "3", "1"]);
    assert_eq!(shown(&columns, "total_ns"), ["267", "30", "10"]);
    assert_eq!(shown(&columns, "p50_ns"), ["89", "10", "10"]);
    // The child process ran inside the second step.
    assert_eq!(shown(&columns, "self_ns"), ["227", "30", "10"]);
    assert_eq!(shown(&columns, "gpu_ns"), ["-", "-", "-"]);
    let spans = span_columns(&run, &Filter::default());
    let own: i64 = shown(&spans, "self_ns").iter().map(|ns| ns.parse::<i64>().expect(ns)).sum();
    assert_eq!(own, 227 + 30 + 10);
}

#[test]
fn every_table_has_its_columns_whether_or_not_it_has_rows() {
    let (some, none) = (two_processes(), TestRun::new().read());
    for table in Table::ALL {
        let fields: Vec<&str> = table.fields().iter().map(|field| field.name).collect();
        let (some, none) = [&some, &none].map(|run| columns(run, table, &Filter::default())).into();
        for all in [&some, &none] {
            assert_eq!(all.iter().map(|column| column.name).collect::<Vec<_>>(), fields);
            assert!(all.iter().all(|column| column.len() == all[0].len()), "{}", table.name());
        }
        // The type of a column does not depend on what is in it.
        let kind = |c: &Column| (std::mem::discriminant(&c.data), c.valid.is_some());
        for (some, none) in some.iter().zip(&none) {
            assert_eq!(kind(some), kind(none), "{} of {}", some.name, table.name());
        }
    }
}

#[test]
fn a_filter_keeps_the_attributes_of_the_scopes_it_keeps() {
    let run = two_processes();
    let filter = Filter { last: Some(Last::Scopes(2)), ..Filter::default() };
    assert_eq!(shown(&columns(&run, Table::Attrs, &filter), "value"), ["2"]);
    assert_eq!(shown(&columns(&run, Table::Processes, &filter), "rank"), ["-", "3"]);
}
