//! One GPU as the readers hold it.

use crate::{Absent, Table};
use hodo_format::machine::{Metric, Source, part};
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper::{Device, Nvml};

/// A GPU, and what it does not tell.
#[derive(Debug)]
pub(super) struct Gpu {
    pub(super) device: Device<'static>,
    pub(super) source: Source,
    /// What could not be read the last time it was asked for.
    missing: Vec<(&'static Metric, NvmlError)>,
}

impl Gpu {
    pub(super) fn open(nvml: &'static Nvml, uuid: &str) -> Option<Gpu> {
        let device = nvml.device_by_uuid(uuid).ok()?;
        Some(Gpu { device, source: Source::Gpu(uuid.into()), missing: Vec::new() })
    }

    /// Puts a value into the table, or keeps why there is none.
    pub(super) fn put(
        &mut self,
        table: &mut Table,
        metric: &'static Metric,
        value: Result<f64, NvmlError>,
    ) {
        self.missing.retain(|(known, _)| *known != metric);
        match value {
            Ok(value) => {
                let slot = table.slot(self.source.clone(), metric);
                table.set(slot, value);
            }
            Err(error) => self.missing.push((metric, error)),
        }
    }

    /// Whether the GPU has said that it never tells this.
    pub(super) fn never_tells(&self, metric: &Metric) -> bool {
        let never = |error: &NvmlError| {
            matches!(error, NvmlError::NotSupported | NvmlError::FailedToLoadSymbol(_))
        };
        self.missing.iter().any(|(known, error)| *known == metric && never(error))
    }

    /// Several of NVML's fields by one call.
    pub(super) fn fields<const N: usize>(&self, ids: [u32; N]) -> [Result<f64, NvmlError>; N] {
        let mut answers = match self.device.field_values_for(&ids.map(FieldId)) {
            Ok(answers) => answers.into_iter(),
            Err(_) => Vec::new().into_iter(),
        };
        ids.map(|_| number(answers.next().unwrap_or(Err(NvmlError::NotSupported))?.value?))
    }

    /// What it does not tell, and why.
    pub(super) fn absent(&self) -> impl Iterator<Item = Absent> {
        self.missing.iter().map(|(metric, error)| Absent {
            part: part::of_source(metric.name, &self.source),
            why: match error {
                NvmlError::NotSupported => "the GPU or its driver does not tell it".into(),
                other => other.to_string(),
            },
            fix: match error {
                NvmlError::NoPermission => "run as root, or let all users read it".into(),
                NvmlError::GpuLost => "the GPU has fallen off the bus: reset it or reboot".into(),
                _ => String::new(),
            },
        })
    }
}

fn number(value: SampleValue) -> Result<f64, NvmlError> {
    Ok(match value {
        SampleValue::F64(value) => value,
        SampleValue::U32(value) => value.into(),
        SampleValue::U64(value) => value as f64,
        SampleValue::I64(value) => value as f64,
    })
}
