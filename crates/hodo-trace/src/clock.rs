use hodo_format::arena::Anchor;

/// Turns a process's ticks into nanoseconds.
///
/// The slope comes from the monotonic clock of the first and the last anchor, so a stepped wall
/// clock moves moments but never bends a duration. Without two anchors nothing is known of a tick:
/// ask [`Clock::is_calibrated`] before showing a time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clock {
    anchors: Vec<Anchor>,
    ns_per_tick: Option<f64>,
}

impl Clock {
    /// The clock of `anchors`, in any order.
    pub fn new(mut anchors: Vec<Anchor>) -> Clock {
        anchors.retain(|a| a.ticks != 0 && a.monotonic_ns != 0);
        anchors.sort_unstable_by_key(|a| (a.monotonic_ns, a.ticks));
        anchors.dedup();
        let ns_per_tick = slope(&anchors);
        Clock { anchors, ns_per_tick }
    }

    /// The same clock when its ticks are known to be nanoseconds of the monotonic clock.
    pub(crate) fn in_nanoseconds(mut self) -> Clock {
        self.ns_per_tick = self.ns_per_tick.or(Some(1.0).filter(|_| !self.anchors.is_empty()));
        self
    }

    /// Whether ticks can be turned into nanoseconds.
    pub fn is_calibrated(&self) -> bool {
        self.ns_per_tick.is_some()
    }

    /// Nanoseconds that `ticks` ticks take; 0, which means nothing, when it is not calibrated.
    #[inline]
    pub fn duration_ns(&self, ticks: u64) -> u64 {
        rounded(ticks as f64 * self.ns_per_tick.unwrap_or(0.0))
    }

    /// Nanoseconds since 1970 at `ticks`, as the wall clock showed it: by the nearest anchor before.
    pub fn wall_ns(&self, ticks: u64) -> i64 {
        let Some(anchor) = self.anchor_for(ticks) else { return ticks as i64 };
        (anchor.wall_ns as i64).saturating_add(self.offset_ns(anchor, ticks))
    }

    /// Nanoseconds since 1970 at `ticks` by the wall clock as it stood when recording began.
    ///
    /// Unlike [`Clock::wall_ns`] it never steps, so moments keep the order of their ticks. When it
    /// is not calibrated that order is all it tells.
    pub fn steady_ns(&self, ticks: u64) -> i64 {
        let Some(anchor) = self.anchors.first() else { return ticks as i64 };
        (anchor.wall_ns as i64).saturating_add(self.offset_ns(anchor, ticks))
    }

    /// Nanoseconds since 1970 when recording began; none when it is not calibrated.
    pub(crate) fn start_ns(&self) -> Option<i64> {
        let first = self.anchors.first().filter(|_| self.is_calibrated())?;
        Some(first.wall_ns as i64)
    }

    /// What the monotonic clock showed at `ticks`; none when it is not calibrated.
    pub(crate) fn monotonic_ns(&self, ticks: u64) -> Option<i64> {
        self.axis(0).map(|axis| axis.at(ticks))
    }

    /// Moments `offset_ns` later than the monotonic clock showed them; none when it is not
    /// calibrated.
    pub(crate) fn axis(&self, offset_ns: i64) -> Option<Axis> {
        let (anchor, ns_per_tick) = (self.anchors.first()?, self.ns_per_tick?);
        let ns = (anchor.monotonic_ns as i64).saturating_add(offset_ns);
        Some(Axis { ticks: anchor.ticks, ns, ns_per_tick })
    }

    /// What the wall clock showed when the monotonic clock began, by the first anchor.
    pub(crate) fn booted_ns(&self) -> Option<i64> {
        let anchor = self.anchors.first().filter(|_| self.is_calibrated())?;
        Some(anchor.wall_ns.wrapping_sub(anchor.monotonic_ns) as i64)
    }

    /// The moment that `other` calls `ticks`, in this clock's ticks; none when one of them is not
    /// calibrated. On one host (`here`) both read the same monotonic clock; else only the wall
    /// clocks compare.
    pub(crate) fn ticks_of(&self, other: &Clock, ticks: u64, here: bool) -> Option<u64> {
        let (mine, theirs) = (self.anchors.first()?, other.anchors.first()?);
        let (rate, _) = (self.ns_per_tick?, other.ns_per_tick?);
        let apart = match here {
            true => theirs.monotonic_ns.wrapping_sub(mine.monotonic_ns),
            false => theirs.wall_ns.wrapping_sub(mine.wall_ns),
        } as i64;
        let ns = apart.saturating_add(other.offset_ns(theirs, ticks));
        Some(mine.ticks.saturating_add_signed((ns as f64 / rate).round() as i64))
    }

    /// The way back from nanoseconds to ticks.
    pub(crate) fn backwards(&self) -> Backwards {
        let (ticks, ns) = self.anchors.first().map_or((0, 0), |a| (a.ticks, a.wall_ns as i64));
        Backwards { ticks, ns, ticks_per_ns: 1.0 / self.ns_per_tick.unwrap_or(1.0) }
    }

    /// Nanoseconds of a tick; none when it is not calibrated.
    pub(crate) fn ns_per_tick(&self) -> Option<f64> {
        self.ns_per_tick
    }

    /// The clock that had these `anchors` and this slope.
    pub(crate) fn again(anchors: Vec<Anchor>, ns_per_tick: Option<f64>) -> Clock {
        Clock { anchors, ns_per_tick }
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
        let ns = delta as f64 * self.ns_per_tick.unwrap_or(1.0);
        if ns < 0.0 { (rounded(-ns) as i64).saturating_neg() } else { rounded(ns) as i64 }
    }
}

/// Turns ticks into moments, many of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    ticks: u64,
    ns: i64,
    ns_per_tick: f64,
}

impl Axis {
    /// The moment of `ticks`, to the nanosecond.
    #[inline]
    pub(crate) fn at(&self, ticks: u64) -> i64 {
        let delta = ticks.wrapping_sub(self.ticks) as i64;
        // As good as rounding, which is a call where the processor is not known to do it.
        self.ns.saturating_add((delta as f64 * self.ns_per_tick + 0.5) as i64)
    }
}

/// A positive number to the nearest whole one, which is a call where the processor is not known to
/// do it.
#[inline]
fn rounded(number: f64) -> u64 {
    let whole = number as u64;
    whole.saturating_add(u64::from(number - whole as f64 >= 0.5))
}

/// Turns nanoseconds back into about as many ticks, many of them; what rounding took away is kept
/// beside them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backwards {
    ticks: u64,
    ns: i64,
    ticks_per_ns: f64,
}

impl Backwards {
    /// About when [`Clock::steady_ns`] is `ns`.
    #[inline]
    pub(crate) fn moment(&self, ns: i64) -> u64 {
        let ns = ns.wrapping_sub(self.ns) as f64;
        self.ticks.wrapping_add((ns * self.ticks_per_ns) as i64 as u64)
    }

    /// The same for any moment that someone may ask for: one that no tick is at is the nearest end.
    pub(crate) fn moment_or_end(&self, ns: i64) -> u64 {
        let apart = (i128::from(ns) - i128::from(self.ns)) as f64 * self.ticks_per_ns;
        (i128::from(self.ticks) + apart as i128).clamp(0, u64::MAX.into()) as u64
    }

    /// About as many ticks as take `ns`.
    #[inline]
    pub(crate) fn length(&self, ns: i64) -> u64 {
        (ns as f64 * self.ticks_per_ns) as i64 as u64
    }

    /// Ticks past the moment told as `ns`; all of them where it is not told.
    pub(crate) fn rest(&self, ns: Option<i64>, ticks: u64) -> i64 {
        ticks.wrapping_sub(ns.map_or(0, |ns| self.moment(ns))) as i64
    }

    /// The same of a duration.
    pub(crate) fn length_rest(&self, ns: Option<i64>, ticks: u64) -> i64 {
        ticks.wrapping_sub(ns.map_or(0, |ns| self.length(ns))) as i64
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
    fn any_moment_has_a_tick_and_they_keep_their_order() {
        let back = stepped().backwards();
        let moments = [i64::MIN, -1, 0, WALL as i64 - 1_000, WALL as i64, i64::MAX - 1, i64::MAX];
        let ticks = moments.map(|ns| back.moment_or_end(ns));
        assert!(ticks.is_sorted(), "{ticks:?}");
        assert_eq!((ticks[0], ticks[3], ticks[4]), (0, 3_000, 5_000));
        assert_eq!(back.moment(WALL as i64), ticks[4]);
    }

    #[test]
    fn without_two_anchors_a_tick_has_no_length() {
        let clock = Clock::new(Vec::new());
        assert!(!clock.is_calibrated());
        assert_eq!((clock.duration_ns(5), clock.start_ns()), (0, None));
        assert!(clock.steady_ns(5) < clock.steady_ns(6), "their order is known");
        let one = Clock::new(vec![Anchor { ticks: 10, monotonic_ns: 10, wall_ns: 100 }]);
        assert!(!one.is_calibrated());
        assert_eq!((one.duration_ns(5), one.start_ns()), (0, None));
        let told = one.in_nanoseconds();
        assert_eq!((told.duration_ns(5), told.wall_ns(12), told.start_ns()), (5, 102, Some(100)));
    }

    #[test]
    fn a_moment_of_one_clock_is_found_on_another() {
        let (mine, slow) = (stepped(), |wall_ns| {
            let anchor = |seconds: u64| Anchor {
                ticks: 9 + seconds * 1_000,
                monotonic_ns: 77 + seconds * 1_000_000_000,
                wall_ns: wall_ns + seconds * 1_000_000_000,
            };
            Clock::new(vec![anchor(2), anchor(4)])
        });
        // Three seconds after this clock's first anchor, whatever the wall clocks say.
        let moment = Some(5_000 + 3 * 2_000_000_000);
        assert_eq!(mine.ticks_of(&slow(5), 9 + 3_000, true), moment);
        assert_eq!(mine.ticks_of(&slow(WALL), 9 + 3_000, false), moment);
        assert_eq!(mine.ticks_of(&Clock::default(), 9, true), None);
    }

    proptest::proptest! {
        #[test]
        fn rounding_is_that_of_the_library(number in 0.0..1e20_f64, scale in 0_i32..40) {
            for number in [number, number / 2_f64.powi(2 * scale), (number / 1e12).floor() + 0.5] {
                proptest::prop_assert_eq!(rounded(number), number.round() as u64);
            }
        }
    }

    #[test]
    fn numbers_just_below_a_half_are_rounded_down() {
        for number in [0.0, 0.49999999999999994, 0.5, 1.5, 4503599627370495.5, 1e300] {
            assert_eq!(rounded(number), number.round() as u64, "{number}");
        }
    }
}
