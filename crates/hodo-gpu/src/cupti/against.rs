//! hodo's numbers against NVIDIA's headers and libraries, of every release that was fetched.
//!
//! `make test-cupti` fetches all of them; the folder is in `HODO_CUPTI`. Without it nothing is compared,
//! and the tests say so.

use super::code::{self, Call, attribute, domain, kind, resource, result};
use super::record::at::{call, kernel, memory, sync, transfer};
use super::{Cupti, Record, Walk, record, size_of_record, walk_sized};
use crate::callback::{CallData, ENTER, GraphData, ResourceData};
use std::collections::HashMap;
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders of the releases, oldest first.
fn releases() -> Vec<PathBuf> {
    let Some(folder) = std::env::var_os("HODO_CUPTI") else {
        println!("skipped: HODO_CUPTI names no folder of releases; make test-cupti fetches them");
        return Vec::new();
    };
    let entries = std::fs::read_dir(&folder).expect("HODO_CUPTI").flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    found.retain(|path| path.join("layout.txt").is_file());
    found.sort();
    assert!(!found.is_empty(), "no release in {}", folder.display());
    found
}

fn name(release: &Path) -> String {
    release.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Name and number of every line that the probe printed.
fn layout(release: &Path) -> Vec<(String, u32)> {
    let text = std::fs::read_to_string(release.join("layout.txt")).expect("layout.txt");
    let line = |line: &str| {
        let (name, number) = line.split_once(' ').expect("NAME NUMBER");
        (name.to_owned(), number.parse().expect("a number"))
    };
    text.lines().map(line).collect()
}

/// Constants by the names the probe has for them.
macro_rules! constants {
    ($($part:ident => [$($name:ident),*];)*) => {
        [$(&[$((concat!(stringify!($part), ".", stringify!($name)), $part::$name as i64)),*][..]),*]
            .concat()
    };
}

fn ours() -> HashMap<&'static str, i64> {
    let mut all = constants! {
        kernel => [
            REGISTERS, START, END, DEVICE, CONTEXT, STREAM, GRID, BLOCK, STATIC_SHARED,
            DYNAMIC_SHARED, LOCAL, CORRELATION, NAME, GRAPH_NODE, GRAPH
        ];
        transfer => [
            DIRECTION, FROM, TO, FLAGS, BYTES, START, END, DEVICE, CONTEXT, STREAM, CORRELATION,
            SET_MEMORY, SET_FLAGS, GRAPH_NODE, GRAPH, PEER_CORRELATION, PEER_GRAPH_NODE, PEER_GRAPH
        ];
        sync => [WHAT, START, END, CORRELATION, CONTEXT, STREAM];
        memory => [
            OPERATION, MEMORY, CORRELATION, ADDRESS, BYTES, TIME, DEVICE, CONTEXT, STREAM
        ];
        call => [START, THREAD, CORRELATION];
        result => [
            MAX_LIMIT_REACHED, NOT_COMPATIBLE, NOT_INITIALIZED, INVALID_KIND,
            INSUFFICIENT_PRIVILEGES, MULTIPLE_SUBSCRIBERS, VIRTUALIZED_PRIVILEGES
        ];
        kind => [
            MEMCPY, MEMSET, DRIVER, RUNTIME, DEVICE, CONCURRENT_KERNEL, MEMCPY2, SYNCHRONIZATION,
            MEMORY2
        ];
        domain => [DRIVER, RESOURCE, STATE];
        resource => [MODULE_LOADED, GRAPH_NODE_CREATED, GRAPH_NODE_CLONED];
        attribute => [ZEROED_BUFFER, PER_THREAD_BUFFER, DEVICE_BUFFER_BYTES, DEVICE_BUFFER_LIMIT];
    };
    let mut more = |name: &'static str, value: usize| all.push((name, value as i64));
    more("kernel.GRID+8", kernel::GRID + 8);
    more("kernel.BLOCK+8", kernel::BLOCK + 8);
    more("callback.SIZE", size_of::<CallData>());
    more("callback.SITE", offset_of!(CallData, site));
    more("callback.RETURNED", offset_of!(CallData, returned));
    more("callback.CORRELATION", offset_of!(CallData, correlation));
    more("resource.DESCRIPTOR", offset_of!(ResourceData, descriptor));
    more("graph.NODE", offset_of!(GraphData, node));
    more("graph.ORIGINAL_NODE", offset_of!(GraphData, original_node));
    more("site.ENTER", ENTER as usize);
    more("STATE_FATAL_ERROR", code::STATE_FATAL_ERROR as usize);
    more("thread_id.SYSTEM", 1);
    more("memory.RELEASED", record::RELEASED as usize);
    more("transfer.ASYNC", record::ASYNC.into());
    more("set.ASYNC", record::ASYNC.into());
    all.into_iter().collect()
}

#[test]
fn every_field_lies_where_the_headers_put_it() {
    let ours = ours();
    for release in releases() {
        let layout = layout(&release);
        let version = layout.iter().find(|(name, _)| name == "version").expect("version").1;
        let mut compared = 0;
        for (field, theirs) in layout {
            let known = match field.split_once('.') {
                Some(("size", kind)) => {
                    size_of_record(version, kind.parse().expect("a kind")).map(|size| size as i64)
                }
                Some(("function", _)) => continue,
                _ if field == "version" => continue,
                _ => ours.get(field.as_str()).copied(),
            };
            assert_eq!(known, Some(i64::from(theirs)), "{field} of {}", name(&release));
            compared += 1;
        }
        println!("{}: {compared} numbers agree", name(&release));
        assert!(compared > 90, "{}: only {compared} numbers", name(&release));
    }
}

/// What a call is by its name; none for one that causes no work, or asks only.
fn sort(name: &str) -> Option<Call> {
    let name = &name.replacen("cu64", "cu", 1);
    let starts = |words: &[&str]| words.iter().any(|word| name.starts_with(word));
    if starts(&["cuLaunchHostFunc", "cuMemAllocHost", "cuMemFreeHost", "cuMemcpy3DGet"]) {
        None
    } else if starts(&["cuLaunch"]) {
        Some(Call::Kernel)
    } else if starts(&["cuGraphLaunch"]) {
        Some(Call::Graph)
    } else if starts(&["cuMemcpy"]) {
        Some(Call::Copy)
    } else if starts(&["cuMemset"]) {
        Some(Call::Set)
    } else if starts(&["cuMemAlloc", "cuMemFree", "cuMemCreate", "cuMemRelease"]) {
        Some(Call::Memory)
    } else if starts(&["cuStreamSynchronize", "cuEventSynchronize", "cuCtxSynchronize"])
        || starts(&["cuStreamWaitEvent"])
    {
        Some(Call::Sync)
    } else if starts(&["cuCtxDestroy", "cuDevicePrimaryCtxReset"]) {
        Some(Call::ContextEnd)
    } else {
        None
    }
}

/// Calls of CUDA before 4.0, by their number, and those named cu64: none of their callers is left.
const LONG_GONE: u32 = 200;

#[test]
fn every_call_that_causes_work_is_listened_to_and_no_other() {
    let ours: HashMap<u32, Call> = code::calls().collect();
    for release in releases() {
        let mut wrong = Vec::new();
        let mut known = 0;
        for (field, number) in layout(&release) {
            let Some(function) = field.strip_prefix("function.") else { continue };
            if function.starts_with("reserved") {
                // Some headers hide a call that others name.
                continue;
            }
            let (theirs, ours) = (sort(function), ours.get(&number).copied());
            let is_gone = (number < LONG_GONE || function.starts_with("cu64")) && ours.is_none();
            if theirs != ours && !is_gone {
                wrong.push(format!("{number} {function}: {theirs:?}, hodo says {ours:?}"));
            }
            known += u32::from(theirs.is_some());
        }
        assert!(wrong.is_empty(), "{}:\n{}", name(&release), wrong.join("\n"));
        assert!(known > 80, "{}: only {known} calls", name(&release));
    }
}

/// Kinds that hodo reads.
const KINDS: [u32; 8] = [
    kind::CONCURRENT_KERNEL,
    kind::MEMCPY,
    kind::MEMSET,
    kind::MEMCPY2,
    kind::SYNCHRONIZATION,
    kind::MEMORY2,
    kind::DRIVER,
    kind::RUNTIME,
];

/// Some records of every kind one after another, in an order that changes, and where each begins.
fn made(version: u32) -> (Vec<u64>, usize, Vec<usize>) {
    let (mut offsets, mut at, mut kinds) = (Vec::new(), 0, Vec::new());
    let mut random = 88_172_645_463_325_252_u64;
    let all = KINDS.into_iter().map(Some).chain(std::iter::repeat(None));
    for known in all.take(400) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let kind = known.unwrap_or(KINDS[random as usize % KINDS.len()]);
        offsets.push(at);
        kinds.push(kind);
        at += size_of_record(version, kind).expect("a kind that is read");
    }
    let mut words = vec![0u64; at / 8];
    for (offset, kind) in offsets.iter().zip(kinds) {
        words[offset / 8] = kind.into();
    }
    (words, at, offsets)
}

fn bytes(words: &[u64]) -> &[u8] {
    // SAFETY: any memory may be looked at as bytes.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len() * 8) }
}

/// The releases whose library reads records without a driver: 13.2 crashes, later ones refuse.
fn reads_without_driver(release: &Path) -> bool {
    !["13.2", "13.3", "13.4"].iter().any(|version| name(release).starts_with(version))
}

#[test]
fn nvidias_library_finds_records_where_hodo_does() {
    for release in releases() {
        let library = release.join("libcupti.so");
        if !reads_without_driver(&release) {
            println!("{}: skipped: its library reads nothing without a driver", name(&release));
            continue;
        }
        // In a process of its own: libraries of several versions do not get on.
        let mut child = Command::new(std::env::current_exe().expect("this test"));
        child.args(["--exact", "--ignored", "--nocapture", "cupti::against::one_library"]);
        let done = child.env("HODO_CUPTI_LIBRARY", &library).output().expect("a child");
        let said = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success(), "{}: {said}", name(&release));
        assert!(said.contains("records agree"), "{}: {said}", name(&release));
        println!("{}: 400 records agree", name(&release));
    }
}

#[test]
#[ignore = "a child of the test above"]
fn one_library() {
    let library = std::env::var_os("HODO_CUPTI_LIBRARY").expect("HODO_CUPTI_LIBRARY");
    let cupti = Cupti::open(Path::new(&library)).expect("a libcupti");
    let release = name(Path::new(&library).parent().expect("a folder"));
    let (major_minor, _) = release.rsplit_once('.').expect("13.0.85");
    assert!(cupti.version_text().contains(major_minor), "{}", cupti.version_text());
    let (words, length, offsets) = made(cupti.version);
    let bytes = bytes(&words);
    assert_eq!(bytes.len(), length);
    let mut theirs = Vec::new();
    let mut walk = Walk::new(&cupti, bytes);
    while let Some(record) = walk.next() {
        theirs.push((walk.offset(), record.kind()));
    }
    let kind_at = |offset: usize| Record::new(&bytes[offset..]).kind();
    let ours: Vec<_> = offsets.iter().map(|&offset| (offset, kind_at(offset))).collect();
    assert_eq!(theirs, ours, "CUPTI {}", cupti.version);
    assert_eq!(walk_sized(cupti.version, bytes).count(), offsets.len());
    println!("{} records agree", theirs.len());
}
