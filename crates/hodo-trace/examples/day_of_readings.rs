//! How long a day of readings takes to read: 200 series at 1 s, in blocks of 64 rows.
//!
//! `cargo run --release -p hodo-trace --example day_of_readings`
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a measurement")]

use hodo_format::arena::Anchor;
use hodo_format::machine::{Readings, Series, Source, metric, readings_frame, series_frame};
use hodo_format::spool;
use hodo_trace::{ReadOptions, Run};
use std::time::Instant;

const ROWS: u64 = 86_400;
const BLOCK: u64 = 64;
const SERIES: u32 = 200;

fn main() {
    let dir = std::env::temp_dir().join(format!("hodo-day-{}", std::process::id()));
    let folder = dir.join("machine-box-0123abcd");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(dir.join("run.json"), r#"{"format":1,"id":"day"}"#).unwrap();
    std::fs::write(folder.join("samples-000001.hodo"), file()).unwrap();
    let bytes = std::fs::metadata(folder.join("samples-000001.hodo")).unwrap().len();
    let began = Instant::now();
    let run = Run::open(&dir, &ReadOptions::default()).expect("a run");
    let machine = &run.machines[0];
    println!("{bytes} bytes, {} series: read in {:?}", machine.series.len(), began.elapsed());
    let began = Instant::now();
    let measures = machine.over(run.time_on(machine));
    let found = machine.series.iter().filter_map(|series| measures.of(series)).count();
    println!("statistics of {found} series in {:?}", began.elapsed());
    std::fs::remove_dir_all(&dir).unwrap();
}

fn file() -> Vec<u8> {
    let of = |id: u32| match id % 3 {
        0 => Series::new(id, &Source::Core(id), &metric::CPU_TIME),
        1 => Series::new(id, &Source::Network(format!("eth{id}")), &metric::NETWORK_RECEIVED),
        _ => Series::new(id, &Source::Gpu(format!("GPU-{id}")), &metric::GPU_POWER),
    };
    let series: Vec<Series> = (0..SERIES).map(of).collect();
    let mut out = spool::file_header(1, 1).to_vec();
    let wall_ns = 1_700_000_000_000_000_000;
    spool::anchors_frame(0, &[Anchor { ticks: 1, monotonic_ns: 1, wall_ns }], &mut out);
    series_frame(1, &series, &mut out);
    let mut state = 1u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % 1000) as i64
    };
    for (sequence, from) in (2..).zip((0..ROWS).step_by(BLOCK as usize)) {
        let rows = from..(from + BLOCK).min(ROWS);
        let mut values = Vec::new();
        for id in 0..SERIES {
            let base = |row: u64| if id % 3 == 2 { 400_000 } else { row as i64 * 1000 };
            values.extend(rows.clone().map(|row| Some(base(row) + random())));
        }
        let times = rows.map(|row| 1_000_000_000 * (row + 1)).collect();
        let block = Readings { series: (0..SERIES).collect(), times, values };
        assert!(readings_frame(sequence, &block, &mut out));
    }
    out
}
