use super::*;
use crate::processes::Roots;
use crate::store::folder;
use crate::store::tests::read_back;
use crate::table::{Reader, Table};
use crate::tier::Tier;
use hodo_format::machine::{
    Metric, Readings, Series, Source, metric, readings_frame, series_frame,
};
use std::cell::Cell;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicU64;
use std::sync::mpsc;

pub(super) const SECOND: u64 = 1_000_000_000;

/// Shows how often it was read.
struct Count(u64, &'static Metric);

impl Reader for Count {
    fn read(&mut self, table: &mut Table) {
        self.0 += 1;
        table.put(Source::Host, self.1, self.0 as f64);
    }
}

fn counting() -> Readers {
    let count = |metric| Box::new(Count(0, metric));
    vec![(Tier::Fast, count(&metric::CPU_TIME)), (Tier::Medium, count(&metric::LOAD))]
}

/// Every round reads it: one so soon after another that only a slower tier is due is none.
fn counting_rounds() -> Readers {
    counting().into_iter().filter(|(tier, _)| *tier == Tier::Fast).collect()
}

pub(super) fn settings(run: &Path, ms: u64) -> Settings {
    Settings {
        run: run.into(),
        interval: Duration::from_millis(ms),
        kind: Kind::Monitor,
        scopes: None,
        reads_while_linked: false,
        keeps_newest: false,
        parts: Parts { processes: Roots::none(), gpus: None },
        limits: Limits::default(),
    }
}

fn until(what: impl Fn() -> bool) {
    while !what() {
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn fast_values(run: &Path) -> Vec<u64> {
    let values = read_back(&folder(run));
    let fast = values.keys().filter(|(name, _)| name == "host cpu.time");
    fast.map(|(_, time)| *time).collect()
}

#[test]
fn this_machine_is_sampled_in_the_background() {
    let run = tempfile::tempdir().unwrap();
    let parts = Parts { processes: Roots::own(), gpus: None };
    let settings = Settings { keeps_newest: true, parts, ..settings(run.path(), 10) };
    let sampling = Sampling::start(settings);
    until(|| sampling.status().cost.rounds >= 5);
    let newest = sampling.newest();
    let memory = newest.iter().find(|one| one.metric.name == "memory.used").unwrap();
    assert!(memory.value.unwrap() > 0.0);
    assert_eq!(sampling.status().standing, Standing::Sampling);
    sampling.stop();
    let status = sampling.status();
    assert_eq!(status.standing, Standing::Off);
    let values = read_back(&folder(run.path()));
    let rows = values.keys().filter(|(name, _)| name == "host memory.used").count() as u64;
    // Where the machine stood still, a round may have read slower tiers alone.
    assert!((1..=status.cost.rounds).contains(&rows), "{rows} of {:?}", status.cost);
    assert!(values.keys().any(|(name, _)| name == "processes process.memory"));
    assert!(values.keys().any(|(name, _)| name == "sampler sampler.cpu.time"));
    assert!(!folder(run.path()).join("samples.live").exists());
}

#[test]
fn a_program_that_ends_at_once_has_readings() {
    let run = tempfile::tempdir().unwrap();
    Sampling::start_with(settings(run.path(), 1000), Box::new(counting)).stop();
    assert!(!fast_values(run.path()).is_empty());
}

#[test]
fn a_reader_that_hangs_holds_up_neither_start_nor_stop() {
    struct Hangs(mpsc::Sender<()>, mpsc::Receiver<()>);
    impl Reader for Hangs {
        fn read(&mut self, _: &mut Table) {
            let _ = self.0.send(());
            let _ = self.1.recv();
        }
    }
    let run = tempfile::tempdir().unwrap();
    let (release, waits) = mpsc::channel();
    let (says, hangs) = mpsc::channel();
    let readers = || -> Readers { vec![(Tier::Slow, Box::new(Hangs(says, waits)))] };
    let sampling = Sampling::start_with(settings(run.path(), 10), Box::new(readers));
    hangs.recv().unwrap();
    let moment = Duration::from_millis(50);
    sampling.stop_within(moment);
    sampling.order(Order::Pause, moment);
    sampling.resume();
    assert!(lock(&sampling.shared.control).is_running, "it still hangs, and nobody waits for it");
    assert!(sampling.shared.lock_descriptor.get().is_some());
    std::fs::remove_dir_all(folder(run.path())).unwrap();
    drop(release);
    until(|| !lock(&sampling.shared.control).is_running);
    assert!(!folder(run.path()).exists(), "what comes too late is not written");
    assert_eq!(
        sampling.shared.lock_descriptor.get(),
        None,
        "a child closes nothing of the program's"
    );
    sampling.resume();
    assert!(!lock(&sampling.shared.control).is_running, "what was stopped stays so");
}

#[test]
fn a_reader_that_panics_leaves_no_descriptor_to_close() {
    struct Panics(u32);
    impl Reader for Panics {
        fn read(&mut self, _: &mut Table) {
            self.0 += 1;
            assert!(self.0 < 3, "the third round");
        }
    }
    let run = tempfile::tempdir().unwrap();
    let readers = || -> Readers { vec![(Tier::Fast, Box::new(Panics(0)))] };
    let sampling = Sampling::start_with(settings(run.path(), 10), Box::new(readers));
    until(|| !lock(&sampling.shared.control).is_running);
    assert!(matches!(sampling.status().standing, Standing::Failed(_)));
    assert_eq!(sampling.shared.lock_descriptor.get(), None);
}

#[test]
fn one_samples_and_the_other_takes_over() {
    let run = tempfile::tempdir().unwrap();
    let first = Sampling::start_with(settings(run.path(), 10), Box::new(counting_rounds));
    until(|| first.status().cost.rounds >= 3);
    let second = Sampling::start_with(settings(run.path(), 10), Box::new(counting_rounds));
    until(|| matches!(second.status().standing, Standing::Linked(_)));
    assert_eq!(second.status().cost.rounds, 0, "it reads nothing meanwhile");
    let Standing::Linked(holder) = second.status().standing else { panic!("not linked") };
    assert_eq!((holder.pid, holder.kind.as_str()), (std::process::id().into(), "monitor"));
    first.stop();
    let before = fast_values(run.path()).len();
    until(|| second.status().cost.rounds >= 3);
    second.stop();
    assert!(fast_values(run.path()).len() >= before + 3);
}

#[test]
fn a_linked_one_reads_for_its_own_use_where_that_is_wanted() {
    let run = tempfile::tempdir().unwrap();
    let first = Sampling::start_with(settings(run.path(), 10), Box::new(counting));
    until(|| first.status().cost.rounds >= 1);
    let settings =
        Settings { reads_while_linked: true, keeps_newest: true, ..settings(run.path(), 10) };
    let second = Sampling::start_with(settings, Box::new(counting));
    until(|| second.newest().iter().any(|one| one.value > Some(2.0)));
    assert!(matches!(second.status().standing, Standing::Linked(_)));
}

#[test]
fn a_pause_lets_another_sample_and_after_it_this_one_waits() {
    let run = tempfile::tempdir().unwrap();
    let first = Sampling::start_with(settings(run.path(), 10), Box::new(counting_rounds));
    until(|| first.status().cost.rounds >= 3);
    first.pause();
    assert_eq!(first.status().standing, Standing::Paused);
    assert_eq!(first.shared.lock_descriptor.get(), None);
    first.resume();
    until(|| first.status().cost.rounds >= 6);
    let is_file =
        |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().ends_with(".hodo");
    let files = || std::fs::read_dir(folder(run.path())).unwrap().flatten().filter(is_file).count();
    assert_eq!(files(), 1, "a fork begins no file");

    first.pause();
    let second = Sampling::start_with(settings(run.path(), 10), Box::new(counting_rounds));
    until(|| second.status().cost.rounds >= 3);
    first.resume();
    until(|| matches!(first.status().standing, Standing::Linked(_)));
    let rounds = first.status().cost.rounds;
    second.stop();
    until(|| first.status().cost.rounds > rounds);
    first.stop();
    let all = first.status().cost.rounds + second.status().cost.rounds;
    assert_eq!(fast_values(run.path()).len() as u64, all, "every round, and none twice");
}

#[test]
fn one_that_is_resumed_while_it_lets_go_samples_on() {
    let run = tempfile::tempdir().unwrap();
    let hour = 3_600_000;
    let sampling = Sampling::start_with(settings(run.path(), hour), Box::new(counting));
    until(|| sampling.status().cost.rounds >= 1);
    let no_word = lock(&sampling.shared.status);
    sampling.order(Order::Pause, Duration::ZERO);
    until(|| sampling.shared.lock_descriptor.get().is_none());
    sampling.resume();
    drop(no_word);
    until(|| sampling.shared.lock_descriptor.get().is_some());
    sampling.stop();
    assert_eq!(sampling.status().standing, Standing::Off);
}

#[test]
fn a_folder_deleted_under_it_is_made_again() {
    let run = tempfile::tempdir().unwrap();
    let run = run.path().join("run");
    let sampling = Sampling::start_with(settings(&run, 10), Box::new(counting));
    until(|| sampling.status().cost.rounds >= 3);
    // At once: what is made again must not come in the way of what is being removed.
    let aside = run.with_file_name("deleted");
    std::fs::rename(&run, &aside).unwrap();
    std::fs::remove_dir_all(&aside).unwrap();
    until(|| folder(&run).join("samples.live").exists());
    sampling.stop();
    assert!(!fast_values(&run).is_empty());
}

#[test]
fn a_folder_that_cannot_be_made_is_told_and_tried_again() {
    let place = tempfile::tempdir().unwrap();
    let run = place.path().join("run");
    std::fs::write(&run, "in the way").unwrap();
    let sampling = Sampling::start_with(settings(&run, 10), Box::new(counting));
    until(|| matches!(sampling.status().standing, Standing::Failed(_)));
    assert!(sampling.status().json().contains("cannot write to"));
    std::fs::remove_file(&run).unwrap();
    until(|| sampling.status().cost.rounds >= 2);
    assert_eq!(sampling.status().standing, Standing::Sampling);
}

/// Scopes of a program, as a test sets them: how many were opened, and in the lowest bit whether
/// one is open.
static SCOPES: AtomicU64 = AtomicU64::new(0);

fn set_scopes() -> Scopes {
    let now = SCOPES.load(Ordering::Relaxed);
    Scopes { is_open: now & 1 == 1, begun: now >> 1 }
}

#[test]
fn only_inside_scopes_with_a_round_at_each_edge() {
    let run = tempfile::tempdir().unwrap();
    let now = Cell::new(SECOND);
    let mut keeper =
        Keeper::new(Settings { scopes: Some(set_scopes), ..settings(run.path(), 100) }, counting());
    let mut step = |scopes: u64, held: bool| {
        SCOPES.store(scopes, Ordering::Relaxed);
        let next = keeper.step(&|| now.get(), held);
        assert!(next > now.get() && next <= now.get() + SECOND / 20, "it looks again soon");
        now.set(now.get() + SECOND / 20);
        keeper.sampler().cost().rounds
    };
    assert_eq!([step(0, false), step(0, false)], [0, 0]);
    assert_eq!([step(3, false), step(3, false), step(3, false)], [1, 1, 2], "100 ms apart");
    assert_eq!([step(2, false), step(2, false)], [3, 3], "one at the end, then none");
    assert_eq!([step(8, false), step(8, false)], [4, 5], "some came and went unseen");
    assert_eq!(step(8, false), 5);
    assert_eq!(
        [step(8, true), step(8, true), step(8, true), step(8, false)],
        [6, 6, 7, 8],
        "asked for"
    );
    keeper.finish(&|| now.get());
    assert_eq!(fast_values(run.path()).len(), 8);
    assert_eq!(keeper.status().cost.late, 0);
}

/// Starts this test program again to play a part that a kill can end.
fn play(part: &str, run: &Path) -> Child {
    play_from(part, run, 0)
}

fn play_from(part: &str, run: &Path, from: u64) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "sampling::tests::part", "--nocapture", "--ignored"]);
    command.env("HODO_TEST_PART", part).env("HODO_TEST_RUN", run);
    command.env("HODO_TEST_FROM", from.to_string());
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
#[ignore = "played by other tests, in a process of its own"]
fn part() {
    let Ok(part) = std::env::var("HODO_TEST_PART") else { return };
    let run = std::path::PathBuf::from(std::env::var_os("HODO_TEST_RUN").unwrap());
    match part.as_str() {
        "keeps" => keep_for_ever(&run),
        "samples" => sample_for_ever(&run),
        "day" => a_day(&run),
        "limited" => under_a_limit(&run),
        "successor" => take_over(&run),
        other => panic!("no part {other}"),
    }
}

/// Tells every row that is on disk.
fn keep_for_ever(run: &Path) {
    let limits = Limits { block_rows: 7, file_bytes: 20_000, ..Limits::default() };
    let mut keeper = Keeper::new(Settings { limits, ..settings(run, 10) }, counting());
    // As fast as it goes, by a clock of its own: every round is due.
    let from = std::env::var("HODO_TEST_FROM").unwrap().parse().unwrap();
    let now = Cell::new(from);
    loop {
        let next = keeper.step(&|| now.get(), false);
        for row in keeper.sampler().rows() {
            println!("kept {:?} {}", row.tier, row.time_ns);
        }
        now.set(next);
    }
}

fn sample_for_ever(run: &Path) {
    let sampling = Sampling::start_with(settings(run, 10), Box::new(counting));
    loop {
        println!(
            "standing {} {}",
            sampling.status().standing.word(),
            sampling.status().cost.rounds
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_kill_at_any_moment_loses_no_row_that_was_kept() {
    let run = tempfile::tempdir().unwrap();
    let mut kept: Vec<u64> = Vec::new();
    for round in 0..12u64 {
        let from = kept.last().map_or(SECOND, |last| last + SECOND);
        let mut child = play_from("keeps", run.path(), from);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // Another moment each time; blocks and live files change every few rows.
        let after = 20 + (round * 37) % 90;
        let mut told = 0;
        for line in lines {
            let line = line.unwrap();
            let Some(time) = line.split("kept Fast ").nth(1) else { continue };
            kept.push(time.parse().unwrap());
            told += 1;
            if told == after {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        // Each takes over from the one before; reading back asserts that nothing is there twice.
        let found = fast_values(run.path());
        let missing: Vec<_> =
            kept.iter().filter(|time| found.binary_search(time).is_err()).collect();
        assert!(missing.is_empty(), "{} of {} are missing", missing.len(), kept.len());
    }
}

#[test]
fn when_the_one_who_samples_is_killed_another_goes_on() {
    let run = tempfile::tempdir().unwrap();
    let wait_for = |child: &mut Child, what: &str| {
        let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
        for line in lines {
            if line.unwrap().contains(what) {
                return;
            }
        }
        panic!("it ended and never said {what}");
    };
    let mut first = play("samples", run.path());
    wait_for(&mut first, "standing sampling");
    let mut second = play("samples", run.path());
    wait_for(&mut second, "standing linked");
    first.kill().unwrap();
    first.wait().unwrap();
    let died = monotonic_ns();
    wait_for(&mut second, "standing sampling");
    let later = || fast_values(run.path()).iter().any(|&time| time > died);
    until(later);
    second.kill().unwrap();
    second.wait().unwrap();
    let times = fast_values(run.path());
    let before = times.iter().filter(|&&time| time < died).count();
    assert!(before > 0 && times.len() > before, "both are there, and none twice");
}

/// No file may grow past a few rows.
fn under_a_limit(run: &Path) {
    let limit = libc::rlimit { rlim_cur: 6000, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: a plain call; the part has a process of its own.
    unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) };
    let mut keeper = Keeper::new(settings(run, 1000), counting());
    let now = Cell::new(SECOND);
    for _ in 0..500 {
        keeper.step(&|| now.get(), false);
        now.set(now.get() + SECOND);
    }
    keeper.finish(&|| now.get());
    println!("limited {}", keeper.status().standing.word());
}

#[test]
fn a_limit_on_the_size_of_files_costs_no_row_and_no_life() {
    let run = tempfile::tempdir().unwrap();
    let output = play("limited", run.path()).wait_with_output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("limited off"));
    let times = fast_values(run.path());
    let expected: Vec<u64> = (1..=501).map(|second| second * SECOND).collect();
    assert_eq!(times, expected);
}

/// 24 hours of rounds a second apart, as fast as they go; tells memory after each quarter.
fn a_day(run: &Path) {
    let limits = Limits { file_bytes: 64 << 10, max_bytes: 256 << 10, ..Limits::default() };
    let mut keeper = Keeper::new(Settings { limits, ..settings(run, 1000) }, counting());
    let now = Cell::new(SECOND);
    for round in 0..86_400u64 {
        keeper.step(&|| now.get(), false);
        now.set(now.get() + SECOND);
        if round % 21_600 == 21_599 {
            let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
            let pages: u64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
            let status = keeper.status();
            println!(
                "quarter {pages} {} {} {}",
                status.kept.bytes, status.kept.removed_blocks, status.cost.late
            );
        }
    }
    keeper.finish(&|| now.get());
}

#[test]
fn a_day_of_rounds_fills_neither_disk_nor_memory() {
    let run = tempfile::tempdir().unwrap();
    let child = play("day", run.path());
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let quarters: Vec<Vec<u64>> = text
        .lines()
        .filter_map(|line| line.split("quarter ").nth(1))
        .map(|line| line.split(' ').map(|word| word.parse().unwrap()).collect())
        .collect();
    assert_eq!(quarters.len(), 4, "{text}");
    let last = &quarters[3];
    assert!(last[0] < quarters[0][0] + 256, "pages after a quarter and in the end: {quarters:?}");
    assert!(last[1] <= 256 << 10 && last[2] > 0, "{quarters:?}");
    assert_eq!(last[3], 0, "no round was late");
    let on_disk: u64 = std::fs::read_dir(folder(run.path()))
        .unwrap()
        .flatten()
        .map(|entry| entry.metadata().unwrap().len())
        .sum();
    assert!(on_disk <= 300 << 10, "{on_disk}");
    let times = fast_values(run.path());
    assert_eq!(*times.last().unwrap(), 86_401 * SECOND, "the newest are kept");
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] == SECOND), "with no gap among them");
}

/// Takes over a folder; tells the most memory that took, in KiB.
fn take_over(run: &Path) {
    let most = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
    };
    let before = most();
    let mut keeper = Keeper::new(settings(run, 1000), counting());
    keeper.step(&|| SECOND, false);
    assert_eq!(keeper.status().standing, Standing::Sampling);
    println!("took {}", most() - before);
}

#[test]
fn to_take_over_a_long_file_takes_little_memory() {
    let run = tempfile::tempdir().unwrap();
    let folder = folder(run.path());
    std::fs::create_dir_all(&folder).unwrap();
    let series: Vec<Series> =
        (1..=200).map(|id| Series::new(id, &Source::Core(id), &metric::CPU_TIME)).collect();
    let mut bytes = hodo_format::spool::file_header(7, 1).to_vec();
    series_frame(0, &series, &mut bytes);
    for block in 0..20u64 {
        let times: Vec<u64> = (0..512).map(|row| block * 512 + row + 1).collect();
        let noise = (0..200 * 512u64).map(|n| Some((n.wrapping_mul(0x9e37_79b9) >> 9) as i64));
        let ids = series.iter().map(|one| one.id).collect();
        let readings = Readings { series: ids, times, values: noise.collect() };
        readings_frame(block + 1, &readings, &mut bytes);
    }
    std::fs::write(folder.join("samples-000001.hodo"), &bytes).unwrap();
    let output = play("successor", run.path()).wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let took = text.lines().find_map(|line| line.split("took ").nth(1)).expect("it took over");
    // Two million values, of 16 bytes each, are 32 MiB.
    let (took, file) = (took.parse::<u64>().unwrap(), bytes.len() as u64 >> 10);
    assert!(took < file + (12 << 10), "{took} KiB for a file of {file} KiB");
}

#[test]
fn one_that_reads_seldom_takes_over_as_soon_as_others() {
    let run = tempfile::tempdir().unwrap();
    let mut first = Keeper::new(settings(run.path(), 1000), counting());
    first.step(&|| SECOND, false);
    let settings = Settings { reads_while_linked: true, ..settings(run.path(), 60_000) };
    let mut second = Keeper::new(settings, counting());
    let next = second.step(&|| SECOND, false);
    assert!(matches!(second.status().standing, Standing::Linked(_)));
    assert_eq!(next, 2 * SECOND);
    assert_eq!(second.step(&|| next, false), 3 * SECOND);
    assert_eq!(second.sampler().cost().rounds, 1, "it reads no more often for it");
    drop(first);
    second.step(&|| 3 * SECOND, false);
    assert_eq!(second.status().standing, Standing::Sampling);
}
