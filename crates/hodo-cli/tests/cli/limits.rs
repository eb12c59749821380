//! Imports of files as large as they get, and of files made to hurt: what memory they take. They
//! take minutes and gigabytes of disk: `make import-limits`.

use crate::made::Folder;
use crate::program::hodo;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Output;

const MIB: u64 = 1 << 20;

/// Runs an import; what it said, and the most memory it had.
fn import(dir: &Path, file: &Path) -> (Output, u64) {
    let child = hodo(&dir.join("runs"), &["import", file.to_str().unwrap()])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let pid = child.id();
    let watch = std::thread::spawn(move || {
        let mut most = 0;
        while let Ok(status) = std::fs::read_to_string(format!("/proc/{pid}/status")) {
            let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
            let Some(kib) = line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok())
            else {
                break;
            };
            most = most.max(kib << 10);
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        most
    });
    let output = child.wait_with_output().unwrap();
    (output, watch.join().unwrap())
}

fn write(path: &Path, fill: impl FnOnce(&mut dyn Write)) {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path).unwrap());
    fill(&mut out);
    out.flush().unwrap();
}

fn refused(fill: impl FnOnce(&mut dyn Write), name: &str, words: &str) {
    let dir = Folder::new();
    let file = dir.path().join(name);
    write(&file, fill);
    let (output, memory) = import(dir.path(), &file);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    eprintln!("{name}: {} MiB; {}", memory / MIB, said.trim());
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(words), "{said}");
    assert!(memory < 256 * MIB, "{} MiB", memory / MIB);
}

/// A training loop as torch.profiler writes it, until the file has `bytes`.
fn training(out: &mut dyn Write, bytes: u64) -> u64 {
    let mut written = 0;
    let mut kernels = 0;
    let mut text = String::from(r#"{"baseTimeNanoseconds":1700000000000000000,"traceEvents":["#);
    let mut comma = "";
    for step in 0u64.. {
        use std::fmt::Write as _;
        let at = step * 1000;
        let mut event = |text: &mut String, body: std::fmt::Arguments<'_>| {
            let _ = write!(text, "{comma}\n{{\"ph\":\"X\",{body}}}");
            comma = ",";
        };
        event(
            &mut text,
            format_args!(
                r#""cat":"user_annotation","name":"step","pid":5,"tid":5,"ts":{at}.5,"dur":990,"args":{{"External id":{step}}}"#
            ),
        );
        for op in 0..20 {
            let (ts, correlation) = (at + 10 + op * 40, step * 20 + op + 1);
            kernels += 1;
            event(
                &mut text,
                format_args!(
                    r#""cat":"cpu_op","name":"aten::op{op}","pid":5,"tid":5,"ts":{ts}.125,"dur":30.250,"args":{{"External id":{correlation},"Input Dims":[[64,{op}],[{step},64]],"Sequence number":{step}}}"#
                ),
            );
            event(
                &mut text,
                format_args!(
                    r#""cat":"cuda_runtime","name":"cudaLaunchKernel","pid":5,"tid":5,"ts":{ts}.500,"dur":5.5,"args":{{"cbid":211,"correlation":{correlation}}}"#
                ),
            );
            event(
                &mut text,
                format_args!(
                    r#""cat":"kernel","name":"void at::native::kernel_{op}<float>(float*)","pid":0,"tid":7,"ts":{ts}.900,"dur":25.000,"args":{{"device":0,"context":1,"stream":7,"correlation":{correlation},"registers per thread":32,"grid":[64,1,1],"block":[128,1,1]}}"#
                ),
            );
        }
        written += text.len() as u64;
        out.write_all(text.as_bytes()).unwrap();
        text.clear();
        if written >= bytes {
            break;
        }
    }
    out.write_all(b"]}").unwrap();
    kernels
}

#[test]
#[ignore = "takes minutes and gigabytes of disk: make import-limits"]
fn a_trace_of_two_gigabytes_takes_less_than_one() {
    let dir = Folder::new();
    let file = dir.path().join("trace.json");
    let mut kernels = 0;
    write(&file, |out| kernels = training(out, 2_000_000_000));
    let began = std::time::Instant::now();
    let (output, memory) = import(dir.path(), &file);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    eprintln!(
        "2 GB in {:.0} s, {} MiB: {}",
        began.elapsed().as_secs_f64(),
        memory / MIB,
        said.trim()
    );
    assert!(output.status.success(), "{said}");
    assert!(memory <= 1024 * MIB, "{} MiB", memory / MIB);
    let digits: String =
        said.split("scopes").nth(1).unwrap().chars().filter(char::is_ascii_digit).collect();
    assert!(digits.starts_with(&kernels.to_string()), "{kernels} in {said}");
}

#[test]
#[ignore = "takes minutes: make import-limits"]
fn bombs_are_refused_in_little_memory() {
    let zeros = |out: &mut dyn Write| {
        let mut gzip = flate2::write::GzEncoder::new(out, flate2::Compression::best());
        gzip.write_all(b"{\"traceEvents\":[").unwrap();
        let block = vec![b' '; 1 << 20];
        (0..10_000).for_each(|_| gzip.write_all(&block).unwrap());
        gzip.finish().unwrap();
    };
    refused(zeros, "bomb.json.gz", "times its size");
    let line = |begin: &'static str| {
        move |out: &mut dyn Write| {
            out.write_all(begin.as_bytes()).unwrap();
            let block = vec![b'x'; 1 << 20];
            (0..1024).for_each(|_| out.write_all(&block).unwrap());
            out.write_all(b"\"}\n").unwrap();
        }
    };
    refused(line("{\"traceEvents\":[{\"name\":\""), "line.json", "longer than 32 MiB");
    refused(
        line("{\"schema_version\":1,\"batch_id\":\""),
        "line.cirron.json",
        "longer than 32 MiB",
    );
    refused(
        line("{\"type\":\"job_start\",\"session_id\":\""),
        "line.log",
        "longer than any record",
    );
    let deep = |out: &mut dyn Write| {
        out.write_all(b"{\"traceEvents\":[{\"args\":").unwrap();
        out.write_all(&vec![b'['; 100 << 20]).unwrap();
    };
    refused(deep, "deep.json", "nested more than 256 levels");
}
