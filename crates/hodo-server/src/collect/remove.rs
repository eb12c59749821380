//! Removing runs: by hand, by age, and to make room.

use super::depot::Entry;
use super::ingest::{apart, check_run};
use super::janitor::tell;
use super::note::Note;
use super::refusal::Refusal;
use super::silence::{has_ended, heard, is_live, silent_for};
use super::{Collecting, Inside};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use hodo_trace::Run;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// `DELETE /api/runs/{run}`.
pub async fn remove(
    State(collecting): State<Collecting>,
    Path(run): Path<String>,
) -> Result<Json<Value>, Refusal> {
    if !super::otlp::is_id(&run) {
        check_run(&run)?;
    }
    apart(move || {
        if !is_there(&collecting, &run)? {
            let words = format!("no run with the id `{run}`; /api/runs lists them");
            return Err(Refusal::new(StatusCode::NOT_FOUND, words));
        }
        match remove_run(&collecting, &run)? {
            Some(bytes) => Ok(Json(json!({"removed_bytes": bytes}))),
            None => {
                let words = format!("{run} is live; it can be removed when it has ended");
                Err(Refusal::new(StatusCode::CONFLICT, words))
            }
        }
    })
    .await
}

/// Whether there is something of a run to remove: a beat alone begins one that no list shows.
pub fn is_there(inside: &Inside, run: &str) -> io::Result<bool> {
    if Run::is_at(&inside.depot.folder(run)) || super::otlp::has_log(inside, run) {
        return Ok(true);
    }
    match inside.depot.known(run) {
        // Nobody can tell what is there, but that something is.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(true),
        entry => {
            let note = entry?.and_then(|entry| entry.note());
            Ok(note.is_some_and(|note| !note.is_going))
        }
    }
}

/// Removes a run and returns what it took; none of one that is live, which stays.
pub fn remove_run(inside: &Inside, run: &str) -> io::Result<Option<u64>> {
    remove_if(inside, run, &|| true)
}

/// The same if it may go, which is asked when nothing more can come of it.
fn remove_if(inside: &Inside, run: &str, may_go: &dyn Fn() -> bool) -> io::Result<Option<u64>> {
    let depot = &inside.depot;
    let entry = match depot.entry(run) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            if is_live(inside, run) || !may_go() {
                return Ok(None);
            }
            let aside = depot.set_note_aside(run, inside.remote.is_some())?;
            tell(&format!(
                "{run} is removed, and {} is what was its note: {error}",
                aside.display()
            ));
            depot.entry(run)?
        }
        entry => entry?,
    };
    let _alone = entry.alone();
    if let Err(error) = depot.settle_alone(&entry) {
        tell(&format!("{run} is removed as it lies there, since it cannot be settled: {error}"));
    }
    if is_live(inside, run) || !may_go() {
        return Ok(None);
    }
    let bytes = depot.usage.of(run);
    if let Some(note) = entry.note().filter(|note| !note.is_going) {
        // From here on it goes, whatever fails or is killed: what is left is removed later.
        let going = match note.may_be_elsewhere() {
            true => super::remote::names(&depot.folder(run))?,
            false => Vec::new(),
        };
        let going = Note { is_going: true, going, is_returning: false, swap: None, ..note };
        depot.write_note(&entry, going)?;
    }
    // First: of a log that is there a start makes the run again.
    if super::otlp::is_id(run) && !super::otlp::remove(inside, run, may_go)? {
        return Ok(None);
    }
    depot.clear(run)?;
    inside.shared.store.forget(run);
    inside.counters.removed.fetch_add(1, Ordering::Relaxed);
    inside.counters.removed_bytes.fetch_add(bytes, Ordering::Relaxed);
    if let Err(error) = finish(inside, &entry) {
        tell(&format!("{run} is removed here and not in the store yet: {error}"));
    }
    Ok(Some(bytes))
}

/// Removes what is left of runs whose removal failed half way, as in a store that was not reached.
pub fn remove_rest(inside: &Inside, run: &str) -> io::Result<()> {
    let entry = inside.depot.entry(run)?;
    let _alone = entry.alone();
    if entry.note().is_some_and(|note| note.is_going) {
        inside.depot.clear(run)?;
        finish(inside, &entry)?;
    }
    Ok(())
}

/// A run whose folder is gone goes elsewhere too, and is forgotten.
fn finish(inside: &Inside, entry: &Entry) -> io::Result<()> {
    if let Some(remote) = &inside.remote {
        super::remote::remove(inside, &**remote, entry)?;
    }
    inside.depot.forget(entry)
}

/// How long runs are kept.
#[derive(Clone, Copy, Debug, Default)]
pub struct Keep {
    /// So long after they were heard of last.
    pub age: Option<Duration>,
    /// How long a run is silent before it counts as ended.
    pub quiet_after: Duration,
}

/// A run that someone asked for so lately stays here: the next question about it comes soon.
const READ_LATELY: Duration = Duration::from_secs(300);
/// Where a shipper waits for room it stays only so long, in which most questions are answered.
const BEING_READ: Duration = Duration::from_secs(15);

/// What there is to be room for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    /// Bytes that are kept free.
    pub headroom: u64,
    /// Bytes that a shipper was refused.
    pub refused: u64,
}

/// Removes runs that are too old, and then the oldest until what is wanted fits; tells which. Where
/// there is a store elsewhere, those that it has are let go of here, and only what it will never have
/// is removed.
pub fn make_room(inside: &Inside, keep: Keep, wanted: Wanted) -> io::Result<Vec<String>> {
    let mut told = Vec::new();
    let is_old = |run: &str| keep.age.is_some_and(|most| silent_for(inside, run) > most);
    let may_go = |run: &str| has_ended(inside, run, keep.quiet_after);
    let (old, rest): (Vec<_>, Vec<_>) =
        ended_runs(inside, keep.quiet_after)?.into_iter().partition(|(_, run)| is_old(run));
    for (_, run) in old {
        let is_due = || is_old(&run) && may_go(&run);
        told.extend(removed(inside, &run, &is_due, "it is older than --keep says"));
    }
    let mut rest = in_turn(inside, rest);
    let more = wanted.headroom.max(wanted.refused);
    // What is let go of as soon as nobody reads it has room already, as far as removing others goes.
    let mut soon_free = 0;
    if inside.remote.is_some() {
        told.extend(let_go(inside, &rest, READ_LATELY, more));
        if wanted.refused > 0 {
            told.extend(let_go(inside, &rest, BEING_READ, wanted.refused));
        }
        let is_held = |run: &&String| {
            let note = inside.depot.entry(run).ok().and_then(|entry| entry.note());
            note.is_some_and(|note| note.is_stored && !note.is_away)
        };
        soon_free = rest.iter().filter(is_held).map(|run| inside.depot.usage.of(run)).sum();
        rest.retain(|run| is_never_stored(inside, run));
    }
    // A run whose own shipper waits makes no room for itself: it would be sent again, and wait again.
    for run in rest.iter().filter(|run| !inside.depot.usage.waits_alone(run)) {
        if inside.depot.usage.surplus(more) <= soon_free {
            break;
        }
        told.extend(removed(inside, run, &|| may_go(run), "to make room"));
    }
    Ok(told)
}

/// Removes a run that may go and says so, or why not: the others are in nobody's way.
fn removed(inside: &Inside, run: &str, may_go: &dyn Fn() -> bool, why: &str) -> Option<String> {
    match remove_if(inside, run, may_go) {
        Ok(bytes) => bytes.map(|bytes| format!("removed {run} ({bytes} bytes), {why}")),
        Err(error) => Some(format!("cannot remove {run}: {error}")),
    }
}

/// Lets go of runs that are stored elsewhere and that nobody asked for within `unread`, until `more`
/// bytes fit.
fn let_go(inside: &Inside, runs: &[String], unread: Duration, more: u64) -> Vec<String> {
    let mut told = Vec::new();
    for run in runs.iter().take_while(|_| inside.depot.usage.surplus(more) > 0) {
        match super::remote::free(inside, run, unread) {
            Ok(0) => {}
            Ok(bytes) => told.push(format!("{run} ({bytes} bytes) is in the store alone now")),
            Err(error) => told.push(format!("cannot let go of {run}: {error}")),
        }
    }
    told
}

/// Runs in the order in which they make room: who was neither heard of nor read longest goes first.
fn in_turn(inside: &Inside, mut runs: Vec<(Duration, String)>) -> Vec<String> {
    for (heard, run) in &mut runs {
        let read = inside.depot.entry(run).map(|entry| entry.read()).unwrap_or_default();
        *heard = read.max(*heard);
    }
    runs.sort();
    runs.into_iter().map(|(_, run)| run).collect()
}

/// Whether a run will not be in the store elsewhere: it is made of spans, cannot be packed, was pushed
/// packed, or nothing but beats came of it.
fn is_never_stored(inside: &Inside, run: &str) -> bool {
    let note = inside.depot.entry(run).ok().and_then(|entry| entry.note());
    let folder = inside.depot.folder(run);
    let is_never_packed = || hodo_trace::packed::is_packed(&folder) || !Run::is_at(&folder);
    super::otlp::is_id(run)
        || note.is_some_and(|note| {
            !note.may_be_elsewhere()
                && (note.pack_failure.is_some() || (!note.is_packed && is_never_packed()))
        })
}

/// Runs that have ended: when each was heard of last, and its id.
fn ended_runs(inside: &Inside, quiet_after: Duration) -> io::Result<Vec<(Duration, String)>> {
    let ended = all_runs(inside)?.into_iter().filter(|run| has_ended(inside, run, quiet_after));
    Ok(ended.map(|run| (heard(inside, &run), run)).collect())
}

/// All runs that take room: those of spans have no note, and those that only a beat came of, or that
/// could not be made of their spans, are shown by no list.
fn all_runs(inside: &Inside) -> io::Result<BTreeSet<String>> {
    let shown = inside.shared.store.folders();
    let shown = shown.iter().filter_map(|folder| folder.file_name()?.to_str());
    let noted = inside.depot.noted()?.into_iter();
    // Of one that is being removed only what lies elsewhere is left.
    let is_there = |run: &String| inside.depot.folder(run).exists();
    Ok(shown
        .map(str::to_owned)
        .chain(noted.filter(is_there))
        .chain(super::otlp::logged(inside))
        .collect())
}

/// Time since 1970.
pub fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::CollectorOptions;
    use crate::collect::beat::Beat;
    use crate::collect::testing::{Folder, SENDER, inside, inside_with, send};
    use hodo_format::ship::SHIPPED_FILE;

    #[test]
    fn a_run_that_cannot_be_settled_can_be_removed() -> io::Result<()> {
        let folder = Folder::new();
        let here = inside(folder.path(), None);
        send(&here, "run", "p1-a", b"spans");
        let entry = here.depot.entry("run")?;
        // What is aside of it is no folder that files could be moved to.
        std::fs::create_dir_all(here.depot.folder("run").join("pack"))?;
        std::fs::write(here.depot.folder("run").join("pack/side.json"), "packed")?;
        std::fs::create_dir_all(here.depot.aside("run").join("p1-a/spool-000001.hodo/inside"))?;
        let note = entry.note().unwrap_or_default();
        here.depot.write_note(&entry, Note { is_packed: true, is_returning: true, ..note })?;
        assert!(here.depot.settle(&entry).is_err());
        assert!(remove_run(&here, "run")?.is_some());
        assert!(!here.depot.folder("run").exists() && !here.depot.aside("run").exists());
        assert!(here.depot.noted()?.is_empty());
        assert_eq!(send(&here, "run", "p1-a", b"again"), Some(5));
        Ok(())
    }

    #[test]
    fn with_a_store_only_what_it_will_never_have_is_removed_to_make_room() -> io::Result<()> {
        let (folder, store) = (Folder::new(), Folder::new());
        let remote = crate::collect::remote::open(&format!("file://{}", store.path().display()))?;
        let mut options = CollectorOptions::local(folder.path());
        options.max_bytes = Some(100_000);
        let here = inside_with(&options, Some(remote));
        // What is here already counts when it is looked at again.
        let put = |run: &str, name: &str| {
            let path = here.depot.folder(run).join(name);
            std::fs::create_dir_all(path.parent().unwrap_or(&path))?;
            std::fs::write(path, "{}")?;
            let note = Note::new("owner");
            if !crate::collect::otlp::is_id(run) {
                here.depot.write_note(&*here.depot.entry(run)?, note)?;
            }
            here.depot.count(&*here.depot.entry(run)?);
            Ok::<(), io::Error>(())
        };
        for run in ["waiting", "broken", "pushed", "stored", "otlp~api-20231114-00"] {
            put(run, "run.json")?;
        }
        put("pushed", "pack/side.json")?;
        put("stored", "tables/spans/p1-a.parquet")?;
        let change = |run: &str, change: &dyn Fn(&mut Note)| {
            let entry = here.depot.entry(run)?;
            let mut note = entry.note().unwrap_or_default();
            change(&mut note);
            here.depot.write_note(&entry, note)
        };
        change("broken", &|note| note.pack_failure = Some("damaged".to_owned()))?;
        change("stored", &|note| (note.is_packed, note.is_stored) = (true, true))?;
        let keep = Keep { age: None, quiet_after: Duration::ZERO };
        here.depot.entry("stored")?.was_read(now());
        // As if it were a large one that was brought back.
        here.depot.usage.set("stored", "owner", 1 << 30);
        assert_eq!(
            make_room(&here, keep, Wanted::default())?,
            [""; 0],
            "who reads removes nothing"
        );
        here.depot.usage.set("stored", "owner", 1);
        let wanted = Wanted { headroom: 1 << 20, refused: 0 };
        let told = make_room(&here, keep, wanted)?;
        assert!(here.depot.folder("stored").join("tables").exists(), "it is being read: {told:?}");
        here.depot.entry("stored")?.forget_reading();
        let told: Vec<_> = told.into_iter().chain(make_room(&here, keep, wanted)?).collect();
        let is_there = |run: &str| here.depot.folder(run).exists();
        assert!(is_there("waiting") && is_there("stored"), "{told:?}");
        assert!(!here.depot.folder("stored").join("tables").exists());
        assert!(!is_there("broken") && !is_there("pushed"), "{told:?}");
        assert!(!is_there("otlp~api-20231114-00"), "{told:?}");
        assert_eq!(told.len(), 4);
        Ok(())
    }

    #[test]
    fn runs_that_only_a_beat_came_of_make_room_and_can_be_removed() -> io::Result<()> {
        let folder = Folder::new();
        let mut options = CollectorOptions::local(folder.path());
        options.max_bytes = Some(1 << 20);
        let here = inside_with(&options, None);
        let beat = |run: &str| here.depot.tell(run, SENDER, Beat::done("a")).is_ok();
        let told = (0..1000).take_while(|n| beat(&format!("beat-{n}"))).count();
        assert!(told > 10 && !beat("one-more"), "{told} filled it");
        assert!(is_there(&here, "beat-0")? && !is_there(&here, "beat-x")?);
        assert!(remove_run(&here, "beat-0")?.is_some_and(|bytes| bytes > 0));
        assert!(!is_there(&here, "beat-0")?);
        let keep = Keep { age: None, quiet_after: Duration::ZERO };
        let wanted = Wanted { headroom: 0, refused: 512 << 10 };
        assert!(make_room(&here, keep, wanted)?.len() > 10);
        assert!(beat("one-more"));
        let old = Keep { age: Some(Duration::ZERO), quiet_after: Duration::ZERO };
        make_room(&here, old, Wanted::default())?;
        assert_eq!((here.depot.noted()?.len(), here.depot.usage.total()), (0, 0));
        Ok(())
    }

    #[test]
    fn a_run_that_cannot_be_removed_keeps_no_other_from_making_room() -> io::Result<()> {
        let folder = Folder::new();
        for run in ["a", "b"] {
            send(&inside(folder.path(), None), run, "p1-a", b"spans");
        }
        // What is there in place of its note is no file.
        std::fs::remove_file(folder.path().join("notes/a"))?;
        std::fs::create_dir(folder.path().join("notes/a"))?;
        let mut options = CollectorOptions::local(folder.path());
        options.max_bytes = Some(1);
        let here = inside_with(&options, None);
        let keep = Keep { age: None, quiet_after: Duration::ZERO };
        let told = make_room(&here, keep, Wanted::default())?;
        assert!(told.iter().any(|line| line.starts_with("cannot remove a: ")), "{told:?}");
        assert!(!here.depot.folder("b").exists(), "{told:?}");
        Ok(())
    }

    #[test]
    fn a_run_whose_note_is_damaged_can_be_removed_there_too() -> io::Result<()> {
        let (folder, store) = (Folder::new(), Folder::new());
        let at = format!("file://{}", store.path().display());
        {
            let here = inside(folder.path(), Some(crate::collect::remote::open(&at)?));
            crate::collect::testing::make_packed(&here, "run")?;
            let entry = here.depot.entry("run")?;
            here.depot.write_note(&entry, Note { is_packed: true, ..Note::new("owner") })?;
            let remote = crate::collect::remote::open(&at)?;
            let stored = crate::collect::remote::upload_next(&here, &*remote)?;
            assert_eq!(stored.as_deref(), Some("run"));
            send(&here, "other", "p1-a", b"spans");
        }
        for run in ["run", "other"] {
            std::fs::write(folder.path().join("notes").join(run), "half of")?;
        }
        let here = inside(folder.path(), Some(crate::collect::remote::open(&at)?));
        for run in ["run", "other"] {
            assert!(is_there(&here, run)?);
            assert!(remove_run(&here, run)?.is_some());
            assert!(!is_there(&here, run)? && !here.depot.folder(run).exists());
        }
        assert_eq!(std::fs::read_dir(store.path())?.count(), 0, "in the store too");
        assert!(here.depot.noted()?.is_empty());
        let aside = folder.path().join("notes/.other.damaged");
        assert_eq!(std::fs::read_to_string(aside)?, "half of", "what was there is kept");
        assert_eq!(send(&here, "other", "p1-a", b"again"), Some(5));
        Ok(())
    }

    #[test]
    fn who_was_read_lately_makes_room_last() -> io::Result<()> {
        let folder = Folder::new();
        let here = inside(folder.path(), None);
        let runs = ["a", "b", "c"].map(|run| (Duration::from_secs(1), run.to_owned()));
        here.depot.entry("a")?.was_read(Duration::from_secs(5));
        here.depot.entry("b")?.was_read(Duration::from_secs(3));
        assert_eq!(in_turn(&here, runs.to_vec()), ["c", "b", "a"]);
        Ok(())
    }

    #[test]
    fn what_comes_while_a_run_is_removed_begins_a_whole_one() -> io::Result<()> {
        let folder = Folder::new();
        let here = inside(folder.path(), None);
        let is_over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::SeqCst) {
                        assert_eq!(send(&here, "run", "p1-a", b"spans"), Some(5));
                    }
                });
            }
            let removed = (0..60).try_for_each(|_| {
                remove_run(&here, "run")?;
                let entry = here.depot.entry("run")?;
                let _alone = entry.alone();
                let place = here.depot.folder("run");
                // A run without it would be believed what it says of this machine.
                assert_eq!(place.exists(), entry.note().is_some());
                assert_eq!(place.exists(), place.join(SHIPPED_FILE).exists());
                assert_eq!(place.exists(), here.depot.noted()?.contains("run"));
                Ok::<(), io::Error>(())
            });
            is_over.store(true, Ordering::SeqCst);
            removed
        })
    }
}
