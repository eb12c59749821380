//! Readings of the machine as people read them.

use super::number::{self, digits};

const JOULE_UNITS: [(f64, &str); 4] = [(1e-3, "mJ"), (1.0, "J"), (1e3, "kJ"), (3.6e6, "kWh")];
const HERTZ_UNITS: [(f64, &str); 4] = [(1.0, "Hz"), (1e3, "kHz"), (1e6, "MHz"), (1e9, "GHz")];

/// A value in a unit as the trace writes it: `61%`, `412 W`, `1.98 GHz`, `61.2 GiB`.
pub fn value(value: f64, unit: &str) -> String {
    match unit {
        "1" => number::percent(value),
        "By" => number::bytes(value.max(0.0) as u64),
        "By/s" => format!("{}/s", number::bytes(value.max(0.0) as u64)),
        "s" => number::duration(value * 1e9),
        "J" => energy(value),
        "Hz" => scaled(value, &HERTZ_UNITS),
        "Cel" => format!("{} °C", digits(value)),
        "1/s" => format!("{}/s", digits(value)),
        "" => digits(value),
        unit => format!("{} {unit}", digits(value)),
    }
}

/// Energy: `12.3 J`, `4.56 kJ`, `1.20 kWh`.
pub fn energy(joules: f64) -> String {
    if joules == 0.0 {
        return "0 J".to_owned();
    }
    scaled(joules, &JOULE_UNITS)
}

/// An amount of money, with its currency where that was told.
pub fn money(amount: f64, currency: &str) -> String {
    format!("{} {currency}", digits(amount)).trim_end().to_owned()
}

fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let at = units.iter().rposition(|(scale, _)| value.abs() >= scale * 0.9995).unwrap_or(0);
    let (scale, unit) = units[at];
    format!("{} {unit}", digits(value / scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_unit_that_fits() {
        for (number, unit, text) in [
            (0.613, "1", "61%"),
            (412.4, "W", "412 W"),
            (1.98e9, "Hz", "1.98 GHz"),
            (61.0, "Cel", "61.0 °C"),
            (2048.0, "By/s", "2.00 KiB/s"),
            (0.25, "s", "250 ms"),
            (2.5, "cores", "2.50 cores"),
            (3.0, "1/s", "3.00/s"),
            (17.0, "", "17.0"),
        ] {
            assert_eq!(value(number, unit), text);
        }
    }

    #[test]
    fn energy_goes_from_millijoules_to_kilowatt_hours() {
        for (joules, text) in [
            (0.0, "0 J"),
            (0.0123, "12.3 mJ"),
            (999.7, "1.00 kJ"),
            (12_345.0, "12.3 kJ"),
            (7.2e6, "2.00 kWh"),
        ] {
            assert_eq!(energy(joules), text);
        }
        assert_eq!((money(0.6, "EUR"), money(0.6, "")), ("0.600 EUR".into(), "0.600".into()));
    }
}
