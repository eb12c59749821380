//! The GPUs: a line for each.

use super::spark::spark;
use crate::term::number;
use crate::term::style::{ACCENT, DIM, HOT, PLAIN, STRONG, WARM};
use crate::term::table::{Cell, Column, Line, Table};
use crate::term::text;
use crate::top::history::History;
use crate::top::model::{GpuName, Model};
use hodo_format::machine::{Metric, Source, metric, throttle_reasons};

/// More memory in use than this share is shown as a warning.
const NEARLY_FULL: f64 = 0.95;
/// A core hotter than this is shown as a warning; most slow down a little above.
const HOT_CELSIUS: f64 = 85.0;

/// The table; nothing where there is no GPU.
pub fn lines(model: &Model, width: usize) -> Vec<Line> {
    if model.gpus.is_empty() {
        return Vec::new();
    }
    let source = |gpu: &GpuName| Source::Gpu(gpu.uuid.clone());
    let has_sm = |gpu: &GpuName| model.history.has(&source(gpu), &metric::GPU_SM_ACTIVE);
    let mut table = Table::new(columns(model.gpus.iter().any(has_sm)));
    for gpu in &model.gpus {
        table.row(Gpu { gpu, history: &model.history }.row(spark_cells(width)));
    }
    table.lines(width)
}

/// Wider screens look further back.
fn spark_cells(width: usize) -> usize {
    (width / 5).saturating_sub(8).clamp(8, 60)
}

/// What the SMs did tells more than whether any kernel was there, so the latter goes first.
fn columns(has_sm: bool) -> Vec<Column> {
    vec![
        Column::number("GPU", 0),
        Column::text("", 9).cut(),
        Column::number("SM", 0).least(4),
        // NVML's utilisation says whether any kernel was there, be it one block of one.
        Column::number("any kernel", if has_sm { 8 } else { 1 }).least(4),
        Column::text("", 2),
        Column::number("tensor", 3).least(4),
        Column::number("DRAM", 4).least(4),
        Column::number("occup.", 11).least(4),
        Column::number("memory", 1).least(12),
        Column::number("power", 1).least(9),
        Column::number("temp", 5).least(5),
        Column::number("SM clock", 6).least(8),
        Column::number("mem temp", 14).least(5),
        Column::number("PCIe out/in", 12),
        Column::number("NVLink out/in", 13),
        Column::number("fan", 15),
        Column::text("held by", 2),
        Column::text("errors", 1),
    ]
}

/// One GPU.
struct Gpu<'a> {
    gpu: &'a GpuName,
    history: &'a History,
}

impl Gpu<'_> {
    fn row(&self, cells: usize) -> Vec<Cell> {
        let has_sm = self.history.has(&self.source(), &metric::GPU_SM_ACTIVE);
        let busy = if has_sm { &metric::GPU_SM_ACTIVE } else { &metric::GPU_UTILIZATION };
        let recent = self.history.last(&self.source(), busy, cells);
        let index = self.gpu.index.map_or_else(|| "–".to_owned(), |index| index.to_string());
        vec![
            Cell::new(STRONG, index),
            Cell::plain(text::safe(short(&self.gpu.name))),
            self.share(&metric::GPU_SM_ACTIVE),
            self.share(&metric::GPU_UTILIZATION),
            Cell::new(ACCENT, spark(&recent, Some(1.0), cells)),
            self.share(&metric::GPU_TENSOR_ACTIVE),
            self.share(&metric::GPU_DRAM_ACTIVE),
            self.share(&metric::GPU_SM_OCCUPANCY),
            self.memory(),
            self.power(),
            self.number(&metric::GPU_TEMPERATURE, HOT_CELSIUS, |c| format!("{c:.0} °C")),
            self.number(&metric::GPU_SM_CLOCK, f64::MAX, |hz| format!("{:.0} MHz", hz / 1e6)),
            self.number(&metric::GPU_MEMORY_TEMPERATURE, f64::MAX, |c| format!("{c:.0} °C")),
            self.both(&metric::GPU_PCIE_SENT, &metric::GPU_PCIE_RECEIVED),
            self.both(&metric::GPU_NVLINK_SENT, &metric::GPU_NVLINK_RECEIVED),
            self.share(&metric::GPU_FAN),
            self.held_down(),
            self.errors(),
        ]
    }

    fn source(&self) -> Source {
        Source::Gpu(self.gpu.uuid.clone())
    }

    fn value(&self, metric: &Metric) -> Option<f64> {
        self.history.value(&self.source(), metric)
    }

    /// A number where the series is there, a dash where it has no value now.
    fn number(&self, metric: &Metric, warn: f64, show: impl Fn(f64) -> String) -> Cell {
        match self.value(metric) {
            Some(value) => Cell::new(if value >= warn { HOT } else { PLAIN }, show(value)),
            None if self.history.has(&self.source(), metric) => Cell::new(DIM, "–"),
            None => Cell::default(),
        }
    }

    fn share(&self, metric: &Metric) -> Cell {
        self.number(metric, f64::MAX, number::percent)
    }

    fn memory(&self) -> Cell {
        let Some(used) = self.value(&metric::GPU_MEMORY_USED) else { return Cell::new(DIM, "–") };
        match self.value(&metric::GPU_MEMORY_TOTAL).filter(|&total| total > 0.0) {
            Some(total) => {
                let style = if used / total >= NEARLY_FULL { HOT } else { PLAIN };
                Cell::new(style, super::of_bytes(used, total))
            }
            None => Cell::plain(number::bytes(used as u64)),
        }
    }

    fn power(&self) -> Cell {
        // Where no power is told, the growth of the energy is it.
        let power = self.value(&metric::GPU_POWER).or_else(|| self.value(&metric::GPU_ENERGY));
        let limit = self.value(&metric::GPU_POWER_LIMIT);
        match (power, limit) {
            (Some(power), Some(limit)) => Cell::plain(format!("{power:.0}/{limit:.0} W")),
            (Some(power), None) => Cell::plain(format!("{power:.0} W")),
            (None, _) => Cell::new(DIM, "–"),
        }
    }

    fn both(&self, sent: &Metric, received: &Metric) -> Cell {
        match (self.value(sent), self.value(received)) {
            (Some(sent), Some(received)) => {
                Cell::plain(format!("{}/{}", super::rate(sent), super::rate(received)))
            }
            _ => Cell::default(),
        }
    }

    fn held_down(&self) -> Cell {
        let Some(bits) = self.value(&metric::GPU_THROTTLE) else { return Cell::default() };
        let reasons: Vec<&str> = throttle_reasons(bits as u64).collect();
        Cell::new(WARM, reasons.join(", "))
    }

    /// Errors since the driver was loaded, where there are any; Xid errors since sampling began.
    fn errors(&self) -> Cell {
        let xid = self.value(&metric::GPU_XID).filter(|&xid| xid > 0.0);
        let xid = xid.map(|xid| format!("Xid {xid:.0}"));
        let growing = self.value(&metric::GPU_ECC_UNCORRECTED).filter(|&rate| rate > 0.0);
        let ecc = growing.map(|_| "ECC errors".to_owned());
        let told: Vec<String> = xid.into_iter().chain(ecc).collect();
        Cell::new(HOT, told.join(", "))
    }
}

/// A product's name without what all have.
fn short(name: &str) -> &str {
    let name = name.strip_prefix("NVIDIA ").unwrap_or(name);
    name.strip_prefix("GeForce ").unwrap_or(name)
}
