//! A machine as a packed run keeps it.

use super::boot::Boot;
use super::{Machine, MachineSeries, MachineState};
use crate::packed::{SideDamage, SideMachine};
use hodo_format::machine::{Kind, Source};
use std::path::Path;
use std::sync::Arc;

/// Times and values of a series.
pub(crate) type Readings = (Arc<[i64]>, Vec<f64>);

impl Machine {
    /// What the files of its readings are named by in a packed run.
    pub(crate) fn file_stem(&self) -> String {
        let name = self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match &self.linked {
            Some(run) => format!("{run}-{name}"),
            None => name,
        }
    }

    /// All but its readings.
    pub(crate) fn side(&self, run: &Path) -> SideMachine {
        let series = |one: &MachineSeries| {
            let is_counter = one.kind == Kind::Counter;
            (
                one.source.to_string(),
                one.metric.clone(),
                one.unit.clone(),
                is_counter,
                one.anew.clone(),
            )
        };
        SideMachine {
            file: self.file_stem(),
            folder: self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            host: self.boot.host.clone(),
            booted_ns: self.boot.ns,
            offset_ns: self.offset_ns,
            linked: self.linked.clone(),
            state: self.state.as_ref().map(|state| state.value().clone()),
            damage: SideDamage::of(&self.damage, run),
            series: self.series.iter().map(series).collect(),
            rows: self.series.iter().map(|one| one.times.len() as u64).sum(),
        }
    }

    /// The machine of `side` in the packed run `run`, with the readings of its series.
    pub(crate) fn again(side: SideMachine, run: &Path, readings: Vec<Readings>) -> Machine {
        let series = |((source, metric, unit, counter, anew), (times, values)): (_, Readings)| {
            let source: String = source;
            MachineSeries {
                source: Source::parse(&source),
                metric,
                unit,
                kind: if counter { Kind::Counter } else { Kind::Gauge },
                times,
                values,
                anew,
            }
        };
        Machine {
            folder: run.join(&side.folder),
            state: side.state.and_then(MachineState::again),
            series: side.series.into_iter().zip(readings).map(series).collect(),
            linked: side.linked,
            live: false,
            damage: side.damage.again(run),
            boot: Boot { host: side.host, ns: side.booted_ns },
            offset_ns: side.offset_ns,
        }
    }
}
