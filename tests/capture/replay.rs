//! Recordings of what CUPTI told real programs, replayed through the code that reads it live.
//!
//! `data/gpu/NAME.fixture` is a recording (`hodo_gpu::fixture`, as it is or packed with zstd) and
//! `data/gpu/NAME.expected` what the program knows, or torch.profiler counted: lines of
//! `COUNT PATH: WHAT`, where WHAT is `kernel`, `copy`, `set`, `sync` or `memory`. What the file names
//! once it must name completely. A line may end in ` captured in PATH`.

use crate::fakes::Victim;
use crate::work::counted;
use hodo_format::gpu::{Detail, Encoder, Work, flag};
use hodo_format::record::{Sink, SpanId};
use hodo_format::spool::{self, FrameSink, file_header};
use hodo_gpu::Launch;
use hodo_gpu::attribute::Memory;
use hodo_gpu::cupti::code::resource;
use hodo_gpu::cupti::{Record, size_of_record, walk_sized};
use hodo_gpu::fixture::{self, Buffer, Call, Entry, Node};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// A recording, replayed.
#[derive(Default)]
struct Replay {
    cupti: u32,
    driver: u32,
    memory: Memory,
    scopes: HashMap<u64, (u64, String)>,
    names: Vec<String>,
    frames: Vec<u8>,
    work: Vec<Work>,
}

impl Replay {
    fn of(file: &[u8]) -> Replay {
        let mut replay = Replay::default();
        let mut encoder = Encoder::new(1);
        for entry in fixture::read(file).expect("a whole recording") {
            match entry {
                Entry::Capture { cupti, driver } => {
                    (replay.cupti, replay.driver) = (cupti, driver);
                }
                Entry::Scope { span, parent, name } => {
                    replay.scopes.insert(span.0, (parent.0, name));
                }
                Entry::Call(call) if call.site == 0 => {
                    replay.memory.launches.put(call.correlation, launch(&call));
                }
                Entry::Call(_) => {}
                Entry::Node(node) => replay.node(&node),
                Entry::Buffer(buffer) => replay.buffer(&buffer, &mut encoder),
            }
        }
        encoder.finish(0, &mut replay.frames);
        replay.decode();
        replay
    }

    fn node(&mut self, node: &Node) {
        let graphs = &self.memory.graphs;
        match node.number {
            resource::GRAPH_NODE_CREATED => graphs.created(node.node, SpanId(node.span)),
            resource::GRAPH_NODE_CLONED => graphs.cloned(node.node, node.original),
            other => panic!("no event {other}"),
        }
    }

    fn buffer(&mut self, buffer: &Buffer, encoder: &mut Encoder) {
        self.assert_offsets(buffer);
        let names: HashMap<u32, &String> =
            buffer.names.iter().map(|(o, name)| (*o, name)).collect();
        let records = walk_sized(self.cupti, &buffer.bytes);
        for (record, offset) in records.zip(&buffer.offsets) {
            let Some(activity) = record.activity() else { continue };
            let name = names.get(offset).map_or(0, |name| self.name(name));
            assert!(encoder.push(&self.memory.work(&activity, name)));
        }
    }

    /// The lengths hodo knows are those CUPTI told when it was recorded.
    fn assert_offsets(&self, buffer: &Buffer) {
        let mut at = 0;
        for offset in &buffer.offsets {
            assert_eq!(at, *offset as usize, "CUPTI {}", self.cupti);
            let kind = Record::new(&buffer.bytes[at..]).kind();
            at += size_of_record(self.cupti, kind).unwrap_or_else(|| panic!("no kind {kind}"));
        }
    }

    fn name(&mut self, name: &str) -> u32 {
        let known = self.names.iter().position(|known| known == name);
        let at = known.unwrap_or_else(|| {
            self.names.push(name.into());
            self.names.len() - 1
        });
        at as u32 + 1
    }

    fn decode(&mut self) {
        let mut file = file_header(1, 1).to_vec();
        file.extend_from_slice(&self.frames);
        let mut all = Works::default();
        let summary = spool::read(&file, &mut all).expect("a file of frames");
        assert!(summary.damage.is_none(), "{summary:?}");
        self.work = all.0;
    }

    fn path(&self, span: SpanId) -> String {
        let mut names = Vec::new();
        let mut at = span.0;
        while at != SpanId::NONE.0 {
            let Some((parent, name)) = self.scopes.get(&at) else {
                names.push("?");
                break;
            };
            names.push(name);
            at = *parent;
        }
        names.reverse();
        if names.is_empty() { "-".into() } else { names.join("/") }
    }

    /// How often each line of an expected file occurs.
    fn counted(&self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for work in &self.work {
            let what = match work.detail {
                Detail::Kernel(_) => "kernel",
                Detail::Copy { .. } => "copy",
                Detail::Set { .. } => "set",
                Detail::Sync { .. } => "sync",
                Detail::Memory { .. } => "memory",
            };
            let mut line = format!("{}: {what}", self.path(work.span));
            if work.flags & flag::GRAPH != 0 {
                line += &format!(" captured in {}", self.path(work.captured));
            }
            *counts.entry(line).or_default() += 1;
        }
        counts
    }
}

fn launch(call: &Call) -> Launch {
    Launch {
        span: SpanId(call.span),
        how: call.how as u16,
        launched: call.ticks,
        forward: SpanId(call.forward),
        thread: call.thread,
    }
}

#[derive(Default)]
struct Works(Vec<Work>);

impl Sink for Works {}

impl FrameSink for Works {
    fn work(&mut self, work: &Work) {
        self.0.push(*work);
    }
}

/// The kind of work a line speaks of.
fn what(line: &str) -> &str {
    let what = line.rsplit_once(": ").map_or("", |(_, what)| what);
    what.split(' ').next().unwrap_or("")
}

/// Compares a replay with the lines of an expected file.
fn assert_expected(replay: &Replay, expected: &str, name: &str) {
    let mut wanted = BTreeMap::new();
    for line in expected.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (count, line) = line.split_once(' ').expect("COUNT PATH: WHAT");
        wanted.insert(line.to_owned(), count.parse::<u64>().expect("a count"));
    }
    assert!(!wanted.is_empty(), "{name}: nothing is expected");
    let mut found = replay.counted();
    found.retain(|line, _| wanted.keys().any(|known| what(known) == what(line)));
    let text = |counts: &BTreeMap<String, u64>| crate::work::text(counts);
    assert!(found == wanted, "{name}: expected\n{}\nfound\n{}", text(&wanted), text(&found));
}

fn unpacked(path: &Path) -> Vec<u8> {
    let file = std::fs::read(path).unwrap();
    let is_packed = file.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
    if is_packed { zstd::decode_all(&file[..]).unwrap() } else { file }
}

#[test]
fn what_real_programs_were_told_gives_the_kernels_they_know_of() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/gpu");
    let files = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut fixtures: Vec<PathBuf> = files.map(|file| file.path()).collect();
    fixtures.retain(|path| path.extension().is_some_and(|ext| ext == "fixture"));
    fixtures.sort();
    assert!(!fixtures.is_empty(), "no recording in {}", folder.display());
    for path in fixtures {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let size = path.metadata().unwrap().len();
        assert!(size <= 300 << 10, "{name}: {size} bytes are too many to keep");
        let expected = std::fs::read_to_string(path.with_extension("expected")).unwrap();
        let replay = Replay::of(&unpacked(&path));
        println!("{name}: {} pieces of work, CUPTI {}", replay.work.len(), replay.cupti);
        let unknown = |work: &&Work| work.flags & flag::SCOPE == flag::UNKNOWN;
        assert_eq!(replay.work.iter().filter(unknown).count(), 0, "{name}: unknown launches");
        assert_expected(&replay, &expected, &name);
    }
}

/// Records a program on the fakes; what is replayed must be what the live capture wrote.
#[test]
fn a_recording_of_the_fakes_is_replayed_to_the_same_work() {
    for mode in ["threads", "ambient", "graphs", "kinds", "names"] {
        let victim = Victim::new(mode).env("HODO_GPU_KINDS", "kernels,copies,sets,syncs,memory");
        let file = victim.folder.join("fixture");
        let ran = victim.env("HODO_GPU_RECORD", &file).run();
        let replay = Replay::of(&std::fs::read(file).unwrap());
        assert_eq!((replay.cupti, replay.driver), (130_001, 13_000));
        let mut live: BTreeMap<String, u64> = BTreeMap::new();
        for (line, count) in counted(&ran.only()) {
            *live.entry(without_names(&line)).or_default() += count;
        }
        assert_eq!(replay.counted(), live, "{mode}");
        assert_eq!(replay.names.iter().any(|name| name.starts_with("kernel 4")), mode == "names");
    }
}

/// A line of `work`, as a replay has it: kernels without names, others without sizes.
fn without_names(line: &str) -> String {
    let (path, what) = line.split_once(": ").unwrap();
    let (what, captured) = what.split_once(" captured").map_or((what, None), |(w, c)| (w, Some(c)));
    let word = what.split(' ').next().unwrap();
    let is_kind = ["copy", "set", "sync", "memory"].contains(&word);
    let word = if is_kind { word } else { "kernel" };
    format!("{path}: {word}{}", captured.map_or(String::new(), |c| format!(" captured{c}")))
}

#[test]
fn a_wrong_expectation_is_noticed() {
    let mut file = fixture::MAGIC.to_vec();
    let mut bytes = vec![0; 216];
    bytes[0] = 10;
    bytes[92] = 5;
    let entries = [
        Entry::Capture { cupti: 130_001, driver: 13_000 },
        Entry::Scope { span: SpanId(9), parent: SpanId::NONE, name: "step".into() },
        Entry::Call(Call { correlation: 5, span: 9, ..Call::default() }),
        Entry::Buffer(Buffer { bytes, offsets: vec![0], names: vec![(0, "gemm".into())] }),
    ];
    entries.iter().for_each(|entry| entry.write(&mut file));
    let replay = Replay::of(&file);
    assert_expected(&replay, "1 step: kernel\n", "right");
    let wrong = ["2 step: kernel\n", "1 step: kernel\n1 -: kernel\n", "1 other: kernel\n"];
    for wrong in wrong {
        let replay = std::panic::AssertUnwindSafe(&replay);
        let caught = std::panic::catch_unwind(|| assert_expected(&replay, wrong, "wrong"));
        assert!(caught.is_err(), "{wrong}");
    }
}
