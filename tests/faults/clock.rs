use crate::harness::{Scratch, Victim, read};
use std::path::PathBuf;
use std::process::Command;

/// Builds the shim that moves the wall clock of a program it is loaded into.
fn shim(scratch: &Scratch) -> PathBuf {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/faults/wall_shim.c");
    let library = scratch.path("wall_shim.so");
    let mut compile = Command::new("cc");
    compile.args(["-O2", "-shared", "-fPIC", "-o"]).arg(&library).arg(source).arg("-ldl");
    assert!(compile.status().expect("a C compiler").success());
    library
}

#[test]
fn a_wall_clock_that_jumps_bends_no_duration() {
    for clock in ["counter", "monotonic"] {
        let scratch = Scratch::new("clock");
        let (step, table) = (scratch.path("step"), scratch.path("table"));
        std::fs::write(&step, "0").unwrap();
        Victim::new(&scratch, "clock", 1)
            .arg("step", step.display())
            .arg("table", table.display())
            .env("LD_PRELOAD", shim(&scratch))
            .env("WALL_SHIM_OFFSET", &step)
            .env("HODO_CLOCK", clock)
            .env("HODO_FLUSH", "20")
            .run();
        let table = std::fs::read_to_string(table).unwrap();
        assert!(jumped(&table), "the shim does not work: {table}");
        let run = read(&scratch.runs());
        let process = &run.processes[0];
        assert_eq!(process.span_views().count(), 5);
        for line in table.lines() {
            let [at, least, most, ..] = numbers(line)[..] else { panic!("{line}") };
            let span = process.span_views().find(|span| span.index() == Some(at)).unwrap();
            let lasted = span.duration_ns() as i64;
            // Ticks are converted by a slope measured over a second or so.
            let slack = most / 1_000;
            assert!(lasted >= least - slack && lasted <= most + slack, "{clock} {line}: {lasted}");
        }
    }
}

fn numbers(line: &str) -> Vec<i64> {
    line.split(' ').map(|word| word.parse().unwrap()).collect()
}

/// Whether some scope saw the wall clock move by about an hour.
fn jumped(table: &str) -> bool {
    table.lines().map(numbers).any(|line| (line[4] - line[3]).abs() > 3_000)
}
