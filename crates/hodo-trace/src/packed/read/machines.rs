//! The machines of a packed run.

use super::file::{TableFile, Unreadable};
use super::{Table, path};
use crate::Machine;
use crate::packed::SideMachine;
use crate::{TraceError, packed::side::Side};
use std::path::Path;
use std::sync::Arc;

/// Reads the machines of the packed run in `folder`.
pub(crate) fn machines(folder: &Path, side: Side) -> Result<Vec<Machine>, TraceError> {
    side.machines.into_iter().map(|machine| read(folder, machine)).collect()
}

fn read(folder: &Path, side: SideMachine) -> Result<Machine, TraceError> {
    let file = path(folder, Table::Readings, &side.file);
    let mut readings = Series::new(side.series.len());
    let taken = if side.rows == 0 { Ok(()) } else { readings.fill(&file) };
    if let Err(Unreadable::Newer(schema)) = taken {
        return Err(TraceError::NewerPack { path: file, schema });
    }
    let missing = side.rows.saturating_sub(readings.rows);
    let mut machine = Machine::again(side, folder, readings.finish());
    let why = match taken {
        Err(error) => Some(error.to_string()),
        Ok(()) if missing > 0 => Some(format!("{missing} readings are missing")),
        Ok(()) => None,
    };
    if let Some(why) = why {
        machine.damage.frames += 1;
        machine.damage.note(file, 0, why);
    }
    Ok(machine)
}

/// Readings by series.
struct Series {
    of: Vec<(Vec<i64>, Vec<f64>)>,
    rows: u64,
}

impl Series {
    fn new(count: usize) -> Series {
        Series { of: vec![Default::default(); count], rows: 0 }
    }

    fn fill(&mut self, file: &Path) -> Result<(), Unreadable> {
        let table = TableFile::open(file, Table::Readings)?;
        for group in 0..table.groups() {
            let series = table.wholes(group, "series")?;
            let (times, values) = (table.wholes(group, "time_ns")?, table.numbers(group, "value")?);
            for ((&series, &time), &value) in series.iter().zip(&times).zip(&values) {
                let of = usize::try_from(series).ok().and_then(|at| self.of.get_mut(at));
                let Some(of) = of else {
                    return Err(Unreadable::Odd(format!("there is no series {series}")));
                };
                of.0.push(time);
                of.1.push(value);
                self.rows += 1;
            }
        }
        Ok(())
    }

    /// Series that were read together share their times.
    fn finish(self) -> Vec<(Arc<[i64]>, Vec<f64>)> {
        let mut shared: Vec<Arc<[i64]>> = Vec::new();
        let mut share = |times: Vec<i64>| match shared.iter().find(|known| ***known == *times) {
            Some(known) => known.clone(),
            None => {
                shared.push(times.into());
                shared[shared.len() - 1].clone()
            }
        };
        self.of.into_iter().map(|(times, values)| (share(times), values)).collect()
    }
}
