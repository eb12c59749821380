//! What ends badly leaves what there is, and says what there is not.

use crate::fakes::Victim;
use crate::work::{assert_work, pieces};
use std::os::unix::process::ExitStatusExt;

#[test]
fn kernels_that_do_not_end_do_not_hold_up_the_stop() {
    // A stop that waits for them hangs.
    let ran = Victim::new("held").run();
    assert_work(&ran.only(), "5 endless: gemm unfinished");
}

#[test]
fn an_exit_without_a_stop_keeps_all() {
    let ran = Victim::new("leaves").ends();
    assert_eq!(ran.status.code(), Some(3));
    assert_work(
        &ran.only(),
        "
        100 step/fwd: gemm
        50 step/bwd: gemm_grad
        ",
    );
}

/// Words of `gpu.live`, in the order the page has them.
fn live(run: &hodo_trace::Run) -> Vec<u64> {
    let page = std::fs::read(run.processes[0].folder.join("gpu.live")).unwrap();
    assert_eq!(&page[..8], b"hodo.gpu");
    let word = |word: &[u8]| u64::from_le_bytes(word.try_into().unwrap());
    page.chunks(8).take(12).map(word).collect()
}

#[test]
fn a_kill_leaves_the_number_of_what_was_launched() {
    let ran = Victim::new("killed").env("FAKE_CUPTI_KEEP", "1").ends();
    assert_eq!(ran.status.signal(), Some(libc::SIGKILL));
    let run = ran.only();
    let live = live(&run);
    assert_eq!((live[1], live[2]), (1, 150), "version, kernels");
    assert_eq!((live[8], live[9]), (0, 0), "stored kernels, stored");
    assert_eq!(pieces(&run), 0);
}

#[test]
fn a_kill_leaves_what_was_written_and_counts_what_had_come() {
    for _ in 0..5 {
        let ran = Victim::new("killed").env("FAKE_CUPTI_FILL", "1").ends();
        let run = ran.only();
        let live = live(&run);
        let found = pieces(&run) as u64;
        assert_eq!(live[2], 150, "kernels");
        assert!((live[9]..=live[8]).contains(&found), "{} <= {found} <= {}", live[9], live[8]);
    }
}

#[test]
fn a_forked_child_leaves_cupti_alone_and_says_why() {
    let victim = Victim::new("forks");
    let log = victim.folder.join("calls");
    let ran = victim.env("FAKE_CUPTI_LOG", &log).run();
    let child = &ran.said[0];
    assert_eq!(child["state"], "unavailable");
    assert!(child["why"].as_str().unwrap().contains("fork"), "{child}");
    let calls = std::fs::read_to_string(log).unwrap();
    let mut callers: Vec<&str> = calls.lines().filter_map(|l| l.split(' ').next()).collect();
    callers.dedup();
    assert_eq!(callers.len(), 1, "the child called CUPTI");
    let run = ran.only();
    assert_eq!(run.processes.len(), 2);
    assert_work(
        &run,
        "
        20 step/fwd: gemm
        10 step/bwd: gemm_grad
        ",
    );
}

#[test]
fn what_a_full_disk_refuses_is_counted() {
    let ran = Victim::new("disk").run();
    let (full, last) = (&ran.said[0], &ran.said[1]);
    assert_eq!((full["kept"].as_u64(), full["lost"].as_u64()), (Some(15), Some(180)));
    assert!(full["trouble"].as_str().unwrap().contains("cannot write GPU work"), "{full}");
    assert_eq!((last["kept"].as_u64(), last["lost"].as_u64()), (Some(36), Some(180)));
    assert_eq!(last["trouble"], "");
    let run = ran.only();
    assert_eq!(pieces(&run), 36);
    let files = std::fs::read_dir(&run.processes[0].folder).unwrap().flatten();
    let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    let names: Vec<String> = names.filter(|name| name.ends_with(".hodo")).collect();
    let gpu = names.iter().filter(|name| name.starts_with("gpu-")).count();
    assert!(gpu <= 2, "litter: {names:?}");
}

#[test]
fn a_disk_that_is_full_from_the_start_leaves_no_litter() {
    let ran = Victim::new("disk-first").run();
    let run = ran.only();
    let files = std::fs::read_dir(&run.processes[0].folder).unwrap().flatten();
    let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    let names: Vec<String> = names.filter(|name| name.starts_with("gpu-")).collect();
    assert_eq!(names, ["gpu-000001.hodo"]);
    assert_eq!(pieces(&run), 21);
    assert_eq!(ran.state()["lost"].as_u64(), Some(180));
}

#[test]
fn work_without_times_is_counted_and_keeps_its_scope() {
    let ran = Victim::new("usual").env("FAKE_CUPTI_ZERO", "5").run();
    let run = ran.only();
    let counts = run.processes[0].gpu.state.as_ref().unwrap().counts();
    assert_eq!((counts.kept, counts.unstamped), (150, 30));
    assert_work(
        &run,
        "
        100 step/fwd: gemm
        50 step/bwd: gemm_grad
        ",
    );
}

#[test]
fn records_that_cupti_drops_are_counted() {
    let ran = Victim::new("usual").env("FAKE_CUPTI_DROP", "3").run();
    let run = ran.only();
    let counts = run.processes[0].gpu.state.as_ref().unwrap().counts();
    assert_eq!((counts.launches, counts.kept, counts.dropped), (150, 100, 50));
    assert_eq!(pieces(&run), 100);
}

/// 480,000 kernels of 216 bytes while CUPTI keeps every buffer: more than 96 MiB.
fn burst(version: &str) -> (u64, u64, u64, usize) {
    let victim = Victim::new("exhausted").env("FAKE_CUPTI_KEEP", "1");
    let ran = victim.env("FAKE_CUPTI_VERSION", version).run();
    let run = ran.only();
    let counts = run.processes[0].gpu.state.as_ref().unwrap().counts();
    (counts.launches, counts.kept, counts.dropped, pieces(&run))
}

#[test]
fn buffers_that_run_out_are_counted() {
    let (launches, kept, dropped, found) = burst("130001");
    assert_eq!((launches, kept + dropped), (480_000, 480_000));
    assert_eq!(kept, found as u64);
    assert!(dropped > 0);
}

#[test]
fn a_cupti_that_would_crash_without_a_buffer_gets_one() {
    assert_eq!(burst("26"), (480_000, 480_000, 0, 480_000));
}

#[test]
fn a_cupti_that_gives_up_is_told_of_and_tried_again_by_the_next_recorder() {
    let ran = Victim::new("fatal").run();
    assert_eq!(ran.said[0]["state"], "unavailable");
    assert!(ran.said[0]["why"].as_str().unwrap().contains("detached itself"), "{}", ran.said[0]);
    assert_eq!(ran.said[0]["gaps"].as_array().map(Vec::len), Some(1));
    assert!(ran.stderr.contains("detached itself"), "{}", ran.stderr);
    assert_eq!(ran.state()["state"], "capturing");
    let mut found: Vec<usize> = ran.runs().iter().map(pieces).collect();
    found.sort_unstable();
    assert_eq!(found, [9, 15]);
}
