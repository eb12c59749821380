//! How hodo comes to its CUPTI, or does without.

use crate::fakes::{Victim, libhodo};
use crate::work::assert_work;
use std::path::Path;

const STEPS: &str = "
    100 step/fwd: gemm
    50 step/bwd: gemm_grad
";

#[test]
fn a_program_that_starts_cuda_after_hodo_is_hooked_by_the_driver() {
    let ran = Victim::new("usual").run();
    assert_eq!(ran.state()["state"], "capturing");
    assert_eq!(ran.state()["late"], false);
    assert_eq!(ran.state()["devices"][0]["name"], "FAKE GPU");
    assert_eq!(ran.state()["devices"][0]["uuid"], "GPU-00112233-4455-6677-8899-aabbccddeeff");
    assert_work(&ran.only(), STEPS);
}

#[test]
fn a_program_that_does_not_know_hodo_is_recorded_by_injection() {
    let ran = Victim::new("injected")
        .env("CUDA_INJECTION64_PATH", libhodo())
        .env("HODO_INJECT", "1")
        .run();
    assert_work(&ran.only(), STEPS);
}

#[test]
fn cuda_that_was_running_before_is_attached_to_late() {
    let ran = Victim::new("late").run();
    assert_eq!(ran.state()["late"], true);
    assert_work(&ran.only(), STEPS);
}

#[test]
fn where_another_tool_is_injected_hodo_looks_for_cuda() {
    let ran = Victim::new("looking").env("CUDA_INJECTION64_PATH", "/another/tool.so").run();
    assert_eq!(ran.state()["late"], true);
    assert_work(&ran.only(), STEPS);
}

#[test]
fn a_program_without_cuda_has_no_gpu_files() {
    let ran = Victim::new("no-cuda").env("HODO_GPU", "auto").run();
    let missing = if Path::new("/dev/nvidiactl").exists() { "no_cuda" } else { "no_gpu" };
    assert_eq!(ran.state()["missing"], missing);
    assert_eq!(ran.stderr, "", "nobody asked for a GPU");
    let run = ran.only();
    let files = std::fs::read_dir(&run.processes[0].folder).unwrap().flatten();
    let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    assert_eq!(names.filter(|name| name.starts_with("gpu")).count(), 0);
    assert_work(&run, "");
}

#[test]
fn who_asks_for_a_gpu_where_there_is_none_is_warned() {
    if !Path::new("/dev/nvidiactl").exists() {
        let ran = Victim::new("no-cuda").env("HODO_GPU", "trace").run();
        assert!(ran.stderr.contains("no NVIDIA driver was found here"), "{}", ran.stderr);
    }
}

/// Runs the usual program where CUPTI does not work: it must end well, keep its scopes, and say why.
fn without_capture(victim: Victim, missing: &str, why: &str) {
    let ran = victim.run();
    let state = ran.state();
    assert_eq!((&state["state"], &state["missing"]), (&"unavailable".into(), &missing.into()));
    let said = state["why"].as_str().unwrap();
    assert!(said.contains(why), "{said}");
    assert!(ran.stderr.contains(why), "no warning: {}", ran.stderr);
    let run = ran.only();
    assert_eq!(run.processes[0].span_views().count(), 150);
    assert_eq!(run.processes[0].gpu.state.as_ref().unwrap().why(), Some(said));
    assert_work(&run, "");
}

#[test]
fn without_a_library_scopes_are_recorded_and_the_reason_is_told() {
    let missing = Victim::new("usual").env("HODO_CUPTI_PATH", "/nowhere/libcupti.so.13");
    without_capture(missing, "no_library", "/nowhere/libcupti.so.13 cannot be used");
    let none = Victim::new("usual").without("HODO_CUPTI_PATH").env("CUDA_HOME", "/nowhere");
    without_capture(none, "no_library", "HODO_CUPTI_PATH");
}

#[test]
fn a_library_that_is_no_cupti_is_refused() {
    let wrong = Victim::new("usual");
    let other = wrong.built.join("libcuda.so.1");
    without_capture(wrong.env("HODO_CUPTI_PATH", other), "no_library", "cuptiGetVersion is not in");
}

#[test]
fn a_cupti_that_lacks_a_function_is_told_so() {
    let old = Victim::new("usual");
    let library = old.built.join("without-clock/libcupti.so.13");
    let why = "cuptiActivityRegisterTimestampCallback is not in this CUPTI";
    without_capture(old.env("HODO_CUPTI_PATH", library), "failed", why);
}

#[test]
fn every_refusal_of_every_function_is_survived() {
    let functions = [
        "cuptiSubscribe",
        "cuptiEnableCallback",
        "cuptiActivityRegisterTimestampCallback",
        "cuptiActivityRegisterCallbacks",
        "cuptiActivityEnable",
    ];
    for function in functions {
        for code in [15, 35, 999] {
            let fail = format!("{function}={code}");
            let why = format!("{function} answered {code}");
            let missing = "failed";
            without_capture(Victim::new("usual").env("FAKE_CUPTI_FAIL", fail), missing, &why);
        }
    }
    // Without these the capture goes on.
    let unneeded = "cuptiEnableDomain=999,cuptiActivitySetAttribute=999,cuptiSetThreadIdType=999,\
                    cuptiActivityEnableAllSyncRecords=999,cuptiActivityGetNumDroppedRecords=999";
    let ran = Victim::new("usual").env("FAKE_CUPTI_FAIL", unneeded).run();
    assert_work(&ran.only(), STEPS);
}

#[test]
fn a_capture_that_failed_leaves_the_callbacks_to_other_tools() {
    let victim = Victim::new("usual").env("FAKE_CUPTI_FAIL", "cuptiActivityEnable=999");
    let log = victim.folder.join("calls");
    let ran = victim.env("FAKE_CUPTI_LOG", &log).run();
    let calls = std::fs::read_to_string(log).unwrap();
    let count = |name: &str| calls.lines().filter(|line| line.ends_with(name)).count();
    assert_eq!((count(" cuptiSubscribe"), count(" cuptiUnsubscribe")), (1, 1));
    assert_eq!(ran.state()["launches"], 0);
}

#[test]
fn callbacks_that_another_tool_holds_are_done_without() {
    let ran = Victim::new("usual").env("FAKE_OTHER_TOOL", "1").run();
    assert_eq!(ran.state()["state"], "capturing by time");
    assert_eq!(ran.state()["tier"], "time");
    let run = ran.only();
    assert_work(
        &run,
        &STEPS.replace("gemm\n", "gemm by time\n").replace("grad\n", "grad by time\n"),
    );
}

#[test]
fn old_and_new_versions_are_read() {
    for version in ["18", "23", "26", "27", "28", "130000", "130100", "130300", "130400"] {
        let ran = Victim::new("usual").env("FAKE_CUPTI_VERSION", version).run();
        assert_work(&ran.only(), STEPS);
    }
}

#[test]
fn two_copies_of_hodo_capture_once() {
    for first in [false, true] {
        let victim = Victim::new("copies");
        let other = victim.folder.join("libhodo-other.so");
        std::fs::copy(libhodo(), &other).unwrap();
        let victim = victim.env("VICTIM_OTHER", other);
        let ran = if first { victim.env("VICTIM_OTHER_FIRST", "1") } else { victim }.run();
        assert_eq!(ran.state()["state"], "capturing", "{first}");
        assert_work(&ran.only(), STEPS);
    }
}

#[test]
fn another_tool_gets_cupti_and_gives_it_back() {
    let ran = Victim::new("yield").run();
    assert_eq!(ran.said[0]["state"], "yielded");
    assert_eq!(ran.said[1]["state"], "capturing");
    let run = ran.only();
    assert_eq!(run.processes[0].gpu.gaps().len(), 1);
    assert_work(
        &run,
        "
        40 step/fwd: gemm
        20 step/bwd: gemm_grad
        ",
    );
}

#[test]
fn no_buffer_is_left_in_cupti_when_another_tool_gets_it() {
    let ran = Victim::new("yield").env("FAKE_CUPTI_KEEP", "1").run();
    assert_eq!(ran.said[0]["records"]["kernels"], 30, "before the other tool registers its own");
    assert_work(
        &ran.only(),
        "
        40 step/fwd: gemm
        20 step/bwd: gemm_grad
        ",
    );
}

#[test]
fn another_tool_that_keeps_the_callbacks_leaves_the_time() {
    let ran = Victim::new("yield").env("VICTIM_KEEPS", "1").run();
    assert_eq!(ran.said[1]["state"], "capturing by time");
    assert_work(
        &ran.only(),
        "
        20 step/fwd: gemm
        20 step/fwd: gemm by time
        10 step/bwd: gemm_grad
        10 step/bwd: gemm_grad by time
        ",
    );
}
