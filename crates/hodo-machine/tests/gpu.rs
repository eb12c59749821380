//! NVML's readers on a fake libnvidia-ml: loading, errors, many GPUs. What real GPUs tell is checked
//! on one (`tests/gpu`).

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "this is a test")]

use hodo_format::machine::{Metric, Source, metric};
use hodo_machine::gpu::{Gpus, Visible};
use hodo_machine::{Absent, Reader, Table};
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fake-nvml/nvml.c");

/// A fake of its own for each test, since tests share a process.
fn fake(name: &str, macros: &[&str]) -> PathBuf {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("libfake-nvml-{name}.so"));
    let mut command = Command::new("cc");
    command.args(["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&file);
    command.arg(SOURCE).args(macros.iter().map(|word| format!("-D{word}")));
    assert!(command.status().expect("a C compiler").success(), "{command:?}");
    file
}

fn open(name: &str, macros: &[&str], visible: &Visible) -> Result<Gpus, Absent> {
    Gpus::open_library(fake(name, macros).as_os_str(), visible)
}

fn read(mut reader: Box<dyn Reader>) -> (Table, Vec<Absent>) {
    let mut table = Table::default();
    reader.read(&mut table);
    let absent = reader.absent();
    (table, absent)
}

fn named(list: &str) -> Visible {
    Visible::Named { list: list.into(), is_pci_order: false }
}

fn indices(gpus: &Gpus) -> Vec<u32> {
    gpus.cards().iter().map(|card| card.index).collect()
}

fn value(table: &Table, gpu: u32, metric: &Metric) -> Option<f64> {
    let source = Source::Gpu(uuid(gpu));
    let at = table.series().iter().position(|(s, m)| *s == source && m.name == metric.name)?;
    table.row()[at]
}

fn uuid(gpu: u32) -> String {
    format!("GPU-{gpu:08x}-0000-0000-0000-00000000fa4e")
}

#[test]
fn every_gpu_is_read_in_base_units() {
    let gpus = open("eight", &[], &Visible::All).unwrap();
    assert_eq!((gpus.cards().len(), gpus.driver()), (8, "999.0 (fake)"));
    let (quick, absent) = read(gpus.quick());
    assert_eq!(absent, []);
    assert_eq!(value(&quick, 3, &metric::GPU_UTILIZATION), Some(0.3));
    assert_eq!(value(&quick, 3, &metric::GPU_MEMORY_USED), Some(4.0 * f64::from(1 << 30)));
    assert_eq!(value(&quick, 3, &metric::GPU_POWER), Some(250.0));
    assert_eq!(value(&quick, 7, &metric::GPU_SM_CLOCK), Some(1980e6));
    let (steady, _) = read(gpus.steady());
    assert_eq!(value(&steady, 1, &metric::GPU_THROTTLE), Some(4.0));
    assert!(value(&steady, 1, &metric::GPU_ENERGY).unwrap() > 0.0);
}

#[test]
fn activity_needs_two_samples() {
    let gpus = open("activity", &["FAKE_GPUS=1"], &Visible::All).unwrap();
    let mut reader = gpus.performance();
    let mut table = Table::default();
    reader.read(&mut table);
    assert_eq!(value(&table, 0, &metric::GPU_SM_ACTIVE), None);
    std::thread::sleep(std::time::Duration::from_millis(110));
    reader.read(&mut table);
    assert_eq!(value(&table, 0, &metric::GPU_SM_ACTIVE), Some(0.5));
    assert_eq!(value(&table, 0, &metric::GPU_PCIE_SENT), Some(3.0 * 1_048_576.0));
}

#[test]
fn a_lost_gpu_hides_no_other_and_is_told() {
    let gpus = open("lost", &["FAKE_LOST=2"], &Visible::All).unwrap();
    let (quick, absent) = read(gpus.quick());
    assert_eq!(value(&quick, 2, &metric::GPU_POWER), None);
    assert_eq!(value(&quick, 1, &metric::GPU_POWER), Some(150.0));
    assert!(absent.iter().all(|absent| absent.part.ends_with(&uuid(2))), "{absent:?}");
    assert!(absent.iter().any(|absent| absent.fix.contains("fallen off the bus")), "{absent:?}");
}

#[test]
fn an_older_gpu_has_no_activity_and_says_so() {
    let gpus = open("old", &["FAKE_OLD", "FAKE_GPUS=1"], &Visible::All).unwrap();
    let (table, absent) = read(gpus.performance());
    assert_eq!(table.series(), []);
    assert_eq!(absent.len(), 1);
    assert!(absent[0].why.contains("older than Hopper"), "{absent:?}");
}

#[test]
fn processes_and_errors_are_read_slowly() {
    let gpus = open("xid", &["FAKE_GPUS=2", "FAKE_XID=79"], &Visible::All).unwrap();
    let (table, absent) = read(gpus.slow());
    assert_eq!(value(&table, 0, &metric::GPU_XID), Some(79.0));
    assert_eq!(value(&table, 0, &metric::GPU_XIDS), Some(1.0));
    assert_eq!(value(&table, 1, &metric::GPU_XIDS), Some(0.0));
    let process = Source::GpuProcess(uuid(1), 4001);
    assert!(table.series().iter().any(|(source, _)| *source == process), "{table:?}");
    assert!(absent.iter().any(|absent| absent.part.starts_with("gpu.fan")), "{absent:?}");
}

#[test]
fn only_what_the_program_may_see_is_read() {
    let gpus = open("visible", &[], &named(&format!("5,{}", uuid(1)))).unwrap();
    assert_eq!(indices(&gpus), [1, 5]);
    assert_eq!(gpus.notes(), []);
    let none = open("none", &[], &named("-1")).expect_err("none is visible");
    assert!(none.why.contains("CUDA_VISIBLE_DEVICES"), "{none:?}");
}

#[test]
fn where_models_differ_a_number_means_none_and_all_are_read() {
    let mixed = &["FAKE_GPUS=3", "FAKE_MIXED"];
    let gpus = open("mixed", mixed, &named("0")).unwrap();
    assert_eq!(indices(&gpus), [0, 1, 2]);
    assert!(gpus.notes()[0].fix.contains("CUDA_DEVICE_ORDER=PCI_BUS_ID"), "{:?}", gpus.notes());
    let by_bus = Visible::Named { list: "0".into(), is_pci_order: true };
    assert_eq!(indices(&open("mixed-by-bus", mixed, &by_bus).unwrap()), [0]);
}

#[test]
fn a_mig_instance_is_read_as_the_gpu_it_is_part_of() {
    let gpus = open("mig", &["FAKE_GPUS=4"], &named("MIG-00000002")).unwrap();
    assert_eq!(indices(&gpus), [2]);
    assert!(gpus.notes()[0].why.contains("whole GPU"), "{:?}", gpus.notes());
    let (quick, _) = read(gpus.quick());
    assert_eq!(value(&quick, 2, &metric::GPU_POWER), Some(200.0));
    let unknown = open("no-mig", &["FAKE_GPUS=4"], &named("MIG-00000009"));
    assert!(unknown.expect_err("it names none").why.contains("leaves no GPU"));
}

#[test]
fn a_driver_that_is_not_loaded_is_told() {
    let absent = open("absent", &["FAKE_ABSENT"], &Visible::All).expect_err("no driver");
    assert!(absent.why.contains("not loaded") && !absent.fix.is_empty(), "{absent:?}");
}
