use crate::support::{Place, archive, attrs, import, marks, sample, shown};

fn span(id: u32, name: &str, parent: &str, start: u64, end: u64, more: &str) -> String {
    format!(
        r#"{{"id":"{id:032x}","name":{name},"parent_id":{parent},"start_ns":{start},"end_ns":{end},"thread_id":140564859126080,"pid":9,"rank":2{more}}}"#
    )
}

fn batch(spans: &[String], marks: &str) -> String {
    format!(
        r#"{{"schema_version":1,"sdk_version":"0.3.0","batch_id":"b","created_ns":1,"spans":[{}],"marks":[{marks}],"snapshots":[{{}}]}}"#,
        spans.join(",")
    )
}

const T: u64 = 1_700_000_000_000_000_000;

fn files() -> (String, String) {
    let outer = format!("\"{:032x}\"", 1);
    let first = batch(
        &[
            span(
                2,
                "\"forward\"",
                &outer,
                T + 10,
                T + 40,
                r#","index":4,"attrs":{"a":1,"b":"x","c":[1],"d":NaN}"#,
            ),
            span(2, "\"forward\"", &outer, T + 10, T + 40, ""),
            span(3, "17", &outer, T + 50, T + 45, r#","gpu_ns":33,"cpu_ns":44"#),
        ],
        &format!(
            r#"{{"id":"{:032x}","span_id":{outer},"name":"loss","value_type":"float","value":0.5,"ts_ns":{},"attrs":{{"k":1}}}},
               {{"id":"{:032x}","span_id":"root","name":"bad","value_type":"float","value":null,"value_nonfinite":"-inf","ts_ns":{}}},
               {{"id":"{:032x}","span_id":{outer},"name":"n","value_type":"int","value":3,"ts_ns":{},"kind":"summary"}}"#,
            100,
            T + 20,
            101,
            T + 21,
            102,
            T + 22
        ),
    );
    (first, batch(&[span(1, "\"step\"", "null", T, T + 100, "")], ""))
}

#[test]
fn spans_and_marks_of_several_files_find_each_other() {
    let place = Place::new();
    let (first, second) = files();
    place.file("s/.cirron/spool/1-a.json", &first);
    place.file("s/.cirron/spool/2-b.json", &second);
    place.file("s/.cirron/spool/3-c.json.tmp", &second);
    place.file("s/.cirron/snapshots/x/weights.safetensors", b"\x08\0\0\0\0\0\0\0{\"a\":{}}");
    let folder = place.file("s/x", "").parent().unwrap().to_owned();
    let (run, imported) = place.import(&[folder]).unwrap();
    assert_eq!(shown(&run), "step ×1 100\n  forward ×1 30\n  17 ×1 0\n");
    assert_eq!(attrs(&run, "forward"), ["b=x", "c=[1]", "a=1"]);
    assert_eq!(attrs(&run, "17"), ["process_cpu_ns=44", "gpu_ns=33"]);
    assert_eq!(
        marks(&run),
        ["bad = -inf", r#"loss = 0.5 in step {"k":1}"#, "n = 3 in step summary"]
    );
    let process = &run.processes[0];
    assert_eq!((process.info.pid, process.info.rank), (9, Some(2)));
    assert_eq!(process.threads[0].name, "thread 0x7fd7ce7f0140");
    let index = process.span_views().find(|s| s.name() == "forward").unwrap().index();
    assert_eq!(index, Some(4));
    assert_eq!(process.gpu.missing().unwrap().code(), "not_in_source");
    let notes = imported.notes.join("\n");
    for words in [
        "1 spans that are there twice",
        "ended before they began",
        "2 snapshots of tensors",
        "1 files that were being written",
    ] {
        assert!(notes.contains(words), "{words} in {notes}");
    }
}

#[test]
fn a_session_that_was_not_written_is_open_and_other_parents_are_lost() {
    let lost = format!("\"{:032x}\"", 77);
    let one = batch(
        &[span(2, "\"a\"", &lost, T, T + 5, ""), span(3, "\"b\"", &lost, T + 7, T + 9, "")],
        "",
    );
    let (run, _) = import("batch.json", &one);
    assert_eq!(shown(&run), "cirron.session ×1 9\n  a ×1 5\n  b ×1 2\n");
    assert_eq!(run.processes[0].open_count(), 1);
    let other = format!("\"{:032x}\"", 78);
    let two = batch(
        &[span(2, "\"a\"", &lost, T, T + 5, ""), span(3, "\"b\"", &other, T + 7, T + 9, "")],
        "",
    );
    let (run, imported) = import("batch.json", &two);
    assert_eq!(run.processes[0].spans.len(), 2);
    let words = "2 spans around others that are in no file";
    assert!(imported.notes.iter().any(|n| n.contains(words)), "{:?}", imported.notes);
}

#[test]
fn damage_costs_one_file() {
    let place = Place::new();
    let (first, second) = files();
    place.file("s/1-a.json", &first[..first.len() - 400]);
    let second = place.file("s/2-b.json", &second);
    let (run, imported) = place.import(&[second.parent().unwrap().to_owned()]).unwrap();
    assert!(run.span_count() >= 2);
    assert!(imported.notes[0].contains("1-a.json is damaged at byte"), "{:?}", imported.notes);
}

#[test]
fn an_archive_is_read_like_its_folder() {
    let (first, second) = files();
    let bytes = archive(&[
        (".cirron/spool/1.json", first.as_bytes()),
        (".cirron/spool/2.json", second.as_bytes()),
    ]);
    let (run, _) = import("spool.tgz", &bytes);
    assert_eq!(run.span_count(), 3);
    let (run, imported) = import("spool.tgz", &bytes[..bytes.len() - 8]);
    assert_eq!(run.span_count(), 3);
    assert!(imported.notes.iter().all(|n| !n.is_empty()));
}

#[test]
fn the_spool_of_a_real_training_loop() {
    let (run, imported) = Place::new().import(&[sample("cirron_spool_h200_mlp.tgz")]).unwrap();
    assert_eq!(imported.totals.records.spans, 1701, "1700 and the session that was not written");
    assert!(shown(&run).contains("step ×320"), "{}", shown(&run));
}
