//! The power of a GPU over time.

mod shape;

use crate::machine::weights::{longest_ns, usual_ns};
use crate::machine::{Machine, MachineSeries, TimeRanges};
use hodo_format::machine::{Kind, Source, metric};
use serde::Serialize;

/// What energy is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EnergyFrom {
    /// The board's own count of joules; where power was read more often, that says when in between
    /// they were used.
    Counter,
    /// Readings of power, in a straight line from one to the next.
    Power,
}

/// What a GPU used over some time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GpuJoules {
    /// Joules.
    pub joules: f64,
    /// The part of the time in which its power was known, nanoseconds.
    pub sampled_ns: u64,
    /// What it is made of.
    pub from: EnergyFrom,
}

/// The power of a GPU: even pieces in order, which do not overlap.
pub(super) struct Power {
    pieces: Vec<Piece>,
    pub(super) from: EnergyFrom,
    pub(super) interval_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    from: i64,
    to: i64,
    joules: f64,
    /// Joules of all pieces before.
    before: f64,
}

impl Machine {
    /// What a GPU used over `ranges`; none when its power was not sampled.
    pub fn energy(&self, uuid: &str, ranges: &TimeRanges) -> Option<GpuJoules> {
        let (low, high) = ranges.bounds()?;
        let power = Power::of(self, uuid, (low, high))?;
        let mut sum = GpuJoules { joules: 0.0, sampled_ns: 0, from: power.from };
        let mut at = 0;
        for (from, to) in ranges.iter() {
            at += power.pieces[at..].partition_point(|piece| piece.to <= from);
            for piece in power.pieces[at..].iter().take_while(|piece| piece.from < to) {
                let (low, high) = (piece.from.max(from), piece.to.min(to));
                sum.joules += piece.joules * (high - low) as f64 / (piece.to - piece.from) as f64;
                sum.sampled_ns += high.abs_diff(low);
            }
        }
        Some(sum)
    }
}

impl Power {
    /// The power of a GPU from one moment to another; none when it was not sampled then.
    pub(super) fn of(machine: &Machine, uuid: &str, within: (i64, i64)) -> Option<Power> {
        let source = Source::Gpu(uuid.to_owned());
        let series = |name: &str| machine.get(&source, name);
        let [counter, power] = [&metric::GPU_ENERGY, &metric::GPU_POWER].map(|m| series(m.name));
        let made = |series: Option<&MachineSeries>| series.map(|s| pieces(s, within));
        let (counted, read) = (made(counter).unwrap_or_default(), made(power).unwrap_or_default());
        let from = if counted.is_empty() { EnergyFrom::Power } else { EnergyFrom::Counter };
        let used = [counter.filter(|_| !counted.is_empty()), power.filter(|_| !read.is_empty())];
        let apart = used.into_iter().flatten().map(|s| usual_ns(s.times()).unsigned_abs());
        let interval_ns = apart.min()?;
        Some(Power { pieces: shape::by_power(&counted, &read), from, interval_ns })
    }

    /// Joules of all pieces.
    pub(super) fn joules(&self) -> f64 {
        self.pieces.last().map_or(0.0, |last| last.before + last.joules)
    }

    /// When it is known.
    pub(super) fn known(&self) -> TimeRanges {
        TimeRanges::union(self.pieces.iter().map(|piece| (piece.from, piece.to)).collect())
    }
}

fn pieces(series: &MachineSeries, (low, high): (i64, i64)) -> Vec<Piece> {
    let longest = longest_ns(series.times());
    let mut pieces: Vec<Piece> = Vec::new();
    let mut before = None;
    let mut sum = 0.0;
    for at in series.present() {
        let Some(first) = before.replace(at) else { continue };
        let (start, end) = (series.times()[first], series.times()[at]);
        let (from, to) = (start.max(low), end.min(high));
        let watts = match series.kind {
            Kind::Counter => series.rate(first, at),
            Kind::Gauge if end - start > longest => None,
            // The middle of the straight line over what is kept of it.
            Kind::Gauge => {
                let (a, b) = (series.values()[first], series.values()[at]);
                let middle = ((from - start) as f64 + (to - start) as f64) / 2.0;
                Some(a + (b - a) * middle / (end - start) as f64)
            }
        };
        if let Some(watts) = watts.filter(|_| to > from) {
            let joules = watts * (to - from) as f64 / 1e9;
            pieces.push(Piece { from, to, joules, before: sum });
            sum += joules;
        }
    }
    pieces
}

/// Asks a [`Power`] for moments that come one before the other.
pub(super) struct Backward<'a> {
    power: &'a Power,
    /// Pieces that begin before the moment last asked for.
    left: usize,
}

impl<'a> Backward<'a> {
    pub(super) fn new(power: &'a Power) -> Backward<'a> {
        Backward { power, left: power.pieces.len() }
    }

    /// Joules before a moment.
    #[inline]
    pub(super) fn until(&mut self, moment: i64) -> f64 {
        while let Some(last) = self.left.checked_sub(1) {
            let piece = &self.power.pieces[last];
            if piece.from < moment {
                if moment >= piece.to {
                    return piece.before + piece.joules;
                }
                let part = (moment - piece.from) as f64 / (piece.to - piece.from) as f64;
                return piece.before + piece.joules * part;
            }
            self.left = last;
        }
        0.0
    }
}
