#![no_main]
//! A buffer of CUPTI's records: a version, what was remembered of some calls, and any bytes; and a
//! recording of such buffers.

use hodo_format::gpu::Encoder;
use hodo_format::record::SpanId;
use hodo_format::spool::{FileSummary, file_header, read};
use hodo_fuzz::Keep;
use hodo_gpu::attribute::Memory;
use hodo_gpu::cupti::{Record, size_of_record, walk_sized};
use hodo_gpu::{Graphs, Launch, Launches, fixture};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

/// Versions at which records changed, and some that nobody has seen.
const VERSIONS: [u32; 12] =
    [0, 18, 24, 26, 27, 28, 130_000, 130_100, 130_300, 130_400, 140_000, u32::MAX];

static MEMORY: LazyLock<Memory> = LazyLock::new(|| {
    let memory = Memory { launches: Launches::default(), graphs: Graphs::default() };
    for call in 0..64 {
        let span = SpanId(u64::from(call));
        let launch = Launch { span, launched: 1 << call, ..Launch::UNKNOWN };
        memory.launches.put(call, launch);
        memory.graphs.created(call.into(), span);
    }
    memory
});

fuzz_target!(|data: &[u8]| {
    let [version, bytes @ ..] = data else { return };
    if *version == u8::MAX {
        return any_recording(bytes);
    }
    let version = VERSIONS[usize::from(*version) % VERSIONS.len()];
    let mut encoder = Encoder::new(1);
    let (mut work, mut at) = (Vec::new(), 0);
    for record in walk_sized(version, bytes) {
        at += size_of_record(version, record.kind()).expect("it was walked over");
        assert!(at <= bytes.len(), "a record behind the end");
        let _ = record.call();
        let Some(activity) = record.activity() else { continue };
        let made = MEMORY.work(&activity, 7);
        assert!(encoder.push(&made));
        work.push(made);
    }
    // A record that is cut, or of any kind.
    let _ = (Record::new(bytes).activity(), Record::new(bytes).call());
    if work.is_empty() {
        return;
    }
    let mut file = file_header(1, 1).to_vec();
    encoder.finish(0, &mut file);
    let mut kept = Keep::default();
    let summary: FileSummary = read(&file, &mut kept).expect("a file of ours");
    assert!(summary.damage.is_none(), "{summary:?}");
    assert_eq!(kept.work, work, "work that does not come back");
});

/// A recording is read or refused; what was read is written the same.
fn any_recording(bytes: &[u8]) {
    let file = [&fixture::MAGIC[..], bytes].concat();
    let Ok(entries) = fixture::read(&file) else { return };
    let mut again = fixture::MAGIC.to_vec();
    entries.iter().for_each(|entry| entry.write(&mut again));
    assert_eq!(fixture::read(&again).as_ref(), Ok(&entries));
}
