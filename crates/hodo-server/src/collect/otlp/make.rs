//! Makes the runs that are shown of the logs.

use super::log::{Requests, path};
use super::{LOGS, MOST_BYTES, PREFIX, clear, folder, is_id, lock, measure, open};
use crate::collect::Inside;
use crate::collect::durable;
use crate::collect::janitor::{guarded, tell};
use crate::collect::pack::{NotPacked, check_memory};
use crate::collect::remove::now;
use crate::collect::tries::Tries;
use crate::memory;
use hodo_convert::import::{OtlpRun, otlp_run};
use serde::Deserialize;
use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Weak;
use std::time::{Duration, Instant};

/// Between two rounds.
const PAUSE: Duration = Duration::from_millis(500);
/// A run is not made again sooner than so many times what it took.
const PATIENCE: u32 = 4;
/// What failed is tried again after so long: there may be memory, or room on the disk.
const AGAIN: Duration = Duration::from_secs(60);

/// Memory for a span of a run: its id among all, and that it was written.
const SPAN_BYTES: u64 = 256;
/// Memory for a byte of a request that is unfolded.
const REQUEST_BYTE_BYTES: u64 = 12;

/// How many bytes of a log its run shows at the least, in the log's folder.
const MADE: &str = "made";
/// How often making it began and was not heard of again, and when it is tried again.
const TRIES: &str = "tries";

/// Works until the collector is gone.
pub fn work(inside: &Weak<Inside>) {
    let mut maker = Maker::default();
    if let Some(inside) = inside.upgrade()
        && let Err(error) = find_unmade(&inside)
    {
        tell(&format!("cannot look for spans that were sent: {error}"));
    }
    loop {
        std::thread::sleep(PAUSE);
        let Some(inside) = inside.upgrade() else { return };
        maker.round(&inside, &make);
    }
}

/// What makes a run of the service of that name.
type Make<'a> = &'a dyn Fn(&Inside, &str, &str) -> Result<(), NotPacked>;

#[derive(Default)]
struct Maker {
    /// When runs may be made again.
    next: HashMap<String, Instant>,
    /// What was told of those that cannot be made.
    told: HashMap<String, String>,
}

impl Maker {
    fn round(&mut self, inside: &Inside, make: Make<'_>) {
        let waiting = lock(&inside.logs.dirty).clone();
        self.next.retain(|_, at| *at > Instant::now());
        for (run, app) in waiting {
            if self.next.contains_key(&run) {
                continue;
            }
            // What comes while it is made makes it wait again.
            lock(&inside.logs.dirty).remove(&run);
            let began = Instant::now();
            let wait = match guarded(|| make(inside, &run, &app)) {
                Ok(()) => {
                    self.told.remove(&run);
                    began.elapsed() * PATIENCE
                }
                Err(error) => {
                    let wait = if let NotPacked::Wait(_, left) = error { left } else { AGAIN };
                    self.failed(&run, error.to_string());
                    lock(&inside.logs.dirty).entry(run.clone()).or_insert(app);
                    wait
                }
            };
            self.next.insert(run, Instant::now() + wait);
        }
    }

    fn failed(&mut self, run: &str, why: String) {
        if self.told.get(run) != Some(&why) {
            tell(&format!("{run} cannot be shown as it is now: {why}"));
            self.told.insert(run.to_owned(), why);
        }
    }
}

/// What a run of spans says of itself.
#[derive(Default, Deserialize)]
#[serde(default)]
struct About {
    left_out: u64,
}

/// Runs whose log has more than is shown, as a kill may leave them.
fn find_unmade(inside: &Inside) -> io::Result<()> {
    let Ok(logs) = std::fs::read_dir(inside.depot.dir().join(LOGS)) else { return Ok(()) };
    for log in logs {
        let run = log?.file_name().to_string_lossy().into_owned();
        if run.starts_with('.') {
            // It was being removed.
            clear(&folder(inside, &run))?;
            continue;
        }
        measure(inside, &run);
        let (log, shown) = (folder(inside, &run), inside.depot.folder(&run));
        let about = std::fs::read(shown.join("run.json")).unwrap_or_default();
        let about: About = serde_json::from_slice(&about).unwrap_or_default();
        note_left_out(inside, &run, about.left_out);
        let made = std::fs::read_to_string(log.join(MADE)).ok();
        let length = there(&log).map(|file| file.len());
        let is_made = made.is_some_and(|made| made.parse().ok() == length);
        if is_id(&run) && !(is_made && shown.exists()) {
            let in_id = run.strip_prefix(PREFIX).unwrap_or(&run).rsplitn(3, '-').nth(2);
            let app = open::app(&log).or_else(|| in_id.map(str::to_owned));
            lock(&inside.logs.dirty).insert(run.clone(), app.unwrap_or_else(|| run.clone()));
        }
    }
    Ok(())
}

fn note_left_out(inside: &Inside, run: &str, spans: u64) {
    let mut left_out = lock(&inside.logs.left_out);
    match spans {
        0 => left_out.remove(run),
        _ => left_out.insert(run.to_owned(), spans),
    };
}

fn make(inside: &Inside, run: &str, app: &str) -> Result<(), NotPacked> {
    let log = folder(inside, run);
    // Open until it is compared: one that takes its place has another inode then.
    let held = match File::open(path(&log)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        held => held?,
    };
    let before = held.metadata()?;
    let whole = inside.logs.open.whole(run, &log)?;
    check_memory(needed_bytes(whole.spans, before.len()), memory::room(), "")?;
    begin_try(inside, run)?;
    let made = guarded(|| make_beside(inside, run, app, whole.spoilt));
    end_try(inside, run)?;
    let left_out = made?;
    let entry = inside.depot.entry(run)?;
    let _alone = entry.alone();
    // A run that was removed while it was made does not come back, and another log makes another.
    if there(&log).is_none_or(|now| now.ino() != before.ino()) {
        std::fs::remove_dir_all(inside.depot.packing(run))?;
        return Ok(());
    }
    inside.depot.put_made(run, &inside.depot.packing(run))?;
    durable::replace(&log.join(MADE), before.len().to_string().as_bytes())?;
    note_left_out(inside, run, left_out);
    measure(inside, run);
    Ok(())
}

/// Makes the run of a log where packed runs are made, durably; returns how many spans it leaves out,
/// with those that are spoilt in the log.
fn make_beside(inside: &Inside, run: &str, app: &str, spoilt: u64) -> Result<u64, NotPacked> {
    let (log, new) = (folder(inside, run), inside.depot.packing(run));
    match std::fs::remove_dir_all(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => std::fs::create_dir(&new)?,
    }
    let about = OtlpRun { id: run, app, most_spans: inside.logs.most_spans as usize, spoilt };
    let made = otlp_run(|| Requests::open(&log), &new, &about);
    let made = made.map_err(|error| NotPacked::Failed(error.to_string()))?;
    // Nobody waits while that takes long.
    durable::sync_all(&new)?;
    Ok(made.left_out)
}

/// What making a run takes of memory, at the most: what is known of each span, and one request.
fn needed_bytes(spans: u64, log_bytes: u64) -> u64 {
    spans * SPAN_BYTES + log_bytes.min(MOST_BYTES as u64) * REQUEST_BYTE_BYTES
}

/// Writes down that making a run begins, so that a collector which does not survive it knows.
fn begin_try(inside: &Inside, run: &str) -> Result<(), NotPacked> {
    let (tries, wait) = tries(inside, run).begin(now().as_secs());
    if wait.is_none() {
        *lock(&inside.logs.making) = Some(run.to_owned());
    }
    set_tries(inside, run, tries)?;
    wait.map_or(Ok(()), |left| Err(NotPacked::Wait(tries.count, left)))
}

/// It was survived.
fn end_try(inside: &Inside, run: &str) -> io::Result<()> {
    *lock(&inside.logs.making) = None;
    match std::fs::remove_file(folder(inside, run).join(TRIES)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A collector that is told to end while it makes a run has not died of it.
pub fn forgive(inside: &Inside) -> io::Result<()> {
    match lock(&inside.logs.making).take() {
        Some(run) => set_tries(inside, &run, tries(inside, &run).forgiven()),
        None => Ok(()),
    }
}

fn tries(inside: &Inside, run: &str) -> Tries {
    let text = std::fs::read_to_string(folder(inside, run).join(TRIES)).unwrap_or_default();
    let (count, next_s) = text.split_once(' ').unwrap_or_default();
    Tries { count: count.parse().unwrap_or(0), next_s: next_s.parse().unwrap_or(0) }
}

fn set_tries(inside: &Inside, run: &str, tries: Tries) -> io::Result<()> {
    let text = format!("{} {}", tries.count, tries.next_s);
    match durable::replace(&folder(inside, run).join(TRIES), text.as_bytes()) {
        // The log was removed meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        written => written,
    }
}

/// What the system says of the log in a folder; nothing where there is none.
fn there(log: &Path) -> Option<Metadata> {
    path(log).metadata().ok()
}

#[cfg(test)]
mod tests {
    use super::super::batch::{Batch, keep};
    use super::super::remove;
    use super::*;
    use crate::collect::CollectorOptions;
    use crate::collect::guard::Caller;
    use crate::collect::remove::{Keep, Wanted, is_there, make_room, remove_run};
    use crate::collect::silence::silent_for;
    use crate::collect::testing::{Folder, inside, inside_with};
    use crate::collect::tries::MOST_TRIES;
    use hodo_convert::otlp::proto::{Request, ResourceSpans, ScopeSpans, Span};
    use std::cell::RefCell;

    const RUN: &str = "otlp~llm_api-20231114-00";

    /// Sends a span of a service whose name is no id.
    fn send(here: &Inside, id: u8) {
        let span = Span { trace_id: vec![1; 16], span_id: vec![id; 8], ..Span::default() };
        let scope_spans = vec![ScopeSpans { scope: None, spans: vec![span] }];
        let spans = Request { resource_spans: vec![ResourceSpans { resource: None, scope_spans }] };
        let batch = Batch::new(RUN.to_owned(), "llm api".to_owned(), &spans);
        assert!(keep(here, vec![batch], &Caller::testing("owner")).is_ok_and(|no| no.is_none()));
    }

    fn about(here: &Inside) -> String {
        std::fs::read_to_string(here.depot.folder(RUN).join("run.json")).unwrap_or_default()
    }

    #[test]
    fn a_run_is_not_made_again_at_once_and_what_failed_is_tried_later() {
        let folder = Folder::new();
        let here = inside(folder.path(), None);
        let (count, fails) = (RefCell::new(0), RefCell::new(false));
        let make = |_: &Inside, _: &str, _: &str| {
            *count.borrow_mut() += 1;
            match *fails.borrow() {
                true => Err(NotPacked::Failed("no memory".to_owned())),
                // So that what it is left alone for is longer than this test.
                false => Err(NotPacked::Wait(3, Duration::from_secs(3600))),
            }
        };
        let mut maker = Maker::default();
        for _ in 0..3 {
            send(&here, 1);
            maker.round(&here, &make);
        }
        assert_eq!(*count.borrow(), 1, "it has its time to wait");
        // Also where nothing came for a round.
        let dirty = std::mem::take(&mut *lock(&here.logs.dirty));
        maker.round(&here, &make);
        *lock(&here.logs.dirty) = dirty;
        maker.round(&here, &make);
        assert_eq!(*count.borrow(), 1);
        maker.next.clear();
        *fails.borrow_mut() = true;
        maker.round(&here, &make);
        assert_eq!(*count.borrow(), 2);
        assert!(lock(&here.logs.dirty).contains_key(RUN), "it is not forgotten");
    }

    #[test]
    fn a_run_made_after_a_restart_has_the_name_of_its_service() -> io::Result<()> {
        let folder = Folder::new();
        let here = inside(folder.path(), None);
        send(&here, 1);
        drop(here);
        let here = inside(folder.path(), None);
        find_unmade(&here)?;
        assert_eq!(lock(&here.logs.dirty).get(RUN).map(String::as_str), Some("llm api"));
        Maker::default().round(&here, &make);
        assert!(about(&here).contains(r#""app":"llm api""#), "{}", about(&here));
        assert!(!super::folder(&here, RUN).join(TRIES).exists(), "it was survived");
        Ok(())
    }

    #[test]
    fn a_run_that_is_removed_while_it_is_made_does_not_come_back() -> Result<(), NotPacked> {
        let folder = Folder::new();
        let here = inside(folder.path(), None);
        send(&here, 1);
        make(&here, RUN, "llm api")?;
        assert!(remove_run(&here, RUN)?.is_some());
        assert!(!here.depot.folder(RUN).exists());
        make(&here, RUN, "llm api")?;
        assert!(!here.depot.folder(RUN).exists() && !super::folder(&here, RUN).exists());
        // Its log goes in the middle: whoever removes it has its turn before the run is put in place.
        send(&here, 2);
        let entry = here.depot.entry(RUN)?;
        let alone = entry.alone();
        std::thread::scope(|scope| {
            let making = scope.spawn(|| make(&here, RUN, "llm api"));
            let made = here.depot.packing(RUN).join("run.json");
            while !made.exists() && !making.is_finished() {
                std::thread::yield_now();
            }
            remove(&here, RUN, &|| true)?;
            drop(alone);
            making.join().unwrap_or(Err(NotPacked::NotYet))
        })?;
        assert!(!here.depot.folder(RUN).exists() && !here.depot.packing(RUN).exists());
        Ok(())
    }

    #[test]
    fn a_run_that_cannot_be_made_makes_room_and_can_be_removed() -> io::Result<()> {
        let folder = Folder::new();
        let mut options = CollectorOptions::local(folder.path());
        options.max_bytes = Some(100_000);
        let here = inside_with(&options, None);
        let keep = Keep { age: None, quiet_after: Duration::ZERO };
        for by_hand in [true, false] {
            send(&here, 1);
            std::fs::write(here.depot.packing(RUN), "no folder")?;
            assert!(make(&here, RUN, "llm api").is_err() && !here.depot.folder(RUN).exists());
            assert!(is_there(&here, RUN)? && here.depot.usage.of(RUN) > 0);
            match by_hand {
                true => assert!(remove_run(&here, RUN)?.is_some_and(|bytes| bytes > 0)),
                false => {
                    let wanted = Wanted { headroom: 100_000, refused: 0 };
                    assert_eq!(make_room(&here, keep, wanted)?.len(), 1);
                }
            }
            assert!(!is_there(&here, RUN)? && !super::folder(&here, RUN).exists());
            assert_eq!(here.depot.usage.total(), 0);
        }
        Ok(())
    }

    #[test]
    fn a_run_that_spans_still_come_for_is_not_silent() -> Result<(), NotPacked> {
        let folder = Folder::new();
        let here = inside(folder.path(), None);
        send(&here, 1);
        make(&here, RUN, "llm api")?;
        let long_ago = std::time::SystemTime::now() - Duration::from_secs(3600);
        for file in std::fs::read_dir(here.depot.folder(RUN))? {
            File::open(file?.path())?.set_modified(long_ago)?;
        }
        send(&here, 2);
        assert!(silent_for(&here, RUN) < Duration::from_secs(3600));
        // And after a restart by what its log says.
        drop(here);
        let here = inside(folder.path(), None);
        assert!(silent_for(&here, RUN) < Duration::from_secs(3600));
        File::open(path(&super::folder(&here, RUN)))?.set_modified(long_ago)?;
        assert!(silent_for(&here, RUN) >= Duration::from_secs(3600));
        Ok(())
    }

    #[test]
    fn a_run_whose_removal_is_cut_is_not_made_again() -> Result<(), NotPacked> {
        let folder = Folder::new();
        let here = inside(folder.path(), None);
        send(&here, 1);
        make(&here, RUN, "llm api")?;
        // What it would be moved to before it goes cannot be cleared.
        std::fs::write(here.depot.aside(RUN), "no folder")?;
        assert!(remove_run(&here, RUN).is_err());
        std::fs::create_dir(super::folder(&here, ".other.gone"))?;
        std::fs::remove_dir_all(here.depot.folder(RUN))?;
        drop(here);
        let here = inside(folder.path(), None);
        find_unmade(&here)?;
        assert!(lock(&here.logs.dirty).is_empty(), "its log is there");
        assert_eq!(std::fs::read_dir(folder.path().join(LOGS))?.count(), 0, "and what was going");
        Ok(())
    }

    #[test]
    fn a_log_that_a_collector_did_not_survive_is_tried_less_and_less_often() -> io::Result<()> {
        let folder = Folder::new();
        for start in 0..MOST_TRIES {
            let here = inside(folder.path(), None);
            send(&here, 1);
            assert!(begin_try(&here, RUN).is_ok(), "start {start}");
        }
        let here = inside(folder.path(), None);
        let why = make(&here, RUN, "llm api").map_err(|why| why.to_string());
        assert!(why.is_err_and(|why| why.contains("ended 3 times")));
        assert!(!here.depot.folder(RUN).exists());
        set_tries(&here, RUN, Tries { count: MOST_TRIES, next_s: 1 })?;
        assert!(begin_try(&here, RUN).is_ok(), "its time has come");
        forgive(&here)?;
        assert_eq!(tries(&here, RUN).count, MOST_TRIES, "who is told to end has not died of it");
        Ok(())
    }

    #[test]
    fn what_a_run_leaves_out_is_counted_also_after_a_restart() -> Result<(), NotPacked> {
        let folder = Folder::new();
        let here = inside(folder.path(), None);
        // Zeros are no id of a span.
        send(&here, 0);
        send(&here, 1);
        make(&here, RUN, "llm api")?;
        assert_eq!(here.logs.left_out(), 1);
        drop(here);
        let here = inside(folder.path(), None);
        find_unmade(&here)?;
        assert_eq!(here.logs.left_out(), 1);
        assert!(remove_run(&here, RUN)?.is_some());
        assert_eq!(here.logs.left_out(), 0);
        Ok(())
    }

    #[test]
    fn spans_behind_a_spoilt_byte_are_shown_and_those_in_it_counted() -> Result<(), NotPacked> {
        let folder = Folder::new();
        let here = inside(folder.path(), None);
        (1..=3).for_each(|id| send(&here, id));
        drop(here);
        let log = folder.path().join(LOGS).join(RUN);
        let mut bytes = std::fs::read(path(&log))?;
        bytes[20] ^= 1;
        std::fs::write(path(&log), &bytes)?;
        let here = inside(folder.path(), None);
        send(&here, 4);
        make(&here, RUN, "llm api")?;
        let run = hodo_trace::Run::summary(&here.depot.folder(RUN));
        assert_eq!(run.spans, Some(3), "{}", about(&here));
        assert!(about(&here).contains("1 spans or more"), "{}", about(&here));
        assert_eq!(here.logs.left_out(), 1);
        Ok(())
    }

    #[test]
    fn making_a_run_of_more_spans_takes_more_memory() {
        assert!(needed_bytes(8 << 20, 4 << 30) > 2 << 30);
        assert!(needed_bytes(1000, 100_000) < 10 << 20);
    }
}
