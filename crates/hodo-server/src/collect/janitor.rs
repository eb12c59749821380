//! What a collector does by itself: packs runs that have ended, and makes room.

use super::Inside;
use super::pack::{self, NotPacked};
use super::remove;
use std::collections::HashMap;
use std::sync::Weak;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Between two rounds.
const PAUSE: Duration = Duration::from_secs(1);
/// One part in so many of what is allowed is kept free.
const HEADROOM: u64 = 20;

/// Works until the collector is gone. On a thread of its own, which yields to all others.
pub fn work(inside: &Weak<Inside>) {
    yield_to_others();
    // Runs that could not be packed, and how much they had then.
    let mut given_up: HashMap<String, u64> = HashMap::new();
    loop {
        std::thread::sleep(PAUSE);
        let Some(inside) = inside.upgrade() else { return };
        let keep = inside.keep;
        let headroom = inside.max_bytes.unwrap_or(0) / HEADROOM;
        let wanted = inside.depot.usage.wanted().max(headroom);
        match remove::make_room(&inside, keep, wanted) {
            Ok(told) => told.iter().for_each(|line| tell(line)),
            Err(error) => tell(&format!("cannot remove runs: {error}")),
        }
        round(&inside, &mut given_up);
    }
}

fn round(inside: &Inside, given_up: &mut HashMap<String, u64>) {
    let runs = inside.depot.noted().unwrap_or_default();
    given_up.retain(|run, _| runs.contains(run));
    for run in runs {
        let Ok(entry) = inside.depot.entry(&run) else { continue };
        if let Err(error) = pack::clear_old(inside, &run) {
            tell(&format!("cannot remove what was shipped of {run}: {error}"));
        }
        if given_up.get(&run) == Some(&entry.changes()) {
            continue;
        }
        let before = entry.changes();
        let why = match pack::pack_if_ended(inside, &run, inside.keep.quiet_after) {
            Ok(()) => {
                tell(&format!("packed {run}"));
                continue;
            }
            Err(NotPacked::NotYet | NotPacked::Grew) => continue,
            Err(NotPacked::Damaged(why) | NotPacked::Failed(why)) => why,
        };
        tell(&format!("{run} was not packed and stays as it was shipped: {why}"));
        inside.counters.pack_failures.fetch_add(1, Ordering::Relaxed);
        given_up.insert(run, before);
    }
}

/// A line of the log.
pub fn tell(line: &str) {
    // Nobody reading it is no failure.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{line}\n").as_bytes());
}

/// Requests go first.
fn yield_to_others() {
    // SAFETY: of the calling thread alone; a system that refuses leaves it as it was.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, 10);
    }
}
