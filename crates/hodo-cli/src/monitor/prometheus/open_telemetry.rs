//! The names of OpenTelemetry's semantic conventions for hardware (`hw.*`, in development), as
//! Prometheus writes them.

use super::families::{Families, Type};
use crate::top::GpuName;
use hodo_format::machine::{Metric, Source, metric};
use hodo_machine::Newest;

/// A convention that one reading fills.
struct Convention {
    metric: &'static Metric,
    name: &'static str,
    kind: Type,
    help: &'static str,
    /// What is measured; its id is made of the GPU's.
    part: Part,
    /// A label that the convention asks for.
    label: Option<(&'static str, &'static str)>,
}

/// The component a convention is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Gpu,
    /// A part of the GPU with a type of its own: type, and what its id ends in.
    Inside(&'static str, &'static str),
}

const fn of_gpu(metric: &'static Metric, name: &'static str, kind: Type) -> Convention {
    Convention { metric, name, kind, help: "", part: Part::Gpu, label: None }
}

const CONVENTIONS: [Convention; 13] = [
    Convention {
        help: "Fraction of time in which any kernel was resident.",
        ..of_gpu(&metric::GPU_UTILIZATION, "hw_gpu_utilization_ratio", Type::Gauge)
    },
    Convention {
        help: "GPU memory used.",
        ..of_gpu(&metric::GPU_MEMORY_USED, "hw_gpu_memory_usage_bytes", Type::Gauge)
    },
    Convention {
        help: "Size of the GPU memory.",
        ..of_gpu(&metric::GPU_MEMORY_TOTAL, "hw_gpu_memory_limit_bytes", Type::Gauge)
    },
    Convention {
        help: IO,
        label: Some(("network_io_direction", "transmit")),
        ..of_gpu(&metric::GPU_NVLINK_SENT, "hw_gpu_io_bytes_total", Type::Counter)
    },
    Convention {
        help: IO,
        label: Some(("network_io_direction", "receive")),
        ..of_gpu(&metric::GPU_NVLINK_RECEIVED, "hw_gpu_io_bytes_total", Type::Counter)
    },
    Convention {
        help: "Energy consumed by the component.",
        ..of_gpu(&metric::GPU_ENERGY, "hw_energy_joules_total", Type::Counter)
    },
    Convention {
        help: "Instantaneous power consumed by the component.",
        ..of_gpu(&metric::GPU_POWER, "hw_power_watts", Type::Gauge)
    },
    Convention {
        help: ERRORS,
        label: Some(("error_type", "corrected")),
        ..of_gpu(&metric::GPU_ECC_CORRECTED, "hw_errors_total", Type::Counter)
    },
    Convention {
        help: ERRORS,
        label: Some(("error_type", "uncorrected")),
        ..of_gpu(&metric::GPU_ECC_UNCORRECTED, "hw_errors_total", Type::Counter)
    },
    Convention {
        help: ERRORS,
        label: Some(("error_type", "xid")),
        ..of_gpu(&metric::GPU_XIDS, "hw_errors_total", Type::Counter)
    },
    Convention {
        help: TEMPERATURE,
        part: Part::Inside("temperature", "core"),
        label: Some(("hw_sensor_location", "core")),
        ..of_gpu(&metric::GPU_TEMPERATURE, "hw_temperature_celsius", Type::Gauge)
    },
    Convention {
        help: TEMPERATURE,
        part: Part::Inside("temperature", "memory"),
        label: Some(("hw_sensor_location", "memory")),
        ..of_gpu(&metric::GPU_MEMORY_TEMPERATURE, "hw_temperature_celsius", Type::Gauge)
    },
    Convention {
        help: "Fan speed expressed as a fraction of its maximum speed.",
        part: Part::Inside("fan", "fan"),
        ..of_gpu(&metric::GPU_FAN, "hw_fan_speed_ratio", Type::Gauge)
    },
];

const IO: &str = "Received and transmitted bytes by the GPU, over NVLink.";
const ERRORS: &str = "Number of errors encountered by the component.";
const TEMPERATURE: &str = "Temperature in degrees Celsius.";

/// Adds what the conventions name.
pub fn add(readings: &[Newest], host: &str, gpus: &[GpuName], families: &mut Families) {
    for gpu in gpus {
        let source = Source::Gpu(gpu.uuid.clone());
        let value = |metric: &Metric| {
            let is_it = |one: &&Newest| one.source == source && one.metric.name == metric.name;
            readings.iter().find(is_it).and_then(|one| one.value)
        };
        for convention in &CONVENTIONS {
            if let Some(value) = value(convention.metric) {
                add_one(convention, gpu, host, value, families);
            }
        }
        let used = value(&metric::GPU_MEMORY_USED).zip(value(&metric::GPU_MEMORY_TOTAL));
        if let Some((used, total)) = used.filter(|(_, total)| *total > 0.0) {
            let name = "hw_gpu_memory_utilization_ratio";
            let help = "Fraction of GPU memory used.";
            let share = Convention { help, ..of_gpu(&metric::GPU_MEMORY_USED, name, Type::Gauge) };
            add_one(&share, gpu, host, used / total, families);
        }
    }
}

fn add_one(of: &Convention, gpu: &GpuName, host: &str, value: f64, families: &mut Families) {
    let index = gpu.index.map_or_else(String::new, |index| format!("gpu{index}"));
    let (id, parent, sort) = match of.part {
        Part::Gpu => (gpu.uuid.clone(), "", "gpu"),
        Part::Inside(sort, end) => (format!("{}/{end}", gpu.uuid), gpu.uuid.as_str(), sort),
    };
    let (label, told) = of.label.unwrap_or(("error_type", ""));
    let labels = [
        ("hw_id", id.as_str()),
        ("hw_type", sort),
        ("hw_name", index.as_str()),
        ("hw_model", gpu.name.as_str()),
        ("hw_parent", parent),
        (label, told),
        ("host", host),
    ];
    families.add(of.name, of.kind, of.help, &labels, value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_has_the_conventions_names_and_attributes() {
        let gpus = [GpuName { uuid: "GPU-1".into(), index: Some(0), name: "NVIDIA H200".into() }];
        let reading = |metric, value| Newest {
            source: Source::Gpu("GPU-1".into()),
            metric,
            value: Some(value),
            time_ns: 1,
        };
        let readings = [
            reading(&metric::GPU_MEMORY_USED, 25.0),
            reading(&metric::GPU_MEMORY_TOTAL, 100.0),
            reading(&metric::GPU_TEMPERATURE, 61.0),
            reading(&metric::GPU_ECC_UNCORRECTED, 2.0),
        ];
        let mut families = Families::default();
        add(&readings, "box", &gpus, &mut families);
        let text = families.text();
        let gpu = r#"hw_id="GPU-1",hw_type="gpu",hw_name="gpu0",hw_model="NVIDIA H200""#;
        for line in [
            format!("hw_gpu_memory_utilization_ratio{{{gpu},host=\"box\"}} 0.25\n"),
            format!("hw_gpu_memory_limit_bytes{{{gpu},host=\"box\"}} 100\n"),
            format!("hw_errors_total{{{gpu},error_type=\"uncorrected\",host=\"box\"}} 2\n"),
            "hw_temperature_celsius{hw_id=\"GPU-1/core\",hw_type=\"temperature\",hw_name=\"gpu0\",\
             hw_model=\"NVIDIA H200\",hw_parent=\"GPU-1\",hw_sensor_location=\"core\",host=\"box\"} 61\n"
                .to_owned(),
        ] {
            assert!(text.contains(&line), "{line} in\n{text}");
        }
        assert!(!text.contains("hw_power_watts"), "what was not read is not there");
    }
}
