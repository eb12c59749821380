//! The longest of any stretch of slices, and the time in it, without looking at each of them.

/// Slices under one number of the level above.
pub(super) const FAN: usize = 16;

/// Maxima of durations over groups of slices, groups of groups and so on, and the time before each
/// group: about one byte a slice.
#[derive(Debug, Default)]
pub(super) struct Pyramid {
    /// The lowest first.
    levels: Vec<Vec<u64>>,
    /// Ticks in all slices before each group of the lowest level.
    before: Vec<u64>,
    len: usize,
}

/// Makes a pyramid as slices come.
#[derive(Debug, Default)]
pub(super) struct PyramidBuilder {
    groups: Vec<u64>,
    before: Vec<u64>,
    sum: u64,
    len: usize,
}

impl PyramidBuilder {
    /// Slices so far.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn push(&mut self, duration: u64) {
        match self.groups.last_mut() {
            Some(most) if !self.len.is_multiple_of(FAN) => *most = duration.max(*most),
            _ => {
                self.groups.push(duration);
                self.before.push(self.sum);
            }
        }
        self.sum = self.sum.saturating_add(duration);
        self.len += 1;
    }

    pub(super) fn finish(mut self) -> Pyramid {
        self.groups.shrink_to_fit();
        self.before.shrink_to_fit();
        let mut levels = vec![self.groups];
        while let Some(below) = levels.last().filter(|level| level.len() > 1) {
            let most = |group: &[u64]| group.iter().copied().max().unwrap_or(0);
            let above = below.chunks(FAN).map(most).collect();
            levels.push(above);
        }
        Pyramid { levels, before: self.before, len: self.len }
    }
}

impl Pyramid {
    /// Slices.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        let levels: usize = self.levels.iter().map(|level| size_of_val(level.as_slice())).sum();
        levels + size_of_val(self.before.as_slice())
    }

    /// The longest duration of all.
    pub(super) fn longest_of_all(&self) -> u64 {
        self.levels.last().and_then(|top| top.first()).copied().unwrap_or(0)
    }

    /// Where the longest slice from `from` to before `to` is; the first of equals.
    pub(super) fn longest(&self, from: usize, to: usize, duration: impl Fn(usize) -> u64) -> usize {
        let value = |level: usize, at: usize| match level {
            0 => duration(at),
            _ => self.levels[level - 1][at],
        };
        let (mut level, mut low, mut high) = (0, from, to);
        // Longest so far, its level, its place there.
        let mut best: Option<(u64, usize, usize)> = None;
        let mut consider = |level: usize, at: usize, width: usize| {
            let found = value(level, at);
            let is_better = best.is_none_or(|(most, of_level, place)| {
                let earlier = at * width < place * FAN.pow(of_level as u32);
                found > most || found == most && earlier
            });
            if is_better {
                best = Some((found, level, at));
            }
        };
        while low < high {
            let width = FAN.pow(level as u32);
            while low < high && !low.is_multiple_of(FAN) {
                consider(level, low, width);
                low += 1;
            }
            while low < high && !high.is_multiple_of(FAN) {
                high -= 1;
                consider(level, high, width);
            }
            (level, low, high) = (level + 1, low / FAN, high / FAN);
        }
        let Some((most, mut level, mut at)) = best else { return from };
        while level > 0 {
            level -= 1;
            let end = if level == 0 { self.len } else { self.levels[level - 1].len() };
            let inside = at * FAN..((at + 1) * FAN).min(end);
            at = inside.clone().find(|&at| value(level, at) == most).unwrap_or(inside.start);
        }
        at
    }

    /// The first slice from `from` to before `to` that takes at least `least`; else `to`.
    pub(super) fn next_long(
        &self,
        from: usize,
        to: usize,
        least: u64,
        duration: impl Fn(usize) -> u64,
    ) -> usize {
        let mut at = from;
        while at < to {
            match self.skippable(at, least) {
                Some(width) => at += width,
                None if duration(at) >= least => return at,
                None => at += 1,
            }
        }
        to
    }

    /// How many slices from `at` on are known to be shorter; none when only looking tells.
    fn skippable(&self, at: usize, least: u64) -> Option<usize> {
        let (mut width, mut skip) = (1, None);
        for level in &self.levels {
            if !at.is_multiple_of(width * FAN) {
                break;
            }
            width *= FAN;
            match level.get(at / width) {
                Some(&most) if most < least => skip = Some(width),
                _ => break,
            }
        }
        skip
    }

    /// Ticks in the slices from `from` to before `to`.
    pub(super) fn time(&self, from: usize, to: usize, duration: impl Fn(usize) -> u64) -> u64 {
        let before = |at: usize| {
            let group = at / FAN;
            let Some(&before) = self.before.get(group) else {
                // Past a last group that is full.
                let last = self.before.len().saturating_sub(1);
                let inside = (last * FAN..at).map(&duration).sum::<u64>();
                return self.before.last().copied().unwrap_or(0).saturating_add(inside);
            };
            before.saturating_add((group * FAN..at).map(&duration).sum())
        };
        before(to).saturating_sub(before(from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pyramid(durations: &[u64]) -> Pyramid {
        let mut builder = PyramidBuilder::default();
        durations.iter().for_each(|&duration| builder.push(duration));
        builder.finish()
    }

    proptest! {
        #[test]
        fn stretches_are_what_looking_at_each_slice_says(
            durations in prop::collection::vec(0_u64..50, 1..900),
            from in any::<prop::sample::Index>(), to in any::<prop::sample::Index>(),
            least in 0_u64..55,
        ) {
            let (a, b) = (from.index(durations.len()), to.index(durations.len() + 1));
            let (from, to) = (a.min(b), a.max(b));
            let pyramid = pyramid(&durations);
            let duration = |at: usize| durations[at];
            let stretch = &durations[from..to];
            prop_assert_eq!(pyramid.time(from, to, duration), stretch.iter().sum::<u64>());
            if let Some(most) = stretch.iter().max() {
                let first = from + stretch.iter().position(|d| d == most).unwrap_or(0);
                prop_assert_eq!(pyramid.longest(from, to, duration), first);
            }
            let long = stretch.iter().position(|&d| d >= least).map_or(to, |at| from + at);
            prop_assert_eq!(pyramid.next_long(from, to, least, duration), long);
            prop_assert_eq!(pyramid.longest_of_all(), durations.iter().copied().max().unwrap_or(0));
        }
    }
}
