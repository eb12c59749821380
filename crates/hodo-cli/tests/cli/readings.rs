//! Readings of a machine made by hand.

use crate::made::WALL_NS;
use hodo_format::arena::Anchor;
use hodo_format::machine::{
    FILE_PREFIX, Metric, Readings, Series, Source, metric, readings_frame, series_frame,
    state_frame,
};
use hodo_format::spool;
use std::path::{Path, PathBuf};

const SECOND: u64 = 1_000_000_000;
/// The monotonic clock when the wall's showed [`WALL_NS`].
const BEGAN: u64 = 100 * SECOND;

/// Writes a run with `seconds` of readings of `gpus` GPUs and 4 processors, one a second.
pub fn write(dir: &Path, id: &str, gpus: u32, seconds: u64) -> PathBuf {
    let run = dir.join(id);
    write_into(&run, gpus, seconds);
    let json = format!(
        r#"{{"format":1,"id":"{id}","app":"hodo monitor","host":"trainer","start_ns":{WALL_NS}}}"#
    );
    std::fs::write(run.join("run.json"), json).unwrap();
    run
}

/// The same into a run that is there.
pub fn write_into(run: &Path, gpus: u32, seconds: u64) {
    let folder = run.join("machine-trainer-0123abcd");
    std::fs::create_dir_all(&folder).unwrap();
    let series = series(gpus);
    let mut out = spool::file_header(7, 1).to_vec();
    let anchor = Anchor { ticks: BEGAN, monotonic_ns: BEGAN, wall_ns: WALL_NS };
    spool::anchors_frame(0, &[anchor], &mut out);
    state_frame(1, &state(gpus), &mut out);
    assert_eq!(series_frame(2, &series, &mut out), series.len());
    assert!(readings_frame(3, &readings(&series, seconds), &mut out));
    std::fs::write(folder.join(format!("{FILE_PREFIX}000001.hodo")), out).unwrap();
}

fn state(gpus: u32) -> String {
    let gpu = |n: u32| format!(r#"{{"uuid":"GPU-{n}","index":{n},"name":"NVIDIA H200"}}"#);
    let gpus: Vec<String> = (0..gpus).map(gpu).collect();
    format!(
        r#"{{"format":1,"sampler":{{"pid":9,"kind":"monitor","interval_ms":1000}},
            "host":{{"name":"trainer","boot_id":"0123abcd-0000","cores":4}},"gpus":[{}],"absent":[]}}"#,
        gpus.join(",")
    )
}

fn series(gpus: u32) -> Vec<Series> {
    let mut all: Vec<(Source, &Metric)> = Vec::new();
    for gpu in 0..gpus {
        let of = [
            &metric::GPU_SM_ACTIVE,
            &metric::GPU_UTILIZATION,
            &metric::GPU_TENSOR_ACTIVE,
            &metric::GPU_DRAM_ACTIVE,
            &metric::GPU_MEMORY_USED,
            &metric::GPU_MEMORY_TOTAL,
            &metric::GPU_POWER,
            &metric::GPU_POWER_LIMIT,
            &metric::GPU_TEMPERATURE,
            &metric::GPU_SM_CLOCK,
            &metric::GPU_THROTTLE,
        ];
        all.extend(of.map(|metric| (Source::Gpu(format!("GPU-{gpu}")), metric)));
    }
    for metric in [&metric::CPU_TIME, &metric::LOAD, &metric::MEMORY_USED, &metric::MEMORY_TOTAL] {
        all.push((Source::Host, metric));
    }
    all.extend((0..4).map(|core| (Source::Core(core), &metric::CPU_TIME)));
    let disk = Source::Disk("nvme0n1".into());
    all.extend([&metric::DISK_READ, &metric::DISK_WRITTEN].map(|metric| (disk.clone(), metric)));
    (1..).zip(all).map(|(id, (source, metric))| Series::new(id, &source, metric)).collect()
}

fn readings(series: &[Series], seconds: u64) -> Readings {
    let times: Vec<u64> = (0..seconds).map(|second| BEGAN + second * SECOND).collect();
    let values =
        series.iter().flat_map(|one| (0..seconds).map(|second| one.stored(value(one, second))));
    Readings {
        series: series.iter().map(|s| s.id).collect(),
        times: times.clone(),
        values: values.collect(),
    }
}

/// Something that looks like training: each GPU a little behind the one before.
fn value(series: &Series, second: u64) -> f64 {
    let shift = match Source::parse(&series.source) {
        Source::Gpu(uuid) => uuid.trim_start_matches("GPU-").parse().unwrap_or(0),
        _ => 0u64,
    };
    let wave = 0.5 + 0.45 * ((second + 5 * shift) as f64 / 6.0).sin();
    let at = second as f64;
    match series.metric.as_str() {
        "gpu.sm.active" => wave,
        "gpu.utilization" => 1.0,
        "gpu.tensor.active" => wave * 0.6,
        "gpu.dram.active" => wave * 0.4,
        "gpu.memory.used" => (80.0 + shift as f64) * 1e9,
        "gpu.memory.total" => 150_754_820_096.0,
        "gpu.power" => 250.0 + 400.0 * wave,
        "gpu.power.limit" => 700.0,
        "gpu.temperature" => 45.0 + 20.0 * wave,
        "gpu.sm.clock" => 1.98e9,
        "gpu.throttle" => {
            if shift == 2 {
                4.0
            } else {
                0.0
            }
        }
        "cpu.time" if series.source == "host" => 2.5 * at,
        "cpu.time" => at * 0.6,
        "load" => 2.5,
        "memory.used" => 40e9,
        "memory.total" => 128e9,
        "disk.read" => 200e6 * at,
        "disk.written" => 5e6 * at,
        other => panic!("{other}"),
    }
}
