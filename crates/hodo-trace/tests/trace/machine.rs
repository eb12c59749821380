//! Readings of the machine: files, live rows, damage, statistics.

use crate::support::machine::{GPU, Sampled, gpu};
use crate::support::{Records, SECOND, TestRun};
use hodo_format::machine::{LIVE_FILE, metric};
use hodo_format::record::SpanId;
use hodo_trace::{Machine, ReadOptions, Run, SeriesMissing, Source, TimeRanges};

/// Where the monotonic clock's 0 is on the axis of scopes.
const ZERO: i64 = 1000 * SECOND as i64;

fn seconds(at: f64) -> i64 {
    ZERO + (at * SECOND as f64) as i64
}

/// A process that lived from 0 to 10 seconds, with a scope from 2 to 4 and one from 6 to 7.
fn process() -> Records {
    let mut r = Records::new(1);
    r.anchors[0].ticks = 1;
    let at = |seconds: u64| seconds * SECOND;
    r.anchors = [1, at(10)]
        .map(|ticks| hodo_trace::Anchor {
            ticks,
            monotonic_ns: ticks,
            wall_ns: 1000 * SECOND + ticks,
        })
        .to_vec();
    for (from, to) in [(2, 4), (6, 7)] {
        let step = r.id(1);
        r.scope(1, step, "forward", at(from), at(to));
        r.close(step, SpanId::NONE, "step", at(from), at(to) + 1);
    }
    r
}

fn run_with(make: impl FnOnce(&TestRun)) -> (TestRun, Run) {
    let run = TestRun::new();
    run.finished(&process());
    make(&run);
    let read = run.read();
    (run, read)
}

fn only(run: &Run) -> &Machine {
    assert_eq!(run.machines.len(), 1);
    &run.machines[0]
}

fn points(machine: &Machine, source: &Source, metric: &str) -> Vec<(f64, Option<f64>)> {
    let series = machine.get(source, metric).expect(metric);
    machine.points(series).map(|(at, v)| ((at - ZERO) as f64 / SECOND as f64, v)).collect()
}

#[test]
fn readings_stand_on_the_axis_of_the_scopes() {
    let (_folder, run) = run_with(|run| {
        let mut box_ = Sampled::new(run.path());
        // Its own reading of the wall clock is off by 3 seconds: the clock was set in between.
        box_.booted_ns += 3 * SECOND;
        let power = box_.add(gpu(), &metric::GPU_POWER);
        let block = box_.rows(&[power], &[(SECOND, &[Some(100.0)]), (2 * SECOND, &[Some(120.5)])]);
        box_.write(1, 7, &[block]);
    });
    let machine = only(&run);
    let found = points(machine, &gpu(), "gpu.power");
    assert_eq!(found, [(1.0, Some(100.0)), (2.0, Some(120.5))]);
    let step = run.processes[0].span_views().find(|s| s.name() == "step").expect("a step");
    assert_eq!(step.start_ns(), seconds(2.0));
    assert_eq!(machine.moment(&run.processes[0], 2 * SECOND), Some(seconds(2.0)));
    assert_eq!((machine.host(), machine.gpus(), machine.live), ("box", vec![GPU], false));
    assert!(machine.damage.is_none(), "{:?}", machine.damage);
}

#[test]
fn live_rows_count_once() {
    let (_folder, run) = run_with(|run| {
        let mut box_ = Sampled::new(run.path());
        let (power, load) =
            (box_.add(gpu(), &metric::GPU_POWER), box_.add(Source::Host, &metric::LOAD));
        let row = |at: u64| box_.rows(&[power], &[(at * SECOND, &[Some(at as f64)])]);
        let block = box_.rows(&[power], &[(SECOND, &[Some(1.0)]), (2 * SECOND, &[Some(2.0)])]);
        box_.write(1, 7, &[block]);
        let loads = box_.rows(&[load], &[(2 * SECOND, &[Some(0.5)])]);
        box_.live(7, &[row(1), row(2), loads, row(3)]);
        let mut torn = std::fs::read(box_.folder.join(LIVE_FILE)).expect("the live file");
        torn.extend_from_slice(&box_.bytes(7, 0, &[row(4)])[64..140]);
        std::fs::write(box_.folder.join(LIVE_FILE), torn).expect("the live file");
    });
    let machine = only(&run);
    let found = points(machine, &gpu(), "gpu.power");
    assert_eq!(found, [(1.0, Some(1.0)), (2.0, Some(2.0)), (3.0, Some(3.0))]);
    assert_eq!(points(machine, &Source::Host, "load"), [(2.0, Some(0.5))]);
    assert!(machine.damage.is_none(), "a torn live file is an append under way");
}

#[test]
fn several_samplers_make_one_series() {
    let (_folder, run) = run_with(|run| {
        let mut first = Sampled::new(run.path());
        let energy = first.add(gpu(), &metric::GPU_ENERGY);
        let own = first.add(Source::Processes, &metric::PROCESS_CPU_TIME);
        let block = |s: &Sampled, ids: [u32; 2], rows: [(u64, [f64; 2]); 2]| {
            let rows: Vec<(u64, Vec<Option<f64>>)> =
                rows.iter().map(|(at, v)| (at * SECOND, v.map(Some).to_vec())).collect();
            let rows: Vec<(u64, &[Option<f64>])> =
                rows.iter().map(|(at, v)| (*at, v.as_slice())).collect();
            s.rows(&ids, &rows)
        };
        let both = block(&first, [energy, own], [(1, [10.0, 4.0]), (2, [30.0, 5.0])]);
        // The second sampler numbers series otherwise and repeats a row it took up.
        let mut second = Sampled::new(run.path());
        let own2 = second.add(Source::Processes, &metric::PROCESS_CPU_TIME);
        let energy2 = second.add(gpu(), &metric::GPU_ENERGY);
        let again = block(&second, [energy2, own2], [(2, [30.0, 5.0]), (4, [90.0, 9.0])]);
        first.write(1, 7, &[both]);
        second.write(2, 8, &[again]);
    });
    let machine = only(&run);
    // Energy is the board's own count and goes on; a sampler's count of processes does not.
    let watts = points(machine, &gpu(), "gpu.energy");
    assert_eq!(watts, [(1.0, None), (2.0, Some(20.0)), (4.0, Some(30.0))]);
    let cores = points(machine, &Source::Processes, "process.cpu.time");
    assert_eq!(cores, [(1.0, None), (2.0, Some(1.0)), (4.0, None)]);
}

#[test]
fn what_is_damaged_is_told_and_costs_no_other_block() {
    let (_folder, run) = run_with(|run| {
        let mut box_ = Sampled::new(run.path());
        let power = box_.add(gpu(), &metric::GPU_POWER);
        let row = |at: u64| box_.rows(&[power], &[(at * SECOND, &[Some(at as f64)])]);
        let before = box_.bytes(7, 1, &[row(1)]).len();
        let mut bytes = box_.bytes(7, 1, &[row(1), row(2), row(3)]);
        bytes[before + 50] ^= 0xff;
        std::fs::write(box_.path(1), bytes).expect("a file");
        // The block that a kill cut is in the live file.
        let whole = box_.bytes(7, 2, &[row(4), row(5)]);
        std::fs::write(box_.path(2), &whole[..whole.len() - 3]).expect("a file");
        box_.live(7, &[row(5)]);
    });
    let machine = only(&run);
    let found: Vec<f64> = points(machine, &gpu(), "gpu.power").iter().map(|p| p.0).collect();
    assert_eq!(found, [1.0, 3.0, 4.0, 5.0]);
    assert_eq!((machine.damage.frames, machine.damage.places.len()), (1, 1));
}

#[test]
fn readings_whose_series_is_lost_are_counted() {
    let (_folder, run) = run_with(|run| {
        let mut box_ = Sampled::new(run.path());
        let power = box_.add(gpu(), &metric::GPU_POWER);
        let mut block = box_.rows(&[power], &[(SECOND, &[Some(1.0)]), (2 * SECOND, &[Some(2.0)])]);
        block.series[0] = 99;
        let good = box_.rows(&[power], &[(3 * SECOND, &[Some(3.0)])]);
        box_.write(1, 7, &[block, good]);
    });
    let machine = only(&run);
    assert_eq!(points(machine, &gpu(), "gpu.power"), [(3.0, Some(3.0))]);
    assert!(machine.damage.places[0].why.starts_with("2 readings"), "{:?}", machine.damage);
}

/// Every second from 1 to 9 a watt more; processor time of 2 of 4 cores; a counter that fell.
fn sampled(run: &TestRun) {
    let mut box_ = Sampled::new(run.path());
    let ids = [
        box_.add(gpu(), &metric::GPU_POWER),
        box_.add(Source::Host, &metric::CPU_TIME),
        box_.add(Source::Host, &metric::DISK_READ),
        box_.add(gpu(), &metric::GPU_THROTTLE),
    ];
    let rows: Vec<(u64, [Option<f64>; 4])> = (1..10)
        .map(|s: u64| {
            let x = s as f64;
            let bits = if s < 5 { 0x44 } else { 1 };
            let disk = if s < 5 { 100.0 * x } else { 10.0 * x };
            (s * SECOND, [Some(100.0 + x), Some(50.0 + 2.0 * x), Some(disk), Some(f64::from(bits))])
        })
        .collect();
    let rows: Vec<(u64, &[Option<f64>])> = rows.iter().map(|(at, v)| (*at, v.as_slice())).collect();
    box_.write(1, 7, &[box_.rows(&ids, &rows)]);
}

#[test]
fn statistics_over_a_range() {
    let (_folder, run) = run_with(sampled);
    let machine = only(&run);
    let over = |from, to| machine.over(TimeRanges::one(seconds(from), seconds(to)));
    let power = over(2.5, 4.5).measure(&gpu(), "gpu.power").expect("power");
    assert_eq!((power.mean, power.min, power.max), (103.5, 102.75, 104.25));
    assert_eq!((power.last, power.covered, power.readings), (104.0, 1.0, 2), "last is a reading");
    // Half of the machine; before the first reading nothing is known.
    let cpu = over(0.0, 2.0).measure(&Source::Host, "cpu.time").expect("processor time");
    assert_eq!((cpu.mean, cpu.min, cpu.max, cpu.covered), (0.5, 0.5, 0.5, 0.5));
    // From 4 to 5 the counter started anew.
    let disk = over(3.0, 7.0).measure(&Source::Host, "disk.read").expect("disk");
    assert_eq!((disk.mean, disk.min, disk.max, disk.covered), (40.0, 10.0, 100.0, 0.75));
    assert_eq!(machine.shown_unit(machine.get(&Source::Host, "disk.read").expect("disk")), "By/s");
    let held = over(3.0, 7.0).throttle(GPU).expect("throttle");
    let held: Vec<(&str, f64)> = held.iter().map(|t| (t.reason, t.share)).collect();
    assert_eq!(held, [("hardware thermal slowdown", 0.5), ("power cap", 0.5)]);
    assert_eq!(over(6.0, 7.0).throttle(GPU), Some(Vec::new()), "a measured nothing");
}

#[test]
fn a_tick_between_two_readings_is_not_more_than_the_machine() {
    let (_folder, run) = run_with(|run| {
        let mut box_ = Sampled::new(run.path());
        let ids = [
            box_.add(Source::Host, &metric::CPU_TIME),
            box_.add(Source::Core(0), &metric::CPU_TIME),
            box_.add(Source::Processes, &metric::PROCESS_CPU_TIME),
        ];
        let row = |ms: u64, time: f64| (ms * SECOND / 1000, [Some(time); 3]);
        let rows = [row(1000, 5.0), row(2000, 5.5), row(2001, 5.51)];
        let rows: Vec<(u64, &[Option<f64>])> =
            rows.iter().map(|(at, v)| (*at, v.as_slice())).collect();
        box_.write(1, 7, &[box_.rows(&ids, &rows)]);
    });
    let machine = only(&run);
    let all = machine.over(run.time_on(machine));
    for (source, metric, most) in [
        (Source::Host, "cpu.time", 1.0),
        (Source::Core(0), "cpu.time", 1.0),
        (Source::Processes, "process.cpu.time", 4.0),
    ] {
        let stats = all.measure(&source, metric).expect("processor time");
        assert_eq!((stats.max, stats.last), (most, most), "{source}");
        let series = machine.get(&source, metric).expect("the series");
        assert_eq!(machine.points(series).last().and_then(|point| point.1), Some(most));
    }
    let core = all.measure(&Source::Core(0), "cpu.time").expect("processor time");
    assert!((core.mean - 0.51 / 1.001).abs() < 1e-9, "no time is lost: {core:?}");
}

#[test]
fn statistics_while_a_scope_was_open() {
    let (_folder, run) = run_with(sampled);
    let machine = only(&run);
    let time = run.time_in_scope(machine, "step/forward").expect("such scopes");
    assert_eq!(time.length_ns(), 3 * SECOND);
    let power = machine.over(time).measure(&gpu(), "gpu.power").expect("power");
    // 2 to 4 is 103 on the mean, 6 to 7 is 106.5.
    assert_eq!(power.mean, (2.0 * 103.0 + 106.5) / 3.0);
    assert_eq!((power.min, power.max, power.last), (102.0, 107.0, 107.0));
    assert_eq!(run.time_in_scope(machine, "forward").map(|t| t.length_ns()), Some(3 * SECOND));
    assert_eq!(run.time_in_scope(machine, "ward"), None);
    assert_eq!(run.time_on(machine).length_ns(), 10 * SECOND - 1);
}

#[test]
fn a_number_that_is_missing_says_why() {
    let (_folder, run) = run_with(sampled);
    let machine = only(&run);
    let over = |from, to| machine.over(TimeRanges::one(seconds(from), seconds(to)));
    let why = |metric: &str| over(2.0, 3.0).measure(&gpu(), metric).expect_err(metric);
    assert_eq!(why("gpu.sm.active"), SeriesMissing::Absent("this GPU has no GPM".into()));
    assert_eq!(why("gpu.fan"), SeriesMissing::NotRead);
    let other = over(20.0, 21.0).measure(&gpu(), "gpu.power");
    assert_eq!(other, Err(SeriesMissing::OtherTime));
    assert_eq!(run.machine_missing(), None);
    let (_folder, alone) = run_with(|_| ());
    assert_eq!(alone.machine_missing(), Some(SeriesMissing::NoSampler));
    assert!(alone.machine_of(&alone.processes[0]).is_none());
}

#[test]
fn gauges_are_not_known_across_a_gap_and_counters_are() {
    let (_folder, run) = run_with(|run| {
        let mut box_ = Sampled::new(run.path());
        let ids = [box_.add(gpu(), &metric::GPU_POWER), box_.add(gpu(), &metric::GPU_ENERGY)];
        let row = |at: f64| {
            let values = [Some(50.0), Some(50.0 * at)];
            ((at * SECOND as f64) as u64, values)
        };
        let rows: Vec<(u64, [Option<f64>; 2])> =
            [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 9.0, 9.1, 9.2].map(row).to_vec();
        let rows: Vec<(u64, &[Option<f64>])> =
            rows.iter().map(|(at, v)| (*at, v.as_slice())).collect();
        box_.write(1, 7, &[box_.rows(&ids, &rows)]);
    });
    let machine = only(&run);
    let over = |from, to| machine.over(TimeRanges::one(seconds(from), seconds(to)));
    assert_eq!(over(3.0, 4.0).measure(&gpu(), "gpu.power"), Err(SeriesMissing::OtherTime));
    let watts = over(3.0, 4.0).measure(&gpu(), "gpu.energy").expect("energy");
    assert!((watts.mean - 50.0).abs() < 1e-6 && watts.covered == 1.0, "{watts:?}");
    let edge = over(0.8, 1.2).measure(&gpu(), "gpu.power").expect("power");
    assert!((edge.covered - 0.5).abs() < 1e-6, "{edge:?}");
}

/// A store with a run, and beside it the run of a sidecar.
fn beside(app: &str, booted_ns: u64) -> (tempfile::TempDir, Run) {
    let store = tempfile::tempdir().expect("a folder");
    let mine = TestRun::new();
    mine.finished(&process());
    let folder = store.path().join("20990101-training");
    std::fs::rename(mine.path(), &folder).expect("moved");
    let sidecar = store.path().join("20990101-sidecar");
    std::fs::create_dir_all(&sidecar).expect("a folder");
    let json = format!(r#"{{"format":1,"id":"side-1","app":"{app}","start_ns":5}}"#);
    std::fs::write(sidecar.join("run.json"), json).expect("run.json");
    let mut box_ = Sampled::new(&sidecar);
    box_.booted_ns = booted_ns;
    let ids =
        [box_.add(gpu(), &metric::GPU_POWER), box_.add(Source::Processes, &metric::PROCESS_COUNT)];
    let rows: Vec<(u64, &[Option<f64>])> =
        [1, 5, 9, 10_000].iter().map(|s| (s * SECOND, [Some(7.0); 2].as_slice())).collect();
    box_.write(1, 7, &[box_.rows(&ids, &rows)]);
    let run = Run::open(&folder, &ReadOptions::default()).expect("a run");
    (store, run)
}

#[test]
fn a_sidecars_run_is_linked() {
    let (_store, run) = beside("hodo monitor", 1000 * SECOND);
    let machine = only(&run);
    assert_eq!(machine.linked.as_deref(), Some("side-1"));
    let sources: Vec<&Source> = machine.series.iter().map(|series| &series.source).collect();
    assert_eq!(sources, [&gpu()], "the sidecar's run has other processes");
    // What the sidecar read long after the run is left out.
    assert_eq!(machine.extent(), Some((seconds(1.0), seconds(9.0))));
    let (_store, other) = beside("another program", 1000 * SECOND);
    assert_eq!(other.machines.len(), 0);
    let (_store, rebooted) = beside("hodo monitor", 5000 * SECOND);
    assert_eq!(rebooted.machines.len(), 0, "another boot of the host");
}

#[test]
fn a_sidecars_own_run_is_readable() {
    let (store, _) = beside("hodo monitor", 1000 * SECOND);
    let run = Run::open(&store.path().join("20990101-sidecar"), &ReadOptions::default());
    let run = run.expect("a run without processes");
    let machine = only(&run);
    let whole = TimeRanges::one(seconds(1.0), seconds(10_000.0));
    assert_eq!((run.processes.len(), run.time_on(machine)), (0, whole));
    assert_eq!(run.wall_ns(), Some(9_999 * SECOND));
}
