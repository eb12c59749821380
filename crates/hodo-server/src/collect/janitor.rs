//! What a collector does by itself: packs runs that have ended, and makes room.

use super::Inside;
use super::depot::Entry;
use super::pack::{self, NotPacked};
use super::remove::{self, Wanted};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Weak;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Between two rounds.
const PAUSE: Duration = Duration::from_secs(1);
/// Rounds between two looks for runs that are too old.
const AGE_ROUNDS: u64 = 5;
/// One part in so many of what is allowed is kept free.
const HEADROOM: u64 = 20;

/// Runs that nothing came for are looked at again after so long: they may have fallen silent.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// Those that could not be packed are tried again after so long.
const LOOK_AFTER_FAILURE: Duration = Duration::from_secs(3600);

/// Waiting longer than this for another try is told.
const LONG_WAIT: Duration = Duration::from_secs(60);

/// What packs a run if it has ended.
type Pack<'a> = &'a dyn Fn(&Inside, &str) -> Result<(), NotPacked>;

/// What was seen of a run when it was looked at last.
struct Look {
    changes: u64,
    beats: u64,
    /// When to look again although nothing came; never, where nothing can change by itself.
    again: Option<Instant>,
}

/// Works until the collector is gone. On a thread of its own, which yields to all others.
pub fn work(inside: &Weak<Inside>) {
    yield_to_others();
    let mut looks: HashMap<String, Look> = HashMap::new();
    let mut unreadable = None;
    for number in 0_u64.. {
        std::thread::sleep(PAUSE);
        let Some(inside) = inside.upgrade() else { return };
        let wrong = inside.tokens.all().err().map(|error| error.to_string());
        if let Some(why) = wrong.iter().find(|_| wrong != unreadable) {
            tell(&format!("the tokens cannot be read, so nobody is let in: {why}"));
        }
        unreadable = wrong;
        let keep = inside.keep;
        let headroom = inside.max_bytes.unwrap_or(0) / HEADROOM;
        let wanted = Wanted { headroom, refused: inside.depot.usage.wanted() };
        let more = headroom.max(wanted.refused);
        let is_time = keep.age.is_some() && number.is_multiple_of(AGE_ROUNDS);
        inside.depot.forget_unknown();
        if is_time || inside.depot.usage.surplus(more) > 0 {
            match guarded(|| Ok(remove::make_room(&inside, keep, wanted)?)) {
                Ok(told) => told.iter().for_each(|line| tell(line)),
                Err(error) => tell(&format!("cannot remove runs: {error}")),
            }
        }
        let pack = |inside: &Inside, run: &str| pack::pack_if_ended(inside, run, keep.quiet_after);
        round(&inside, &mut looks, &pack);
    }
}

/// Does `work`; a panic in it is an error of this one thing, and the others go on.
pub fn guarded<T>(work: impl FnOnce() -> Result<T, NotPacked>) -> Result<T, NotPacked> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
        Err(NotPacked::Failed(format!("hodo failed on it: {text}; please report it")))
    })
}

fn round(inside: &Inside, looks: &mut HashMap<String, Look>, pack: Pack<'_>) {
    let runs = inside.depot.noted().unwrap_or_default();
    looks.retain(|run, _| runs.contains(run));
    for run in runs {
        let Ok(entry) = inside.depot.entry(&run) else { continue };
        let (changes, beats) = (entry.changes(), entry.beats());
        let is_seen = |look: &Look| {
            (look.changes, look.beats) == (changes, beats)
                && look.again.is_none_or(|at| at > Instant::now())
        };
        if looks.get(&run).is_some_and(is_seen) {
            continue;
        }
        let again = look_at(inside, &entry, pack).map(|after| Instant::now() + after);
        looks.insert(run, Look { changes, beats, again });
    }
    let failed = looks.keys().filter_map(|run| inside.depot.known(run).ok()?);
    let failed =
        failed.filter(|entry| entry.note().is_some_and(|note| note.pack_failure.is_some()));
    inside.counters.not_packed.store(failed.count() as u64, Ordering::Relaxed);
}

/// Does what is due for a run; tells after how long to look again, if at all.
fn look_at(inside: &Inside, entry: &Entry, pack: Pack<'_>) -> Option<Duration> {
    let run = &entry.id;
    let usual = LOOK_AGAIN.min(inside.keep.quiet_after).max(PAUSE);
    let due = inside.depot.settle(entry).and_then(|()| {
        remove::remove_rest(inside, run)?;
        pack::clear_old(inside, run)
    });
    if let Err(error) = due {
        tell(&format!("{run}: {error}; it is tried again"));
        return Some(LOOK_AGAIN);
    }
    let is_away = entry.note().is_some_and(|note| note.is_away);
    if is_away
        && inside.depot.there(run, true).is_ok_and(|late| !late.is_empty())
        && let Err(error) = inside.wait_for(entry)
    {
        tell(&format!("more came of {run}, which cannot be fetched: {error}"));
        return Some(LOOK_AGAIN);
    }
    let (why, is_failure) = match guarded(|| pack(inside, run)) {
        Ok(()) => {
            tell(&format!("packed {run}"));
            return Some(usual);
        }
        Err(NotPacked::NotYet) => return (!is_settled(inside, entry)).then_some(usual),
        Err(NotPacked::Grew) => return Some(PAUSE),
        Err(NotPacked::Wait(_, left)) if left < LONG_WAIT => return Some(left.max(PAUSE)),
        Err(why @ NotPacked::Wait(..)) => (why.to_string(), true),
        Err(NotPacked::Damaged(why)) => (why, false),
        Err(NotPacked::Failed(why)) => (why, true),
    };
    tell(&format!("{run} was not packed and stays as it was shipped: {why}"));
    inside.counters.pack_failures.fetch_add(1, Ordering::Relaxed);
    if let Err(error) = pack::note_failure(inside, entry, &why) {
        tell(&format!("{run}: that cannot be written down: {error}"));
    }
    // What is damaged stays so; a full disk does not.
    is_failure.then_some(LOOK_AFTER_FAILURE)
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
pub fn yield_to_others() {
    // SAFETY: of the calling thread alone; a system that refuses leaves it as it was.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, 10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::testing::{Folder, inside, send};
    use std::cell::RefCell;

    #[test]
    fn a_run_that_hodo_fails_on_is_marked_and_the_others_go_on() -> std::io::Result<()> {
        let folder = Folder::new();
        let here = inside(folder.path(), None);
        for run in ["a", "b", "c"] {
            send(&here, run, "p1-a", b"spans");
        }
        let packed = RefCell::new(Vec::new());
        let pack = |_: &Inside, run: &str| {
            assert_ne!(run, "b", "an index is out of range");
            packed.borrow_mut().push(run.to_owned());
            Ok(())
        };
        let mut looks = HashMap::new();
        round(&here, &mut looks, &pack);
        assert_eq!(*packed.borrow(), ["a", "c"]);
        let note = here.depot.entry("b")?.note().unwrap_or_default();
        assert!(note.pack_failure.is_some_and(|why| why.contains("an index is out of range")));
        let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        assert_eq!((count(&here.counters.pack_failures), count(&here.counters.not_packed)), (1, 1));
        // Not again at once; but when more comes, and then it may work.
        round(&here, &mut looks, &pack);
        assert_eq!(count(&here.counters.pack_failures), 1);
        send(&here, "b", "p1-a", b"spans and more");
        let works = |inside: &Inside, run: &str| {
            packed.borrow_mut().push(run.to_owned());
            let entry = inside.depot.entry(run)?;
            let note = entry.note().unwrap_or_default();
            Ok(inside
                .depot
                .write_note(&entry, crate::collect::note::Note { pack_failure: None, ..note })?)
        };
        round(&here, &mut looks, &works);
        assert_eq!(*packed.borrow(), ["a", "c", "b"]);
        assert_eq!(count(&here.counters.not_packed), 0);
        Ok(())
    }

    #[test]
    fn a_run_is_looked_at_when_something_came_of_it() {
        let folder = Folder::new();
        let here = inside(folder.path(), None);
        send(&here, "run", "p1-a", b"spans");
        let looked = RefCell::new(0);
        let pack = |_: &Inside, _: &str| {
            *looked.borrow_mut() += 1;
            Err(NotPacked::NotYet)
        };
        let mut looks = HashMap::new();
        for _ in 0..3 {
            round(&here, &mut looks, &pack);
        }
        assert_eq!(*looked.borrow(), 1, "nothing came since");
        let beat = crate::collect::beat::Beat::done("a");
        assert!(here.depot.tell("run", crate::collect::testing::SENDER, beat).is_ok());
        round(&here, &mut looks, &pack);
        send(&here, "run", "p1-a", b"spans and more");
        round(&here, &mut looks, &pack);
        assert_eq!(*looked.borrow(), 3);
    }
}
