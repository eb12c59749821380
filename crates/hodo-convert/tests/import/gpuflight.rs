use crate::support::{Place, archive, attrs, gzip, import, marks, sample, shown, work};
use hodo_format::gpu::flag;

const T: i64 = 1_700_000_000_000_000_000;

fn start() -> String {
    format!(
        r#"{{"version":1,"type":"job_start","pid":3,"app":"bench","session_id":"s","ts_ns":{T},"hostname":"vm","devices":[{{"id":0,"name":"NVIDIA H200"}}],"session_kind":"trace"}}
{{"version":1,"type":"dictionary_update","session_id":"s","kernel_dict":{{"1":"gemm"}},"scope_name_dict":{{"1":"step","2":"forward"}},"metric_dict":{{"4":"sm__active"}}}}
"#
    )
}

fn batch(kind: &str, base: i64, columns: &str, rows: &str) -> String {
    let columns: Vec<_> = columns.split(' ').map(|c| format!("\"{c}\"")).collect();
    format!(
        r#"{{"version":1,"type":"{kind}","session_id":"s","batch_id":1,"base_time_ns":{base},"columns":[{}],"rows":[{rows}]}}
"#,
        columns.join(",")
    )
}

const SCOPES_V1: &str = "dt_ns scope_instance_id name_id event_type depth";
const SCOPES_V3: &str =
    "dt_ns scope_instance_id name_id event_type depth repeat warmup original_start_ns";

fn scope_log() -> String {
    start()
        + &batch(
            "scope_event_batch",
            T,
            SCOPES_V3,
            "[100,1,1,0,0,5,2,0],[200,2,2,0,1,0,0,0],[300,2,2,1,1,0,0,0],[400,1,1,1,0,0,0,0]",
        )
        // Older rows are shorter, and may be before the batch's first.
        + &batch("scope_event_batch", T + 1000, SCOPES_V1, "[0,3,1,0,0],[-100,4,9,0,0],[50,4,9,1,0]")
        + &batch("synchronization_event_batch", T, "dt_ns duration_ns sync_type stream_id corr_id", "[10,20,4,4294967295,8]")
}

fn device_log() -> String {
    let detail = |corr: u32, scope: &str| {
        format!(
            r#"{{"type":"kernel_detail","session_id":"s","corr_id":{corr},"grid":"(8,1,2)","block":"(96,1,1)","static_shared":16,"user_scope":"{scope}"}}
"#
        )
    };
    let columns = "dt_ns kernel_id stream_id duration_ns corr_id dyn_shared num_regs has_details";
    start()
        + &detail(20, "step|forward")
        + &detail(21, "global")
        + &batch(
            "kernel_event_batch",
            T,
            columns,
            "[250,1,7,30,20,64,32,1],[500,1,7,40,21,0,32,1],[600,1,7,5,22,0,1,0],[-99999999999999999,1,7,5,22,0,1,0]",
        )
        + &detail(23, "step")
        + &batch("kernel_event_batch", T, columns, "[900,1,7,10,23,0,32,1]")
        + &format!(
            r#"{{"type":"memset_event","session_id":"s","device_id":"0","stream_id":"7","user_scope":"step|forward|cudaMemsetAsync","start_ns":{},"end_ns":{},"api_start_ns":{},"corr_id":30,"bytes":4}}
"#,
            T + 350,
            T + 360,
            T + 290
        )
        + &batch(
            "memcpy_event_batch",
            T,
            "dt_ns stream_id duration_ns bytes copy_kind corr_id device_id",
            "[700,9,11,4096,1,31,1]",
        )
        + r#"{"type":"from_the_future","session_id":"s"}"#
        + "\n"
}

fn system_log() -> String {
    start()
        + &batch(
            "device_metric_batch",
            T,
            "dt_ns device_id power_mw voltage_mv",
            "[0,0,482062,0],[5,0,482063,0]",
        )
        + &batch("host_metric_batch", T, "dt_ns cpu_pct_x100", "[0,862]")
        + &batch(
            "pm_sample_batch",
            T,
            "sample_index dt_ns device_id metric_id value",
            "[0,9,0,4,0.75]",
        )
}

fn check(run: &hodo_trace::Run, notes: &[String]) {
    assert_eq!(
        shown(run),
        "step ×2 350 2 kernels\n  forward ×1 100 1 kernels\n(name not told) ×1 150\n"
    );
    assert_eq!(attrs(run, "step"), ["repeat=5", "warmup=2"]);
    let process = &run.processes[0];
    assert_eq!((process.info.pid, process.info.host.as_str()), (3, "vm"));
    assert_eq!(run.info.app, "bench");
    let mut how: Vec<_> = work(run)
        .rows()
        .map(|row| work(run).get(row))
        .map(|w| (w.correlation, w.flags & flag::SCOPE))
        .collect();
    how.sort_unstable();
    let (known, none, unknown) = (flag::BY_LAUNCH, flag::NO_SCOPE, flag::UNKNOWN);
    assert_eq!(
        how,
        [
            (8, unknown),
            (20, known),
            (21, none),
            (22, unknown),
            (23, known),
            (30, known),
            (31, unknown)
        ]
    );
    assert_eq!(
        marks(run),
        [
            "gpu0.power_mw = 482062",
            "host.cpu_pct = 8.62",
            "gpu0.power_mw = 482063",
            "gpu0.sm__active = 0.75"
        ]
    );
    let notes = notes.join("\n");
    for words in [
        "1 kernels of the scope `global`",
        "1 records of the unknown type from_the_future",
        "1 records with a time that cannot be",
        "1 scopes without an end",
    ] {
        assert!(notes.contains(words), "{words} in {notes}");
    }
}

#[test]
fn channels_of_every_layout_make_one_session() {
    let layouts = [
        ["s/device.1.log.gz", "s/scope.1.log.gz", "s/system.1.log"],
        ["s/.tmp/device.log", "s/.tmp/scope.log", "s/system.log.gz"],
        ["prefix.device.log", "prefix.scope.1.log.gz", "prefix.system.log"],
    ];
    for layout in layouts {
        let place = Place::new();
        let folder = place.file("log/x/y", "").parent().unwrap().parent().unwrap().to_owned();
        for (name, text) in layout.iter().zip([device_log(), scope_log(), system_log()]) {
            let bytes =
                if name.ends_with(".gz") { gzip(text.as_bytes()) } else { text.into_bytes() };
            place.file(&format!("log/{name}"), bytes);
        }
        let (run, imported) = place.import(&[folder]).unwrap();
        check(&run, &imported.notes);
    }
}

#[test]
fn an_archive_is_read_like_its_folder() {
    let (device, scope) = (gzip(device_log().as_bytes()), gzip(scope_log().as_bytes()));
    let bytes = archive(&[
        ("log/s/scope.1.log.gz", &scope),
        ("log/s/device.1.log.gz", &device),
        ("log/s/system.1.log", system_log().as_bytes()),
    ]);
    let (run, imported) = import("log.tgz", bytes);
    check(&run, &imported.notes);
}

#[test]
fn scopes_as_the_first_versions_wrote_them() {
    let event = |kind: &str, name: &str, depth: u32, at: i64| {
        format!(
            r#"{{"type":"{kind}","session_id":"s","name":"{name}","tag":"t{depth}","ts_ns":{},"user_scope":"{name}","scope_depth":{depth}}}
"#,
            T + at
        )
    };
    let text = start().replace("job_start", "init")
        + &event("scope_begin", "a", 0, 10)
        + &event("scope_begin", "b", 1, 20)
        + &event("scope_end", "b", 1, 30)
        + &event("scope_end", "a", 0, 60);
    let (run, _) = import("app.scope.log", text);
    assert_eq!(shown(&run), "a ×1 50\n  b ×1 10\n");
    assert_eq!(attrs(&run, "b"), ["tag=t1"]);
}

#[test]
fn segments_of_a_run_are_one_process() {
    let of = |session: &str, text: String| {
        let text = text.replace(r#""session_id":"s""#, &format!(r#""session_id":"{session}""#));
        text.replace(r#""app":"bench""#, r#""app":"bench","run_id":"r""#)
    };
    let first = start()
        + &batch("scope_event_batch", T, SCOPES_V3, "[0,1,1,0,0,0,0,0],[100,1,1,3,0,0,0,0]");
    let then = start()
        + &batch("scope_event_batch", T, SCOPES_V3, "[100,1,1,2,0,0,0,0],[300,1,1,1,0,0,0,0]");
    let place = Place::new();
    place.file("log/a/scope.1.log", of("a", first));
    let last = place.file("log/b/scope.1.log", of("b", then));
    let folder = last.parent().unwrap().parent().unwrap().to_owned();
    let (run, _) = place.import(&[folder]).unwrap();
    assert_eq!(shown(&run), "step ×2 300\n");
    assert_eq!(run.processes.len(), 1);
}

#[test]
fn a_line_that_cannot_be_read_costs_no_other() {
    let long = format!("{{\"type\":\"{}\"}}\n", "x".repeat(17 << 20));
    let text = scope_log()
        + "{\"type\":\n"
        + &long
        + &batch("scope_event_batch", T + 5000, SCOPES_V1, "[0,9,1,0,0],[7,9,1,1,0]")
        + "{\"type\":\"sco";
    let (run, imported) = import("scope.1.log", text);
    assert!(shown(&run).contains("step ×3"), "{}", shown(&run));
    let notes = imported.notes.join("\n");
    assert!(notes.contains("a line of 17825804 bytes at byte"), "{notes}");
    assert_eq!(notes.matches("cannot be read").count(), 2, "{notes}");
}

#[test]
fn the_log_of_a_real_training_loop() {
    let (run, imported) = Place::new().import(&[sample("gpuflight_log_h200_gpt.tgz")]).unwrap();
    let totals = imported.totals;
    assert_eq!((totals.kernels, totals.sets, totals.records.spans), (37_550, 5950, 250));
    let text = shown(&run);
    assert!(text.contains("forward ×50") && text.contains("12050 kernels"), "{text}");
}
