use crate::support::{Place, import, marks, refused, sample, shown};
use hodo_format::gpu::Detail;
use hodo_trace::Run;

fn exported(run: &Run) -> Vec<u8> {
    let mut bytes = Vec::new();
    hodo_convert::perfetto::write(run, &mut bytes, &|_, _| ()).unwrap();
    bytes
}

/// Spans as text, in order of their ids, with what an import must keep.
fn spans(run: &Run) -> Vec<String> {
    let mut all = Vec::new();
    for process in &run.processes {
        for span in process.span_views() {
            let parent = process.spans.parent(span.row).0;
            let attrs: Vec<_> = span
                .attrs()
                .iter()
                .map(|a| (process.names.text(a.key).into_owned(), a.value.display(&process.names)))
                .collect();
            all.push(format!(
                "{} {parent} {} {} {} {:?} {:?} {} {} {attrs:?}",
                span.full_id(),
                span.name(),
                span.start_ns(),
                span.duration_ns(),
                span.cpu_ns(),
                span.index(),
                span.is_failed(),
                span.is_open(),
            ));
        }
    }
    all.sort();
    all
}

/// Work as text, in order of time.
fn works(run: &Run) -> Vec<String> {
    let mut all = Vec::new();
    for process in &run.processes {
        let work = &process.gpu.work;
        for row in work.rows().filter(|&row| work.is_busy(row)) {
            let mut w = work.get(row);
            let name = work.kernel(row).map(|k| process.gpu.kernel_name(k.name).full.to_string());
            // What the export does not have.
            match &mut w.detail {
                Detail::Kernel(kernel) => (kernel.name, kernel.local) = (0, 0),
                Detail::Copy { from, to, .. } => (*from, *to) = (0, 0),
                Detail::Set { memory, .. } => *memory = 0,
                _ => {}
            }
            let (start, end) = (process.clock.steady_ns(w.start), process.clock.steady_ns(w.end));
            let launched = (w.launched != 0).then(|| process.clock.steady_ns(w.launched));
            all.push(format!(
                "{start} {end} {launched:?} {} {} {} {:?} {} {name:?} {:?}",
                w.device, w.stream, w.correlation, w.span, w.flags, w.detail
            ));
        }
    }
    all
}

#[test]
fn hodos_own_export_comes_back_as_it_was() {
    let (run, _) = Place::new().import(&[sample("torch_profiler_h200_mlp.json.gz")]).unwrap();
    let (again, imported) = import("run.pftrace", exported(&run));
    assert_eq!(shown(&again), shown(&run));
    assert!(spans(&again) == spans(&run), "spans differ");
    let (found, expected) = (works(&again), works(&run));
    let differs = found.iter().zip(&expected).find(|(found, expected)| found != expected);
    assert!(found == expected, "{} and {}: {differs:#?}", found.len(), expected.len());
    assert!(imported.notes.is_empty(), "{:?}", imported.notes);
    assert_eq!(again.info.app, run.info.app);
    let (third, _) = import("again.pftrace", exported(&again));
    assert!(spans(&third) == spans(&run), "spans differ the second time");
}

#[test]
fn marks_and_scopes_that_cross_come_back() {
    let (run, _) = import(
        "trace.json",
        r#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":100,"args":{"x":1,"t":"é"}},
            {"ph":"X","name":"b","pid":1,"tid":1,"ts":50,"dur":100},
            {"ph":"X","name":"in b","pid":1,"tid":1,"ts":110,"dur":10},
            {"ph":"C","name":"loss","pid":1,"tid":1,"ts":1,"args":{"value":0.5}},
            {"ph":"C","name":"n","pid":1,"tid":1,"ts":2,"args":{"value":7}},
            {"ph":"i","name":"note","pid":1,"tid":1,"ts":3,"args":{"value":"text","more":[1]}},
            {"ph":"b","cat":"c","id":1,"name":"async","pid":1,"tid":1,"ts":3},
            {"ph":"e","cat":"c","id":1,"name":"async","pid":1,"tid":1,"ts":300},
            {"ph":"B","name":"open","pid":2,"tid":2,"ts":5}]"#,
    );
    let (again, _) = import("run.pftrace", exported(&run));
    assert!(spans(&again) == spans(&run), "{:#?}\n{:#?}", spans(&run), spans(&again));
    let mut expected = marks(&run);
    let mut found = marks(&again);
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
}

#[test]
fn a_cut_trace_is_imported_up_to_the_damage() {
    let (run, _) = import(
        "trace.json",
        r#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":100},{"ph":"X","name":"b","pid":1,"tid":1,"ts":200,"dur":100}]"#,
    );
    let bytes = exported(&run);
    let (cut, imported) = import("run.pftrace", &bytes[..bytes.len() - 5]);
    assert_eq!(cut.span_count(), 2);
    assert_eq!(cut.processes[0].open_count(), 1);
    assert!(imported.notes[0].contains("is damaged at byte"), "{:?}", imported.notes);
}

#[test]
fn what_only_looks_like_a_trace_is_refused() {
    let error = refused("x.pftrace", [0x0A, 2, 8, 1, 0x0A, 3, 0xff]);
    assert!(error.contains("nothing to import"), "{error}");
}
