use crate::args::Args;
use crate::outcome;
use hodo_record::{Config, Site, open_with};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

static SLEEP: Site = Site::new("sleep");

/// Scopes during which the wall clock jumps by an hour, forth and back.
///
/// `step=FILE` is the file the preloaded shim reads its offset from; `table=FILE` receives, for
/// each scope, the least and the most it can have lasted by `CLOCK_MONOTONIC`, and the wall clock
/// before and after it.
pub fn run(args: &Args) {
    let acks = args.acks();
    let step = Path::new(args.text("step").expect("step"));
    let mut table = std::fs::File::create(args.text("table").expect("table")).expect("table");
    outcome::started(&acks, &hodo_record::init(Config::from_env()));
    for (at, offset_s) in [0i64, 3_600, -3_600, 3_600, 0].into_iter().enumerate() {
        let line =
            one_scope(at as i64, || std::fs::write(step, offset_s.to_string()).expect("step"));
        writeln!(table, "{line}").expect("table");
    }
    outcome::finish(args);
}

fn one_scope(at: i64, jump: impl Fn()) -> String {
    let wall_before = wall_s();
    let outside = Instant::now();
    let scope = open_with(SLEEP.id(), 0, Some(at));
    let inside = Instant::now();
    std::thread::sleep(Duration::from_millis(150));
    jump();
    std::thread::sleep(Duration::from_millis(150));
    let least = inside.elapsed().as_nanos();
    scope.close();
    let most = outside.elapsed().as_nanos();
    format!("{at} {least} {most} {wall_before} {}", wall_s())
}

fn wall_s() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").as_secs()
}
