use crate::args::Args;
use crate::outcome;
use hodo_record::{Config, Site, Value, intern, mark, open_with};
use hodo_tests::acks::{Acks, Lane, bump, get, stage};
use hodo_tests::plan;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

static STEP: Site = Site::new(plan::STEP);
static INNER: Site = Site::new(plan::INNER);
static SEQ: Site = Site::new(plan::SEQ);
static TEXT: Site = Site::new(plan::TEXT);
static LOSS: Site = Site::new(plan::LOSS);

/// Records the plan on `lanes` threads, `rate` steps a second each (0: as fast as it goes), for
/// `steps` steps each (0: until killed).
pub fn run(args: &Args) {
    limit_file_size(args);
    let acks = Arc::new(args.acks());
    outcome::started(&acks, &hodo_record::init(Config::from_env()));
    let lanes: u64 = args.number("lanes", 2);
    let (rate, steps) = (args.number("rate", 0), args.number("steps", 0));
    let threads: Vec<_> = (0..lanes)
        .map(|lane| {
            let acks = Arc::clone(&acks);
            let body = move || record(&acks, lane, rate, steps);
            thread::Builder::new().name(plan::thread_name(lane)).spawn(body).expect("thread")
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("lane"));
    outcome::finish(args);
}

/// A limit on the size of files, which lasts until the victim tells its health.
fn limit_file_size(args: &Args) {
    if let Some(bytes) = args.text("fsize") {
        let bytes = bytes.parse().expect("fsize");
        let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
        // SAFETY: a plain call with a valid pointer.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) }, 0);
    }
}

/// The steps of one lane. Ends early once the test writes a stage of [`stage::STOP`].
pub fn record(acks: &Acks, lane: u64, rate: u64, steps: u64) {
    let pace = Pace::new(rate);
    let mine = acks.lane(lane as usize);
    let last = if steps == 0 { u64::MAX } else { steps };
    for step in 0..last {
        one_step(mine, lane, step, &pace);
        if step % 64 == 63 && get(&acks.lane(0).stage) == stage::STOP {
            return;
        }
    }
}

/// The pause that keeps the rate falls inside the scope: a kill mostly finds it open.
fn one_step(mine: &Lane, lane: u64, step: u64, pace: &Pace) {
    let code = plan::code(lane, step);
    let scope = open_with(STEP.id(), 0, Some(code));
    mine.open.store(1, Ordering::SeqCst);
    scope.set(SEQ.id(), Value::I64(code));
    bump(&mine.attrs);
    if plan::has_text(step) {
        scope.set(TEXT.id(), Value::Text(&plan::text(lane, step)));
        bump(&mine.attrs);
    }
    mark(LOSS.id(), Value::I64(code), false);
    bump(&mine.marks);
    inner(lane, step, code);
    bump(&mine.spans);
    pace.wait(step + 1);
    mine.open.store(0, Ordering::SeqCst);
    scope.close();
    bump(&mine.spans);
}

fn inner(lane: u64, step: u64, code: i64) {
    let name = match plan::is_named(step) {
        true => intern(&plan::inner_name(lane, step)),
        false => INNER.id(),
    };
    open_with(name, 0, Some(code)).close();
}

/// Holds a loop to a rate by sleeping when it is ahead.
struct Pace {
    per_second: u64,
    began: Instant,
}

impl Pace {
    fn new(per_second: u64) -> Pace {
        Pace { per_second, began: Instant::now() }
    }

    fn wait(&self, done: u64) {
        if self.per_second == 0 || !done.is_multiple_of(32) {
            return;
        }
        let due = self.began + Duration::from_nanos(done * 1_000_000_000 / self.per_second);
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
}
