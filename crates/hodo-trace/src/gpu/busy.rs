//! Time covered by work: what overlaps counts once.

use super::WorkRows;

/// Lengths of unions in the making, by key. Work that overlaps on one device counts once, on two
/// devices twice.
pub(crate) struct Unions {
    devices: usize,
    /// By key and device, how far it is covered.
    reached: Vec<u64>,
    covered: Vec<u64>,
}

impl Unions {
    pub(crate) fn new(keys: usize, devices: usize) -> Unions {
        Unions { devices, reached: vec![0; keys * devices], covered: vec![0; keys] }
    }

    /// Makes room for one more key.
    pub(crate) fn add_key(&mut self) -> usize {
        self.reached.resize(self.reached.len() + self.devices, 0);
        self.covered.push(0);
        self.covered.len() - 1
    }

    /// Adds an interval; they come in order of their start.
    #[inline]
    pub(crate) fn add(&mut self, key: usize, device: usize, (start, end): (u64, u64)) {
        let reached = &mut self.reached[key * self.devices + device];
        let from = start.max(*reached);
        if end > from {
            self.covered[key] += end - from;
            *reached = end;
        }
    }

    pub(crate) fn ticks(&self, key: usize) -> u64 {
        self.covered[key]
    }
}

/// Device numbers as places from 0.
pub(crate) struct Devices(Vec<u32>);

impl Devices {
    pub(crate) fn of(work: &WorkRows) -> Devices {
        Devices(work.devices())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    pub(crate) fn place(&self, device: u32) -> usize {
        self.0.iter().position(|&known| known == device).unwrap_or(0)
    }
}

/// When something was so, such as any device of a process busy: intervals that do not touch, in
/// order.
pub(crate) struct Cover {
    intervals: Vec<(u64, u64)>,
    /// Ticks covered before each.
    before: Vec<u64>,
}

impl Cover {
    /// What the work covers, whichever scope launched it.
    pub(crate) fn of(work: &WorkRows) -> Cover {
        let busy = work.rows().filter(|&row| work.is_busy(row));
        Cover::new(busy.filter_map(|row| work.interval(row)))
    }

    /// The union of `intervals`, which come in order of their start.
    pub(crate) fn new(intervals: impl Iterator<Item = (u64, u64)>) -> Cover {
        let mut cover = Cover { intervals: Vec::new(), before: Vec::new() };
        let mut total = 0;
        for (start, end) in intervals {
            match cover.intervals.last_mut() {
                Some(last) if start <= last.1 => {
                    total += end.saturating_sub(last.1);
                    last.1 = last.1.max(end);
                }
                _ => {
                    cover.before.push(total);
                    cover.intervals.push((start, end));
                    total += end - start;
                }
            }
        }
        cover
    }

    /// What it covers and `other` does not.
    pub(crate) fn without(&self, other: &Cover) -> Cover {
        let mut left = Vec::new();
        let mut at = 0;
        for &(start, end) in &self.intervals {
            let mut from = start;
            while other.intervals.get(at).is_some_and(|cut| cut.1 <= from) {
                at += 1;
            }
            for &(cut, until) in other.intervals[at..].iter().take_while(|cut| cut.0 < end) {
                left.extend((cut > from).then_some((from, cut)));
                from = from.max(until);
            }
            left.extend((end > from).then_some((from, end)));
        }
        Cover::new(left.into_iter())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.intervals.iter().copied()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.intervals.is_empty()
    }

    /// Ticks covered in all.
    pub(crate) fn ticks(&self) -> u64 {
        self.intervals.iter().map(|(start, end)| end - start).sum()
    }
}

/// Asks a [`Cover`]; quick when a question is about a moment near the one before.
pub(crate) struct Seeker<'a> {
    cover: &'a Cover,
    at: usize,
}

impl<'a> Seeker<'a> {
    pub(crate) fn new(cover: &'a Cover) -> Seeker<'a> {
        Seeker { cover, at: 0 }
    }

    /// Begins near where another was when it was last asked.
    pub(crate) fn from(cover: &'a Cover, place: usize) -> Seeker<'a> {
        Seeker { cover, at: place.min(cover.intervals.len()) }
    }

    /// Where it was last asked, for [`Seeker::from`].
    pub(crate) fn place(&self) -> usize {
        self.at
    }

    /// Ticks between two moments that are covered.
    pub(crate) fn covered(&mut self, start: u64, end: u64) -> u64 {
        let from = self.until(start);
        self.until(end).saturating_sub(from)
    }

    /// Ticks covered before a moment.
    fn until(&mut self, moment: u64) -> u64 {
        self.seek(moment);
        let Some(at) = self.at.checked_sub(1) else { return 0 };
        let (start, end) = self.cover.intervals[at];
        self.cover.before[at] + moment.min(end) - start
    }

    /// Sets `at` to the number of intervals that begin before `moment`, with steps that double.
    fn seek(&mut self, moment: u64) {
        let intervals = &self.cover.intervals;
        let begins_before = |at: usize| intervals[at].0 < moment;
        let mut step = 1;
        let (low, high);
        if self.at < intervals.len() && begins_before(self.at) {
            let mut next = self.at;
            while next < intervals.len() && begins_before(next) {
                next += step;
                step *= 2;
            }
            (low, high) = (next - step / 2, next.min(intervals.len()));
        } else {
            let mut next = self.at;
            while next > 0 && !begins_before(next - 1) {
                next = next.saturating_sub(step);
                step *= 2;
            }
            (low, high) = (next, self.at);
        }
        self.at = low + intervals[low..high].partition_point(|interval| interval.0 < moment);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Interval = (u64, u64);

    fn intervals() -> impl Strategy<Value = Vec<Interval>> {
        prop::collection::vec((1u64..200, 0u64..30), 0..40).prop_map(|all| {
            let mut all: Vec<Interval> = all.into_iter().map(|(at, len)| (at, at + len)).collect();
            all.sort_unstable();
            all
        })
    }

    fn by_counting<'a>(all: impl Iterator<Item = &'a Interval> + Clone, from: u64, to: u64) -> u64 {
        (from..to).filter(|t| all.clone().any(|i| i.0 <= *t && *t < i.1)).count() as u64
    }

    proptest! {
        #[test]
        fn what_is_covered_is_what_counting_ticks_says(
            all in intervals(),
            questions in prop::collection::vec((0u64..250, 0u64..60), 1..12),
        ) {
            let cover = Cover::new(all.iter().copied());
            let mut seeker = Seeker::new(&cover);
            for (from, len) in questions {
                let expected = by_counting(all.iter(), from, from + len);
                prop_assert_eq!(seeker.covered(from, from + len), expected, "{}+{}", from, len);
            }
        }

        #[test]
        fn what_is_left_is_what_counting_ticks_says(all in intervals(), cut in intervals()) {
            let left = Cover::new(all.iter().copied()).without(&Cover::new(cut.iter().copied()));
            let is_in = |of: &[Interval], t: u64| of.iter().any(|i| i.0 <= t && t < i.1);
            let expected: Vec<u64> = (0..300).filter(|&t| is_in(&all, t) && !is_in(&cut, t)).collect();
            let found: Vec<u64> = left.iter().flat_map(|(from, to)| from..to).collect();
            prop_assert_eq!(found.len() as u64, left.ticks());
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn a_union_counts_each_device_by_itself(all in intervals(), of in prop::collection::vec((0usize..3, 0usize..2), 40)) {
            let mut unions = Unions::new(2, 2);
            unions.add_key();
            for (interval, (key, device)) in all.iter().zip(&of) {
                unions.add(*key, *device, *interval);
            }
            for key in 0..3 {
                let expected: u64 = (0..2).map(|device| {
                    let its = all.iter().zip(&of).filter(|i| *i.1 == (key, device)).map(|i| i.0);
                    by_counting(its, 0, 300)
                }).sum();
                prop_assert_eq!(unions.ticks(key), expected);
            }
        }
    }
}
