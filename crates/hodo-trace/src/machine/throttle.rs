//! Why a GPU's clocks were held down.

use super::Measures;
use hodo_format::machine::{Source, metric, throttle_reasons};
use serde::Serialize;
use std::collections::BTreeMap;

/// A reason why clocks were held down.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Throttle {
    /// Its name.
    pub reason: &'static str,
    /// Of the sampled time, from 0 to 1.
    pub share: f64,
}

impl Measures<'_> {
    /// Why the clocks of a GPU were held down and for how much of the time, most first; a reading
    /// holds until the next. None when it was not captured; empty when they never were.
    pub fn throttle(&self, uuid: &str) -> Option<Vec<Throttle>> {
        let source = Source::Gpu(uuid.to_owned());
        let series = self.machine().get(&source, metric::GPU_THROTTLE.name)?;
        let weights = self.weights_of(series);
        let (mut whole, mut by_reason) = (0.0, BTreeMap::<&'static str, f64>::new());
        let mut add = |bits: f64, ns: f64| {
            whole += ns;
            for reason in throttle_reasons(bits as u64) {
                *by_reason.entry(reason).or_default() += ns;
            }
        };
        let mut before: Option<usize> = None;
        for at in series.present() {
            if let Some(from) = before.replace(at) {
                let is_near = series.times[at] - series.times[from] <= weights.longest_ns;
                let part = weights.between(&series.times, from, at);
                add(series.values[from], if is_near { part.ns } else { 0.0 });
            }
        }
        if whole == 0.0 {
            return None;
        }
        let share = |(reason, ns): (&'static str, f64)| Throttle { reason, share: ns / whole };
        let held = by_reason.into_iter().filter(|(_, ns)| *ns > 0.0);
        let mut found: Vec<Throttle> = held.map(share).collect();
        found.sort_by(|a, b| b.share.total_cmp(&a.share));
        Some(found)
    }
}
