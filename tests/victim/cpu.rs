use crate::args::Args;
use crate::outcome;
use hodo_record::{Config, Site, open_with};
use hodo_tests::plan;
use std::io::Write;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

static WORK: Site = Site::new("work");
static INNER: Site = Site::new("inner");

/// Scopes over one kind of `work` (spin, sleep, mixed, yields, dense, preempted), each bracketed by
/// readings of the kernel's thread clock, which go to `table=FILE`: code, least, most.
pub fn run(args: &Args) {
    let acks = args.acks();
    outcome::started(&acks, &hodo_record::init(Config::from_env()));
    let work = args.text("work").expect("work").to_owned();
    let scopes: u64 = args.number("scopes", 200);
    let preempted = work == "preempted";
    let lines = Mutex::new(Vec::new());
    thread::scope(|threads| {
        for lane in 0..if preempted { 2 } else { 1 } {
            let (lines, work) = (&lines, &work);
            threads.spawn(move || {
                if preempted {
                    pin_to_first_core();
                }
                let mine: Vec<_> = (0..scopes).map(|step| one_scope(lane, step, work)).collect();
                lines.lock().expect("lines").extend(mine);
            });
        }
    });
    let mut table = std::fs::File::create(args.text("table").expect("table")).expect("table");
    for line in lines.into_inner().expect("lines") {
        writeln!(table, "{line}").expect("table");
    }
    outcome::finish(args);
}

fn one_scope(lane: u64, step: u64, work: &str) -> String {
    let code = plan::code(lane, step);
    let outside = thread_cpu_ns();
    let scope = open_with(WORK.id(), 0, Some(code));
    let inside = thread_cpu_ns();
    busy(work, step);
    let least = thread_cpu_ns() - inside;
    scope.close();
    let most = thread_cpu_ns() - outside;
    format!("{code} {least} {most}")
}

fn busy(work: &str, step: u64) {
    match work {
        "spin" => spin(Duration::from_micros(200 + step % 7 * 300)),
        "sleep" => thread::sleep(Duration::from_millis(2)),
        "mixed" => {
            for _ in 0..4 {
                spin(Duration::from_micros(150));
                thread::sleep(Duration::from_micros(200));
            }
        }
        "yields" => {
            for _ in 0..50 {
                spin(Duration::from_micros(10));
                thread::yield_now();
            }
        }
        "dense" => {
            for _ in 0..500 {
                let inner = open_with(INNER.id(), 0, None);
                spin(Duration::from_micros(2));
                inner.close();
            }
        }
        "preempted" => {
            for _ in 0..20 {
                let inner = open_with(INNER.id(), 0, None);
                spin(Duration::from_micros(500));
                inner.close();
            }
        }
        other => panic!("no work {other}"),
    }
}

fn spin(for_time: Duration) {
    let began = Instant::now();
    while began.elapsed() < for_time {
        std::hint::spin_loop();
    }
}

/// The kernel's CPU clock of this thread.
fn thread_cpu_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a plain call with a valid pointer.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut now) }, 0);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn pin_to_first_core() {
    // SAFETY: a zeroed set is valid; the call reads it.
    unsafe {
        let mut cores: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(0, &mut cores);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &cores);
    }
}
