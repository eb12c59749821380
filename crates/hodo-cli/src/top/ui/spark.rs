//! The last values of a series in one line.

const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The last values in `cells` cells, the newest at the right. They reach up to `top`, or to their
/// own largest where that is none; what was not read is blank.
pub fn spark(values: &[Option<f64>], top: Option<f64>, cells: usize) -> String {
    let values = &values[values.len().saturating_sub(cells)..];
    let most = top.unwrap_or_else(|| values.iter().flatten().copied().fold(0.0, f64::max));
    let blank = std::iter::repeat_n(' ', cells - values.len());
    blank.chain(values.iter().map(|value| value.map_or(' ', |value| level(value, most)))).collect()
}

/// The same of plain numbers, between their own least and largest.
pub fn curve(values: &[f64], cells: usize) -> String {
    let values = &values[values.len().saturating_sub(cells)..];
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let (low, high) = (finite().fold(f64::MAX, f64::min), finite().fold(f64::MIN, f64::max));
    let of = |&value: &f64| match value.is_finite() {
        true => level(value - low, high - low),
        false => '!',
    };
    std::iter::repeat_n(' ', cells - values.len()).chain(values.iter().map(of)).collect()
}

/// One value as a block.
pub fn level(value: f64, most: f64) -> char {
    let share = if most > 0.0 { (value / most).clamp(0.0, 1.0) } else { 0.0 };
    LEVELS[((share * LEVELS.len() as f64) as usize).min(LEVELS.len() - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_stands_at_the_right_and_gaps_stay() {
        assert_eq!(spark(&[Some(0.0), None, Some(0.5), Some(1.0)], Some(1.0), 6), "  ▁ ▅█");
        assert_eq!(spark(&[Some(1.0), Some(2.0), Some(3.0)], None, 2), "▆█");
        assert_eq!(spark(&[Some(0.0)], None, 1), "▁", "nothing is not full");
        assert_eq!(spark(&[Some(9.0)], Some(1.0), 1), "█");
        assert_eq!(spark(&[], None, 3), "   ");
    }

    #[test]
    fn a_curve_uses_all_its_height_and_shows_what_is_no_number() {
        assert_eq!(curve(&[5.0, 6.0, f64::NAN, 7.0], 5), " ▁▅!█");
        assert_eq!(curve(&[3.0, 3.0], 2), "▁▁");
    }
}
