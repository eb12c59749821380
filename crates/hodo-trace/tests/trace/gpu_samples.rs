//! Samples of where kernels stood.

use crate::support::gpu::Works;
use crate::support::{Records, TestRun};
use hodo_format::gpu::Sample;
use hodo_format::record::SpanId;
use hodo_trace::{Filter, NamePattern, Run, SampleTable, StallSum, samples};

fn run() -> Run {
    let (mut r, mut w) = (Records::new(1), Works::new());
    let step = r.id(1);
    let inner = r.scope(1, step, "inner", 110, 290);
    r.close(step, SpanId::NONE, "step", 100, 300);
    let gemm = r.name("_Z4gemmPf");
    let relu = r.name("_Z4reluPf");
    let (wait, memory) = (r.name("wait"), r.name("long_scoreboard"));
    let file = r.name("gemm.cu");
    let sample = |kernel, pc, stall, samples, span| Sample {
        kernel,
        cubin: 9,
        pc,
        stall,
        samples,
        span,
        correlation: 4,
        ..Sample::default()
    };
    w.samples = vec![
        Sample { file, line: 12, ..sample(gemm, 16, wait, 10, step) },
        Sample { file, line: 12, ..sample(gemm, 16, memory, 30, step) },
        Sample { file, line: 12, ..sample(gemm, 16, memory, 20, inner) },
        sample(gemm, 32, wait, 5, inner),
        sample(relu, 16, wait, 25, SpanId::NONE),
        Sample { correlation: 0, ..sample(relu, 16, wait, 10, SpanId::NONE) },
    ];
    let run = TestRun::new();
    w.write(&run.finished(&r));
    run.read()
}

fn text(stalls: &[StallSum]) -> String {
    let one = |s: &StallSum| format!("{} {} {:.0}%", s.reason, s.samples, s.share * 100.0);
    stalls.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn table(name: Option<&str>) -> SampleTable {
    samples(&run(), &Filter { name: name.map(NamePattern::new), ..Filter::default() })
}

#[test]
fn samples_go_by_kernel_scope_and_instruction() {
    let table = table(None);
    assert_eq!((table.samples, table.instruction_count), (100, 3));
    assert_eq!(text(&table.stalls), "long_scoreboard 50 50%, wait 50 50%");
    let kernels: Vec<_> =
        table.kernels.iter().map(|k| (k.name.as_str(), k.samples, text(&k.stalls))).collect();
    let gemm = "long_scoreboard 50 77%, wait 15 23%".to_owned();
    assert_eq!(kernels, [("gemm", 65, gemm), ("relu", 35, "wait 35 100%".to_owned())]);
    let scopes: Vec<_> = table.scopes.iter().map(|s| (s.path.join("/"), s.samples)).collect();
    let expected =
        [("step", 40), ("(outside any scope)", 25), ("step/inner", 25), ("(unknown launch)", 10)];
    assert_eq!(scopes, expected.map(|(path, n)| (path.to_owned(), n)));
    let first = &table.instructions[0];
    assert_eq!((first.kernel.as_str(), first.pc, first.samples), ("gemm", 16, 60));
    assert_eq!((first.file.as_deref(), first.line), (Some("gemm.cu"), Some(12)));
    assert_eq!(text(&first.stalls), "long_scoreboard 50 83%, wait 10 17%");
    assert_eq!((table.instructions[2].file.as_deref(), table.instructions[2].line), (None, None));
}

#[test]
fn a_filter_drops_the_samples_of_what_it_drops() {
    let table = table(Some("inner"));
    assert_eq!((table.samples, table.kernels.len(), table.scopes.len()), (25, 1, 1));
}

#[test]
fn a_run_without_samples_says_nothing() {
    let mut r = Records::new(1);
    r.scope(1, SpanId::NONE, "step", 100, 300);
    let run = TestRun::new();
    run.finished(&r);
    let table = samples(&run.read(), &Filter::default());
    assert_eq!((table.samples, table.missing.len()), (0, 1));
}
