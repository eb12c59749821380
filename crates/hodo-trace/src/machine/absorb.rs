//! Readings of a host that came after its others were packed.

use super::{Machine, MachineSeries};
use hodo_format::machine::Kind;
use std::collections::HashMap;
use std::sync::Arc;

/// Times of series that were read together, as they are and as they become.
type Joined = HashMap<(*const i64, *const i64), Arc<[i64]>>;

impl Machine {
    /// Adds what was read later on the same host.
    pub(super) fn absorb(&mut self, late: Machine) {
        let shift = self.offset_ns.wrapping_sub(late.offset_ns);
        let mut joined = Joined::new();
        for series in late.series {
            let is_same = |own: &&mut MachineSeries| {
                own.source == series.source && own.metric == series.metric
            };
            match self.series.iter_mut().find(is_same) {
                Some(own) => own.extend(&series, shift, &mut joined),
                None => self.series.push(series.shifted(shift, &mut joined)),
            }
        }
        self.series.sort_by(|a, b| (&a.source, &a.metric).cmp(&(&b.source, &b.metric)));
        self.state = late.state.or_else(|| self.state.take());
        self.live = late.live;
        let frames = late.damage.frames;
        self.damage.join(late.damage, frames);
    }
}

impl MachineSeries {
    /// Adds the readings of `late` that are later than all that are here: the first of a sampler may
    /// be those that the one before had not written for good.
    fn extend(&mut self, late: &MachineSeries, shift: i64, joined: &mut Joined) {
        let last = self.times.last().copied();
        let is_known = |at: &i64| last.is_some_and(|last| at.wrapping_add(shift) <= last);
        let from = late.times.partition_point(is_known);
        let length = self.values.len();
        if self.kind == Kind::Counter && length > 0 && from < late.values.len() {
            // What it grew by in between was not read.
            self.anew.push(length);
        }
        let anew = late.anew.iter().filter(|at| **at > from || (**at == from && length == 0));
        self.anew.extend(anew.map(|at| at - from + length));
        self.values.extend_from_slice(&late.values[from..]);
        let key = (self.times.as_ptr(), late.times.as_ptr());
        let times = joined.entry(key).or_insert_with(|| {
            let more = late.times[from..].iter().map(|at| at.wrapping_add(shift));
            self.times.iter().copied().chain(more).collect()
        });
        self.times = times.clone();
    }

    fn shifted(self, shift: i64, joined: &mut Joined) -> MachineSeries {
        let key = (std::ptr::null(), self.times.as_ptr());
        let shifted = || self.times.iter().map(|at| at.wrapping_add(shift)).collect();
        let times = joined.entry(key).or_insert_with(shifted).clone();
        MachineSeries { times, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hodo_format::machine::Source;

    fn series(kind: Kind, times: &[i64], values: &[f64], anew: &[usize]) -> MachineSeries {
        MachineSeries {
            source: Source::Host,
            metric: "m".to_owned(),
            unit: String::new(),
            kind,
            times: times.into(),
            values: values.to_vec(),
            anew: anew.to_vec(),
        }
    }

    #[test]
    fn what_is_new_is_added_and_what_is_known_is_not_there_twice() {
        let mut own = series(Kind::Counter, &[10, 20, 30], &[1.0, 2.0, 3.0], &[]);
        let late = series(Kind::Counter, &[25, 35, 45], &[3.0, 9.0, 1.0], &[2]);
        own.extend(&late, -5, &mut Joined::new());
        assert_eq!(*own.times, [10, 20, 30, 40]);
        assert_eq!((own.values, own.anew), (vec![1.0, 2.0, 3.0, 1.0], vec![3]));
        let mut own = series(Kind::Gauge, &[10], &[1.0], &[]);
        own.extend(&series(Kind::Gauge, &[10], &[1.0], &[]), 0, &mut Joined::new());
        assert_eq!((own.times.len(), own.values.len()), (1, 1));
    }

    #[test]
    fn series_that_were_read_together_still_share_their_times() {
        let mut all = [1.0, 2.0].map(|value| series(Kind::Gauge, &[10], &[value], &[]));
        all[1].times = all[0].times.clone();
        let late = series(Kind::Gauge, &[20], &[5.0], &[]);
        let mut joined = Joined::new();
        all.iter_mut().for_each(|own| own.extend(&late, 0, &mut joined));
        assert!(Arc::ptr_eq(&all[0].times, &all[1].times));
        assert_eq!((&*all[0].times, &all[1].values[..]), (&[10, 20][..], &[2.0, 5.0][..]));
    }
}
