//! The flags of a scope and what rounding took from its times, in one word.

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SpanBits {
    pub(super) flags: u16,
    /// Of start, duration, CPU time and overhead.
    pub(super) rests: [i64; 4],
}

impl SpanBits {
    /// The columns of rests that are too large for the word.
    pub(super) const LANES: [&'static str; 4] = ["start", "duration", "cpu", "overhead"];

    const FIRST: u32 = 16;
    const LANE: u32 = 8;
    /// From here on a bit a lane: its rest is in a column of its own.
    const LARGE: u32 = 48;

    /// Flags, a byte for each rest, a bit for each that does not fit one.
    pub(super) fn word(&self) -> i64 {
        let mut word = i64::from(self.flags);
        for (lane, &rest) in (0..).zip(&self.rests) {
            match i8::try_from(rest) {
                Ok(rest) => word |= i64::from(rest as u8) << (Self::FIRST + lane * Self::LANE),
                Err(_) => word |= 1 << (Self::LARGE + lane),
            }
        }
        word
    }

    /// The rest of a lane that does not fit the word.
    pub(super) fn large(&self, lane: usize) -> Option<i64> {
        Some(self.rests[lane]).filter(|&rest| i8::try_from(rest).is_err())
    }

    /// Whether any rest does not fit the word.
    pub(super) fn has_large(word: i64) -> bool {
        word >> Self::LARGE != 0
    }

    /// What [`SpanBits::word`] told; `large` gives the rest of a lane that did not fit.
    #[inline]
    pub(super) fn again(word: i64, large: impl Fn(usize) -> i64) -> SpanBits {
        let lane = |lane: u32| i64::from((word >> (Self::FIRST + lane * Self::LANE)) as i8);
        let mut rests = [lane(0), lane(1), lane(2), lane(3)];
        if Self::has_large(word) {
            for (at, rest) in rests.iter_mut().enumerate() {
                if word >> (Self::LARGE + at as u32) & 1 == 1 {
                    *rest = large(at);
                }
            }
        }
        SpanBits { flags: word as u16, rests }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_rests_come_back(flags in any::<u16>(), rests in any::<[i64; 4]>(), shift in 0u32..64) {
            let bits = SpanBits { flags, rests: rests.map(|rest| rest >> shift) };
            let again = SpanBits::again(bits.word(), |lane| bits.large(lane).unwrap_or(0));
            prop_assert_eq!(again, bits);
        }
    }
}
