//! What an encoder took is what a reader delivers.

use crate::collect::{Collect, Seen, from_units};
use crate::made::{Loop, any_units};
use hodo_format::record::{Unit, decode_one};
use hodo_format::spool::{Encoder, file_header, read};
use proptest::prelude::*;

fn read_back(frame: &[u8]) -> Vec<Seen> {
    let file = [&file_header(7, 1)[..], frame].concat();
    let mut sink = Collect::default();
    let summary = read(&file, &mut sink).unwrap();
    assert!(summary.damage.is_none(), "{:?}", summary.damage);
    sink.seen
}

fn records(units: &[Unit]) -> u64 {
    let mut sink = Collect::default();
    let mut rest = units;
    let mut count = 0;
    while let Some((taken, counts)) = decode_one(rest, &mut sink) {
        rest = &rest[taken..];
        count += u64::from(counts);
    }
    count
}

proptest! {
    #[test]
    fn any_records_come_back(
        pushes in prop::collection::vec((0..3u32, any::<u64>(), any_units()), 0..6),
        level in 1..4i32,
    ) {
        let mut encoder = Encoder::new(level);
        let mut expected = Vec::new();
        for (thread, first, units) in &pushes {
            let count = records(units);
            prop_assert_eq!(encoder.push(*thread, *first, units).records(), count);
            if count > 0 {
                expected.push(Seen::Run { thread: *thread, first: *first, count });
                expected.extend(from_units(units));
            }
        }
        let mut frame = Vec::new();
        encoder.finish(3, &mut frame);
        prop_assert!(encoder.is_empty());
        prop_assert_eq!(read_back(&frame), expected);
    }
}

#[test]
fn pushes_that_follow_each_other_make_one_run() {
    let mut source = Loop::new(4);
    let mut encoder = Encoder::new(1);
    let mut units = Vec::new();
    let mut next = 100;
    for _ in 0..300 {
        let step = source.step();
        next += encoder.push(4, next, &step).records();
        units.extend(step);
    }
    let mut frame = Vec::new();
    encoder.finish(1, &mut frame);
    let mut expected = vec![Seen::Run { thread: 4, first: 100, count: next - 100 }];
    expected.extend(from_units(&units));
    assert_eq!(read_back(&frame), expected);
}
