//! Kernels that were launched and whose records are gone.

use crate::support::arena::ArenaFile;
use crate::support::gpu::Works;
use crate::support::{Records, TestRun};
use hodo_format::gpu::{Live, flag};
use hodo_format::record::SpanId;
use hodo_trace::{Filter, GpuMissing, ProcessState, Run};
use std::path::Path;

/// A page that counted ten kernels: one into a graph, one refused, so many records that came.
fn page(folder: &Path, came: u64) {
    let words = [Live::MAGIC, Live::VERSION, 10, 1, 0, 0, 1, 1, came, came, 0, 0];
    let mut page: Vec<u8> = words.iter().flat_map(|word: &u64| word.to_le_bytes()).collect();
    page.resize(Live::BYTES, 0);
    std::fs::write(folder.join(Live::FILE), page).expect("the page");
}

/// Five kernels that were written, and one of a graph.
fn works(r: &mut Records) -> Works {
    let mut w = Works::new();
    let step = r.scope(1, SpanId::NONE, "step", 100, 900);
    for at in 0..6 {
        w.kernel(r, step, "k", 110 + 20 * at, 120 + 20 * at);
    }
    (w.all[5].flags, w.all[5].graph) = (flag::GRAPH, 4);
    w
}

/// A process whose arena is left, and nobody holds.
fn killed(r: &Records) -> (TestRun, std::path::PathBuf) {
    let run = TestRun::new();
    let folder = run.json(r);
    let mut arena = ArenaFile::new(r);
    arena.ring(&r.all().collect::<Vec<_>>());
    arena.write(&folder);
    (run, folder)
}

fn lost(run: &Run) -> (u64, u64) {
    let gpu = hodo_trace::tree(run, &Filter::default()).gpu;
    (gpu.lost_kernels, gpu.under_way_kernels)
}

#[test]
fn a_kill_loses_the_kernels_that_were_not_written() {
    let mut r = Records::new(1);
    let w = works(&mut r);
    let (run, folder) = killed(&r);
    w.write(&folder);
    // Two more had come and were not written yet.
    page(&folder, 7);
    let run = run.read();
    assert_eq!(run.processes[0].state, ProcessState::Ended);
    assert_eq!(lost(&run), (3, 0));
    let launched = run.processes[0].gpu.launched(ProcessState::Ended).expect("a page");
    assert_eq!((launched.kernels, launched.captured, launched.refused), (10, 1, 1));
    let live = run.processes[0].gpu.launched(ProcessState::Live).expect("a page");
    assert_eq!((live.under_way, live.lost), (1, 0));
}

#[test]
fn records_that_were_removed_are_counted_by_themselves() {
    let mut r = Records::new(1);
    let mut w = works(&mut r);
    w.state = r#"{"level":"trace","lost":2}"#.into();
    let (run, folder) = killed(&r);
    w.write(&folder);
    page(&folder, 7);
    assert_eq!(lost(&run.read()), (1, 0));
}

#[test]
fn a_process_that_shut_down_lost_nothing_to_its_end() {
    let mut r = Records::new(1);
    let w = works(&mut r);
    let run = TestRun::new();
    let folder = run.finished(&r);
    w.write(&folder);
    page(&folder, 5);
    assert_eq!(lost(&run.read()), (0, 0));
}

#[test]
fn a_kill_before_the_first_write_leaves_the_count_alone() {
    let mut r = Records::new(1);
    works(&mut r);
    let (run, folder) = killed(&r);
    page(&folder, 0);
    let run = run.read();
    assert_eq!(lost(&run), (8, 0));
    assert_eq!(run.processes[0].gpu.missing(), Some(GpuMissing::Unwritten));
}
