//! Whether runs are live, and how long nothing was heard of them.
//!
//! The time of day may be set while a collector runs, by hours and either way. So what was heard since the
//! start is judged by a clock that nobody sets, and only what was heard before by the time that was
//! written down.

use super::remove::now;
use super::{Inside, otlp};
use hodo_trace::{ProcessState, Run, SILENT_AFTER, Shipped};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Whether a process of the run is running, as far as is known.
pub fn is_live(inside: &Inside, run: &str) -> bool {
    let folder = inside.depot.folder(run);
    let Some(shipped) = Shipped::read(&folder) else {
        return Run::summary(&folder).state == Some(ProcessState::Live);
    };
    let entry = inside.depot.known(run).ok().flatten();
    // Who told nothing since a start that is long ago is silent, whatever the time of day was then.
    let since_start = Some(inside.began.elapsed()).filter(|ago| *ago > SILENT_AFTER);
    shipped.is_live_by(|host| entry.as_ref().and_then(|entry| entry.told_ago(host)).or(since_start))
}

/// Whether a run has ended: all of it was shipped, or nothing was heard of it for `quiet_after`, in which
/// there was a collector to hear it.
pub fn has_ended(inside: &Inside, run: &str, quiet_after: Duration) -> bool {
    let is_done = || {
        let shipped = Shipped::read(&inside.depot.folder(run));
        shipped.is_some_and(|shipped| shipped.is_done())
    };
    (is_quiet(inside, run, quiet_after) || is_done()) && !is_live(inside, run)
}

/// Whether nothing was heard of a run for `quiet_after`, in which there was a collector to hear it.
pub fn is_quiet(inside: &Inside, run: &str, quiet_after: Duration) -> bool {
    silent_for(inside, run).min(inside.began.elapsed()) > quiet_after
}

/// How long nothing was heard of a run.
pub fn silent_for(inside: &Inside, run: &str) -> Duration {
    let heard_ago = match otlp::is_id(run) {
        true => inside.logs.heard_ago(run),
        false => inside.depot.known(run).ok().flatten().and_then(|entry| entry.quiet()),
    };
    // What was heard before the start was not heard after now, whatever the time of day was then.
    let by_time_of_day =
        || now().checked_sub(heard(inside, run)).unwrap_or_else(|| inside.began.elapsed());
    heard_ago.unwrap_or_else(by_time_of_day)
}

/// Time since 1970 when a run was heard of last: when its shippers told of it, when spans came, or else
/// when its files were written.
pub fn heard(inside: &Inside, run: &str) -> Duration {
    let folder = inside.depot.folder(run);
    let told = Shipped::read(&folder).map(|shipped| Duration::from_nanos(shipped.heard_ns()));
    let logged = || otlp::is_id(run).then(|| otlp::log_written(inside, run)).flatten();
    told.or_else(|| logged().map(since_1970)).unwrap_or_else(|| written(&folder))
}

fn written(folder: &Path) -> Duration {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let times = files.filter_map(|file| file.metadata().ok()?.modified().ok());
    times.max().map(since_1970).unwrap_or_default()
}

fn since_1970(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::CollectorOptions;
    use crate::collect::beat::Beat;
    use crate::collect::remove::{Keep, Wanted, make_room, remove_run};
    use crate::collect::testing::{Folder, SENDER, inside, inside_with, send};
    use hodo_format::ship::SHIPPED_FILE;
    use std::io;

    const DAY: Duration = Duration::from_secs(24 * 3600);
    const KEEP: Keep = Keep { age: Some(DAY), quiet_after: Duration::from_secs(600) };

    /// Sends a piece of a run, and that its process runs.
    fn ship(here: &Inside, run: &str) {
        send(here, run, "p1-a", b"spans");
        let beat = Beat::parse(br#"{"host":"a","processes":[{"part":"p1-a","live":true}]}"#);
        assert!(beat.is_ok_and(|beat| here.depot.tell(run, SENDER, beat).is_ok()));
    }

    /// As if the time of day had been set since the run was heard of.
    fn set_clock(here: &Inside, run: &str, change: impl Fn(u64) -> u64) -> io::Result<()> {
        let folder = here.depot.folder(run);
        let mut shipped = Shipped::read(&folder).unwrap_or_default();
        shipped.begun_ns = change(shipped.begun_ns);
        shipped.hosts.values_mut().for_each(|host| host.heard_ns = change(host.heard_ns));
        std::fs::write(folder.join(SHIPPED_FILE), serde_json::to_vec(&shipped)?)
    }

    fn forward(ns: u64) -> u64 {
        ns - 100 * DAY.as_nanos() as u64
    }

    fn backward(ns: u64) -> u64 {
        ns + 100 * DAY.as_nanos() as u64
    }

    fn has_run_for_an_hour(here: &mut std::sync::Arc<Inside>) {
        if let Some(began) = std::sync::Arc::get_mut(here).map(|here| &mut here.began) {
            *began = began.checked_sub(DAY / 24).unwrap_or(*began);
        }
    }

    /// A collector with little room and one run, which ended and now counts as silent; its shipper says so.
    fn small_with_one_that_ended(folder: &Folder) -> (std::sync::Arc<Inside>, Keep) {
        let mut options = CollectorOptions::local(folder.path());
        options.max_bytes = Some(24_000);
        let mut here = inside_with(&options, None);
        has_run_for_an_hour(&mut here);
        ship(&here, "run");
        let since = std::time::Instant::now();
        let end = br#"{"host":"a","processes":[{"part":"p1-a","live":false}]}"#;
        assert!(Beat::parse(end).is_ok_and(|beat| here.depot.tell("run", SENDER, beat).is_ok()));
        (here, Keep { age: None, quiet_after: since.elapsed() })
    }

    #[test]
    fn a_live_run_stays_where_a_full_collector_has_no_room_for_its_news() -> io::Result<()> {
        let folder = Folder::new();
        let mut here = inside_with(&CollectorOptions::local(folder.path()), None);
        ship(&here, "run");
        drop(here);
        let mut options = CollectorOptions::local(folder.path());
        options.max_bytes = Some(1);
        here = inside_with(&options, None);
        has_run_for_an_hour(&mut here);
        let news = br#"{"host":"a","processes":[{"part":"p1-a","live":true},{"part":"p2-a","live":true}]}"#;
        assert!(Beat::parse(news).is_ok_and(|beat| here.depot.tell("run", SENDER, beat).is_err()));
        set_clock(&here, "run", forward)?;
        assert!(is_live(&here, "run"), "it was heard, though nothing of it was kept");
        let stranger = br#"{"host":"b","processes":[]}"#;
        assert!(
            Beat::parse(stranger).is_ok_and(|beat| here.depot.tell("run", SENDER, beat).is_err())
        );
        assert_eq!(make_room(&here, KEEP, Wanted::default())?, [""; 0]);
        Ok(())
    }

    #[test]
    fn a_run_that_tells_a_full_collector_of_its_end_can_go() -> io::Result<()> {
        let folder = Folder::new();
        ship(&inside_with(&CollectorOptions::local(folder.path()), None), "run");
        let mut options = CollectorOptions::local(folder.path());
        options.max_bytes = Some(1);
        let mut here = inside_with(&options, None);
        has_run_for_an_hour(&mut here);
        // A process that came and went is news too, which is not kept.
        let end = br#"{"host":"a","processes":[{"part":"p1-a","live":false},{"part":"p2-a","live":false}]}"#;
        assert!(Beat::parse(end).is_ok_and(|beat| here.depot.tell("run", SENDER, beat).is_err()));
        set_clock(&here, "run", forward)?;
        assert!(!is_live(&here, "run") && remove_run(&here, "run")?.is_some());
        Ok(())
    }

    #[test]
    fn a_run_that_ended_makes_room_though_its_shipper_waits_for_room_and_says_so() -> io::Result<()>
    {
        let folder = Folder::new();
        let (here, keep) = small_with_one_that_ended(&folder);
        assert!(send(&here, "other", "p1-a", &[1; 9000]).is_none(), "it is full");
        let wanted = Wanted { headroom: 0, refused: here.depot.usage.wanted() };
        let told = make_room(&here, keep, wanted)?;
        assert!(told.len() == 1 && told[0].starts_with("removed run"), "{told:?}");
        assert!(send(&here, "other", "p1-a", &[1; 9000]).is_some());
        Ok(())
    }

    #[test]
    fn a_run_that_waits_for_room_is_not_removed_to_make_it() -> io::Result<()> {
        let folder = Folder::new();
        let (here, keep) = small_with_one_that_ended(&folder);
        assert!(send(&here, "run", "p2-a", &[1; 9000]).is_none(), "it is full");
        let room = || {
            let wanted = Wanted { headroom: 1200, refused: here.depot.usage.wanted() };
            make_room(&here, keep, wanted)
        };
        assert_eq!((room()?, room()?), (vec![], vec![]), "it would have to be sent again");
        assert!(send(&here, "other", "p1-a", &[1; 9000]).is_none(), "it is full");
        assert_eq!(room()?.len(), 1);
        assert!(send(&here, "other", "p1-a", &[1; 9000]).is_some());
        Ok(())
    }

    #[test]
    fn a_live_run_stays_when_the_clock_is_set_forward() -> io::Result<()> {
        let folder = Folder::new();
        let mut options = CollectorOptions::local(folder.path());
        options.max_bytes = Some(1);
        let mut here = inside_with(&CollectorOptions::local(folder.path()), None);
        ship(&here, "run");
        drop(here);
        here = inside_with(&options, None);
        has_run_for_an_hour(&mut here);
        let beat = Beat::parse(br#"{"host":"a","processes":[{"part":"p1-a","live":true}]}"#);
        assert!(beat.is_ok_and(|beat| here.depot.tell("run", SENDER, beat).is_ok()));
        set_clock(&here, "run", forward)?;
        assert_eq!(make_room(&here, KEEP, Wanted::default())?, [""; 0]);
        assert!(is_live(&here, "run") && remove_run(&here, "run")?.is_none(), "not by hand either");
        assert!(!has_ended(&here, "run", Duration::ZERO) && here.depot.folder("run").exists());
        Ok(())
    }

    #[test]
    fn what_was_sent_a_moment_ago_is_not_old_when_the_clock_is_set_forward() -> io::Result<()> {
        let folder = Folder::new();
        let here = inside(folder.path(), None);
        send(&here, "run", "p1-a", b"spans");
        assert!(here.depot.tell("run", SENDER, Beat::done("a")).is_ok());
        set_clock(&here, "run", forward)?;
        assert_eq!(make_room(&here, KEEP, Wanted::default())?, [""; 0]);
        assert!(silent_for(&here, "run") < DAY && here.depot.folder("run").exists());
        Ok(())
    }

    #[test]
    fn a_run_falls_silent_when_the_clock_was_set_backward() -> io::Result<()> {
        let folder = Folder::new();
        ship(&inside(folder.path(), None), "run");
        let mut here = inside(folder.path(), None);
        set_clock(&here, "run", backward)?;
        assert!(!is_quiet(&here, "run", KEEP.quiet_after), "the collector has just begun");
        let began = std::sync::Arc::get_mut(&mut here).map(|here| &mut here.began);
        let Some(began) = began else { return Err(io::Error::other("it is shared")) };
        let Some(long_ago) = began.checked_sub(2 * KEEP.quiet_after) else { return Ok(()) };
        *began = long_ago;
        assert!(!is_live(&here, "run") && has_ended(&here, "run", KEEP.quiet_after));
        assert!(remove_run(&here, "run")?.is_some());
        Ok(())
    }
}
