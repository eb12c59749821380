use super::glance::Contents;
use super::*;
use crate::tier::Tier;
use hodo_format::machine::{LIVE_FILE, Source, metric};
use std::collections::BTreeMap;
use std::os::fd::{BorrowedFd, OwnedFd};

const SECOND: u64 = 1_000_000_000;

fn small() -> Limits {
    Limits { block_rows: 4, block_age: Duration::from_secs(60), ..Limits::default() }
}

fn series() -> Vec<Series> {
    vec![
        Series::new(1, &Source::Host, &metric::CPU_TIME),
        Series::new(2, &Source::Host, &metric::LOAD),
    ]
}

fn fast(time_ns: u64, values: &[Option<i64>]) -> Row<'_> {
    Row { tier: Tier::Fast, time_ns, ids: &[1], values }
}

fn medium(time_ns: u64, values: &[Option<i64>]) -> Row<'_> {
    Row { tier: Tier::Medium, time_ns, ids: &[2], values }
}

fn state(kept: &Kept) -> String {
    let rows = kept.lost_rows;
    format!("{{\"lost_rows\": {rows}, \"removed_blocks\": {}}}", kept.removed_blocks)
}

/// Every value of a folder by metric and moment, as a reader would put it together: the live file
/// first, and of it only what no block has.
pub(crate) fn read_back(folder: &Path) -> BTreeMap<(String, u64), Option<i64>> {
    let live = Contents::of_file(&folder.join(LIVE_FILE));
    let mut names: Vec<_> =
        std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()).collect();
    names.retain(|path| path.extension().is_some_and(|end| end == "hodo"));
    names.sort();
    let mut values = BTreeMap::new();
    for path in names {
        for (key, value) in points(&Contents::of_file(&path)) {
            assert!(values.insert(key.clone(), value).is_none(), "{key:?} is there twice");
        }
    }
    let mut newest: BTreeMap<String, u64> = BTreeMap::new();
    for (name, time) in values.keys() {
        let at = newest.entry(name.clone()).or_default();
        *at = (*at).max(*time);
    }
    for ((name, time), value) in points(&live) {
        if newest.get(&name).is_none_or(|&at| time > at) {
            assert!(values.insert((name, time), value).is_none());
        }
    }
    values
}

/// How many series a file tells.
pub(crate) fn series_in(path: &Path) -> usize {
    Contents::of_file(path).series.len()
}

fn points(contents: &Contents) -> Vec<((String, u64), Option<i64>)> {
    let mut points = Vec::new();
    for readings in &contents.readings {
        for (at, id) in readings.series.iter().enumerate() {
            let series =
                contents.series.iter().find(|one| one.id == *id).expect("a series the file tells");
            let name = format!("{} {}", series.source, series.metric);
            let values = readings.times.iter().zip(readings.values_of(at));
            points.extend(values.map(|(time, value)| ((name.clone(), *time), *value)));
        }
    }
    points
}

fn files(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap().flatten();
    let mut names: Vec<String> =
        names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_row_is_on_disk_when_it_is_kept_and_once_in_all() {
    let run = tempfile::tempdir().unwrap();
    let mut store = Store::open(run.path(), "monitor", small()).unwrap();
    let folder = store.folder().to_owned();
    for second in 1..=10u64 {
        assert!(store.keep(&fast(second * SECOND, &[Some(second as i64)]), &series()));
        assert!(store.keep(&medium(second * SECOND, &[None]), &series()));
        store.write(second * SECOND, false, &state);
        assert_eq!(read_back(&folder).len(), 2 * second as usize);
    }
    store.finish(11 * SECOND, &state);
    let values = read_back(&folder);
    assert_eq!(values.len(), 20);
    assert_eq!(values[&("host cpu.time".into(), 3 * SECOND)], Some(3));
    assert_eq!(values[&("host load".into(), 3 * SECOND)], None);
    assert_eq!(files(&folder), ["sampler.lock", "samples-000001.hodo"]);
}

#[test]
fn every_file_stands_alone() {
    let run = tempfile::tempdir().unwrap();
    let limits = Limits { file_bytes: 600, ..small() };
    let mut store = Store::open(run.path(), "monitor", limits).unwrap();
    for second in 1..=40u64 {
        store.keep(&fast(second * SECOND, &[Some(second as i64)]), &series());
        store.write(second * SECOND, false, &state);
    }
    let folder = store.folder().to_owned();
    let names: Vec<String> =
        files(&folder).into_iter().filter(|name| name.ends_with(".hodo")).collect();
    assert!(names.len() >= 2, "{names:?}");
    for name in names {
        let contents = Contents::of_file(&folder.join(&name));
        assert!(!contents.anchors.is_empty() && !contents.state.is_empty(), "{name}");
        assert_eq!(contents.series, series(), "{name}");
        let anchor = contents.anchors[0];
        assert_eq!(anchor.ticks.abs_diff(anchor.monotonic_ns) / 1_000_000, 0);
        let bytes = std::fs::read(folder.join(&name)).unwrap();
        let summary = hodo_format::spool::read(&bytes, &mut Contents::default()).unwrap();
        assert_eq!(summary.sequences.len(), 1, "no gap in {name}");
    }
}

#[test]
fn the_oldest_files_go_and_that_is_told() {
    let run = tempfile::tempdir().unwrap();
    let limits = Limits { file_bytes: 1 << 20, max_bytes: 4096, ..small() };
    let mut store = Store::open(run.path(), "monitor", limits).unwrap();
    for second in 1..=400u64 {
        store.keep(&fast(second * SECOND, &[Some(second as i64)]), &series());
        store.write(second * SECOND, false, &state);
    }
    let kept = store.kept().clone();
    assert!(kept.bytes <= 4096 + 1024, "{kept:?}");
    let oldest = read_back(store.folder()).keys().map(|(_, time)| *time).min().unwrap();
    assert_eq!(kept.oldest_kept_ns, Some(oldest));
    // Four rows to a block, from the first second on.
    assert_eq!(kept.removed_blocks, (oldest / SECOND - 1) / 4);
    drop(store);
    let store = Store::open(run.path(), "monitor", limits).unwrap();
    assert!(store.files.removed_blocks > 0, "the next one knows");
}

#[test]
fn the_next_sampler_takes_over_what_a_dead_one_left() {
    let run = tempfile::tempdir().unwrap();
    let mut dead = Store::open(run.path(), "in-process", small()).unwrap();
    for second in 1..=6u64 {
        dead.keep(&fast(second * SECOND, &[Some(second as i64)]), &series());
        dead.write(second * SECOND, false, &state);
    }
    let held = Store::open(run.path(), "monitor", small());
    assert!(matches!(held, Err(Refused::Held(holder)) if holder.kind == "in-process"));
    drop(dead); // Without a finish, as a kill does it.

    let mut next = Store::open(run.path(), "monitor", small()).unwrap();
    assert_eq!(read_back(next.folder()).len(), 6);
    assert!(!next.folder().join(LIVE_FILE).exists());
    // Other ids for the same series.
    let other = vec![
        Series::new(1, &Source::Host, &metric::LOAD),
        Series::new(2, &Source::Host, &metric::CPU_TIME),
    ];
    next.keep(&Row { ids: &[2], ..fast(7 * SECOND, &[Some(7)]) }, &other);
    next.finish(7 * SECOND, &state);
    let values = read_back(next.folder());
    let seconds: Vec<u64> = values.keys().map(|(_, time)| time / SECOND).collect();
    assert_eq!(seconds, [1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn a_live_file_whose_rows_are_in_blocks_already_adds_nothing() {
    let run = tempfile::tempdir().unwrap();
    let mut store = Store::open(run.path(), "monitor", small()).unwrap();
    let folder = store.folder().to_owned();
    for second in 1..=3u64 {
        store.keep(&fast(second * SECOND, &[Some(1)]), &series());
    }
    let live = std::fs::read(folder.join(LIVE_FILE)).unwrap();
    store.finish(4 * SECOND, &state);
    drop(store);
    // Killed between the block and the new live file.
    std::fs::write(folder.join(LIVE_FILE), &live).unwrap();
    assert_eq!(read_back(&folder).len(), 3);
    let store = Store::open(run.path(), "monitor", small()).unwrap();
    assert_eq!(read_back(store.folder()).len(), 3);
    assert_eq!(files(&folder).iter().filter(|name| name.ends_with(".hodo")).count(), 1);
}

#[test]
fn a_torn_live_file_gives_its_whole_rows() {
    let run = tempfile::tempdir().unwrap();
    let mut store = Store::open(run.path(), "monitor", small()).unwrap();
    let folder = store.folder().to_owned();
    for second in 1..=3u64 {
        store.keep(&fast(second * SECOND, &[Some(1)]), &series());
    }
    drop(store);
    let live = std::fs::read(folder.join(LIVE_FILE)).unwrap();
    for cut in 0..live.len() {
        std::fs::write(folder.join(LIVE_FILE), &live[..cut]).unwrap();
        let store = Store::open(run.path(), "monitor", small()).unwrap();
        assert!(read_back(store.folder()).len() <= 3);
        drop(store);
        for name in files(&folder).iter().filter(|name| name.ends_with(".hodo")) {
            std::fs::remove_file(folder.join(name)).unwrap();
        }
    }
}

#[test]
fn a_folder_that_is_deleted_is_made_anew_and_waiting_rows_are_kept() {
    let run = tempfile::tempdir().unwrap();
    let mut store = Store::open(run.path(), "monitor", small()).unwrap();
    let folder = store.folder().to_owned();
    for second in 1..=6u64 {
        store.keep(&fast(second * SECOND, &[Some(1)]), &series());
        store.write(second * SECOND, false, &state);
    }
    assert!(store.is_in_place(100 * SECOND));
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(!store.is_in_place(102 * SECOND));
    let mut next = Store::open(run.path(), "monitor", small()).unwrap();
    store.moved_to(&mut next);
    assert_eq!(next.kept().gone_blocks, 1, "the one with the first four rows");
    next.keep(&fast(7 * SECOND, &[Some(1)]), &series());
    let seconds: Vec<u64> = read_back(&folder).keys().map(|(_, time)| time / SECOND).collect();
    assert_eq!(seconds, [5, 6, 7]);
}

#[test]
fn files_that_somebody_deletes_are_counted_and_begun_anew() {
    let run = tempfile::tempdir().unwrap();
    let mut store = Store::open(run.path(), "monitor", small()).unwrap();
    let folder = store.folder().to_owned();
    for second in 1..=5u64 {
        store.keep(&fast(second * SECOND, &[Some(1)]), &series());
        store.write(second * SECOND, false, &state);
    }
    std::fs::remove_file(folder.join("samples-000001.hodo")).unwrap();
    std::fs::remove_file(folder.join(LIVE_FILE)).unwrap();
    assert!(store.is_in_place(100 * SECOND));
    assert_eq!(store.kept().gone_blocks, 1);
    store.keep(&fast(6 * SECOND, &[Some(1)]), &series());
    store.finish(7 * SECOND, &state);
    let seconds: Vec<u64> = read_back(&folder).keys().map(|(_, time)| time / SECOND).collect();
    assert_eq!(seconds, [5, 6]);
}

#[test]
fn a_disk_that_refuses_is_tried_again_and_what_waits_is_written_then() {
    let run = tempfile::tempdir().unwrap();
    let mut store = Store::open(run.path(), "monitor", small()).unwrap();
    let folder = store.folder().to_owned();
    store.keep(&fast(SECOND, &[Some(1)]), &series());
    // Neither a new live file nor a file of blocks can be made where a folder has its name.
    store.live.give_up();
    let in_the_way = [folder.join("samples.live.part"), folder.join("samples-000001.hodo")];
    in_the_way.iter().for_each(|path| std::fs::create_dir(path).unwrap());
    for second in 2..=9u64 {
        assert!(!store.keep(&fast(second * SECOND, &[Some(1)]), &series()));
        store.write(second * SECOND, false, &state);
    }
    assert!(store.kept().trouble.contains("cannot write to"), "{:?}", store.kept());
    in_the_way.iter().for_each(|path| std::fs::remove_dir(path).unwrap());
    assert!(store.keep(&fast(11 * SECOND, &[Some(1)]), &series()));
    store.write(13 * SECOND, false, &state);
    assert_eq!(store.kept().trouble, "");
    assert_eq!(store.kept().lost_rows, 0);
    assert_eq!(read_back(&folder).len(), 10);
}

#[test]
fn what_waits_too_long_is_lost_and_counted() {
    let mut pending = Pending::default();
    let ids: Vec<u32> = (1..=1 << 15).collect();
    let values = vec![Some(1); ids.len()];
    let mut lost = 0;
    for time_ns in 1..=20 {
        lost += pending.add(&Row { tier: Tier::Fast, time_ns, ids: &ids, values: &values });
    }
    assert_eq!(lost as usize + pending.len(), 20);
    assert!(lost > 0 && pending.first_ns() == Some(lost + 1));
}

/// As a program has it that is just being started.
fn copy(descriptor: RawFd) -> OwnedFd {
    // SAFETY: the lock that it is of is held.
    unsafe { BorrowedFd::borrow_raw(descriptor) }.try_clone_to_owned().unwrap()
}

#[test]
fn a_store_that_let_go_goes_on_unless_another_wrote() {
    let run = tempfile::tempdir().unwrap();
    let mut store = Store::open(run.path(), "in-process", small()).unwrap();
    store.keep(&fast(SECOND, &[Some(1)]), &series());
    store.write(SECOND, false, &state);
    let _of_a_child = copy(store.lock_descriptor().unwrap());
    store.let_go();
    assert!(store.take_back().unwrap());
    store.keep(&fast(2 * SECOND, &[Some(1)]), &series());

    store.let_go();
    let mut other = Store::open(run.path(), "monitor", small()).unwrap();
    assert!(matches!(store.take_back(), Err(Refused::Held(_))));
    other.keep(&fast(3 * SECOND, &[Some(1)]), &series());
    let _of_its_child = copy(other.lock_descriptor().unwrap());
    other.finish(4 * SECOND, &state);
    drop(other);
    assert!(!store.take_back().unwrap());
    let folder = store.folder().to_owned();
    drop(store);
    assert_eq!(read_back(&folder).len(), 3);
}

#[test]
fn a_folder_that_cannot_be_made_is_an_answer() {
    let run = tempfile::tempdir().unwrap();
    let file = run.path().join("file");
    std::fs::write(&file, "").unwrap();
    assert!(matches!(Store::open(&file, "monitor", small()), Err(Refused::Failed(_))));
}
