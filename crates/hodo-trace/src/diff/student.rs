//! Student's distribution: how far a mean of few values may be off.

/// The value that a Student variable with `df` degrees of freedom exceeds with probability `tail`,
/// for tails below a half.
pub(super) fn quantile(tail: f64, df: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while upper_tail(high, df) > tail && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if upper_tail(middle, df) > tail {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// The probability that it exceeds `t`, which is not negative.
pub(super) fn upper_tail(t: f64, df: f64) -> f64 {
    0.5 * incomplete_beta(df / (df + t * t), 0.5 * df, 0.5)
}

/// The regularised incomplete beta function.
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let front =
        (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp();
    // The fraction converges fast on this side of the mean, and the other follows by symmetry.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(x, a, b) / a
    } else {
        1.0 - front * fraction(1.0 - x, b, a) / b
    }
}

/// Its continued fraction, by Lentz's method.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let keep = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / keep(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for step in 1..300 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / keep(1.0 + even * d);
        c = keep(1.0 + even / c);
        value *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / keep(1.0 + odd * d);
        c = keep(1.0 + odd / c);
        value *= d * c;
        if (d * c - 1.0).abs() < 1e-14 {
            break;
        }
    }
    value
}

/// The logarithm of the gamma function of a positive number, by Stirling's series above 10.
fn ln_gamma(x: f64) -> f64 {
    let mut below = 0.0;
    let mut x = x;
    while x < 10.0 {
        below += x.ln();
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = (1.0 / 12.0 - square * (1.0 / 360.0 - square / 1260.0)) / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_printed_tables() {
        for (tail, df, expected) in [
            (0.025, 1.0, 12.706),
            (0.025, 4.0, 2.776),
            (0.005, 9.0, 3.250),
            (0.001, 9.0, 4.297),
            (0.0005, 3.0, 12.924),
            (0.025, 1e6, 1.960),
        ] {
            let found = quantile(tail, df);
            assert!((found - expected).abs() < 6e-4, "{tail} {df}: {found}, not {expected}");
        }
    }

    #[test]
    fn a_tail_is_what_its_quantile_came_from() {
        for tail in [0.2, 0.025, 1e-4, 1e-6] {
            for df in [1.0, 2.5, 7.0, 40.0] {
                let back = upper_tail(quantile(tail, df), df);
                assert!((back / tail - 1.0).abs() < 1e-6, "{tail} {df}: {back}");
            }
        }
    }
}
