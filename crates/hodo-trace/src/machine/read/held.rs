//! What the live file held, kept until the blocks are known.

use super::collect::Collector;
use hodo_format::arena::Anchor;
use hodo_format::machine::{Readings, Series};
use hodo_format::record::Sink;
use hodo_format::spool::FrameSink;

/// Frames in the order they were written.
#[derive(Default)]
pub(super) struct Held(Vec<Frame>);

enum Frame {
    State(String),
    Anchors(Vec<Anchor>),
    Series(Vec<Series>),
    Readings(Readings),
}

impl Held {
    /// Gives `collector` what the blocks do not have.
    pub(super) fn replay(self, collector: &mut Collector) {
        collector.next_file();
        collector.only_later();
        for frame in self.0 {
            match frame {
                Frame::State(json) => collector.machine_state(&json),
                Frame::Anchors(anchors) => collector.anchors(&anchors),
                Frame::Series(series) => collector.series(&series),
                Frame::Readings(readings) => collector.readings(readings),
            }
        }
    }
}

impl Sink for Held {}

impl FrameSink for Held {
    fn anchors(&mut self, anchors: &[Anchor]) {
        self.0.push(Frame::Anchors(anchors.to_vec()));
    }

    fn machine_state(&mut self, json: &str) {
        self.0.push(Frame::State(json.to_owned()));
    }

    fn series(&mut self, series: &[Series]) {
        self.0.push(Frame::Series(series.to_vec()));
    }

    fn readings(&mut self, readings: Readings) {
        self.0.push(Frame::Readings(readings));
    }
}
