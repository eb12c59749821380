//! Folders of readings by hand.

use super::SECOND;
use hodo_format::arena::Anchor;
use hodo_format::machine::{
    FILE_PREFIX, LIVE_FILE, Metric, Readings, Series, Source, readings_frame, series_frame,
    state_frame,
};
use hodo_format::spool;
use std::path::{Path, PathBuf};

/// The GPU of the tests.
pub const GPU: &str = "GPU-1";

pub fn gpu() -> Source {
    Source::Gpu(GPU.into())
}

/// The folder of the host `box` in the making.
pub struct Sampled {
    pub folder: PathBuf,
    pub state: String,
    pub series: Vec<Series>,
    /// Wall clock less monotonic clock; that of [`super::Records`] unless it is told otherwise.
    pub booted_ns: u64,
}

impl Sampled {
    pub fn new(run: &Path) -> Sampled {
        let folder = run.join("machine-box-0123abcd");
        std::fs::create_dir_all(&folder).expect("a machine folder");
        let state = r#"{"format":1,"sampler":{"pid":9,"kind":"monitor","interval_ms":1000},
            "host":{"name":"box","cores":4},"gpus":[{"uuid":"GPU-1","index":0,"name":"H200"}],
            "absent":[{"part":"SM, tensor and DRAM activity of gpu:GPU-1","why":"this GPU has no GPM","fix":""}]}"#;
        Sampled { folder, state: state.into(), series: Vec::new(), booted_ns: 1000 * SECOND }
    }

    /// Adds a series; its id.
    pub fn add(&mut self, source: Source, metric: &Metric) -> u32 {
        let id = self.series.len() as u32 + 10;
        self.series.push(Series::new(id, &source, metric));
        id
    }

    /// Rows of the series with these ids: a moment in nanoseconds of the monotonic clock, and values.
    pub fn rows(&self, ids: &[u32], rows: &[(u64, &[Option<f64>])]) -> Readings {
        let of = |id: &u32| self.series.iter().position(|s| s.id == *id).expect("a series");
        let stored = |at: usize, id: &u32| {
            let series = &self.series[of(id)];
            rows.iter().map(move |row| row.1[at].and_then(|v| series.stored(v)))
        };
        let values = ids.iter().enumerate().flat_map(|(at, id)| stored(at, id)).collect();
        Readings { series: ids.to_vec(), times: rows.iter().map(|row| row.0).collect(), values }
    }

    /// A file: anchors, state, series, then blocks.
    pub fn bytes(&self, writer: u64, number: u32, blocks: &[Readings]) -> Vec<u8> {
        let mut out = spool::file_header(writer, number).to_vec();
        let wall_ns = self.booted_ns + 1;
        spool::anchors_frame(0, &[Anchor { ticks: 1, monotonic_ns: 1, wall_ns }], &mut out);
        state_frame(1, &self.state, &mut out);
        assert_eq!(series_frame(2, &self.series, &mut out), self.series.len());
        for (sequence, block) in (3..).zip(blocks) {
            assert!(readings_frame(sequence, block, &mut out), "a block that fits together");
        }
        out
    }

    pub fn path(&self, number: u32) -> PathBuf {
        self.folder.join(format!("{FILE_PREFIX}{number:06}.hodo"))
    }

    pub fn write(&self, number: u32, writer: u64, blocks: &[Readings]) {
        std::fs::write(self.path(number), self.bytes(writer, number, blocks)).expect("a file");
    }

    pub fn live(&self, writer: u64, rows: &[Readings]) {
        std::fs::write(self.folder.join(LIVE_FILE), self.bytes(writer, 0, rows)).expect("a file");
    }
}
