//! Packed runs: every verb reads them as it reads what was recorded.

use crate::exports::python;
use crate::gpu;
use crate::live::{Demo, wait_for_batches};
use crate::machine;
use crate::made::{self, Folder, Made, Scope};
use crate::program::{ID, folder, hodo, run, stdout};
use crate::samples;
use hodo_format::arena::Counts;
use hodo_format::record::SpanId;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is asked of a run and of its pack; the answers must be the same.
const QUESTIONS: [&[&str]; 13] = [
    &["report", "--json"],
    &["report", "--width", "140"],
    &["report", "--kernels", "--samples"],
    &["machine"],
    &["machine", "--json"],
    &["export", "--to", "chrome"],
    &["export", "--to", "perfetto"],
    &["export", "--to", "otlp"],
    &["export", "--to", "speedscope"],
    &["export", "--to", "folded"],
    &["export", "--to", "ndjson"],
    &["verify", "--json"],
    &["verify"],
];

/// The answer to a question: what was printed and the exit code, without the folder's name.
fn answer(dir: &Path, run_folder: &Path, question: &[&str]) -> (Option<i32>, Vec<u8>, String) {
    let (verb, rest) = question.split_first().unwrap();
    let name = run_folder.to_str().unwrap();
    let output = run(dir, &[&[*verb, name], rest].concat());
    let hide = |text: &[u8]| String::from_utf8_lossy(text).replace(name, "RUN");
    let printed = match question {
        ["verify", "--json"] => {
            let mut document: Value = serde_json::from_slice(&output.stdout).unwrap();
            // Only a packed run has tables to check.
            document.as_object_mut().unwrap().remove("tables");
            hide(document.to_string().as_bytes()).into_bytes()
        }
        ["export", "--to", "perfetto" | "otlp"] => output.stdout,
        _ => hide(&output.stdout).into_bytes(),
    };
    (output.status.code(), printed, hide(&output.stderr))
}

#[track_caller]
fn same_answers(dir: &Path, original: &Path, packed: &Path, questions: &[&[&str]]) {
    for question in questions {
        let (was, is) = (answer(dir, original, question), answer(dir, packed, question));
        let text = |of: &(Option<i32>, Vec<u8>, String)| {
            format!("{:?} {} {}", of.0, String::from_utf8_lossy(&of.1), of.2)
        };
        let (was_text, is_text) = (text(&was), text(&is));
        let differs = was_text.lines().zip(is_text.lines()).find(|(a, b)| a != b);
        assert!(was == is, "{question:?} of {}: {differs:#?}", original.display());
    }
}

fn newest(dir: &Folder) -> PathBuf {
    let folders = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
    folders.filter(|path| path.join("run.json").is_file()).max().unwrap()
}

fn pack(dir: &Folder, args: &[&str]) -> PathBuf {
    PathBuf::from(stdout(dir.path(), &[&["pack"], args].concat()).trim_end())
}

/// Packs the newest run of `dir` elsewhere and in place, and asks.
#[track_caller]
fn packs_to_the_same(dir: &Folder) {
    packs_to_the_same_answers(dir, &QUESTIONS);
}

#[track_caller]
fn packs_to_the_same_answers(dir: &Folder, questions: &[&[&str]]) {
    let original = newest(dir);
    let elsewhere = Folder::new();
    // A name as long as the original's, so that lines break where they did.
    let mut name = original.file_name().unwrap().to_str().unwrap().to_owned();
    name.replace_range(..1, "P");
    let out = dir.path().join(name);
    let packed = pack(dir, &[original.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    assert_eq!(packed, out);
    same_answers(dir.path(), &original, &packed, questions);
    // A sidecar's run beside it is looked for by both.
    let moved = elsewhere.path().join("moved").join(original.file_name().unwrap());
    fs::create_dir_all(moved.parent().unwrap()).unwrap();
    assert!(Command::new("cp").arg("-a").args([&original, &moved]).status().unwrap().success());
    let before = listed(moved.parent().unwrap());
    let removing = ["pack", moved.to_str().unwrap(), "--remove-originals"];
    let output = run(dir.path(), &removing);
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("originals are the evidence"), "{said}");
        assert_eq!(answer(dir.path(), &original, &["verify"]).0, Some(1), "{said}");
        return;
    }
    let left: Vec<_> = fs::read_dir(&moved).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "run.json, tables and pack, not {left:?}");
    same_answers(dir.path(), &packed, &moved, &QUESTIONS[..1]);
    // Of a damaged run a list shows what its catalog claims, of a packed one what was read.
    if answer(dir.path(), &original, &["verify"]).0 == Some(0) {
        assert_eq!(before, listed(moved.parent().unwrap()));
    }
}

/// What `hodo ls` says of the runs in a folder, but for what they take on disk.
fn listed(dir: &Path) -> Value {
    let mut listed: Value = serde_json::from_str(&stdout(dir, &["ls", "--json"])).unwrap();
    for run in listed["runs"].as_array_mut().unwrap() {
        run.as_object_mut().unwrap().remove("bytes");
        // A killed process is looked at in brief only while it is not packed.
        run.as_object_mut().unwrap().remove("lost");
    }
    listed
}

fn two_processes() -> Folder {
    let dir = Folder::new();
    let first = samples::training(100);
    let mut worker = samples::crossing(200);
    (worker.parent, worker.rank) = (Some((first.process(), SpanId::new(1, 1))), Some(3));
    made::write(dir.path(), ID, &[&first, &worker]);
    dir
}

#[test]
fn a_packed_run_reads_like_the_original() {
    let mut unended = samples::training(100);
    unended.ended = false;
    let mut lossy = samples::training(100);
    lossy.lost[0] = Counts { spans: 40, marks: 5, attrs: 0 };
    let mut uncalibrated = gpu::step(100);
    uncalibrated.has_anchors = false;
    let all = [
        samples::training(100),
        samples::crossing(200),
        samples::hostile(300),
        samples::many_names(300),
        gpu::step(400),
        gpu::sampled(400),
        Made::new(1),
        unended,
        lossy,
        uncalibrated,
    ];
    all.iter().for_each(|run| packs_to_the_same(&folder(run)));
    packs_to_the_same(&two_processes());
}

#[test]
fn a_packed_run_has_its_machines() {
    packs_to_the_same(&machine::sampled(&gpu::step(100), 300));
    packs_to_the_same(&machine::sampled(&samples::training(100), 150));
}

#[test]
fn a_real_run_and_an_empty_one_are_packed() {
    let dir = Folder::new();
    let copy = dir.path().join("h200");
    assert!(
        Command::new("cp")
            .arg("-a")
            .args([Path::new(gpu::H200), &copy])
            .status()
            .unwrap()
            .success()
    );
    packs_to_the_same(&dir);
    let empty = Folder::new();
    made::write(empty.path(), ID, &[]);
    packs_to_the_same(&empty);
}

#[test]
fn what_is_damaged_stays_counted_in_the_pack() {
    let dir = two_processes();
    let spool = made::process_folder(&newest(&dir)).join("spool-000001.hodo");
    let mut bytes = fs::read(&spool).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    fs::write(&spool, bytes).unwrap();
    assert_eq!(answer(dir.path(), &newest(&dir), &["verify"]).0, Some(1));
    packs_to_the_same(&dir);
}

#[test]
fn imports_are_packed() {
    for name in crate::imports::SAMPLES {
        let questions: [&[&str]; 2] = [&["report", "--json"], &["export", "--to", "chrome"]];
        packs_to_the_same_answers(&crate::imports::imported(name), &questions);
    }
}

#[test]
fn a_killed_run_is_packed_with_what_its_rings_hold_and_a_live_one_is_refused() {
    let dir = Folder::new();
    let demo = Demo::start(dir.path());
    wait_for_batches(dir.path());
    let output = run(dir.path(), &["pack"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said.contains(" is live: pid ") && said.contains("pack it when that has ended"),
        "{said}"
    );
    let entries = fs::read_dir(newest(&dir)).unwrap().count();
    drop(demo);
    assert_eq!(entries, fs::read_dir(newest(&dir)).unwrap().count(), "nothing is left of it");
    packs_to_the_same(&killed_with_records_in_its_rings());
}

/// A run that was killed before it had stored all; a machine with much else to do may take turns.
fn killed_with_records_in_its_rings() -> Folder {
    const TURNS: usize = 20;
    for _ in 0..TURNS {
        let dir = Folder::new();
        let demo = Demo::start(dir.path());
        wait_for_batches(dir.path());
        drop(demo);
        let read: Value = serde_json::from_str(&stdout(dir.path(), &["report", "--json"])).unwrap();
        if read["records"]["in_ring"]["spans"].as_u64().unwrap() > 0 {
            return dir;
        }
    }
    panic!("a killed run never has records in its rings");
}

#[test]
fn nothing_is_overwritten_and_nothing_is_left_half_made() {
    let dir = folder(&samples::training(100));
    let there = dir.path().join("there");
    fs::create_dir_all(there.join("mine")).unwrap();
    let said = refused(&dir, &["pack", "--out", there.to_str().unwrap()]);
    assert!(said.contains("is there already"), "{said}");
    let said = refused(&dir, &["export", "--to", "parquet", "-o", there.to_str().unwrap()]);
    assert!(said.contains("is there already"), "{said}");
    // A file where a folder should be.
    fs::write(dir.path().join("file"), "").unwrap();
    let below = dir.path().join("file/run");
    let said = refused(&dir, &["pack", "--out", below.to_str().unwrap()]);
    assert!(said.contains("cannot write "), "{said}");
    // A file system that takes no more: writes fail past two kilobytes.
    let out = dir.path().join("full");
    let line = format!("ulimit -f 4; trap '' XFSZ; exec \"$0\" pack --out {}", out.display());
    let mut shell = Command::new("sh");
    shell.args(["-c", &line, env!("CARGO_BIN_EXE_hodo")]).env("HODO_DIR", dir.path());
    let output = shell.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("cannot write ") && said.contains("nothing was left behind"), "{said}");
    let mut left: Vec<_> =
        fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, [ID, "file", "there"]);
    // In place, once.
    stdout(dir.path(), &["pack"]);
    assert!(refused(&dir, &["pack"]).contains("is packed already"));
}

fn refused(dir: &Folder, args: &[&str]) -> String {
    let output = run(dir.path(), args);
    assert_eq!(output.status.code(), Some(1), "{args:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        match entry.is_dir() {
            true => found.extend(files(&entry)),
            false => found.push(entry),
        }
    }
    found.sort();
    found
}

#[test]
fn damaged_tables_are_said_and_the_rest_is_read() {
    let dir = Folder::new();
    let run_folder = made::write(dir.path(), ID, &[&gpu::step(100), &samples::training(200)]);
    crate::made_machine::sample(&run_folder, 300);
    pack(&dir, &["--remove-originals"]);
    let packed = newest(&dir);
    let is_table = |path: &PathBuf| path.extension() == Some("parquet".as_ref());
    let tables: Vec<PathBuf> = files(&packed).into_iter().filter(is_table).collect();
    assert!(tables.len() >= 15, "{tables:?}");
    for table in tables {
        let whole = fs::read(&table).unwrap();
        let flip = |at: usize| {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            Some(bytes)
        };
        let harms = [
            flip(40),
            flip(whole.len() / 3),
            flip(whole.len() - 6),
            Some(whole[..whole.len() / 2].to_vec()),
            Some(Vec::new()),
            None,
        ];
        for (number, harm) in harms.into_iter().enumerate() {
            match harm {
                Some(bytes) => fs::write(&table, bytes).unwrap(),
                None => fs::remove_file(&table).unwrap(),
            }
            let report = run(dir.path(), &["report"]);
            let said = String::from_utf8_lossy(&report.stderr);
            assert!(report.status.success(), "{} {number}: {said}", table.display());
            let checked = run(dir.path(), &["verify"]);
            let text = String::from_utf8_lossy(&checked.stdout).into_owned();
            assert_eq!(checked.status.code(), Some(1), "{} {number}: {text}", table.display());
            assert!(text.contains(table.to_str().unwrap()), "{number}: {text}");
        }
        fs::write(&table, &whole).unwrap();
    }
    assert!(run(dir.path(), &["verify"]).status.success());
}

#[test]
fn originals_are_removed_later_too_but_only_if_the_pack_is_whole() {
    let dir = folder(&samples::training(100));
    let original = stdout(dir.path(), &["report", "--json"]);
    pack(&dir, &[]);
    let packed = newest(&dir);
    let spans = files(&packed.join("tables/spans")).remove(0);
    let whole = fs::read(&spans).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    fs::write(&spans, flipped).unwrap();
    let said = refused(&dir, &["pack", "--remove-originals"]);
    assert!(said.contains("originals"), "{said}");
    fs::write(&spans, whole).unwrap();
    let bytes = || -> u64 {
        let listed: Value = serde_json::from_str(&stdout(dir.path(), &["ls", "--json"])).unwrap();
        listed["runs"][0]["bytes"].as_u64().unwrap()
    };
    let before = bytes();
    pack(&dir, &["--remove-originals"]);
    assert!(bytes() < before);
    assert!(
        !fs::read_dir(&packed)
            .unwrap()
            .any(|entry| { entry.unwrap().path().join("process.json").exists() })
    );
    assert_eq!(stdout(dir.path(), &["report", "--json"]), original);
    let said = refused(&dir, &["pack", "--remove-originals"]);
    assert!(said.contains("packed already"), "{said}");
}

#[test]
fn a_pack_without_its_own_folder_is_damaged() {
    let dir = folder(&samples::training(100));
    pack(&dir, &["--remove-originals"]);
    fs::remove_dir_all(newest(&dir).join("pack")).unwrap();
    for verb in ["report", "verify"] {
        let said = refused(&dir, &[verb]);
        assert!(said.contains("pack/side.json is damaged: it is missing"), "{verb}: {said}");
    }
}

#[test]
fn scopes_that_a_damaged_pack_lost_count_once() {
    let dir = folder(&samples::training(100));
    let sum = |dir: &Folder| -> Value {
        let output = run(dir.path(), &["verify", "--json"]);
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let made = sum(&dir)["records"]["produced_records"].as_u64();
    assert!(made.is_some());
    pack(&dir, &["--remove-originals"]);
    fs::remove_file(files(&newest(&dir).join("tables/spans")).remove(0)).unwrap();
    assert_eq!(sum(&dir)["records"]["produced_records"].as_u64(), made);
    let exported = run(dir.path(), &["export", "--to", "csv"]);
    let said = String::from_utf8_lossy(&exported.stderr).into_owned();
    assert!(said.contains("cannot be read"), "{said}");
}

#[test]
fn a_newer_schema_is_refused() {
    let dir = folder(&samples::training(100));
    pack(&dir, &["--remove-originals"]);
    let packed = newest(&dir);
    let spans = files(&packed.join("tables/spans")).remove(0);
    let bytes = fs::read(&spans).unwrap();
    let key = b"hodo.schema";
    let at = bytes.windows(key.len()).position(|w| w == key).unwrap() + key.len();
    let value = at + bytes[at..].iter().position(|&byte| byte == b'1').unwrap();
    let mut newer = bytes.clone();
    newer[value] = b'2';
    fs::write(&spans, newer).unwrap();
    let said = refused(&dir, &["report"]);
    assert!(
        said.contains("has schema 2, which a newer hodo wrote") && said.contains("update hodo")
    );
    fs::write(&spans, bytes).unwrap();
    let side = packed.join("pack/side.json");
    let text = fs::read_to_string(&side).unwrap();
    fs::write(&side, text.replacen("\"schema\":1", "\"schema\":9", 1)).unwrap();
    assert!(refused(&dir, &["report"]).contains("has schema 9"));
    fs::write(&side, &text[..text.len() / 2]).unwrap();
    assert!(refused(&dir, &["report"]).contains("is damaged: "));
}

#[test]
fn other_readers_find_the_same_in_the_tables() {
    let Some(python) = python() else { return };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parquet_readers.py");
    let runs = [
        folder(&samples::training(100)),
        folder(&samples::hostile(300)),
        folder(&gpu::step(400)),
        machine::sampled(&gpu::step(100), 300),
        two_processes(),
    ];
    for dir in runs {
        let report = dir.path().join("report.json");
        fs::write(&report, stdout(dir.path(), &["report", "--json"])).unwrap();
        let tables = dir.path().join("tables");
        stdout(dir.path(), &["export", "--to", "parquet", "-o", tables.to_str().unwrap()]);
        let mut readers = Command::new(&python);
        readers.args([&script, &tables]).arg("--report").arg(&report);
        let output = readers.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert!(String::from_utf8_lossy(&output.stdout).starts_with("the same: "), "{said}");
    }
}

#[test]
fn the_snippets_of_the_page_run() {
    let Some(python) = python() else { return };
    let dir = folder(&samples::training(100));
    let output = hodo(dir.path(), &["export", "--to", "parquet", "tables"])
        .current_dir(dir.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "tables\n");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(python)
        .args([root.join("tests/snippets.py"), root.join("../../docs/parquet.md")])
        .args(["pyarrow", "polars", "duckdb"])
        .current_dir(dir.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn scopes_of_several_pages_come_back() {
    let mut made = Made::new(7);
    let outer = made.open(1);
    for at in 0..40_000u64 {
        made.span(Scope::new("inner", outer, at * 1000, at * 1000 + 500 + at % 7).index(at as i64));
    }
    made.close(outer, Scope::new("outer", SpanId::NONE, 0, 41_000_000));
    packs_to_the_same(&folder(&made));
}

#[test]
fn top_says_that_a_packed_run_is_over() {
    let dir = folder(&samples::training(100));
    pack(&dir, &["--remove-originals"]);
    let output = hodo(dir.path(), &["top", ID, "--once"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("is packed") && said.contains("hodo report"), "{said}");
}
