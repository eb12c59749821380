//! The functions of one libcupti, by name.

use super::code::result;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};

/// What CUPTI calls at a launch: user data, domain, number, details.
pub type Callback = unsafe extern "C" fn(*mut c_void, u32, u32, *const c_void);
/// What CUPTI calls for an empty buffer: where to put it, its size, most records.
pub type BufferRequested = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
/// What CUPTI calls with a full one: context, stream, buffer, its size, bytes that are valid.
pub type BufferCompleted = unsafe extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);

/// Declares the table: each function with the arguments it takes; all answer with a result.
macro_rules! functions {
    ($($(#[$doc:meta])* $field:ident = $symbol:literal ($($name:ident: $type:ty),*);)*) => {
        /// One libcupti: its functions, where it lies, its version.
        #[derive(Debug)]
        pub struct Cupti {
            /// The file.
            pub path: PathBuf,
            /// As `cuptiGetVersion` tells it: 18 to 28 for 12.x, then 130000 and up.
            pub version: u32,
            $($field: Option<unsafe extern "C" fn($($type),*) -> c_int>,)*
        }

        impl Cupti {
            /// Takes the functions from an open library. Its version is not asked for yet.
            ///
            /// # Safety
            /// `library` is a handle of the loader to a libcupti, and stays open.
            unsafe fn load(library: *mut c_void, path: &Path) -> Cupti {
                // SAFETY: by the contract; every version has these functions with these types.
                unsafe {
                    Cupti {
                        path: path.to_owned(),
                        version: 0,
                        $($field: {
                            let found = libc::dlsym(library, $symbol.as_ptr());
                            std::mem::transmute::<
                                *mut c_void,
                                Option<unsafe extern "C" fn($($type),*) -> c_int>,
                            >(found)
                        },)*
                    }
                }
            }

            $(
                $(#[$doc])*
                ///
                /// # Safety
                /// As CUPTI's documentation of the function says.
                pub unsafe fn $field(&self, $($name: $type),*) -> Result<(), Problem> {
                    let code = match self.$field {
                        // SAFETY: by the contract.
                        Some(function) => unsafe { function($($name),*) },
                        None => result::MISSING_FUNCTION,
                    };
                    if code == result::SUCCESS { Ok(()) } else { Err(self.problem($symbol, code)) }
                }
            )*
        }
    };
}

functions! {
    /// The version.
    get_version = c"cuptiGetVersion" (version: *mut u32);
    /// The name of a result.
    result_string = c"cuptiGetResultString" (code: c_int, text: *mut *const c_char);
    /// Takes the callbacks.
    subscribe = c"cuptiSubscribe" (subscriber: *mut *mut c_void, callback: Callback, data: *mut c_void);
    /// Gives them up.
    unsubscribe = c"cuptiUnsubscribe" (subscriber: *mut c_void);
    /// Switches one callback.
    enable_callback = c"cuptiEnableCallback" (on: u32, subscriber: *mut c_void, domain: u32, number: u32);
    /// Switches all callbacks of a domain.
    enable_domain = c"cuptiEnableDomain" (on: u32, subscriber: *mut c_void, domain: u32);
    /// Switches a kind of record on.
    activity_enable = c"cuptiActivityEnable" (kind: u32);
    /// Switches it off.
    activity_disable = c"cuptiActivityDisable" (kind: u32);
    /// Says who hands out buffers and takes them back.
    register_buffers = c"cuptiActivityRegisterCallbacks" (requested: BufferRequested, completed: BufferCompleted);
    /// Says which clock stamps.
    register_clock = c"cuptiActivityRegisterTimestampCallback" (clock: unsafe extern "C" fn() -> u64);
    /// The record behind `record` in a buffer.
    next_record = c"cuptiActivityGetNextRecord" (buffer: *mut u8, valid: usize, record: *mut *mut u8);
    /// Records dropped since the last call.
    dropped_records = c"cuptiActivityGetNumDroppedRecords" (context: *mut c_void, stream: u32, dropped: *mut usize);
    /// Hands back buffers: 0 those whose records are complete, 1 all.
    flush_all = c"cuptiActivityFlushAll" (flag: u32);
    /// Sets an attribute of the activity API.
    set_attribute = c"cuptiActivitySetAttribute" (attribute: u32, size: *mut usize, value: *mut c_void);
    /// Reads one.
    get_attribute = c"cuptiActivityGetAttribute" (attribute: u32, size: *mut usize, value: *mut c_void);
    /// Says what thread ids in records are: 1 the operating system's.
    thread_id_type = c"cuptiSetThreadIdType" (kind: u32);
    /// The number of a graph's node, as records have it.
    graph_node_id = c"cuptiGetGraphNodeId" (node: *mut c_void, id: *mut u64);
    /// Switches records of failed queries.
    all_sync_records = c"cuptiActivityEnableAllSyncRecords" (on: u8);
    /// Starts sampling on a context.
    pc_enable = c"cuptiPCSamplingEnable" (params: *mut c_void);
    /// Ends it.
    pc_disable = c"cuptiPCSamplingDisable" (params: *mut c_void);
    /// Begins a window.
    pc_start = c"cuptiPCSamplingStart" (params: *mut c_void);
    /// Ends a window.
    pc_stop = c"cuptiPCSamplingStop" (params: *mut c_void);
    /// Fetches samples.
    pc_data = c"cuptiPCSamplingGetData" (params: *mut c_void);
    /// Sets what is sampled.
    pc_configure = c"cuptiPCSamplingSetConfigurationAttribute" (params: *mut c_void);
    /// Reads what is sampled.
    pc_configuration = c"cuptiPCSamplingGetConfigurationAttribute" (params: *mut c_void);
    /// How many stall reasons there are.
    pc_reason_count = c"cuptiPCSamplingGetNumStallReasons" (params: *mut c_void);
    /// Their names.
    pc_reasons = c"cuptiPCSamplingGetStallReasons" (params: *mut c_void);
    /// A module's checksum.
    cubin_crc = c"cuptiGetCubinCrc" (params: *mut c_void);
    /// The source line of an instruction.
    source_line = c"cuptiGetSassToSourceCorrelation" (params: *mut c_void);
    /// Prepares the profiling functions.
    profiler_initialize = c"cuptiProfilerInitialize" (params: *mut c_void);
}

/// A call that CUPTI refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The function.
    pub function: String,
    /// CUPTI's result.
    pub code: i32,
    /// Its name.
    pub name: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.code {
            result::MISSING_FUNCTION => write!(f, "{} is not in this CUPTI", self.function),
            code => write!(f, "{} answered {code} ({})", self.function, self.name),
        }
    }
}

impl Cupti {
    /// Opens the library at `path` and asks for its version. It is never closed.
    pub fn open(path: &Path) -> Result<Cupti, String> {
        use std::os::unix::ffi::OsStrExt;
        let name =
            CString::new(path.as_os_str().as_bytes()).map_err(|_| "a path with a NUL in it")?;
        // SAFETY: a plain call of the loader.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if library.is_null() {
            return Err(loader_error());
        }
        // SAFETY: the library stays open.
        let mut cupti = unsafe { Cupti::load(library, path) };
        let mut version = 0;
        // SAFETY: the version is filled in.
        unsafe { cupti.get_version(&mut version) }.map_err(|problem| problem.to_string())?;
        cupti.version = version;
        Ok(cupti)
    }

    fn problem(&self, symbol: &CStr, code: c_int) -> Problem {
        let mut text = std::ptr::null();
        if let Some(result_string) = self.result_string.filter(|_| code > 0) {
            // SAFETY: CUPTI gives a static text, or leaves the null.
            unsafe { result_string(code, &mut text) };
        }
        let name = match text.is_null() {
            true => "unknown".into(),
            // SAFETY: a text of CUPTI's, which stays loaded.
            false => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
        };
        Problem { function: symbol.to_string_lossy().into_owned(), code, name }
    }

    /// The version as people write it.
    pub fn version_text(&self) -> String {
        match self.version {
            18 => "12.0 or 12.1".into(),
            version @ 20..=24 | version @ 26..=27 => format!("12.{}", version - 18),
            28 => "12.9 update 1".into(),
            version if version >= 100_000 => {
                let update = version % 100;
                let base = format!("{}.{}", version / 10_000, version / 100 % 100);
                if update == 0 { base } else { format!("{base} update {update}") }
            }
            version => format!("API {version}"),
        }
    }

    /// Whether a request for a buffer may be answered with none: older versions crash.
    pub fn may_refuse_buffers(&self) -> bool {
        self.version >= 27
    }
}

fn loader_error() -> String {
    // SAFETY: the loader's message is a string until its next call on this thread.
    unsafe {
        let text = libc::dlerror();
        match text.is_null() {
            true => "unknown error of the loader".into(),
            false => CStr::from_ptr(text).to_string_lossy().into_owned(),
        }
    }
}
