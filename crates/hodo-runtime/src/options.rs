//! What a program starts hodo with, as C passes it.

use hodo_record::{Config, Gpu, Telemetry};
use std::ffi::{CStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

/// Options of `hodo_init`. All zero but `struct_size` means: as the environment says, else the
/// defaults. Fields are only ever added at the end.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Options {
    /// `sizeof(hodo_options)` as the caller knows it.
    pub struct_size: usize,
    /// Name of the program in reports; null for the executable's.
    pub app: *const c_char,
    /// Folder that runs are kept in; null for `.hodo`.
    pub dir: *const c_char,
    /// A run to join; null for a new one, or the one of `HODO_RUN`.
    pub run: *const c_char,
    /// 1 records nothing.
    pub disabled: u32,
    /// Deepest nesting that is recorded; 0 for 64.
    pub max_depth: u32,
    /// Memory for records not yet on disk; 0 for 64 MiB.
    pub memory_bytes: u64,
    /// Most bytes of spool kept, the oldest go first; 0 for 4 GiB.
    pub spool_bytes: u64,
    /// How long records may wait in memory; 0 for a second.
    pub flush_interval_ms: u64,
    /// 1 keeps the run out of the environment of child processes.
    pub keep_run_private: u32,
    /// What is captured of the GPU: "auto", "off", "monitor", "trace" or "pc-sampling"; null for
    /// "auto".
    pub gpu: *const c_char,
    /// How often the machine is read: "50ms", "1s", "off", and with ",scopes" behind it only while a
    /// scope is open; null for not at all, or with `gpu` "monitor" once a second.
    pub telemetry: *const c_char,
}

impl Options {
    /// Nothing said.
    pub const NONE: Options = Options {
        struct_size: size_of::<Options>(),
        app: std::ptr::null(),
        dir: std::ptr::null(),
        run: std::ptr::null(),
        disabled: 0,
        max_depth: 0,
        memory_bytes: 0,
        spool_bytes: 0,
        flush_interval_ms: 0,
        keep_run_private: 0,
        gpu: std::ptr::null(),
        telemetry: std::ptr::null(),
    };

    /// As much of the caller's options as both sides know.
    ///
    /// # Safety
    /// `given` is null or points at options of the size that their first field says.
    pub(crate) unsafe fn read(given: *const Options) -> Options {
        let mut known = Options::NONE;
        if !given.is_null() {
            // SAFETY: by the contract; no more is written than `known` has room for.
            unsafe {
                let bytes = (*given).struct_size.min(size_of::<Options>());
                (&raw mut known).cast::<u8>().copy_from_nonoverlapping(given.cast(), bytes);
            }
        }
        known
    }

    /// The recorder's configuration: what is said here, else the environment, else the defaults.
    ///
    /// # Safety
    /// The texts are null or end in a NUL.
    pub(crate) unsafe fn config(&self) -> Config {
        let mut config = Config::from_env();
        config.enabled &= self.disabled == 0;
        // SAFETY: by the contract.
        unsafe {
            config.app =
                text(self.app).map(|app| app.to_string_lossy().into_owned()).or(config.app);
            config.dir = text(self.dir).map(path).or(config.dir);
            config.run = text(self.run).map(path).or(config.run);
            if let Some(word) = text(self.gpu).map(CStr::to_string_lossy) {
                config.gpu = level(&word).unwrap_or(config.gpu);
            }
            if let Some(words) = text(self.telemetry).map(CStr::to_string_lossy) {
                config.telemetry = readings(&words).unwrap_or(config.telemetry);
            }
        }
        if self.max_depth != 0 {
            config.max_depth = self.max_depth;
        }
        if self.memory_bytes != 0 {
            config.memory_bytes = usize::try_from(self.memory_bytes).unwrap_or(usize::MAX);
        }
        if self.spool_bytes != 0 {
            config.spool_bytes = self.spool_bytes;
        }
        if self.flush_interval_ms != 0 {
            config.flush_interval = Duration::from_millis(self.flush_interval_ms);
        }
        config.share_run &= self.keep_run_private == 0;
        config
    }
}

/// # Safety
/// `text` is null or ends in a NUL.
unsafe fn text<'a>(text: *const c_char) -> Option<&'a CStr> {
    // SAFETY: by the contract.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
}

fn path(text: &CStr) -> PathBuf {
    PathBuf::from(std::ffi::OsStr::from_bytes(text.to_bytes()))
}

/// The readings that words stand for; those that make no sense are said and change nothing.
fn readings(words: &str) -> Option<Telemetry> {
    Telemetry::parse(words).inspect_err(|why| hodo_record::binding::warn(why)).ok()
}

/// The level a word stands for; one that makes no sense is said and changes nothing.
fn level(word: &str) -> Option<Gpu> {
    let level = Gpu::from_word(word);
    if level.is_none() {
        let known: Vec<_> = Gpu::WORDS.iter().map(|(word, _)| *word).collect();
        hodo_record::binding::warn(&format!(
            "gpu={word} is ignored: it is one of {}",
            known.join(", ")
        ));
    }
    level
}
