//! The attributes of marks find their mark, or belong to nothing.

use crate::support::arena::ArenaFile;
use crate::support::{Records, TestRun};
use hodo_format::record::{SpanId, TextRecord, Value};
use hodo_trace::packed::Table;
use hodo_trace::{Filter, Run, columns, tree};

/// Marks 0 to 9 in one scope, each with its number as value and as attribute.
fn ten_marks() -> Records {
    let mut process = Records::new(1);
    let id = process.id(1);
    for i in 0..10 {
        process.mark(1, id, "loss", 10 + i, Value::I64(i as i64), false);
        let attributes = format!(r#"{{"i":{i}}}"#);
        process.flagged_text(id, "", &attributes, TextRecord::JSON | TextRecord::OF_MARK);
    }
    process.close(id, SpanId::NONE, "step", 5, 100);
    process
}

/// Value and attributes of every mark.
fn marks(run: &Run) -> Vec<(String, Option<String>)> {
    let process = &run.processes[0];
    let show = |(place, mark): (usize, &hodo_trace::MarkRow)| {
        let attributes = process.mark_attrs.of(place).map(|a| a.display(&process.names));
        (mark.value.display(&process.names), attributes)
    };
    process.marks.iter().enumerate().map(show).collect()
}

fn expected(numbers: impl Iterator<Item = u64>) -> Vec<(String, Option<String>)> {
    numbers.map(|i| (i.to_string(), Some(format!(r#"{{"i":{i}}}"#)))).collect()
}

#[test]
fn every_mark_has_its_attributes_over_frames_and_rings() {
    let process = ten_marks();
    let all: Vec<_> = process.all().collect();
    for stored in 0..all.len() {
        let test = TestRun::new();
        let folder = test.json(&process);
        process.spool(&folder, &all[..stored], false);
        let mut arena = ArenaFile::new(&process);
        arena.ring(&all[stored..]);
        arena.write(&folder);
        assert_eq!(marks(&test.read()), expected(0..10), "{stored} stored");
    }
}

#[test]
fn a_mark_whose_attributes_are_lost_has_none() {
    let mut process = ten_marks();
    process.dropped = vec![(1, 7)];
    let test = TestRun::new();
    test.finished(&process);
    let mut right = expected(0..10);
    right[3].1 = None;
    assert_eq!(marks(&test.read()), right);
}

#[test]
fn attributes_whose_mark_is_lost_go_to_no_other() {
    let mut process = ten_marks();
    process.dropped = vec![(1, 6)];
    let test = TestRun::new();
    test.finished(&process);
    let run = test.read();
    assert_eq!(marks(&run), expected((0..10).filter(|&i| i != 3)));
    assert!(run.processes[0].attrs.all().is_empty(), "nor to the scope");
}

#[test]
fn marks_of_two_threads_do_not_mix() {
    let mut process = Records::new(1);
    let ids = [process.id(1), process.id(2)];
    for i in 0..6 {
        let (thread, id) = (i % 2 + 1, ids[i % 2]);
        process.mark(thread as u32, id, "loss", 10 + i as u64, Value::I64(i as i64), false);
        let attributes = format!(r#"{{"i":{i}}}"#);
        process.flagged_text(id, "", &attributes, TextRecord::JSON | TextRecord::OF_MARK);
    }
    let test = TestRun::new();
    test.finished(&process);
    assert_eq!(marks(&test.read()), expected([0, 2, 4, 1, 3, 5].into_iter()));
}

#[test]
fn a_series_tells_the_attributes_of_its_last_mark_and_the_table_all() {
    let process = ten_marks();
    let test = TestRun::new();
    test.finished(&process);
    let run = test.read();
    let series = &tree(&run, &Filter::default()).nodes[0].marks[1];
    assert_eq!(serde_json::to_value(series).expect("JSON")["last_attrs"]["i"], 9);
    let columns = columns(&run, Table::Marks, &Filter::default());
    let column = columns.iter().find(|c| c.name == "attributes").expect("a column");
    let hodo_trace::Data::Text { codes, texts } = &column.data else { panic!("texts") };
    assert_eq!(codes, &(0..10).collect::<Vec<i32>>());
    assert_eq!(texts[9], r#"{"i":9}"#);
}
