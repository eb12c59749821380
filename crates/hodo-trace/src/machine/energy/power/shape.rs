//! Counted energy in the shape of the power that was read in between.
//!
//! To ask the board for its count takes milliseconds, to ask for its power microseconds, so power is
//! read more often. What was counted stays exactly what it is; only when it was used is told by power.

use super::Piece;

/// The pieces of `counted`, each divided as `read` tells; and those of `read` where nothing was
/// counted. Both are in order and do not overlap.
pub(super) fn by_power(counted: &[Piece], read: &[Piece]) -> Vec<Piece> {
    let mut shaped = Vec::with_capacity(counted.len() + read.len());
    let mut done = i64::MIN;
    for piece in counted {
        add_read(read, done, piece.from, &mut shaped);
        divide(piece, read, &mut shaped);
        done = piece.to;
    }
    add_read(read, done, i64::MAX, &mut shaped);
    let mut sum = 0.0;
    for piece in &mut shaped {
        piece.before = sum;
        sum += piece.joules;
    }
    shaped
}

/// The pieces of `read` between two moments.
fn within(read: &[Piece], from: i64, to: i64) -> impl Iterator<Item = Piece> {
    let first = read.partition_point(|piece| piece.to <= from);
    read[first..].iter().take_while(move |piece| piece.from < to).map(move |piece| {
        let (low, high) = (piece.from.max(from), piece.to.min(to));
        let part = (high - low) as f64 / (piece.to - piece.from) as f64;
        Piece { from: low, to: high, joules: piece.joules * part, before: 0.0 }
    })
}

fn add_read(read: &[Piece], from: i64, to: i64, out: &mut Vec<Piece>) {
    if from < to {
        out.extend(within(read, from, to));
    }
}

/// Adds `piece` in the shape of `read`. Where power was not read it is the piece's mean.
fn divide(piece: &Piece, read: &[Piece], out: &mut Vec<Piece>) {
    let mean = piece.joules / (piece.to - piece.from) as f64;
    let begin = out.len();
    let gap =
        |from: i64, to: i64| Piece { from, to, joules: mean * (to - from) as f64, before: 0.0 };
    let mut at = piece.from;
    for part in within(read, piece.from, piece.to) {
        out.extend((part.from > at).then(|| gap(at, part.from)));
        at = part.to;
        out.push(part);
    }
    out.extend((piece.to > at).then(|| gap(at, piece.to)));
    let sum: f64 = out[begin..].iter().map(|part| part.joules).sum();
    if sum > 0.0 {
        out[begin..].iter_mut().for_each(|part| part.joules *= piece.joules / sum);
    } else {
        out.truncate(begin);
        out.push(*piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece((from, to, joules): (i64, i64, f64)) -> Piece {
        Piece { from, to, joules, before: 0.0 }
    }

    fn shaped(counted: &[(i64, i64, f64)], read: &[(i64, i64, f64)]) -> Vec<(i64, i64, f64)> {
        let pieces = |list: &[(i64, i64, f64)]| list.iter().copied().map(piece).collect::<Vec<_>>();
        let made = by_power(&pieces(counted), &pieces(read));
        let mut sum = 0.0;
        for one in &made {
            assert!((one.before - sum).abs() < 1e-9, "{made:?}");
            sum += one.joules;
        }
        made.iter().map(|one| (one.from, one.to, one.joules)).collect()
    }

    #[test]
    fn what_was_counted_is_divided_as_power_tells() {
        // 30 J were counted; power told 10 and then 30 J, a third too many.
        let made = shaped(&[(0, 20, 30.0)], &[(0, 10, 10.0), (10, 20, 30.0)]);
        assert_eq!(made, [(0, 10, 7.5), (10, 20, 22.5)]);
    }

    #[test]
    fn without_power_it_is_even() {
        assert_eq!(shaped(&[(0, 20, 30.0)], &[]), [(0, 20, 30.0)]);
        assert_eq!(shaped(&[(0, 20, 0.0)], &[(0, 20, 0.0)]), [(0, 20, 0.0)]);
    }

    #[test]
    fn power_that_was_not_read_is_the_mean() {
        let made = shaped(&[(0, 20, 40.0)], &[(5, 15, 20.0)]);
        assert_eq!(made, [(0, 5, 10.0), (5, 15, 20.0), (15, 20, 10.0)]);
    }

    #[test]
    fn power_counts_where_the_counter_was_not_read() {
        let made = shaped(&[(10, 20, 50.0)], &[(0, 12, 12.0), (12, 30, 18.0)]);
        assert_eq!(made[0], (0, 10, 10.0));
        assert_eq!(made[3], (20, 30, 10.0));
        let between: f64 = made[1..3].iter().map(|one| one.2).sum();
        assert!((between - 50.0).abs() < 1e-9, "{made:?}");
        assert_eq!(shaped(&[], &[(0, 10, 3.0)]), [(0, 10, 3.0)]);
    }
}
