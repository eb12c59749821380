//! How often the machine is read while a program records.

use crate::config::Gpu;
use std::time::Duration;

/// Closer together, readings would measure themselves.
const LEAST: Duration = Duration::from_millis(10);
/// Further apart, they say nothing about a program.
const MOST: Duration = Duration::from_secs(3600);
/// Where it is said that the machine is to be read and not how often.
const USUAL: Duration = Duration::from_secs(1);

/// How often the machine is read while a program records. Nothing said means: not at all, unless
/// [`Gpu::Monitor`] asks for readings of the device, and then once a second.
///
/// ```
/// use hodo_record::Telemetry;
///
/// let telemetry = Telemetry::parse("50ms,scopes").unwrap();
/// assert_eq!(telemetry.interval, Some(std::time::Duration::from_millis(50)));
/// assert!(telemetry.only_in_scopes);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Telemetry {
    /// Time between two readings; zero for none at all; `None` when nothing was said.
    pub interval: Option<Duration>,
    /// Read only while a scope is open.
    pub only_in_scopes: bool,
}

impl Telemetry {
    /// No readings, whatever else asks for them.
    pub const OFF: Telemetry = Telemetry { interval: Some(Duration::ZERO), only_in_scopes: false };

    /// Readings `interval` apart, all the time.
    pub const fn every(interval: Duration) -> Telemetry {
        Telemetry { interval: Some(interval), only_in_scopes: false }
    }

    /// What a text says: a time such as `50ms` or `1s`, `on`, `off`, and behind it `,scopes`. The
    /// error says what would make sense.
    pub fn parse(text: &str) -> Result<Telemetry, String> {
        let nonsense = || {
            format!(
                "telemetry={text} is ignored: it is a time between readings from 10ms to 1h, \
                 such as 50ms or 1s, or on ({USUAL:?}), or off; with \",scopes\" behind it, only inside scopes"
            )
        };
        let mut telemetry = Telemetry::default();
        for word in text.split(',').map(str::trim) {
            match word {
                "scopes" => telemetry.only_in_scopes = true,
                "off" | "0" | "no" | "false" => telemetry.interval = Some(Duration::ZERO),
                "on" | "1" | "yes" | "true" => telemetry.interval = Some(USUAL),
                time => telemetry.interval = Some(duration(time).ok_or_else(nonsense)?),
            }
        }
        telemetry.interval = telemetry.interval.or(Some(USUAL));
        Ok(telemetry)
    }

    /// Time between two readings of a recorder with this `gpu`; none for no readings.
    pub fn interval_with(&self, gpu: Gpu) -> Option<Duration> {
        let unsaid = (gpu == Gpu::Monitor).then_some(USUAL);
        self.interval.or(unsaid).filter(|interval| !interval.is_zero())
    }

    /// Time between two readings where somebody asks for them at run time.
    pub fn interval_or_usual(&self) -> Duration {
        self.interval.filter(|interval| !interval.is_zero()).unwrap_or(USUAL)
    }
}

/// A time with its unit.
fn duration(word: &str) -> Option<Duration> {
    let (number, seconds) = match word {
        _ if word.ends_with("ms") => (word.trim_end_matches("ms"), 1e-3),
        _ if word.ends_with('s') => (word.trim_end_matches('s'), 1.0),
        _ if word.ends_with('m') => (word.trim_end_matches('m'), 60.0),
        _ if word.ends_with('h') => (word.trim_end_matches('h'), 3600.0),
        _ => return None,
    };
    let number: f64 = number.trim().parse().ok()?;
    let time = Duration::try_from_secs_f64(number * seconds).ok()?;
    (LEAST..=MOST).contains(&time).then_some(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_what_they_mean() {
        let ms = |ms| Some(Duration::from_millis(ms));
        let parsed = |text| Telemetry::parse(text).unwrap();
        assert_eq!(parsed("50ms"), Telemetry { interval: ms(50), only_in_scopes: false });
        assert_eq!(parsed("0.5s , scopes"), Telemetry { interval: ms(500), only_in_scopes: true });
        assert_eq!(parsed("scopes"), Telemetry { interval: ms(1000), only_in_scopes: true });
        assert_eq!(parsed("1m").interval, ms(60_000));
        assert_eq!(parsed("off"), Telemetry::OFF);
        assert_eq!(parsed("on").interval, ms(1000));
    }

    #[test]
    fn nonsense_is_named() {
        for text in ["", "50", "fast", "-1s", "nans", "infs", "1ms", "2h", "50ms,often", "ms", "1e99s"] {
            let error = Telemetry::parse(text).unwrap_err();
            assert!(error.starts_with(&format!("telemetry={text} is ignored")), "{error}");
        }
    }

    #[test]
    fn monitoring_the_gpu_asks_for_readings_unless_they_are_off() {
        let unsaid = Telemetry::default();
        assert_eq!(unsaid.interval_with(Gpu::Auto), None);
        assert_eq!(unsaid.interval_with(Gpu::Monitor), Some(USUAL));
        assert_eq!(Telemetry::OFF.interval_with(Gpu::Monitor), None);
        let every = Telemetry::every(Duration::from_millis(50));
        assert_eq!(every.interval_with(Gpu::Off), Some(Duration::from_millis(50)));
    }
}
