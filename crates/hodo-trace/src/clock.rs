use hodo_format::arena::Anchor;

/// Turns a process's ticks into nanoseconds.
///
/// The slope comes from the monotonic clock of the first and the last anchor, so a stepped wall
/// clock moves moments but never bends a duration.
#[derive(Clone, Debug, PartialEq)]
pub struct Clock {
    anchors: Vec<Anchor>,
    ns_per_tick: f64,
}

impl Default for Clock {
    fn default() -> Self {
        Clock { anchors: Vec::new(), ns_per_tick: 1.0 }
    }
}

impl Clock {
    /// The clock of `anchors`, in any order; without two of them a tick counts as a nanosecond.
    pub fn new(mut anchors: Vec<Anchor>) -> Clock {
        anchors.retain(|a| a.ticks != 0 && a.monotonic_ns != 0);
        anchors.sort_unstable_by_key(|a| (a.monotonic_ns, a.ticks));
        anchors.dedup();
        let ns_per_tick = slope(&anchors).unwrap_or(1.0);
        Clock { anchors, ns_per_tick }
    }

    /// Whether there were anchors to convert by.
    pub fn is_calibrated(&self) -> bool {
        slope(&self.anchors).is_some()
    }

    /// Nanoseconds that `ticks` ticks take.
    pub fn duration_ns(&self, ticks: u64) -> u64 {
        (ticks as f64 * self.ns_per_tick).round() as u64
    }

    /// Nanoseconds since 1970 at `ticks`, as the wall clock showed it: by the nearest anchor before.
    pub fn wall_ns(&self, ticks: u64) -> i64 {
        let Some(anchor) = self.anchor_for(ticks) else { return ticks as i64 };
        (anchor.wall_ns as i64).saturating_add(self.offset_ns(anchor, ticks))
    }

    /// Nanoseconds since 1970 at `ticks` by the wall clock as it stood when recording began.
    ///
    /// Unlike [`Clock::wall_ns`] it never steps, so moments keep the order of their ticks.
    pub fn steady_ns(&self, ticks: u64) -> i64 {
        let Some(anchor) = self.anchors.first() else { return ticks as i64 };
        (anchor.wall_ns as i64).saturating_add(self.offset_ns(anchor, ticks))
    }

    /// The anchors, oldest first.
    pub fn anchors(&self) -> &[Anchor] {
        &self.anchors
    }

    fn anchor_for(&self, ticks: u64) -> Option<&Anchor> {
        let after = self.anchors.partition_point(|a| a.ticks <= ticks);
        self.anchors.get(after.saturating_sub(1))
    }

    fn offset_ns(&self, anchor: &Anchor, ticks: u64) -> i64 {
        let delta = ticks.wrapping_sub(anchor.ticks) as i64;
        (delta as f64 * self.ns_per_tick).round() as i64
    }
}

fn slope(anchors: &[Anchor]) -> Option<f64> {
    let (first, last) = (anchors.first()?, anchors.last()?);
    let ticks = last.ticks.checked_sub(first.ticks).filter(|&t| t > 0)?;
    let ns = last.monotonic_ns.checked_sub(first.monotonic_ns).filter(|&n| n > 0)?;
    Some(ns as f64 / ticks as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WALL: u64 = 1_700_000_000_000_000_000;
    const HOUR: i64 = 3_600_000_000_000;

    /// A counter of 2 GHz; the wall clock is set back by an hour between the anchors.
    fn stepped() -> Clock {
        let anchor = |seconds: u64, step: i64| Anchor {
            ticks: 5_000 + seconds * 2_000_000_000,
            monotonic_ns: 77 + seconds * 1_000_000_000,
            wall_ns: (WALL + seconds * 1_000_000_000).saturating_add_signed(step),
        };
        Clock::new(vec![anchor(10, -HOUR), anchor(0, 0), anchor(5, -HOUR)])
    }

    #[test]
    fn a_stepped_wall_clock_bends_no_duration() {
        let clock = stepped();
        assert_eq!(clock.duration_ns(2_000_000), 1_000_000);
        let at = |seconds: u64| clock.steady_ns(5_000 + seconds * 2_000_000_000);
        assert_eq!(at(0), WALL as i64);
        assert_eq!(at(7) - at(2), 5_000_000_000);
    }

    #[test]
    fn wall_time_is_what_the_clock_on_the_wall_showed() {
        let clock = stepped();
        let at = |seconds: u64| clock.wall_ns(5_000 + seconds * 2_000_000_000) - WALL as i64;
        assert_eq!(at(4), 4_000_000_000);
        assert_eq!(at(6), 6_000_000_000 - HOUR);
        // Before the first anchor there is only that to go by.
        assert_eq!(clock.wall_ns(3_000) - WALL as i64, -1_000);
    }

    #[test]
    fn without_anchors_a_tick_is_a_nanosecond() {
        let clock = Clock::new(Vec::new());
        assert!(!clock.is_calibrated());
        assert_eq!((clock.duration_ns(5), clock.wall_ns(5), clock.steady_ns(5)), (5, 5, 5));
        let one = Clock::new(vec![Anchor { ticks: 10, monotonic_ns: 10, wall_ns: 100 }]);
        assert_eq!((one.duration_ns(5), one.wall_ns(12)), (5, 102));
    }
}
