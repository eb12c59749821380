//! The views of GPU work.

use crate::made::{MS, Made, Scope};
use crate::program::{folder, rows};
use hodo_format::record::SpanId;
use serde_json::json;

/// Two scopes with kernels, one of which begins before the one before it ends.
pub fn step() -> Made {
    let mut run = Made::new(100);
    run.gpu_state = r#"{"level":"trace","devices":[{"device":0,"name":"NVIDIA H200"}]}"#.to_owned();
    let forward = run.span(Scope::new("forward", SpanId::NONE, 0, 40 * MS));
    let backward = run.span(Scope::new("backward", SpanId::NONE, 40 * MS, 90 * MS));
    run.kernel(forward, "gemm", 10 * MS, 20 * MS);
    run.kernel(forward, "gemm", 12 * MS, 14 * MS);
    run.kernel(forward, "relu", 25 * MS, 26 * MS);
    run.kernel(backward, "gemm", 50 * MS, 60 * MS);
    // Another device has gaps of its own.
    run.kernel(backward, "gemm", 52 * MS, 53 * MS).device = 1;
    run.kernel(backward, "gemm", 55 * MS, 56 * MS).device = 1;
    run
}

#[test]
fn kernels_are_summed_by_scope() {
    let dir = folder(&step());
    let query = "select path, kernel, count, total_ns from kernels_by_scope order by total_ns desc";
    assert_eq!(
        rows(dir.path(), &[query]),
        [
            json!({"path": "forward", "kernel": "gemm", "count": 2, "total_ns": 12 * MS}),
            json!({"path": "backward", "kernel": "gemm", "count": 3, "total_ns": 12 * MS}),
            json!({"path": "forward", "kernel": "relu", "count": 1, "total_ns": MS}),
        ]
        .map(|row| row)
    );
}

#[test]
fn gaps_are_those_in_which_no_kernel_ran() {
    let dir = folder(&step());
    let query = "select device, idle_ns, path, kernel from gpu_idle order by device, from_ns";
    assert_eq!(
        rows(dir.path(), &[query]),
        [
            json!({"device": 0, "idle_ns": 5 * MS, "path": "forward", "kernel": "relu"}),
            json!({"device": 0, "idle_ns": 24 * MS, "path": "backward", "kernel": "gemm"}),
            json!({"device": 1, "idle_ns": 2 * MS, "path": "backward", "kernel": "gemm"}),
        ]
    );
}
