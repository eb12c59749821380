//! Folders that are away for a while: moved, unmounted, on a disk that is not there.

use crate::collector::Collector;
use crate::{PART, Run, end, frames};
use hodo_format::spool::file_header;
use hodo_ship::{Mode, ShipError, State, Status, Watch, ship, status_of};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn is_done(collector: &Collector) -> bool {
    collector.held.lock().unwrap().beats.iter().any(|beat| beat["done"] == true)
}

/// Waits until something is so; false when it cannot be any more.
fn wait_until(is_so: impl Fn() -> bool, is_over: impl Fn() -> bool) -> bool {
    while !is_so() {
        if is_over() {
            return is_so();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

/// Ships a process that lives while `folder` is away for a while, and has more to write then.
fn ship_while_away(run: &Run, folder: &Path) {
    let collector = Collector::start();
    let settings = run.settings(&collector.url, Mode::Follow);
    let (whole, aside) = (frames(1, 3), run.folder.with_file_name("aside"));
    run.write("catalog.hodo", &file_header(7, 0));
    // Half a frame waits for its other half: a file that is away with it is not one that was removed.
    run.write("spool-000001.hodo", &whole[..whole.len() - 7]);
    let waits = AtomicBool::new(false);
    let look = |status: &Status| waits.store(status.state == State::Waiting, Ordering::SeqCst);
    let watch = || ship(&settings, &Watch { progress: &look, is_expecting: &|| false });
    let shipped = std::thread::scope(|scope| {
        let shipper = scope.spawn(watch);
        let is_over = || shipper.is_finished();
        let name = format!("{PART}/spool-000001.hodo");
        assert!(wait_until(|| collector.file(&name).is_some(), is_over));
        std::fs::rename(folder, &aside).unwrap();
        let waited = wait_until(|| waits.load(Ordering::SeqCst), is_over);
        std::fs::rename(&aside, folder).unwrap();
        assert!(waited && !is_done(&collector), "it ended while its process lives");
        run.append("spool-000001.hodo", &whole[whole.len() - 7..]);
        run.append("catalog.hodo", &end());
        shipper.join().unwrap().unwrap()
    });
    assert_eq!((shipped.removed_bytes, shipped.is_live), (0, false));
    assert!(is_done(&collector));
    run.assert_there(&collector);
    assert_eq!(status_of(&run.folder).unwrap().error, None);
}

#[test]
fn a_run_that_is_away_for_a_moment_is_waited_for() {
    let run = Run::new(std::process::id());
    ship_while_away(&run, &run.folder);
}

#[test]
fn a_process_whose_folder_is_away_for_a_moment_is_waited_for() {
    let run = Run::new(std::process::id());
    ship_while_away(&run, &run.process);
}

#[test]
fn a_folder_that_stays_away_is_told_and_its_run_is_not_said_to_be_all_there() {
    for mode in [Mode::Follow, Mode::Once, Mode::Everything] {
        let (run, collector) = (Run::ended(), Collector::start());
        let aside = run.folder.join("aside");
        let mut settings = run.settings(&collector.url, mode);
        settings.give_up_after = Duration::from_millis(300);
        let take_away = |status: &Status| {
            if status.acknowledged_bytes > 1_000_000 {
                let _ = std::fs::rename(&run.process, &aside);
            }
        };
        let watch = Watch { progress: &take_away, is_expecting: &|| false };
        let error = ship(&settings, &watch).unwrap_err();
        assert!(matches!(error, ShipError::Unreadable(_)), "{mode:?}: {error}");
        assert!(error.to_string().contains(PART), "{error}");
        assert!(!is_done(&collector));
        let status = status_of(&run.folder).unwrap();
        assert_eq!((status.state, status.removed_bytes), (State::Stopped, 0));
        assert!(status.backlog_bytes > 0, "{status:?}");
        std::fs::rename(&aside, &run.process).unwrap();
        run.ship(&collector).unwrap();
        run.assert_there(&collector);
        assert!(is_done(&collector));
    }
}

#[test]
fn a_run_that_was_deleted_is_not_waited_for() {
    let (run, collector) = (Run::new(std::process::id()), Collector::start());
    run.write("catalog.hodo", &file_header(7, 0));
    run.write("spool-000001.hodo", &frames(1, 3));
    let waited = AtomicBool::new(false);
    let delete = |status: &Status| {
        waited.fetch_or(status.state == State::Waiting, Ordering::SeqCst);
        if status.acknowledged_bytes > 0 {
            let _ = std::fs::remove_dir_all(&run.folder);
        }
    };
    let settings = run.settings(&collector.url, Mode::Follow);
    let watch = Watch { progress: &delete, is_expecting: &|| false };
    let error = ship(&settings, &watch).unwrap_err();
    assert!(matches!(error, ShipError::Unreadable(_)), "{error}");
    assert!(!waited.into_inner() && !is_done(&collector));
}

#[test]
fn what_was_recorded_of_a_run_that_is_packed_is_not_waited_for() {
    let (run, collector) = (Run::ended(), Collector::start());
    let waited = AtomicBool::new(false);
    let pack = |status: &Status| {
        waited.fetch_or(status.state == State::Waiting, Ordering::SeqCst);
        if status.acknowledged_bytes > 1_000_000 && run.process.exists() {
            std::fs::create_dir_all(run.folder.join("pack")).unwrap();
            std::fs::write(run.folder.join("pack/side.json"), "{}").unwrap();
            std::fs::remove_dir_all(&run.process).unwrap();
        }
    };
    let settings = run.settings(&collector.url, Mode::Follow);
    let error = ship(&settings, &Watch { progress: &pack, is_expecting: &|| false }).unwrap_err();
    assert!(matches!(error, ShipError::Unreadable(_)), "{error}");
    assert!(!waited.into_inner() && !is_done(&collector));
}

#[test]
fn a_process_that_comes_and_goes_while_its_run_is_sent_is_sent_before_this_is_all() {
    for mode in [Mode::Follow, Mode::Once, Mode::Everything] {
        let (run, collector) = (Run::ended(), Collector::start());
        let another = || {
            let folder = run.folder.join("p8-0b");
            if folder.exists() {
                return;
            }
            std::fs::create_dir(&folder).unwrap();
            for name in ["process.json", "catalog.hodo", "spool-000001.hodo"] {
                std::fs::copy(run.process.join(name), folder.join(name)).unwrap();
            }
        };
        // The last of the run is there, and the round is not over.
        let look = |status: &Status| {
            if status.acknowledged_bytes > 0 && status.backlog_bytes == 0 {
                another();
            }
        };
        let watch = Watch { progress: &look, is_expecting: &|| false };
        ship(&run.settings(&collector.url, mode), &watch).unwrap();
        assert!(is_done(&collector), "{mode:?}");
        assert!(collector.file("p8-0b/spool-000001.hodo").is_some(), "{mode:?}");
    }
}
