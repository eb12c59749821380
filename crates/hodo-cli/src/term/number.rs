//! Numbers as people read them: three significant digits and a unit.

const NS_UNITS: [(f64, &str); 4] = [(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")];
const BYTE_UNITS: [(f64, &str); 5] = [
    (1.0, "B"),
    (1024.0, "KiB"),
    (1048576.0, "MiB"),
    (1073741824.0, "GiB"),
    (1099511627776.0, "TiB"),
];

/// A duration: `842 ns`, `12.3 µs`, `7.89 s`, `2m 05s`, `1h 02m`.
pub fn duration(ns: f64) -> String {
    if ns >= 119.5e9 {
        return long_duration(ns);
    }
    if ns.abs() < 1.0 && ns != 0.0 {
        return format!("{} ns", digits(ns));
    }
    scaled(ns, &NS_UNITS)
}

fn long_duration(ns: f64) -> String {
    let seconds = (ns / 1e9).round() as u64;
    let (minutes, s) = (seconds / 60, seconds % 60);
    let (hours, m) = (minutes / 60, minutes % 60);
    match hours {
        0 => format!("{m}m {s:02}s"),
        1..48 => format!("{hours}h {m:02}m"),
        _ => format!("{}d {:02}h", hours / 24, hours % 24),
    }
}

/// A duration whose unit is two cells wide, so that a column of them lines up.
pub fn duration_cell(ns: f64) -> String {
    let text = duration(ns);
    if text.ends_with(" s") { format!("{text} ") } else { text }
}

/// A size: `512 B`, `1.50 MiB`.
pub fn bytes(n: u64) -> String {
    scaled(n as f64, &BYTE_UNITS)
}

fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    // Half a unit of the third digit early, so that 999.6 ns reads 1.00 µs and not 1000 ns.
    let at = units.iter().rposition(|(scale, _)| value.abs() >= scale * 0.9995).unwrap_or(0);
    let (scale, unit) = units[at];
    if at == 0 {
        return format!("{:.0} {unit}", value);
    }
    format!("{} {unit}", digits(value / scale))
}

/// A plain number in three significant digits, without an exponent in everyday ranges.
pub fn digits(value: f64) -> String {
    if !value.is_finite() {
        return if value.is_nan() {
            "NaN"
        } else if value > 0.0 {
            "∞"
        } else {
            "-∞"
        }
        .to_owned();
    }
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e7).contains(&size) {
        return format!("{value:.2e}");
    }
    let decimals = match size {
        s if s == 0.0 || s >= 99.95 => 0,
        s if s >= 9.995 => 1,
        s if s >= 0.9995 => 2,
        s if s >= 0.09995 => 3,
        s if s >= 0.009995 => 4,
        _ => 5,
    };
    format!("{value:.decimals$}")
}

/// A count with thin groups of three: `12 345`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(c);
    }
    out
}

/// A share of one as a percentage, in at most five cells: `62%`, `4.1%`, `<0.1%`, `>999%`.
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    if !value.is_finite() {
        String::new()
    } else if value >= 999.5 {
        ">999%".to_owned()
    } else if value >= 9.95 || value == 0.0 {
        format!("{value:.0}%")
    } else if value < 0.05 {
        "<0.1%".to_owned()
    } else {
        format!("{value:.1}%")
    }
}

/// A change of a share with its sign, in one decimal: `+9.8%`, `-12.0%`, `0.0%`.
pub fn signed_percent(ratio: f64) -> String {
    let value = (ratio * 1000.0).round() / 10.0;
    match value {
        v if v > 0.0 => format!("+{v:.1}%"),
        v if v < 0.0 => format!("{v:.1}%"),
        _ => "0.0%".to_owned(),
    }
}

/// A duration with its sign: `+1.20 ms`.
pub fn signed_duration(ns: i64) -> String {
    let size = duration(ns.unsigned_abs() as f64);
    match ns {
        0 => size,
        ns if ns > 0 => format!("+{size}"),
        _ => format!("-{size}"),
    }
}

/// Nanoseconds since 1970 as a UTC date and time, to the second.
pub fn when(wall_ns: i64) -> String {
    let seconds = wall_ns.div_euclid(1_000_000_000);
    let (days, time) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}",
        time / 3600,
        time / 60 % 60,
        time % 60
    )
}

/// Year, month and day of a day counted from 1970-01-01, in the Gregorian calendar.
///
/// Counts in 400-year eras of 146,097 days that begin on the first of March, so that the leap day ends a year.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_keep_three_digits_and_change_unit_in_time() {
        for (ns, text) in [
            (0.0, "0 ns"),
            (0.4, "0.400 ns"),
            (842.0, "842 ns"),
            (999.4, "999 ns"),
            (999.6, "1.00 µs"),
            (12_345.0, "12.3 µs"),
            (999_600.0, "1.00 ms"),
            (4_560_000.0, "4.56 ms"),
            (99_960_000.0, "100 ms"),
            (7.891e9, "7.89 s"),
            (119.0e9, "119 s"),
            (125.0e9, "2m 05s"),
            (3_725.0e9, "1h 02m"),
            (200_000.0e9, "2d 07h"),
        ] {
            assert_eq!(duration(ns), text, "{ns}");
        }
    }

    #[test]
    fn counts_percentages_and_sizes() {
        assert_eq!(count(1_234_567), "1 234 567");
        assert_eq!(count(999), "999");
        assert_eq!(percent(0.0), "0%");
        assert_eq!(percent(0.0001), "<0.1%");
        assert_eq!(percent(0.0414), "4.1%");
        assert_eq!(percent(0.9951), "100%");
        assert_eq!(percent(44.0e6), ">999%");
        assert_eq!(bytes(512), "512 B");
        assert_eq!(bytes(1_572_864), "1.50 MiB");
        assert_eq!(digits(f64::NAN), "NaN");
        assert_eq!(digits(0.000_001), "1.00e-6");
    }

    #[test]
    fn changes_have_their_sign() {
        assert_eq!(signed_percent(0.0984), "+9.8%");
        assert_eq!(signed_percent(-0.12), "-12.0%");
        assert_eq!(signed_percent(-0.0001), "0.0%");
        assert_eq!(signed_duration(1_200_000), "+1.20 ms");
        assert_eq!(signed_duration(-35), "-35 ns");
    }

    #[test]
    fn dates_match_the_calendar() {
        assert_eq!(when(0), "1970-01-01 00:00:00");
        assert_eq!(when(951_782_399_000_000_000), "2000-02-28 23:59:59");
        assert_eq!(when(951_782_400_000_000_000), "2000-02-29 00:00:00");
        assert_eq!(when(1_794_773_700_123_456_789), "2026-11-15 20:15:00");
        assert_eq!(when(-1), "1969-12-31 23:59:59");
    }
}
