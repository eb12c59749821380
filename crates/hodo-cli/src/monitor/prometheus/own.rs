//! hodo's own names: the metric's name in base units, by rule.

use super::families::{Families, Type};
use crate::top::GpuName;
use hodo_format::machine::{Kind, Metric, Source, metric, throttle_reasons};
use hodo_machine::Newest;

/// Adds every reading.
pub fn add(readings: &[Newest], host: &str, gpus: &[GpuName], families: &mut Families) {
    for one in readings {
        let Some(value) = one.value else { continue };
        let name = name(&one.source, one.metric);
        let labels = labels(&one.source, host, gpus);
        let labels: Vec<(&str, &str)> = labels.iter().map(|(n, v)| (*n, v.as_str())).collect();
        if one.metric.name == metric::GPU_THROTTLE.name {
            add_reasons(value as u64, &labels, families);
        }
        families.add(&name, kind(one.metric), one.metric.help, &labels, value);
    }
}

/// Each reason that clocks can be held down for, 1 where it holds.
fn add_reasons(bits: u64, labels: &[(&str, &str)], families: &mut Families) {
    for (bit, reason) in (0..64).flat_map(|n| throttle_reasons(1 << n).map(move |r| (1 << n, r))) {
        let labels: Vec<(&str, &str)> =
            labels.iter().copied().chain([("reason", reason)]).collect();
        let value = f64::from(u8::from(bits & bit != 0));
        let help = "Whether the clocks are held down for this reason.";
        families.add("hodo_gpu_throttled", Type::Gauge, help, &labels, value);
    }
}

/// `hodo_gpu_memory_used_bytes`: the name, the unit, `_total` for a sum that grows.
pub fn name(source: &Source, metric: &Metric) -> String {
    let mut name = format!("hodo_{}", metric.name.replace('.', "_"));
    if matches!(source, Source::Core(_)) {
        // Else the sum over the host's series would count every core twice.
        name = name.replacen("hodo_cpu_", "hodo_core_", 1);
    }
    name.push_str(match metric.unit {
        "1" => "_ratio",
        "By" => "_bytes",
        "By/s" => "_bytes_per_second",
        "s" => "_seconds",
        "W" => "_watts",
        "J" => "_joules",
        "Hz" => "_hertz",
        "Cel" => "_celsius",
        _ => "",
    });
    if metric.kind == Kind::Counter {
        name.push_str("_total");
    }
    name
}

fn kind(metric: &Metric) -> Type {
    match metric.kind {
        Kind::Gauge => Type::Gauge,
        Kind::Counter => Type::Counter,
    }
}

fn labels(source: &Source, host: &str, gpus: &[GpuName]) -> Vec<(&'static str, String)> {
    let mut labels = vec![("host", host.to_owned())];
    match source {
        Source::Core(number) => labels.push(("core", number.to_string())),
        Source::Disk(name) => labels.push(("device", name.clone())),
        Source::Network(name) => labels.push(("interface", name.clone())),
        Source::Gpu(uuid) => labels.extend(of_gpu(uuid, gpus)),
        Source::GpuProcess(uuid, pid) => {
            labels.extend(of_gpu(uuid, gpus));
            labels.push(("pid", pid.to_string()));
        }
        Source::Host | Source::Processes | Source::Sampler => {}
        Source::Other(text) => labels.push(("source", text.clone())),
    }
    labels
}

fn of_gpu(uuid: &str, gpus: &[GpuName]) -> [(&'static str, String); 3] {
    let gpu = gpus.iter().find(|gpu| gpu.uuid == uuid);
    let index = gpu.and_then(|gpu| gpu.index).map_or_else(String::new, |index| index.to_string());
    let name = gpu.map_or_else(String::new, |gpu| gpu.name.clone());
    [("gpu", index), ("uuid", uuid.to_owned()), ("name", name)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn names_are_in_base_units_and_tell_series_apart() {
        let gpu = Source::Gpu("GPU-1".into());
        for (metric, expected) in [
            (&metric::GPU_UTILIZATION, "hodo_gpu_utilization_ratio"),
            (&metric::GPU_MEMORY_USED, "hodo_gpu_memory_used_bytes"),
            (&metric::GPU_ENERGY, "hodo_gpu_energy_joules_total"),
            (&metric::GPU_SM_CLOCK, "hodo_gpu_sm_clock_hertz"),
            (&metric::GPU_PCIE_SENT, "hodo_gpu_pcie_sent_bytes_per_second"),
            (&metric::GPU_ECC_CORRECTED, "hodo_gpu_ecc_corrected_total"),
        ] {
            assert_eq!(name(&gpu, metric), expected);
        }
        assert_eq!(name(&Source::Host, &metric::CPU_TIME), "hodo_cpu_time_seconds_total");
        assert_eq!(name(&Source::Core(3), &metric::CPU_TIME), "hodo_core_time_seconds_total");
        let mut seen: HashMap<String, &str> = HashMap::new();
        for metric in metric::ALL {
            let name = name(&Source::Host, metric);
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{name}");
            assert_eq!(seen.insert(name, metric.name), None);
        }
    }

    #[test]
    fn a_gpu_is_labelled_and_its_reasons_are_told_one_by_one() {
        let gpus =
            [GpuName { uuid: "GPU-1".into(), index: Some(3), name: "NVIDIA \"H200\"".into() }];
        let reading = |metric, value| Newest {
            source: Source::Gpu("GPU-1".into()),
            metric,
            value,
            time_ns: 1,
        };
        let mut families = Families::default();
        let readings =
            [reading(&metric::GPU_THROTTLE, Some(4.0)), reading(&metric::GPU_POWER, None)];
        add(&readings, "box", &gpus, &mut families);
        let text = families.text();
        let labels = r#"host="box",gpu="3",uuid="GPU-1",name="NVIDIA \"H200\"""#;
        assert!(text.contains(&format!("hodo_gpu_throttled{{{labels},reason=\"power cap\"}} 1\n")));
        assert!(
            text.contains("reason=\"hardware power brake") && text.contains("\"} 0\n"),
            "{text}"
        );
        assert!(!text.contains("power_watts"), "what was not read is not there");
    }
}
