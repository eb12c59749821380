//! Processes and interfaces that come and go by the thousand: what is gone takes no room.

use super::tests::{SECOND, settings};
use super::*;
use crate::store::folder;
use crate::store::tests::read_back;
use crate::table::{Reader, Table};
use crate::tier::Tier;
use hodo_format::machine::{Source, metric};
use std::cell::Cell;

/// Things that live for a few rounds, new ones in each.
struct Mayflies {
    round: u32,
    a_round: u32,
    lives: u32,
    of: fn(u32) -> Source,
}

impl Reader for Mayflies {
    fn read(&mut self, table: &mut Table) {
        self.round += 1;
        let oldest = self.round.saturating_sub(self.lives);
        for number in oldest * self.a_round..self.round * self.a_round {
            table.put((self.of)(number), &metric::GPU_PROCESS_MEMORY, f64::from(number));
        }
    }
}

fn mayflies(lives: u32) -> Readers {
    let process = |number| Source::GpuProcess("GPU-1".into(), number);
    let link = |number| Source::Network(format!("cali{number}"));
    vec![
        (Tier::Slow, Box::new(Mayflies { round: 0, a_round: 30, lives, of: process })),
        (Tier::Medium, Box::new(Mayflies { round: 0, a_round: 4, lives, of: link })),
    ]
}

fn has_room(sampler: &crate::Sampler) -> bool {
    sampler.absent().iter().all(|absent| absent.part != "further series")
}

#[test]
fn a_daemon_of_months_holds_what_lives_and_has_written_what_lived() {
    const ROUNDS: u64 = 900;
    let run = tempfile::tempdir().unwrap();
    let limits = Limits { file_bytes: 16 << 10, block_rows: 64, ..Limits::default() };
    let now = Cell::new(SECOND);
    let mut keeper = Keeper::new(Settings { limits, ..settings(run.path(), 1000) }, mayflies(2));
    let mut most = 0;
    for _ in 0..ROUNDS {
        keeper.step(&|| now.get(), false);
        now.set(now.get() + SECOND);
        most = most.max(keeper.sampler().series().len());
        assert!(has_room(keeper.sampler()), "{most} series");
    }
    // Those of two blocks, of 64 rows or a minute: 4 interfaces and 6 processes a second.
    assert!(most < 2 * 64 * (4 + 6) + 80, "{most} of {} series at once", ROUNDS * (4 + 6));
    keeper.finish(&|| now.get());
    assert_eq!(keeper.status().kept.lost_rows, 0);
    let told = values_of(run.path());
    // The end has a round of its own.
    assert_eq!(told.processes as u64, (ROUNDS / 5 + 1) * 30, "each has its readings");
    assert_eq!(told.links as u64, (ROUNDS + 1) * 4);
    let files = series_by_file(run.path());
    assert!(files.len() > 4, "{files:?}");
    let a_third = (told.processes + told.links) / 3;
    assert!(files.iter().all(|told| *told < a_third), "what was gone is not told: {files:?}");
}

#[test]
fn one_that_only_reads_forgets_what_is_gone_too() {
    let run = tempfile::tempdir().unwrap();
    let mut first = Keeper::new(settings(run.path(), 1000), Vec::new());
    let now = Cell::new(SECOND);
    first.step(&|| now.get(), false);
    let settings = Settings { reads_while_linked: true, ..settings(run.path(), 1000) };
    let mut second = Keeper::new(settings, mayflies(1));
    for _ in 0..900 {
        second.step(&|| now.get(), false);
        now.set(now.get() + SECOND);
        let series = second.sampler().series().len();
        assert!(series < 1400 && has_room(second.sampler()), "{series}");
    }
    assert!(matches!(second.status().standing, Standing::Linked(_)));
}

struct Told {
    processes: usize,
    links: usize,
}

/// How many of each kind have the value they had.
fn values_of(run: &std::path::Path) -> Told {
    let mut seen = std::collections::BTreeSet::new();
    for ((name, _), value) in read_back(&folder(run)) {
        let source = name.split(' ').next().unwrap_or_default();
        let number = source.rsplit([':', 'i']).next().and_then(|n| n.parse::<i64>().ok());
        if let (Some(number), Some(value)) = (number, value) {
            assert_eq!(number, value, "{name}");
            seen.insert(source.to_owned());
        }
    }
    let links = seen.iter().filter(|source| source.starts_with("network:")).count();
    Told { processes: seen.len() - links, links }
}

fn series_by_file(run: &std::path::Path) -> Vec<usize> {
    let folder = folder(run);
    let mut names: Vec<_> =
        std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()).collect();
    names.retain(|path| path.extension().is_some_and(|end| end == "hodo"));
    names.sort();
    names.iter().map(|path| crate::store::tests::series_in(path)).collect()
}
