//! Readings of the machine: series of numbers, each of one metric at one source.
//!
//! Whoever samples a host for a run writes them into a folder of that host (`machine-HOST-BOOT`), in
//! files of the spool's framing (`samples-000001.hodo`). Times are nanoseconds of the monotonic
//! clock; the anchors beside them have the wall's. Rows that are not yet in a block of
//! such a file lie one by one in `samples.live`, so that a kill loses none.

mod frames;
pub mod metric;
pub mod part;
mod source;
mod throttle;

pub(crate) use frames::{readings, series};
pub use frames::{readings_frame, row_frame, series_frame, state_frame};
pub use metric::Metric;
pub use source::Source;
pub use throttle::throttle_reasons;

/// How the folder of a host begins; its name and the start of its boot id follow.
pub const FOLDER_PREFIX: &str = "machine-";
/// How a file of readings begins; its number and `.hodo` follow.
pub const FILE_PREFIX: &str = "samples-";
/// The file of rows that are in no block yet.
pub const LIVE_FILE: &str = "samples.live";
/// Held locked by the one who samples the host for the run.
pub const LOCK_FILE: &str = "sampler.lock";

/// Frames of sample files. Readers skip kinds they do not know.
pub mod frame_kind {
    /// What the sampler is, sees and does not see, a JSON object; the newest counts.
    pub const STATE: u8 = 24;
    /// What series there are.
    pub const SERIES: u8 = 25;
    /// Their values at some moments.
    pub const READINGS: u8 = 26;
}

/// How the values of a series are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A value at its moment.
    Gauge,
    /// A sum that only grows, unless its source starts anew; what counts is its growth.
    Counter,
}

/// One series. Its id means it in its file only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// Its number in the file.
    pub id: u32,
    /// Where it is read, as [`Source`] writes it.
    pub source: String,
    /// What is read, as [`metric`] names it.
    pub metric: String,
    /// Its unit: `1` (a share), `By`, `s`, `W`, `J`, `Hz`, `Cel`, or nothing.
    pub unit: String,
    /// How its values are meant.
    pub kind: Kind,
    /// Values are stored as whole numbers of ten to this.
    pub exponent: i8,
}

impl Series {
    /// The series of `metric` at `source`.
    pub fn new(id: u32, source: &Source, metric: &Metric) -> Series {
        Series {
            id,
            source: source.to_string(),
            metric: metric.name.into(),
            unit: metric.unit.into(),
            kind: metric.kind,
            exponent: metric.exponent,
        }
    }

    /// `value` as it is stored; none for what is no number or does not fit.
    pub fn stored(&self, value: f64) -> Option<i64> {
        let whole = (value / self.step()).round();
        // Both bounds are exact in a float; the upper one is the first that does not fit.
        let fits = (i64::MIN as f64..i64::MAX as f64).contains(&whole);
        fits.then_some(whole as i64)
    }

    /// The value that is stored as `whole`.
    pub fn value(&self, whole: i64) -> f64 {
        // A division by a power of ten gives the nearest float; a product with its inverse may not.
        match self.exponent {
            ..0 => whole as f64 / 10f64.powi(-i32::from(self.exponent)),
            0.. => whole as f64 * self.step(),
        }
    }

    fn step(&self) -> f64 {
        10f64.powi(self.exponent.into())
    }
}

/// Values of some series at some moments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readings {
    /// Ids of the series.
    pub series: Vec<u32>,
    /// Moments, nanoseconds of the monotonic clock, in order.
    pub times: Vec<u64>,
    /// For each series one after another a value for each moment, as [`Series::stored`] gives it;
    /// none where it could not be read.
    pub values: Vec<Option<i64>>,
}

impl Readings {
    /// The values of the series at place `at` of [`Readings::series`].
    pub fn values_of(&self, at: usize) -> &[Option<i64>] {
        let rows = self.times.len();
        self.values.get(at * rows..(at + 1) * rows).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(exponent: i8) -> Series {
        Series { exponent, ..Series::new(1, &Source::Host, &metric::CPU_TIME) }
    }

    #[test]
    fn values_come_back_to_the_step_they_are_stored_in() {
        let milli = series(-3);
        assert_eq!(milli.stored(1.2344), Some(1234));
        assert_eq!(milli.value(1234), 1.234);
        assert_eq!(series(6).value(series(6).stored(1_980e6).unwrap_or(0)), 1_980e6);
    }

    #[test]
    fn what_is_no_number_is_not_stored() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e30] {
            assert_eq!(series(-3).stored(value), None);
        }
    }
}
