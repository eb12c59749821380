//! Frames as they look, at the sizes people have; HODO_BLESS=1 writes them anew.

use super::*;
use crate::top::model::GpuName;
use hodo_format::machine::{Metric, Source, metric};
use hodo_trace::{Now, NowKernel, NowMark, NowProcess, NowScope, NowSlow, ProcessState};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
const WALL_NS: i64 = 1_794_773_700_000_000_000;

/// What stands on a screen of that size.
fn screen(model: &Model, view: &mut View, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(model, view, false, frame.area(), frame.buffer_mut())).unwrap();
    let buffer = terminal.backend().buffer();
    let row = |y: u16| {
        let cells = (0..width).map(|x| buffer[(x, y)].symbol());
        cells.collect::<String>().trim_end().to_owned() + "\n"
    };
    (0..height).map(row).collect()
}

#[track_caller]
fn same_as(text: &str, file: &str) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/top/ui/expected/");
    let path = format!("{folder}{file}");
    if std::env::var_os("HODO_BLESS").is_some() {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == text, "not as in {file}; the frame is:\n{text}");
}

/// A machine of `gpus` H200s, two minutes of it.
fn machine(gpus: u32) -> Model {
    let mut model = Model {
        host: "trainer-7".into(),
        wall_ns: WALL_NS,
        cores: Some(96.0),
        no_run: "no run is recording on this host in .hodo".into(),
        ..Model::default()
    };
    for gpu in 0..gpus {
        let uuid = format!("GPU-{gpu}");
        model.gpus.push(GpuName { uuid, index: Some(gpu), name: "NVIDIA H200".into() });
    }
    for second in 1..=120u64 {
        read(&mut model, second);
    }
    model
}

fn read(model: &mut Model, second: u64) {
    let wave = |shift: u64| 0.5 + 0.4 * ((second + 7 * shift) as f64 / 9.0).sin();
    let uuids: Vec<String> = model.gpus.iter().map(|gpu| gpu.uuid.clone()).collect();
    let mut add = |source: &Source, metric: &'static Metric, value: f64| {
        model.history.add(source, metric, second * SECOND, Some(value));
    };
    for (at, uuid) in (0u64..).zip(uuids) {
        let gpu = Source::Gpu(uuid);
        add(&gpu, &metric::GPU_SM_ACTIVE, wave(at));
        add(&gpu, &metric::GPU_UTILIZATION, 1.0);
        add(&gpu, &metric::GPU_TENSOR_ACTIVE, wave(at) / 2.0);
        add(&gpu, &metric::GPU_DRAM_ACTIVE, wave(at + 1) / 3.0);
        add(&gpu, &metric::GPU_MEMORY_USED, (70.0 + at as f64) * 1e9);
        add(&gpu, &metric::GPU_MEMORY_TOTAL, 150.7e9);
        add(&gpu, &metric::GPU_POWER, 300.0 + 300.0 * wave(at));
        add(&gpu, &metric::GPU_POWER_LIMIT, 700.0);
        add(&gpu, &metric::GPU_TEMPERATURE, 50.0 + at as f64);
        add(&gpu, &metric::GPU_SM_CLOCK, 1.98e9);
        add(&gpu, &metric::GPU_THROTTLE, if at == 2 { 4.0 } else { 0.0 });
    }
    add(&Source::Host, &metric::CPU_TIME, 30.0 * second as f64);
    add(&Source::Host, &metric::LOAD, 31.4);
    add(&Source::Host, &metric::MEMORY_USED, 210e9);
    add(&Source::Host, &metric::MEMORY_TOTAL, 1.08e12);
    add(&Source::Host, &metric::MEMORY_CACHE, 400e9);
    add(&Source::Host, &metric::PRESSURE_CPU, 0.02 * second as f64);
    add(&Source::Host, &metric::PRESSURE_IO, 0.0);
    for core in 0..96 {
        let busy = if core % 3 == 0 { 0.9 } else { 0.02 };
        add(&Source::Core(core), &metric::CPU_TIME, busy * second as f64);
    }
    let disk = Source::Disk("nvme0n1".into());
    add(&disk, &metric::DISK_READ, 512e6 * second as f64);
    add(&disk, &metric::DISK_WRITTEN, 1e6 * second as f64);
    add(&disk, &metric::DISK_BUSY, 0.4 * second as f64);
    let network = Source::Network("eth0".into());
    add(&network, &metric::NETWORK_RECEIVED, 2e6 * second as f64);
    add(&network, &metric::NETWORK_SENT, 1e5 * second as f64);
}

fn scope(name: &str, depth: usize) -> NowScope {
    NowScope { name: name.into(), depth, ..NowScope::default() }
}

/// A scope that closes often.
fn busy(name: &str, depth: usize, rate: f64, mean_ns: u64) -> NowScope {
    let count = (rate * 10.0) as u64;
    NowScope {
        closed: count * 7,
        count,
        rate,
        total_ns: count * mean_ns,
        mean_ns: Some(mean_ns),
        max_ns: Some(mean_ns * 3),
        last_ns: Some(mean_ns),
        ..scope(name, depth)
    }
}

fn training() -> Now {
    let open =
        |open_ns: u64, scope: NowScope| NowScope { open: 8, open_ns: Some(open_ns), ..scope };
    Now {
        app: "train".into(),
        id: "20261115-201500-train-aaaaaa".into(),
        start_ns: (WALL_NS - 754 * SECOND as i64) as u64,
        processes: (0..8)
            .map(|rank| NowProcess {
                pid: 100 + rank,
                rank: Some(rank),
                state: ProcessState::Live,
                is_timed: true,
            })
            .collect(),
        window_ns: 10 * SECOND,
        scopes: vec![
            open(750 * SECOND, scope("train", 0)),
            open(42 * SECOND, scope("epoch", 1)),
            open(60 * MS, busy("batch", 2, 88.0, 90 * MS)),
            busy("data_wait", 3, 88.0, 2 * MS),
            busy("forward", 3, 88.0, 30 * MS),
            busy("attention\x1b[2J", 4, 2112.0, 900_000),
            open(20 * MS, busy("backward", 3, 88.0, 50 * MS)),
            scope("evaluate", 1),
        ],
        slowest: vec![NowSlow {
            path: ["train", "epoch", "batch"].map(String::from).to_vec(),
            index: Some(1042),
            ns: 412 * MS,
            mean_ns: 90 * MS,
            ago_ns: 3 * SECOND,
        }],
        kernels: vec![
            kernel("sm90_xmma_gemm_bf16bf16_bf16f32", 4200.0, 0.61),
            kernel("flash_fwd_kernel", 2112.0, 0.22),
        ],
        marks: vec![NowMark {
            name: "loss".into(),
            value: "0.731".into(),
            values: (0..60).map(|i| 2.0 - f64::from(i) / 50.0).collect(),
            count: 6120,
            ago_ns: 40 * MS,
        }],
        ..Now::default()
    }
}

fn kernel(name: &str, rate: f64, share: f64) -> NowKernel {
    NowKernel {
        name: name.into(),
        rate,
        total_ns: (share * 1e10) as u64,
        share,
        mean_ns: (share * 1e9 / rate) as u64,
        max_ns: MS,
        bytes_per_s: 0.0,
    }
}

#[test]
fn eight_gpus_and_a_run_fit_80_by_24() {
    let model = Model { run: Some(training()), runs: 1, ..machine(8) };
    let text = screen(&model, &mut View::default(), 80, 24);
    same_as(&text, "8-gpus-80x24.txt");
    assert!(!text.contains('\x1b'));
}

#[test]
fn eight_gpus_and_a_run_fill_200_by_60() {
    let model = Model { run: Some(training()), runs: 2, ..machine(8) };
    same_as(&screen(&model, &mut View::default(), 200, 60), "8-gpus-200x60.txt");
}

#[test]
fn a_machine_without_gpu_or_run_says_what_is_absent() {
    let mut model = machine(0);
    model.absent.push("no GPU: libnvidia-ml.so.1 was not found; install the driver".into());
    same_as(&screen(&model, &mut View::default(), 80, 24), "no-gpu-80x24.txt");
}

#[test]
fn limits_of_a_container_stand_beside_the_hosts_memory() {
    let mut model = machine(0);
    let view = &mut View::default();
    assert!(!screen(&model, view, 100, 30).contains("cgroup"), "it has none");
    for second in 121..=122u64 {
        let mut add = |metric: &'static Metric, value: f64| {
            model.history.add(&Source::Host, metric, second * SECOND, Some(value));
        };
        add(&metric::CGROUP_MEMORY_USED, 201_326_592.0);
        add(&metric::CGROUP_MEMORY_LIMIT, 268_435_456.0);
        add(&metric::CGROUP_CPU_LIMIT, 1.5);
        add(&metric::CGROUP_CPU_THROTTLED, 0.25 * second as f64);
    }
    let frame = screen(&model, view, 100, 30);
    let line = frame.lines().find(|line| line.starts_with("cgroup")).expect("a line");
    assert_eq!(line, "cgroup  75%  192/256 MiB of the container  1.50 CPUs  stopped 25%");
}

#[test]
fn what_a_gpu_does_not_tell_is_no_zero() {
    let mut model = Model::default();
    model.gpus.push(GpuName { uuid: "GPU-1".into(), index: Some(0), name: "Tesla T4".into() });
    let gpu = Source::Gpu("GPU-1".into());
    model.history.add(&gpu, &metric::GPU_UTILIZATION, 5, Some(0.0));
    model.history.add(&gpu, &metric::GPU_TEMPERATURE, 5, None);
    let text = screen(&model, &mut View::default(), 100, 24);
    let row = text.lines().find(|line| line.contains("Tesla T4")).unwrap();
    assert!(text.contains("any kernel") && !text.contains("tensor"), "{text}");
    assert!(row.contains("0%") && row.contains('–'), "{row}");
}

#[test]
fn every_pane_and_the_help_are_reached() {
    let model = Model { run: Some(training()), ..machine(1) };
    let mut view = View { pane: Pane::Kernels, ..View::default() };
    assert!(screen(&model, &mut view, 80, 24).contains("flash_fwd_kernel"));
    view.pane = Pane::Slowest;
    let text = screen(&model, &mut view, 80, 24);
    let row = text.lines().find(|line| line.contains("epoch / batch")).unwrap();
    assert!(row.contains("1042") && row.contains("412 ms") && row.contains("4.6"), "{row}");
    view.pane = Pane::Marks;
    assert!(screen(&model, &mut view, 80, 24).contains("loss"));
    view.help = true;
    let text = screen(&model, &mut view, 80, 24);
    assert!(KEYS.iter().all(|(keys, _)| text.contains(keys)), "{text}");
}

#[test]
fn losses_are_not_overlooked() {
    let mut run = training();
    run.lost[0].spans = 12;
    run.gpu_lost = 3;
    let model = Model { run: Some(run), ..machine(0) };
    let text = screen(&model, &mut View::default(), 120, 24);
    assert!(text.contains("12 records lost (ring_full), 3 pieces of GPU work lost"), "{text}");
}

#[test]
fn a_long_tree_says_how_much_is_below_and_scrolls_to_its_end() {
    let mut run = training();
    run.scopes.extend((0..50).map(|i| scope(&format!("scope {i:02}"), 0)));
    let model = Model { run: Some(run), ..machine(1) };
    let mut view = View { order: super::super::view::Order::Name, ..View::default() };
    let text = screen(&model, &mut view, 80, 24);
    assert!(text.contains("more below"), "{text}");
    view.scrolled[Pane::Scopes as usize] = usize::MAX;
    let text = screen(&model, &mut view, 80, 24);
    assert!(!text.contains("more below") && text.contains("train"), "{text}");
}

#[test]
fn the_smallest_screens_break_nothing() {
    let model = Model { run: Some(training()), ..machine(8) };
    for (width, height) in
        [(0, 0), (9, 0), (0, 9), (1, 1), (5, 3), (20, 5), (40, 10), (300, 8), (80, 200)]
    {
        let mut view = View { help: true, ..View::default() };
        screen(&model, &mut view, width, height);
    }
}

#[test]
fn colours_are_only_where_they_are_wanted() {
    let model = Model { run: Some(training()), ..machine(8) };
    let has_colour = |colour: bool| {
        let area = Rect::new(0, 0, 80, 24);
        let mut buffer = Buffer::empty(area);
        draw(&model, &mut View::default(), colour, area, &mut buffer);
        buffer.content().iter().any(|cell| cell.fg != ratatui::style::Color::Reset)
    };
    assert!(has_colour(true) && !has_colour(false));
}
