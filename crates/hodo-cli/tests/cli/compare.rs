//! `hodo diff` and `hodo gate` from outside: what they say, what they refuse, what they return.

use crate::made::{self, Folder, MS, Made, Scope, US};
use crate::program::{run, same_as, stdout};
use crate::samples;
use hodo_format::record::SpanId;
use serde_json::Value;
use std::path::Path;

/// What differs between runs of one program.
#[derive(Clone, Copy)]
pub struct Planted {
    /// Times the time of `load`.
    pub load: f64,
    /// Times all times: a machine that is slower by so much.
    pub machine: f64,
    /// Steps.
    pub steps: u64,
    /// Whether every tenth `update` takes ten times as long.
    pub stalls: bool,
}

impl Default for Planted {
    fn default() -> Planted {
        Planted { load: 1.0, machine: 1.0, steps: 40, stalls: false }
    }
}

/// Steps of some 10 ms that wobble by a percent.
pub fn steps(planted: Planted) -> Made {
    let mut run = Made::new(100);
    let mut now = 0;
    for index in 0..planted.steps {
        let wobble = 1.0 + 0.01 * ((index * 7919 % 21) as f64 / 10.0 - 1.0);
        let took =
            |us: u64, by: f64| (us as f64 * US as f64 * by * wobble * planted.machine) as u64;
        let stall = if planted.stalls && index % 10 == 0 { 10.0 } else { 1.0 };
        let step = run.open(1);
        let begin = now;
        for (name, ns) in [
            ("load", took(2000, planted.load)),
            ("forward", took(5000, 1.0)),
            ("update", took(3000, stall)),
        ] {
            let scope = Scope::new(name, step, now, now + ns);
            run.span(Scope { cpu: ns, ..scope });
            now += ns;
        }
        now += 50 * US;
        run.close(step, Scope::new("step", SpanId::NONE, begin, now).index(index as i64));
    }
    run
}

/// Runs of one side, which differ by `drift`. The sides take turns: a run begins two seconds after
/// the one before it on its side.
fn side(dir: &Path, planted: Planted, drift: &[f64], seconds: u64) {
    for (at, by) in drift.iter().enumerate() {
        let mut made = steps(Planted { machine: planted.machine * by, ..planted });
        made.wall_ns += (2 * at as u64 + seconds) * 1000 * MS;
        let side = dir.file_name().unwrap().to_str().unwrap();
        made::write(dir, &format!("{side}-{at}"), &[&made]);
    }
}

const DRIFT: [f64; 5] = [1.0, 1.3, 0.9, 1.1, 1.6];

/// Two folders of five runs each.
pub fn sides(base: Planted, head: Planted) -> Folder {
    let dir = Folder::new();
    side(&dir.path().join("base"), base, &DRIFT, 0);
    side(&dir.path().join("head"), head, &DRIFT, 1);
    dir
}

/// Exit code, output and errors of a comparison of the two folders in `dir`.
fn compare(dir: &Folder, verb: &str, args: &[&str]) -> (i32, String, String) {
    let sides = ["base", "head"].map(|side| dir.path().join(side).display().to_string());
    let output = run(dir.path(), &[&[verb, &sides[0], &sides[1]], args].concat());
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

pub fn slow() -> Planted {
    Planted { load: 1.1, ..Planted::default() }
}

#[test]
fn a_slower_scope_is_named_and_explains_the_change() {
    let dir = sides(Planted::default(), slow());
    let mut all = String::new();
    for (verb, args) in [
        ("diff", &["--width", "150"][..]),
        ("diff", &["--width", "80"]),
        ("diff", &["--markdown"]),
        ("gate", &["--max", "5%", "--width", "100"]),
        ("gate", &["--max", "5%", "--markdown"]),
        ("gate", &["--max", "20%", "--width", "100"]),
    ] {
        let (code, text, errors) = compare(&dir, verb, args);
        all += &format!("$ hodo {verb} base head {}\n{text}{errors}# {code}\n\n", args.join(" "));
    }
    let much = sides(Planted::default(), Planted { load: 1.8, ..Planted::default() });
    let (_, text, _) = compare(&much, "diff", &["--width", "100"]);
    all += &format!("$ hodo diff base much --width 100\n{text}");
    same_as(&all, "compare.txt");
}

#[test]
fn the_same_program_is_no_regression_and_neither_is_a_faster_one() {
    let same = sides(Planted::default(), Planted::default());
    let (code, text, _) = compare(&same, "gate", &["--max", "5%"]);
    assert_eq!(code, 0, "{text}");
    let faster = sides(slow(), Planted::default());
    let (code, text, _) = compare(&faster, "gate", &["--max", "5%"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("step/load     faster"), "{text}");
}

#[test]
fn only_scopes_that_are_asked_for_are_gated() {
    let dir = sides(Planted::default(), slow());
    assert_eq!(compare(&dir, "gate", &["--scope", "step/forward"]).0, 0);
    assert_eq!(compare(&dir, "gate", &["--scope", "step/*"]).0, 3);
    let (code, _, errors) = compare(&dir, "gate", &["--scope", "no/such"]);
    assert_eq!(code, 4);
    assert!(errors.contains("no scope of both sides has the path no/such"), "{errors}");
}

#[test]
fn stalls_now_and_then_are_a_regression_of_the_mean() {
    let dir = sides(Planted::default(), Planted { stalls: true, ..Planted::default() });
    let (code, text, _) = compare(&dir, "gate", &["--max", "5%"]);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("step/update is") && text.contains("slower at times"), "{text}");
}

#[test]
fn too_little_data_is_neither_a_regression_nor_a_pass() {
    let dir = Folder::new();
    let few = Planted { steps: 5, ..Planted::default() };
    side(&dir.path().join("base"), few, &[1.0], 0);
    side(&dir.path().join("head"), Planted { load: 3.0, ..few }, &[1.0], 1);
    let (code, text, _) = compare(&dir, "gate", &[]);
    assert_eq!(code, 4, "{text}");
    assert!(text.contains("not enough data"), "{text}");
    assert_eq!(compare(&dir, "diff", &[]).0, 0);
}

#[test]
fn what_is_not_comparable_is_refused_with_its_reasons() {
    let dir = Folder::new();
    side(&dir.path().join("base"), Planted::default(), &[1.0], 0);
    let folder = made::write(&dir.path().join("head"), "other", &[&samples::training(7)]);
    let info = std::fs::read_to_string(folder.join("run.json")).unwrap();
    std::fs::write(folder.join("run.json"), info.replace(r#""host":"box""#, r#""host":"fox""#))
        .unwrap();
    let (code, _, errors) = compare(&dir, "diff", &[]);
    assert_eq!(code, 4);
    for why in [
        "they ran on different machines: box and box, fox",
        "their scopes have other paths: `step` and `load`, `matmul`, `matmul warm-up`, `train`",
        "--force compares them all the same",
    ] {
        assert!(errors.contains(why), "{errors}");
    }
    let (code, text, _) = compare(&dir, "gate", &["--json"]);
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &document["comparable"]), (4, &false.into()));
    let codes: Vec<&str> = document["obstacles"]
        .as_array()
        .unwrap()
        .iter()
        .map(|o| o["code"].as_str().unwrap())
        .collect();
    assert_eq!(codes, ["other_machine", "other_shape"]);
    let (code, text, _) = compare(&dir, "diff", &["--force"]);
    assert_eq!(code, 0);
    assert!(text.contains("compared all the same: they ran on different machines"), "{text}");
}

#[test]
fn other_gpus_and_ranks_are_not_comparable() {
    let dir = Folder::new();
    made::write(&dir.path().join("base"), "one", &[&crate::gpu::step(100)]);
    let mut other = crate::gpu::step(100);
    other.gpu_state = other.gpu_state.replace("NVIDIA H200", "NVIDIA A10");
    other.rank = Some(0);
    let mut second = crate::gpu::step(200);
    second.rank = Some(1);
    made::write(&dir.path().join("head"), "one", &[&other, &second]);
    let (code, _, errors) = compare(&dir, "diff", &[]);
    assert_eq!(code, 4);
    let gpus = "different GPUs: NVIDIA H200 and NVIDIA A10, NVIDIA H200";
    assert!(errors.contains(gpus), "{errors}");
    assert!(errors.contains("different numbers of ranks: 1 and 2"), "{errors}");
}

#[test]
fn a_run_without_scopes_cannot_be_compared_at_all() {
    let dir = Folder::new();
    side(&dir.path().join("base"), Planted::default(), &[1.0], 0);
    made::write(&dir.path().join("head"), "empty", &[&Made::new(100)]);
    let (code, _, errors) = compare(&dir, "diff", &["--force"]);
    assert_eq!(code, 4);
    assert!(errors.contains("there is nothing to compare in empty"), "{errors}");
    assert!(!errors.contains("--force"), "{errors}");
}

#[test]
fn kernels_that_appeared_vanished_and_changed() {
    let dir = Folder::new();
    let training = |name: &str, gemm_us: u64, extra: &str| {
        let mut run = Made::new(100);
        run.gpu_state = r#"{"level":"trace","tier":"callbacks"}"#.into();
        for index in 0..40 {
            let at = index * MS;
            let step = run.span(Scope::new("step", SpanId::NONE, at, at + MS).index(index as i64));
            run.kernel(step, "gemm", at + 10 * US, at + (10 + gemm_us) * US);
            run.kernel(step, extra, at + 500 * US, at + 600 * US);
        }
        made::write(&dir.path().join(name), "one", &[&run]);
    };
    training("base", 200, "old");
    training("head", 300, "new");
    let (code, text, _) = compare(&dir, "diff", &["--width", "120"]);
    assert_eq!(code, 0);
    let section = &text[text.find("Kernels").unwrap()..];
    for line in ["gemm    slower    +50.0%", "new     appeared", "old     vanished"] {
        assert!(section.contains(line), "{section}");
    }
}

#[test]
fn runs_are_named_one_by_one_too() {
    let dir = sides(Planted::default(), slow());
    let names = |side: &str| {
        let all: Vec<String> = (0..5)
            .map(|at| dir.path().join(side).join(format!("{side}-{at}")).display().to_string())
            .collect();
        all.join(",")
    };
    let output = run(dir.path(), &["gate", &names("base"), &names("head"), "--json"]);
    assert_eq!(output.status.code(), Some(3));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["paired"], true);
    assert_eq!(document["gate"]["regressions"][0]["path"], serde_json::json!(["step", "load"]));
    let refused = run(dir.path(), &["gate", "nowhere", "nothing"]);
    assert_eq!(refused.status.code(), Some(1));
    let wrong = run(dir.path(), &["gate", &names("base"), &names("head"), "--max", "lots"]);
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn names_cannot_drive_the_terminal_or_the_page() {
    let dir = Folder::new();
    for side in ["base", "head"] {
        made::write(&dir.path().join(side), "one", &[&samples::hostile(100)]);
    }
    for args in [&["--all"][..], &["--all", "--markdown"]] {
        let (_, text, _) = compare(&dir, "diff", args);
        assert!(!text.contains(['\x1b', '\x07', '\u{202e}']), "{text}");
    }
    let _ = stdout(dir.path(), &["--version"]);
}
