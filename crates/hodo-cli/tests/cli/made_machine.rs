//! Readings of the machine made by hand.

use crate::made::{EPOCH, MS, WALL_NS};
use hodo_format::arena::Anchor;
use hodo_format::machine::{
    Metric, Readings, Series, Source, metric, readings_frame, series_frame, state_frame,
};
use hodo_format::spool;
use std::path::{Path, PathBuf};

const UUID: &str = "GPU-7f2a";
const STATE: &str = r#"{"format":1,
    "sampler":{"pid":9,"kind":"monitor","interval_ms":10,"only_in_scopes":false},
    "host":{"name":"box","boot_id":"0123abcd","cores":4,"memory_total":68719476736},
    "gpus":[{"uuid":"GPU-7f2a","index":0,"name":"NVIDIA H200"}],
    "absent":[{"part":"SM, tensor and DRAM activity of gpu:GPU-7f2a","why":"the driver has no GPM","fix":"update the driver to 535 or later"}],
    "cost":{"rounds":30,"late":1,"cpu_ns":900000,"mean_round_us":30,"max_round_us":90},
    "lost_rows":0,"removed_blocks":2}"#;

/// A metric, where it is read, and its value as a function of the seconds since recording began.
type Made = (Source, Metric, fn(f64) -> f64);

fn series() -> Vec<Made> {
    let gpu = || Source::Gpu(UUID.into());
    vec![
        (gpu(), metric::GPU_ENERGY, |s| 1000.0 + 400.0 * s),
        (gpu(), metric::GPU_POWER, |s| 400.0 + 100.0 * s),
        (gpu(), metric::GPU_UTILIZATION, |_| 0.99),
        (gpu(), metric::GPU_MEMORY_USED, |s| 8e9 + 1e10 * s),
        (gpu(), metric::GPU_MEMORY_TOTAL, |_| 150_754_820_096.0),
        (gpu(), metric::GPU_TEMPERATURE, |s| 60.0 + (20.0 * s).floor()),
        (gpu(), metric::GPU_THROTTLE, |s| if s < 0.1 { 4.0 } else { 1.0 }),
        (Source::Host, metric::CPU_TIME, |s| 77.0 + 2.0 * s),
        (Source::Host, metric::MEMORY_USED, |_| 8_589_934_592.0),
        (Source::Host, metric::MEMORY_TOTAL, |_| 68_719_476_736.0),
        (Source::Host, metric::PRESSURE_CPU, |s| 0.25 * s),
        (Source::Host, metric::PRESSURE_MEMORY, |_| 0.0),
        (Source::Host, metric::PRESSURE_IO, |s| 0.01 * s),
        (Source::Core(0), metric::CPU_TIME, |s| 40.0 + s),
        (Source::Network("eth0".into()), metric::NETWORK_SENT, |s| (2048.0 * s).floor()),
        (Source::Processes, metric::PROCESS_CPU_TIME, |s| 1.5 * s),
        (Source::Sampler, metric::SAMPLER_ROUND, |_| 0.00003),
    ]
}

/// What the limits of a container add.
fn limits() -> Vec<Made> {
    vec![
        (Source::Host, metric::CGROUP_MEMORY_USED, |_| 201_326_592.0),
        (Source::Host, metric::CGROUP_MEMORY_LIMIT, |_| 268_435_456.0),
        (Source::Host, metric::CGROUP_CPU_LIMIT, |_| 1.5),
        (Source::Host, metric::CGROUP_CPU_THROTTLED, |s| 0.2 * s),
    ]
}

/// Adds readings every 10 ms, from 10 ms after the recording began for `for_ms`, to a run.
pub fn sample(run: &Path, for_ms: u64) -> PathBuf {
    write(run, for_ms, &series())
}

/// The same in a container with limits.
pub fn sample_in_container(run: &Path, for_ms: u64) -> PathBuf {
    write(run, for_ms, &[series(), limits()].concat())
}

fn write(run: &Path, for_ms: u64, made: &[Made]) -> PathBuf {
    let folder = run.join("machine-box-0123abcd");
    std::fs::create_dir_all(&folder).unwrap();
    let series: Vec<Series> =
        (1..).zip(made).map(|(id, (source, metric, _))| Series::new(id, source, metric)).collect();
    let times: Vec<u64> = (1..=for_ms / 10).map(|n| n * 10 * MS).collect();
    let mut values = Vec::new();
    for (series, (.., value)) in series.iter().zip(made) {
        values.extend(times.iter().map(|&t| series.stored(value(t as f64 / 1e9))));
    }
    let mut out = spool::file_header(7, 1).to_vec();
    let anchor = Anchor { ticks: EPOCH, monotonic_ns: EPOCH, wall_ns: WALL_NS };
    spool::anchors_frame(0, &[anchor], &mut out);
    state_frame(1, STATE, &mut out);
    series_frame(2, &series, &mut out);
    let ids = series.iter().map(|series| series.id).collect();
    let times = times.into_iter().map(|t| EPOCH + t).collect();
    assert!(readings_frame(3, &Readings { series: ids, times, values }, &mut out));
    let file = folder.join("samples-000001.hodo");
    std::fs::write(&file, out).unwrap();
    file
}
