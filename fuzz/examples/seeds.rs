//! Writes `seeds/`: small valid inputs from which the targets set out.

use hodo_format::arena::{Anchor, Counts, SLAB_BYTES, slab_kind};
use hodo_format::gpu::{self, Detail, Kernel, Sample, Work};
use hodo_format::machine::{self, Readings, Series, Source, metric};
use hodo_format::record::{AttrsRecord, Span, SpanId, Unit, code, flag};
use hodo_format::spool::{
    Encoder, FRAME_HEADER_BYTES, FrameHeader, Losses, ThreadInfo, anchors_frame, end_frame,
    file_header, losses_frame, strings_frame, thread_frame,
};
use hodo_fuzz::to_units;
use hodo_gpu::cupti::size_of_record;
use hodo_gpu::fixture::{Buffer, Entry};
use std::path::Path;

fn main() -> std::io::Result<()> {
    let file = file();
    put("spool_salvage", "file", &file)?;
    put("spool_salvage", "cut", &file[..file.len() - 20])?;
    let units: Vec<u8> = records(1).iter().flat_map(|unit| words(&unit.0, 64)).collect();
    put("frame_decode", "units", &[&[7, 0][..], &units].concat())?;
    let mut at = 64;
    while let Some(header) = FrameHeader::parse(&file[at..]) {
        let payload = &file[at + FRAME_HEADER_BYTES..][..header.payload_bytes as usize];
        let seed = [&[header.kind, header.flags][..], payload].concat();
        put("frame_decode", &format!("kind-{}-{}", header.kind, header.sequence), &seed)?;
        put(
            "spool_salvage",
            &format!("frame-{}", header.sequence),
            &file[at..][..40 + payload.len()],
        )?;
        at += FRAME_HEADER_BYTES + payload.len();
    }
    put(
        "arena_salvage",
        "composed",
        &[&[1][..], &slab(slab_kind::RING), &slab(slab_kind::THREAD)].concat(),
    )?;
    put(
        "arena_salvage",
        "slots",
        &[&[1][..], &slab(slab_kind::SLOTS), &slab(slab_kind::THREAD_SLOTS)].concat(),
    )?;
    put("arena_salvage", "strings", &[&[1][..], &strings()].concat())?;
    for version in [1, 3, 6, 9] {
        let seed = [&[version][..], &gpu_records(version)].concat();
        put("gpu_records", &format!("version-{version}"), &seed)?;
    }
    put("gpu_records", "recording", &[&[u8::MAX][..], &recording()].concat())?;
    put("arena_salvage", "empty", &[0; SLAB_BYTES / 16])
}

/// Two records of every kind, as the version at this place of the target's list writes them.
fn gpu_records(version: u8) -> Vec<u8> {
    let version = [0, 18, 24, 26, 27, 28, 130_000, 130_100, 130_300, 130_400][usize::from(version)];
    let mut buffer = Vec::new();
    for kind in [10, 1, 2, 22, 38, 49, 4, 5].repeat(2) {
        let mut record = vec![0; size_of_record(version, kind).expect("a kind that is read")];
        record[0] = kind as u8;
        record[4..32].fill(3);
        buffer.extend(record);
    }
    buffer
}

/// One entry of every sort, without the magic.
fn recording() -> Vec<u8> {
    let scope = Entry::Scope { span: SpanId(7), parent: SpanId::NONE, name: "step".into() };
    let names = vec![(0, "gemm".into())];
    let buffer = Buffer { bytes: gpu_records(6), offsets: vec![0, 216], names };
    let entries = [
        Entry::Capture { cupti: 130_001, driver: 13_000 },
        scope,
        Entry::Call(Default::default()),
        Entry::Node(Default::default()),
        Entry::Buffer(buffer),
    ];
    let mut bytes = Vec::new();
    entries.iter().for_each(|entry| entry.write(&mut bytes));
    bytes
}

fn put(target: &str, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    let folder = Path::new("seeds").join(target);
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join(name), bytes)
}

/// Few enough records that the payload stays uncompressed, then many.
fn file() -> Vec<u8> {
    let mut file = file_header(5, 1).to_vec();
    let mut encoder = Encoder::new(1);
    for (sequence, groups) in [1, 3, 40].into_iter().enumerate() {
        let units = records(groups);
        encoder.push(2, 10, &units);
        encoder.push(3, 0, &units[..3]);
        encoder.finish(sequence as u64, &mut file);
    }
    strings_frame(3, 1, &["step", "forward", "größe"], &mut file);
    let counts = Counts { spans: 3, marks: 2, attrs: 1 };
    let lost = [counts; 4];
    let thread =
        ThreadInfo { number: 2, name: "main".into(), ended: Some(9), lost, ..Default::default() };
    thread_frame(4, &thread, &mut file);
    anchors_frame(5, &[Anchor { ticks: 1, monotonic_ns: 2, wall_ns: 3 }; 2], &mut file);
    let losses = Losses { produced: counts, stored: counts, lost };
    losses_frame(6, &losses, &mut file);
    end_frame(7, &losses, &mut file);
    gpu_frames(&mut file);
    machine_frames(&mut file);
    file
}

/// Series and readings of the machine, few and many.
fn machine_frames(file: &mut Vec<u8>) {
    machine::state_frame(12, r#"{"format":1}"#, file);
    let series: Vec<Series> = (1..4).map(|id| Series::new(id, &Source::Core(id), &metric::CPU_TIME)).collect();
    machine::series_frame(13, &series, file);
    for (sequence, rows) in [1u64, 60].into_iter().enumerate() {
        let values = (0..3 * rows).map(|at| (at % 7 != 3).then_some(at as i64 * 10)).collect();
        let times = (0..rows).map(|row| row * 1_000_000_000).collect();
        let readings = Readings { series: vec![1, 2, 3], times, values };
        machine::readings_frame(14 + sequence as u64, &readings, file);
    }
}

/// A kernel, a copy, a sync and memory given back, few and many times.
fn gpu_frames(file: &mut Vec<u8>) {
    let kernel = Kernel { name: 2, grid: [9, 1, 1], block: [128, 1, 1], ..Default::default() };
    let details = [
        Detail::Kernel(kernel),
        Detail::Copy { bytes: 4096, direction: 1, from: 2, to: 3 },
        Detail::Sync { what: 3 },
        Detail::Memory { freed: true, bytes: 512, address: 1 << 40, memory: 3 },
    ];
    let mut encoder = gpu::Encoder::new(1);
    for (sequence, rounds) in [1, 30].into_iter().enumerate() {
        for i in 0..4 * rounds {
            encoder.push(&Work {
                flags: 0,
                device: 0,
                context: 1,
                stream: 7,
                start: 100 * i,
                end: 100 * i + 80,
                correlation: i as u32,
                span: SpanId::new(2, 1 + i / 4),
                launched: 100 * i,
                thread: 40,
                graph: 0,
                node: 0,
                captured: SpanId::NONE,
                forward: SpanId(i % 2),
                detail: details[i as usize % 4],
            });
        }
        encoder.finish(8 + sequence as u64, file);
    }
    gpu::state_frame(10, r#"{"level":"trace"}"#, file);
    gpu::samples_frame(11, &[Sample { kernel: 2, pc: 16, ..Default::default() }; 3], file);
}

fn records(groups: u64) -> Vec<Unit> {
    let mut units = Vec::new();
    for group in 0..groups {
        let (id, at) = (1 + 3 * group, 1000 * group);
        let span = |id, parent, start, end, flags| Span {
            flags,
            name: 1,
            id: SpanId::new(2, id),
            parent: SpanId(parent),
            start,
            end,
            cpu: end - start,
            index: group as i64,
            overhead: group % 3,
        };
        let own = SpanId::new(2, id).0;
        units.push(span(id + 1, own, at + 10, at + 400, 0).to_unit());
        units.push(AttrsRecord::unit(SpanId(own), &[(4, code::I64, 7), (5, code::F64, 99)]));
        units.push(span(id + 2, own, at + 410, at + 900, flag::FAILED).to_unit());
        units.extend(to_units(&words(&[0x0000_0006_0003_0104, own, 0x6162_6300_0000_0003], 64)));
        units.extend(to_units(&words(&[0x0000_0007_0002_0105, own, at + 905, 1], 64)));
        units.extend(to_units(&words(&[0x0000_0008_0030_0106, own, at + 906, 3, 0x61_6263], 64)));
        units.push(span(id, 0, at, at + 910, flag::HAS_INDEX).to_unit());
    }
    units
}

fn words(words: &[u64], bytes: usize) -> Vec<u8> {
    let mut all: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    all.resize(bytes, 0);
    all
}

/// A piece as `arena_salvage` composes slabs of: thread 2, two units published.
fn slab(kind: u32) -> Vec<u8> {
    let header = words(&[u64::from(kind) | 2 << 32, 0, 2, 1], 64);
    let behind = words(&[77, 5, 0x6e69_616d, 0], 128);
    let units = records(1);
    let units: Vec<u8> = units[..2].iter().flat_map(|unit| words(&unit.0, 64)).collect();
    [header, behind, units].concat()
}

fn strings() -> Vec<u8> {
    let header = words(&[u64::from(slab_kind::STRINGS), 1, 16, 0], 64);
    [header, words(&[0x6574_7300_0000_0004, 0x0000_0000_0470_0000], 256)].concat()
}
