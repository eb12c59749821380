//! Frames of the machine's readings: what goes in comes out, small, and nothing broken is delivered.

use crate::collect::Seen;
use crate::made::Random;
use crate::versions::{changed, file_with, frame, read_all};
use hodo_format::machine::{
    Readings, Series, Source, frame_kind, metric, readings_frame, row_frame, series_frame,
    state_frame,
};
use hodo_format::spool::{FILE_HEADER_BYTES, MAX_FRAME_RECORDS, file_header};
use proptest::prelude::*;

fn all_series() -> Vec<Series> {
    let sources = [Source::Host, Source::Core(3), Source::Gpu("GPU-7f2a".into())];
    let of = |(at, metric)| Series::new(at as u32 + 1, &sources[at % 3], metric);
    metric::ALL.iter().enumerate().map(of).collect()
}

fn file_of(readings: &Readings) -> Vec<u8> {
    let mut file = file_header(7, 1).to_vec();
    state_frame(0, r#"{"format":1}"#, &mut file);
    assert_eq!(series_frame(1, &all_series(), &mut file), all_series().len());
    assert!(readings_frame(2, readings, &mut file));
    assert!(row_frame(3, readings, &mut file));
    file
}

#[test]
fn what_is_written_is_read() {
    let values = vec![Some(1), None, Some(i64::MIN), Some(i64::MAX), None, None];
    let readings = Readings { series: vec![4, 9], times: vec![10, 20, u64::MAX], values };
    let (summary, seen) = read_all(&file_of(&readings));
    assert!(summary.damage.is_none());
    let both = Seen::Readings(readings);
    let state = Seen::MachineState(r#"{"format":1}"#.into());
    assert_eq!(seen, [state, Seen::Series(all_series()), both.clone(), both]);
}

proptest! {
    #[test]
    fn any_readings_come_back(
        series in prop::collection::vec(any::<u32>(), 0..20),
        times in prop::collection::vec(any::<u64>(), 0..40),
        seed in any::<u64>(),
    ) {
        let mut random = Random(seed);
        let value = |_| (random.below(3) > 0).then(|| random.next() as i64);
        let values = (0..series.len() * times.len()).map(value).collect();
        let readings = Readings { series, times, values };
        let (summary, seen) = read_all(&file_of(&readings));
        prop_assert!(summary.damage.is_none());
        prop_assert_eq!(&seen[2], &Seen::Readings(readings));
    }

    #[test]
    fn damage_delivers_nothing_wrong(at in any::<prop::sample::Index>(), bit in 0..8u8) {
        let readings = Readings { series: vec![1, 2], times: vec![5, 9], values: vec![Some(7); 4] };
        let whole = file_of(&readings);
        let (_, expected) = read_all(&whole);
        let mut file = whole.clone();
        let at = FILE_HEADER_BYTES + at.index(whole.len() - FILE_HEADER_BYTES);
        file[at] ^= 1 << bit;
        let (summary, seen) = read_all(&file);
        prop_assert!(!summary.damage.is_none());
        prop_assert!(seen.iter().all(|one| expected.contains(one)));
        prop_assert_eq!(seen.len(), expected.len() - 1);
    }
}

#[test]
fn a_minute_of_readings_takes_few_bytes() {
    // Counters that grow unevenly and gauges that wander, 40 of them, once a second.
    let mut random = Random(5);
    let (series, rows) = (40u32, 60u64);
    let mut values = Vec::new();
    for one in 0..series {
        let mut value = 1_000_000i64;
        for _ in 0..rows {
            value += random.below(if one % 2 == 0 { 1000 } else { 20 }) as i64;
            values.push(Some(value));
        }
    }
    let times = (0..rows).map(|row| row * 1_000_000_000 + random.below(100_000)).collect();
    let readings = Readings { series: (1..=series).collect(), times, values };
    let mut out = Vec::new();
    assert!(readings_frame(0, &readings, &mut out));
    let bytes = out.len() as f64 / (f64::from(series) * rows as f64);
    println!("{bytes:.2} bytes a value");
    assert!(bytes < 2.0, "{bytes:.2} bytes a value");
}

#[test]
fn readings_that_do_not_fit_together_make_no_frame() {
    let mut out = Vec::new();
    let odd = Readings { series: vec![1, 2], times: vec![1], values: vec![Some(1)] };
    assert!(!readings_frame(0, &odd, &mut out));
    let many = MAX_FRAME_RECORDS + 1;
    let long = Readings { series: vec![], times: vec![1; many], values: vec![] };
    assert!(!readings_frame(0, &long, &mut out));
    let wide = Readings { series: vec![1; many], times: vec![], values: vec![] };
    assert!(!readings_frame(0, &wide, &mut out));
    let huge =
        Readings { series: vec![1; 2048], times: vec![1; 1024], values: vec![None; 1 << 21] };
    assert!(!readings_frame(0, &huge, &mut out));
    assert!(out.is_empty());
}

#[test]
fn more_series_than_a_frame_holds_make_two() {
    let many = vec![Series::new(1, &Source::Host, &metric::LOAD); MAX_FRAME_RECORDS + 5];
    let mut out = Vec::new();
    assert_eq!(series_frame(0, &many, &mut out), MAX_FRAME_RECORDS);
}

#[test]
fn promises_are_not_believed() {
    let readings = Readings { series: vec![1], times: vec![1, 2], values: vec![Some(1), None] };
    let mut file = file_header(1, 1).to_vec();
    readings_frame(1, &readings, &mut file);
    let mut series = file_header(1, 1).to_vec();
    series_frame(1, &all_series()[..1], &mut series);
    // A million ids and a million moments, which as a table would have no end.
    let ones = vec![2u8; 1 << 20];
    let length = [0x80, 0x80, 0x40];
    let table = [&[4][..], &length, &length, &[1, 0], &ones, &ones, &[0]].concat();
    let frames = [
        frame(frame_kind::READINGS, 0, table.len(), &table),
        frame(frame_kind::READINGS, 0, 0, b""),
        frame(frame_kind::READINGS, 0, 1, &[255]),
        changed(&file, |raw| raw.truncate(raw.len() - 1)),
        changed(&file, |raw| raw.push(0)),
        changed(&file, |raw| raw[1] = 0x7f),
        changed(&series, |raw| raw.truncate(raw.len() - 1)),
        changed(&series, |raw| raw[3] = 0x7f),
        changed(&series, |raw| raw[4] = 0xff),
        frame(frame_kind::STATE, 0, 2, &[0xff, 0xfe]),
    ];
    for (at, frame) in frames.iter().enumerate() {
        let (summary, seen) = read_all(&file_with(frame));
        assert_eq!(summary.damage.frames, 1, "frame {at} was taken");
        assert_eq!(seen.len(), 1, "frame {at} gave something");
    }
}
