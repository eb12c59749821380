use crate::harness::{Scratch, Victim, heavy, read};
use hodo_trace::{Cpu, Process};
use std::collections::HashMap;

const WORKS: [&str; 5] = ["spin", "sleep", "mixed", "yields", "preempted"];

#[test]
fn cpu_time_agrees_with_the_kernel_by_the_usual_method() {
    compare("auto");
}

#[test]
fn cpu_time_agrees_with_the_kernel_by_rseq() {
    compare("rseq");
}

#[test]
fn cpu_time_agrees_with_the_kernel_by_perf() {
    compare("perf");
}

#[test]
fn cpu_time_agrees_with_the_kernel_by_system_call() {
    compare("syscall");
}

#[test]
fn cpu_time_switched_off_is_not_captured() {
    let (scratch, _) = record("off", "spin", 10);
    let run = read(&scratch.runs());
    for span in run.processes[0].span_views() {
        assert!(matches!(span.cpu_ns(), Cpu::Missing(_)), "{:?}", span.cpu_ns());
    }
}

fn record(method: &str, work: &str, scopes: u64) -> (Scratch, HashMap<i64, (u64, u64)>) {
    let scratch = Scratch::new(&format!("cpu-{method}-{work}"));
    let table = scratch.path("table");
    Victim::new(&scratch, "cpu", 1)
        .arg("work", work)
        .arg("scopes", scopes)
        .arg("table", table.display())
        .env("HODO_CPU", method)
        .run();
    let table = std::fs::read_to_string(table).unwrap();
    let brackets = table.lines().map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        (words[0].parse().unwrap(), (words[1].parse().unwrap(), words[2].parse().unwrap()))
    });
    (scratch, brackets.collect())
}

/// Each scope's CPU time must lie between what the kernel's thread clock counted just inside and
/// just outside it, give or take 1 % or 20 µs.
///
/// In the heavy form every scope must. A hypervisor that takes the CPU away tells the
/// kernel but not the thread, so on a busy virtual machine one scope in fifty may be off in the light
/// form; the sum may not.
fn compare(method: &str) {
    for work in WORKS {
        let (scratch, brackets) = record(method, work, 200);
        let run = read(&scratch.runs());
        let process = &run.processes[0];
        let found = Compared::new(process, &brackets);
        println!(
            "{method:8} {work:10} {} scopes, worst {} ns off, {} past 1 % or 20 µs, sum {} of {} ns, {} system calls for {} spans",
            found.scopes,
            found.worst,
            found.off,
            found.sum,
            found.kernel_sum,
            process.threads.iter().map(|thread| thread.cpu_syscalls).sum::<u64>(),
            process.spans.len(),
        );
        assert_eq!(found.scopes, brackets.len(), "{method} {work}: scopes with CPU time");
        let allowed = if heavy() { 0 } else { found.scopes / 50 };
        assert!(found.off <= allowed, "{method} {work}: {found:?}");
        assert!(found.worst <= TAKEN_NS, "{method} {work}: {found:?}");
        let apart = found.sum.abs_diff(found.kernel_sum);
        assert!(apart <= (found.kernel_sum / 100).max(20_000 * found.scopes as u64), "{found:?}");
    }
}

/// More than a hypervisor takes at once.
const TAKEN_NS: u64 = 5_000_000;

#[derive(Debug, Default)]
struct Compared {
    scopes: usize,
    off: usize,
    worst: u64,
    sum: u64,
    kernel_sum: u64,
}

impl Compared {
    fn new(process: &Process, brackets: &HashMap<i64, (u64, u64)>) -> Compared {
        let mut all = Compared::default();
        for span in process.span_views().filter(|span| span.name() == "work") {
            let (least, most) = brackets[&span.index().unwrap()];
            let Cpu::Captured(ns) = span.cpu_ns() else { continue };
            let apart = least.saturating_sub(ns).max(ns.saturating_sub(most));
            all.scopes += 1;
            all.off += usize::from(apart > (most / 100).max(20_000));
            all.worst = all.worst.max(apart);
            all.sum += ns;
            all.kernel_sum += most;
        }
        all
    }
}
