//! What is measured again and again in a run: the durations of a path or of a kernel, in time order.

use crate::{Process, Row};
use std::collections::HashMap;

/// Stands for no step.
pub(super) const NO_STEP: u64 = 0;

/// Durations in order of time, nanoseconds; where scopes are indexed one value a step, the mean of
/// what it holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Series {
    /// The step of each value; empty where there are no steps.
    pub(super) steps: Vec<u64>,
    pub(super) ns: Vec<f64>,
}

/// A series as it is read: start, step and nanoseconds of each instance.
#[derive(Clone, Debug, Default)]
pub(super) struct Instances(Vec<(i64, u64, f64)>);

impl Instances {
    pub(super) fn push(&mut self, start_ns: i64, step: u64, ns: f64) {
        self.0.push((start_ns, step, ns));
    }

    pub(super) fn extend(&mut self, other: Instances) {
        self.0.extend(other.0);
    }

    pub(super) fn finish(mut self) -> Series {
        self.0.sort_by_key(|instance| (instance.0, instance.1));
        if self.0.iter().any(|instance| instance.1 == NO_STEP) {
            let ns = self.0.iter().map(|instance| instance.2).collect();
            return Series { steps: Vec::new(), ns };
        }
        let mut place: HashMap<u64, usize> = HashMap::new();
        let mut series = Series::default();
        let mut counts: Vec<f64> = Vec::new();
        for (_, step, ns) in self.0 {
            let at = *place.entry(step).or_insert_with(|| {
                series.steps.push(step);
                series.ns.push(0.0);
                counts.push(0.0);
                counts.len() - 1
            });
            series.ns[at] += ns;
            counts[at] += 1.0;
        }
        series.ns.iter_mut().zip(counts).for_each(|(ns, count)| *ns /= count);
        series
    }
}

/// The step that each scope of a process is part of: the indices of it and of the scopes around it,
/// as one number; [`NO_STEP`] where none has an index.
pub(super) fn steps(process: &Process) -> Vec<u64> {
    let spans = &process.spans;
    let rank = process.info.rank.map_or(0, |rank| mixed(u64::from(rank) + 1));
    let mut steps = vec![NO_STEP; spans.len()];
    spans.parents_first(|row: Row, up| {
        let above = up.map_or(NO_STEP, |up| steps[up as usize]);
        steps[row as usize] = match spans.index(row) {
            Some(index) => {
                let above = if above == NO_STEP { rank } else { above };
                mixed(above.rotate_left(23) ^ mixed(index as u64)).max(1)
            }
            None => above,
        };
    });
    steps
}

/// Spreads the bits of a number (the finaliser of SplitMix64).
fn mixed(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_the_mean_of_what_it_holds_and_the_order_is_that_of_time() {
        let mut instances = Instances::default();
        for (at, step, ns) in [(30, 2, 7.0), (10, 1, 2.0), (20, 1, 4.0)] {
            instances.push(at, step, ns);
        }
        let series = instances.clone().finish();
        assert_eq!((series.steps, series.ns), (vec![1, 2], vec![3.0, 7.0]));
        instances.push(5, NO_STEP, 1.0);
        assert_eq!(instances.finish().ns, [1.0, 2.0, 4.0, 7.0]);
    }
}
