//! What looking at a run costs while it is recorded: follow RUN SECONDS

use hodo_trace::Follow;
use std::time::{Duration, Instant};

fn main() {
    let mut args = std::env::args().skip(1);
    let (Some(run), seconds) = (args.next(), args.next().and_then(|s| s.parse().ok())) else {
        eprintln!("follow RUN SECONDS");
        return;
    };
    let mut follow = match Follow::new(run.as_ref()) {
        Ok(follow) => follow,
        Err(error) => return eprintln!("{error}"),
    };
    for second in 0..seconds.unwrap_or(10u64) {
        let began = Instant::now();
        let look = follow.look();
        let looked = began.elapsed();
        let now = follow.now();
        println!(
            "{second:>4} s: {:>9} bytes and {:>9} skipped, {:>7} closed, {:>3} open, {:>4} paths, look {:>7.2} ms, view {:>5.2} ms",
            look.bytes,
            look.skipped_bytes,
            look.closed,
            look.open,
            now.scopes.len(),
            looked.as_secs_f64() * 1e3,
            (began.elapsed() - looked).as_secs_f64() * 1e3,
        );
        std::thread::sleep(Duration::from_secs(1).saturating_sub(began.elapsed()));
    }
}
