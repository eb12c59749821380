//! What happened lately, by the second.

/// Nanoseconds of a bucket.
pub(super) const SECOND: u64 = 1_000_000_000;
/// Whole seconds that count as lately.
pub(super) const SECONDS: u64 = 10;
const BUCKETS: usize = SECONDS as usize + 2;

/// Things that ended, each with how long it took, in buckets of a second that are used in turn.
#[derive(Clone, Debug, Default)]
pub(super) struct Window {
    buckets: [Bucket; BUCKETS],
}

/// What ended in one second.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    second: u64,
    sum: Lately,
}

/// What ended lately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lately {
    pub(super) count: u64,
    pub(super) total_ns: u64,
    pub(super) max_ns: u64,
    /// The index of the longest, and when it ended.
    pub(super) max_index: Option<i64>,
    pub(super) max_end_ns: u64,
    pub(super) bytes: u64,
}

/// One thing that ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ended {
    pub(super) end_ns: u64,
    pub(super) duration_ns: u64,
    pub(super) index: Option<i64>,
    pub(super) bytes: u64,
    /// How many such things it stands for.
    pub(super) weight: u64,
}

impl Window {
    pub(super) fn add(&mut self, ended: Ended) {
        let second = ended.end_ns / SECOND;
        let bucket = &mut self.buckets[(second % BUCKETS as u64) as usize];
        if bucket.second > second {
            return;
        }
        if bucket.second < second {
            *bucket = Bucket { second, sum: Lately::default() };
        }
        bucket.sum.add(ended);
    }

    /// The last whole seconds before `edge_ns`, and what there is of the one it is in.
    pub(super) fn lately(&self, edge_ns: u64) -> Lately {
        let last = edge_ns / SECOND;
        let counts =
            |bucket: &&Bucket| (last.saturating_sub(SECONDS)..=last).contains(&bucket.second);
        let mut sum = Lately::default();
        self.buckets.iter().filter(counts).for_each(|bucket| sum.join(&bucket.sum));
        sum
    }
}

impl Lately {
    fn add(&mut self, ended: Ended) {
        self.join(&Lately {
            count: ended.weight,
            total_ns: ended.duration_ns.saturating_mul(ended.weight),
            max_ns: ended.duration_ns,
            max_index: ended.index,
            max_end_ns: ended.end_ns,
            bytes: ended.bytes.saturating_mul(ended.weight),
        });
    }

    fn join(&mut self, other: &Lately) {
        if other.count > 0 && (self.count == 0 || other.max_ns > self.max_ns) {
            (self.max_ns, self.max_index) = (other.max_ns, other.max_index);
            self.max_end_ns = other.max_end_ns;
        }
        self.count += other.count;
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    /// The mean; none when nothing ended.
    pub(super) fn mean_ns(&self) -> Option<u64> {
        self.total_ns.checked_div(self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(second: u64, duration_ns: u64) -> Ended {
        let index = Some(second as i64);
        Ended { end_ns: second * SECOND + 5, duration_ns, index, bytes: 1, weight: 1 }
    }

    #[test]
    fn only_the_last_seconds_count() {
        let mut window = Window::default();
        for second in 100..130 {
            window.add(ended(second, second));
        }
        let sum = window.lately(129 * SECOND + 7);
        assert_eq!((sum.count, sum.max_ns, sum.max_index), (11, 129, Some(129)));
        assert_eq!(sum.mean_ns(), Some(124));
        assert_eq!(window.lately(500 * SECOND), Lately::default());
        window.add(ended(3, 9));
        assert_eq!(window.lately(129 * SECOND).count, 11, "what is too old changes nothing");
    }
}
