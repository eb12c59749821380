use crate::support::alone;
use hodo::{Config, Gpu, Telemetry};
use std::path::PathBuf;

fn config(dir: &tempfile::TempDir, telemetry: &str) -> Config {
    let telemetry = Telemetry::parse(telemetry).unwrap();
    Config { dir: Some(dir.path().into()), share_run: false, telemetry, ..Config::default() }
}

fn until(what: impl Fn(&str) -> bool) {
    while !what(&hodo::telemetry_state()) {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

fn rounds(state: &str) -> u64 {
    let at = state.find("\"rounds\": ").map_or(0, |at| at + 10);
    state[at..].split(',').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Bytes in the folders of the machine.
fn machine_bytes(run: &PathBuf) -> u64 {
    let folders = std::fs::read_dir(run).unwrap().flatten();
    let machines = folders.filter(|f| f.file_name().to_string_lossy().starts_with("machine-"));
    let files = machines.flat_map(|folder| std::fs::read_dir(folder.path()).unwrap().flatten());
    files.map(|file| file.metadata().unwrap().len()).sum()
}

#[test]
fn without_being_asked_the_machine_is_not_read() {
    let _alone = alone();
    assert_eq!(hodo::telemetry_state(), "");
    let dir = tempfile::tempdir().unwrap();
    let config = Config { dir: Some(dir.path().into()), share_run: false, ..Config::default() };
    let recording = hodo::init(config);
    assert!(hodo::telemetry_state().contains("\"state\": \"off\""));
    let run = hodo::health().run.unwrap();
    drop(recording);
    assert_eq!(machine_bytes(&run), 0);
}

#[test]
fn readings_stand_beside_the_scopes() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let recording = hodo::init(config(&dir, "10ms"));
    until(|state| state.contains("\"state\": \"sampling\"") && rounds(state) >= 3);
    assert!(hodo::telemetry_state().contains("\"interval_ms\": 10,"));
    let run = hodo::health().run.unwrap();
    drop(recording);
    assert!(machine_bytes(&run) > 0);
    assert_eq!(hodo::telemetry_state(), "");
}

#[test]
fn readings_only_inside_scopes_wait_for_one() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let _recording = hodo::init(config(&dir, "10ms,scopes"));
    until(|state| state.contains("\"state\": \"idle\""));
    assert_eq!(rounds(&hodo::telemetry_state()), 0);
    {
        let _scope = hodo::scope!("work");
        until(|state| state.contains("\"state\": \"sampling\"") && rounds(state) >= 3);
    }
    until(|state| state.contains("\"state\": \"idle\""));
    let handle = hodo::begin!("on no thread");
    until(|state| state.contains("\"state\": \"sampling\""));
    handle.end();
    until(|state| state.contains("\"state\": \"idle\""));
    // One that comes and goes between two looks leaves a round, too.
    let before = rounds(&hodo::telemetry_state());
    drop(hodo::scope!("short"));
    until(|state| rounds(state) > before);
}

#[test]
fn monitoring_the_gpu_reads_the_machine() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let plain = Config { dir: Some(dir.path().into()), share_run: false, ..Config::default() };
    let _recording = hodo::init(Config { gpu: Gpu::Monitor, ..plain });
    until(|state| state.contains("\"state\": \"sampling\"") && rounds(state) >= 1);
    assert!(hodo::telemetry_state().contains("\"interval_ms\": 1000,"));
}

#[test]
fn a_recorder_that_starts_again_reads_again() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    for _ in 0..3 {
        let _recording = hodo::init(config(&dir, "10ms"));
        until(|state| rounds(state) >= 1);
    }
}
