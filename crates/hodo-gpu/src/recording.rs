//! Writes a [`fixture`](crate::fixture) while a program runs. Slow, and only built for that.

use crate::callback::CallData;
use crate::cupti::code::{domain, kind};
use crate::cupti::{Cupti, Record, Walk};
use crate::engine::Engine;
use crate::fixture::{Buffer, Call, Entry, MAGIC, Node};
use crate::launches::Launch;
use hodo_format::record::{Head, SpanId};
use hodo_record::binding::{Thread, name, thread};
use std::collections::HashSet;
use std::ffi::CStr;
use std::fs::File;
use std::io::Write;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

struct Recording {
    file: File,
    known: HashSet<u64>,
}

/// The file, begun by whoever comes first; none unless `HODO_GPU_RECORD` names one.
fn recording() -> Option<MutexGuard<'static, Recording>> {
    static RECORDING: OnceLock<Option<Mutex<Recording>>> = OnceLock::new();
    let recording = RECORDING.get_or_init(|| {
        let mut file = File::create(std::env::var_os("HODO_GPU_RECORD")?).ok()?;
        file.write_all(&MAGIC).ok()?;
        Some(Mutex::new(Recording { file, known: HashSet::new() }))
    });
    recording.as_ref().map(|r| r.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Recording {
    fn write(&mut self, entry: &Entry) {
        let mut bytes = Vec::new();
        entry.write(&mut bytes);
        // A recording that is cut is noticed by its reader.
        let _ = self.file.write_all(&bytes);
    }

    /// Names the scopes of a thread that is in `span`, from the outermost on.
    fn scopes(&mut self, thread: *mut Thread, span: u64) {
        let mut found = Vec::new();
        // SAFETY: states and slots stay mapped; a thread that is waiting changes neither.
        unsafe {
            let mut slot = std::ptr::read_volatile(&raw const (*thread).current);
            while let Some(open) = slot.as_ref() {
                let id = open.id.load(std::sync::atomic::Ordering::Relaxed);
                if id == 0 {
                    break;
                }
                found.push((id, open.parent, Head::from_word(open.head).name));
                slot = open.up;
            }
        }
        if found.first().is_none_or(|(id, ..)| *id != span) {
            return;
        }
        for (id, parent, string) in found.into_iter().rev() {
            if self.known.insert(id) {
                let (span, parent) = (SpanId(id), SpanId(parent));
                self.write(&Entry::Scope { span, parent, name: name(string).into() });
            }
        }
    }
}

/// The capture has begun.
pub fn attached(engine: &Engine) {
    if let Some(mut recording) = recording() {
        let (cupti, driver) = (engine.cupti.version, engine.driver);
        recording.write(&Entry::Capture { cupti, driver });
    }
}

fn os_thread() -> u32 {
    // SAFETY: gettid has no failure.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

/// A call of the driver, attributed as `launch` says; none at its end.
pub fn called(number: u32, data: &CallData, launch: Option<Launch>, ticks: u64) {
    let Some(mut recording) = recording() else { return };
    let launch = launch.unwrap_or(Launch { how: 0, ..Launch::UNKNOWN });
    if !launch.span.is_none() {
        recording.scopes(thread(), launch.span.0);
        recording.scopes(crate::ambient::thread_of_scope(), launch.span.0);
    }
    // SAFETY: at the end of a call its result is there.
    let result = unsafe { data.returned.as_ref() }.copied().filter(|_| data.site != 0);
    recording.write(&Entry::Call(Call {
        thread: os_thread(),
        domain: domain::DRIVER,
        number,
        site: data.site,
        correlation: data.correlation,
        result: result.unwrap_or(0) as u32,
        how: launch.how.into(),
        ticks,
        span: launch.span.0,
        forward: launch.forward.0,
    }));
}

/// A node of a graph was made or copied.
pub fn node(number: u32, node: u64, original: u64, span: SpanId) {
    let Some(mut recording) = recording() else { return };
    if !span.is_none() {
        recording.scopes(thread(), span.0);
    }
    recording.write(&Entry::Node(Node {
        thread: os_thread(),
        number,
        node,
        original,
        span: span.0,
    }));
}

/// A buffer has come back.
pub fn buffer(cupti: &Cupti, bytes: &[u8]) {
    let Some(mut recording) = recording() else { return };
    let mut buffer = Buffer { bytes: bytes.to_vec(), ..Buffer::default() };
    let mut walk = Walk::new(cupti, bytes);
    while let Some(record) = walk.next() {
        let offset = walk.offset() as u32;
        buffer.offsets.push(offset);
        let name = named(record);
        buffer.names.extend(name.map(|name| (offset, name)));
    }
    recording.write(&Entry::Buffer(buffer));
}

fn named(record: Record<'_>) -> Option<String> {
    let address = record.activity().filter(|_| record.kind() == kind::CONCURRENT_KERNEL)?.name;
    // SAFETY: the address comes from a record of CUPTI's, which keeps the name.
    let text = (address != 0).then(|| unsafe { CStr::from_ptr(address as *const _) })?;
    Some(text.to_string_lossy().into_owned())
}
