//! What a collector does by itself: packs runs that have ended, and makes room.

use super::Inside;
use super::depot::Entry;
use super::pack::{self, NotPacked};
use super::remove;
use std::collections::HashMap;
use std::sync::Weak;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Between two rounds.
const PAUSE: Duration = Duration::from_secs(1);
/// Rounds between two looks for runs that are too old.
const AGE_ROUNDS: u64 = 5;
/// One part in so many of what is allowed is kept free.
const HEADROOM: u64 = 20;

/// Works until the collector is gone. On a thread of its own, which yields to all others.
pub fn work(inside: &Weak<Inside>) {
    yield_to_others();
    // Runs that are packed for good or cannot be packed, and how much they had then.
    let mut given_up: HashMap<String, u64> = HashMap::new();
    for number in 0_u64.. {
        std::thread::sleep(PAUSE);
        let Some(inside) = inside.upgrade() else { return };
        let keep = inside.keep;
        let headroom = inside.max_bytes.unwrap_or(0) / HEADROOM;
        let wanted = inside.depot.usage.wanted().max(headroom);
        let is_time = keep.age.is_some() && number.is_multiple_of(AGE_ROUNDS);
        if is_time || inside.depot.usage.surplus(wanted) > 0 {
            match remove::make_room(&inside, keep, wanted) {
                Ok(told) => told.iter().for_each(|line| tell(line)),
                Err(error) => tell(&format!("cannot remove runs: {error}")),
            }
        }
        round(&inside, &mut given_up);
        if let Some(remote) = &inside.remote {
            match super::remote::upload_next(&inside, &**remote) {
                Ok(stored) => stored.iter().for_each(|run| tell(&format!("stored {run}"))),
                Err(error) => tell(&format!("cannot store packed runs: {error}")),
            }
        }
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
        let is_away = entry.note().is_some_and(|note| note.is_away);
        if is_away
            && inside.depot.there(&run, true).is_ok_and(|late| !late.is_empty())
            && let Err(error) = inside.bring_back(&run)
        {
            tell(&format!("more came of {run}, which cannot be fetched: {error}"));
            given_up.insert(run, before);
            continue;
        }
        let why = match pack::pack_if_ended(inside, &run, inside.keep.quiet_after) {
            Ok(()) => {
                tell(&format!("packed {run}"));
                continue;
            }
            Err(NotPacked::NotYet | NotPacked::Grew) => {
                if is_settled(inside, &entry) {
                    given_up.insert(run, before);
                }
                continue;
            }
            Err(NotPacked::Damaged(why) | NotPacked::Failed(why)) => why,
        };
        tell(&format!("{run} was not packed and stays as it was shipped: {why}"));
        inside.counters.pack_failures.fetch_add(1, Ordering::Relaxed);
        given_up.insert(run, before);
    }
}

/// Whether a run is packed for good: until more of it comes there is nothing to do.
fn is_settled(inside: &Inside, entry: &Entry) -> bool {
    entry.note().is_some_and(|note| note.is_packed)
        && !inside.depot.aside(&entry.id).exists()
        && inside.depot.there(&entry.id, true).is_ok_and(|late| late.is_empty())
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
