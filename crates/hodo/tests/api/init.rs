use crate::support::alone;
use hodo::{Config, Flushed, Started};
use std::time::Duration;

fn config(dir: &tempfile::TempDir) -> Config {
    Config { dir: Some(dir.path().into()), share_run: false, ..Config::default() }
}

#[test]
fn only_the_first_recording_stops_the_recorder() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let first = hodo::init(config(&dir));
    let second = hodo::init(config(&dir));
    assert_eq!((first.started(), second.started()), (&Started::On, &Started::Already));
    drop(second);
    assert!(hodo::is_on() && hodo::scope!("still on").is_recorded());
    drop(first);
    assert!(!hodo::is_on() && !hodo::scope!("off").is_recorded());
}

#[test]
fn a_recording_that_is_kept_goes_on() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    hodo::init(config(&dir)).keep();
    assert!(hodo::is_on());
    assert_eq!(hodo::flush(Duration::from_secs(60)), Flushed::Done);
    assert_eq!(hodo::shutdown(), Flushed::Done);
    assert!(!hodo::is_on());
}

#[test]
fn a_child_process_is_told_the_run_and_the_scope() {
    let _alone = alone();
    assert_eq!(hodo::child_env(), []);
    let dir = tempfile::tempdir().unwrap();
    let _recording = hodo::init(config(&dir));
    let s = hodo::scope!("parent");
    let variables = hodo::child_env();
    let run = hodo::health().run.unwrap().display().to_string();
    let parent = s.id().unwrap().to_string();
    assert_eq!(variables, [("HODO_RUN", run), ("HODO_PARENT", parent)]);
}

#[test]
fn a_scope_of_an_earlier_recording_closes_nothing_of_a_later_one() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let first = hodo::init(config(&dir));
    let old = hodo::scope!("old");
    drop(first);
    let _second = hodo::init(config(&dir));
    let new = hodo::scope!("new");
    drop(old);
    assert_eq!(hodo::current(), new.id());
}

#[cfg(feature = "log")]
mod warnings {
    use super::*;
    use std::sync::Mutex;

    static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());

    struct Keep;

    impl log::Log for Keep {
        fn enabled(&self, _: &log::Metadata<'_>) -> bool {
            true
        }

        fn log(&self, record: &log::Record<'_>) {
            if record.target() == "hodo" {
                WARNINGS.lock().unwrap().push(record.args().to_string());
            }
        }

        fn flush(&self) {}
    }

    #[test]
    fn one_warning_for_scopes_that_are_too_deep() {
        let _alone = alone();
        log::set_logger(&Keep).unwrap();
        log::set_max_level(log::LevelFilter::Warn);
        let dir = tempfile::tempdir().unwrap();
        let _recording = hodo::init(Config { max_depth: 2, ..config(&dir) });
        for _ in 0..3 {
            let _scopes = [(); 4].map(|()| hodo::scope!("deep"));
        }
        assert_eq!(hodo::health().depth_dropped, 6);
        let warnings = WARNINGS.lock().unwrap();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].contains("deep"), "{warnings:?}");
    }
}
