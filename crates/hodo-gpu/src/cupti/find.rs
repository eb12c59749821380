//! Which libcupti to use: the one the program has mapped, else the one it would map.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A libcupti, and why it was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The file.
    pub path: PathBuf,
    /// `named`, `mapped`, `package`, `toolkit` or `loader`.
    pub how: &'static str,
}

/// A GPU as the driver describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// Its UUID, `GPU-` and 32 hex digits in five groups.
    pub uuid: Option<String>,
}

fn uuid_text(uuid: &[u8; 16]) -> String {
    let hex: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("GPU-{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// The driver's library, if the program has it mapped.
#[derive(Clone, Copy, Debug)]
pub struct CudaDriver(*mut c_void);

impl CudaDriver {
    /// The mapped one; none while the program has not touched CUDA.
    pub fn mapped() -> Option<CudaDriver> {
        let flags = libc::RTLD_NOW | libc::RTLD_NOLOAD;
        // SAFETY: a plain call of the loader.
        let library = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), flags) };
        (!library.is_null()).then_some(CudaDriver(library))
    }

    fn function(self, name: &CStr) -> *mut c_void {
        // SAFETY: the library is open.
        unsafe { libc::dlsym(self.0, name.as_ptr()) }
    }

    /// Whether the program has initialised CUDA.
    pub fn is_up(self) -> bool {
        let mut count: c_int = 0;
        let function = self.function(c"cuDeviceGetCount");
        if function.is_null() {
            return false;
        }
        // SAFETY: the driver's function has this type; before cuInit it only answers that.
        let code = unsafe {
            let function: unsafe extern "C" fn(*mut c_int) -> c_int = std::mem::transmute(function);
            function(&mut count)
        };
        code == 0 && count > 0
    }

    /// The devices, in CUDA's order.
    pub fn devices(self) -> Vec<Device> {
        let names = self.device_names().into_iter().enumerate();
        names.map(|(number, name)| Device { name, uuid: self.uuid(number as c_int) }).collect()
    }

    /// The UUID of a device as NVML writes it too; none when the driver does not tell.
    fn uuid(self, device: c_int) -> Option<String> {
        type GetUuid = unsafe extern "C" fn(*mut [u8; 16], c_int) -> c_int;
        // The second version tells the UUID of a MIG instance, where the first has its GPU's.
        let functions = [c"cuDeviceGetUuid_v2", c"cuDeviceGetUuid"].map(|name| self.function(name));
        let function = functions.into_iter().find(|function| !function.is_null())?;
        let mut uuid = [0u8; 16];
        // SAFETY: the driver's function has this type and fills sixteen bytes.
        let code =
            unsafe { std::mem::transmute::<*mut c_void, GetUuid>(function)(&mut uuid, device) };
        (code == 0).then(|| uuid_text(&uuid))
    }

    fn device_names(self) -> Vec<String> {
        type GetName = unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int;
        let function = self.function(c"cuDeviceGetName");
        if function.is_null() {
            return Vec::new();
        }
        // SAFETY: the driver's function has this type.
        let get: GetName = unsafe { std::mem::transmute(function) };
        let name = |device: c_int| {
            let mut text = [0u8; 128];
            // SAFETY: the text has the length told.
            let code = unsafe { get(text.as_mut_ptr().cast(), text.len() as c_int, device) };
            let text = CStr::from_bytes_until_nul(&text).ok()?;
            (code == 0).then(|| text.to_string_lossy().into_owned())
        };
        (0..).map_while(name).collect()
    }

    /// The context that is current on the calling thread; null for none.
    pub fn current_context(self) -> *mut c_void {
        let mut context = std::ptr::null_mut();
        let function = self.function(c"cuCtxGetCurrent");
        if !function.is_null() {
            // SAFETY: the driver's function has this type; the context is filled in.
            unsafe {
                let function: unsafe extern "C" fn(*mut *mut c_void) -> c_int =
                    std::mem::transmute(function);
                function(&mut context);
            }
        }
        context
    }

    /// Waits for all work of a context, from any thread.
    ///
    /// # Safety
    /// The context is one of the driver's, and not gone.
    pub unsafe fn synchronize(self, context: *mut c_void) -> Result<(), CudaError> {
        let [push, wait, pop] =
            [c"cuCtxPushCurrent_v2", c"cuCtxSynchronize", c"cuCtxPopCurrent_v2"]
                .map(|name| (name, self.function(name)));
        for (name, function) in [push, wait, pop] {
            if function.is_null() {
                return Err(CudaError { function: name, code: -1 });
            }
        }
        let told = |(function, _): (&'static CStr, _), code: c_int| match code {
            0 => Ok(()),
            code => Err(CudaError { function, code }),
        };
        // SAFETY: the driver's functions have these types.
        unsafe {
            type Push = unsafe extern "C" fn(*mut c_void) -> c_int;
            type Wait = unsafe extern "C" fn() -> c_int;
            type Pop = unsafe extern "C" fn(*mut *mut c_void) -> c_int;
            told(push, std::mem::transmute::<*mut c_void, Push>(push.1)(context))?;
            let waited = told(wait, std::mem::transmute::<*mut c_void, Wait>(wait.1)());
            let mut popped = std::ptr::null_mut();
            told(pop, std::mem::transmute::<*mut c_void, Pop>(pop.1)(&mut popped))?;
            waited
        }
    }

    /// The CUDA version the driver is for, as 13000; 0 when it does not tell.
    pub fn version(self) -> u32 {
        let mut version: c_int = 0;
        let function = self.function(c"cuDriverGetVersion");
        if !function.is_null() {
            // SAFETY: the driver's function has this type and may be called at any time.
            unsafe {
                let function: unsafe extern "C" fn(*mut c_int) -> c_int =
                    std::mem::transmute(function);
                function(&mut version);
            }
        }
        version.unsigned_abs()
    }
}

/// A call that the driver refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CudaError {
    /// The function.
    pub function: &'static CStr,
    /// The driver's result; -1 for a function that it does not have.
    pub code: c_int,
}

impl CudaError {
    /// CUDA has been shut down, as when the program ends.
    pub const DEINITIALIZED: c_int = 4;
}

impl std::fmt::Display for CudaError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} answered {}", self.function.to_string_lossy(), self.code)
    }
}

/// Every libcupti that the process has mapped.
pub fn mapped() -> Vec<PathBuf> {
    unsafe extern "C" fn look(
        info: *mut libc::dl_phdr_info,
        _: usize,
        found: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader hands out valid entries; `found` is the vector below.
        unsafe {
            let name: *const c_char = (*info).dlpi_name;
            if !name.is_null() {
                let name = CStr::from_ptr(name).to_bytes();
                let path = Path::new(std::ffi::OsStr::from_bytes(name));
                if is_cupti(path) {
                    (*found.cast::<Vec<PathBuf>>()).push(path.to_owned());
                }
            }
        }
        0
    }
    let mut found: Vec<PathBuf> = Vec::new();
    // SAFETY: the callback pushes to the vector it is given and nothing else.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
    found
}

fn is_cupti(path: &Path) -> bool {
    let name = path.file_name().map(OsStrExt::as_bytes).unwrap_or_default();
    name.starts_with(b"libcupti.so")
}

/// The libcupti to use, for a driver of `major` (0 when not known): named by `HODO_CUPTI_PATH`,
/// mapped already, in a package of the Python in use, in a toolkit, or known to the loader.
pub fn find(major: u32) -> Option<Found> {
    let named = std::env::var_os("HODO_CUPTI_PATH").filter(|path| !path.is_empty());
    if let Some(path) = named {
        return Some(Found { path: path.into(), how: "named" });
    }
    candidates(major).into_iter().find(|found| found.how == "loader" || found.path.is_file())
}

/// Where a libcupti may be, best first.
pub fn candidates(major: u32) -> Vec<Found> {
    let mut all: Vec<Found> =
        by_fit(mapped(), major).into_iter().map(|path| Found { path, how: "mapped" }).collect();
    let majors: &[u32] = if major == 12 { &[12] } else { &[13, 12] };
    for folder in package_folders() {
        for &major in majors {
            let parts = [format!("nvidia/cu{major}/lib"), "nvidia/cuda_cupti/lib".into()];
            all.extend(parts.iter().map(|part| Found {
                path: folder.join(part).join(format!("libcupti.so.{major}")),
                how: "package",
            }));
        }
    }
    for folder in toolkit_folders() {
        for part in
            ["extras/CUPTI/lib64", "lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"]
        {
            all.extend(majors.iter().map(|major| Found {
                path: folder.join(part).join(format!("libcupti.so.{major}")),
                how: "toolkit",
            }));
        }
    }
    let by_loader =
        |major: &u32| Found { path: format!("libcupti.so.{major}").into(), how: "loader" };
    all.extend(majors.iter().map(by_loader));
    all
}

/// Copies for the driver's own CUDA version before others: a tool may carry an older one.
fn by_fit(mut copies: Vec<PathBuf>, major: u32) -> Vec<PathBuf> {
    let suffix = format!(".so.{major}");
    copies.sort_by_key(|path| !path.to_string_lossy().contains(&suffix));
    copies
}

/// Folders of Python packages: those the binding names, and where libraries that are mapped lie.
fn package_folders() -> Vec<PathBuf> {
    let named = std::env::var_os("HODO_PACKAGES").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&named).collect();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    for line in maps.lines() {
        let Some(at) = line.find('/') else { continue };
        let Some(end) = line.find("-packages/") else { continue };
        let folder = Path::new(&line[at..end + "-packages".len()]);
        if !folders.iter().any(|known| known == folder) {
            folders.push(folder.to_owned());
        }
    }
    folders
}

fn toolkit_folders() -> Vec<PathBuf> {
    let named = ["CUDA_HOME", "CUDA_PATH"].iter().filter_map(std::env::var_os).map(PathBuf::from);
    named.chain([PathBuf::from("/usr/local/cuda"), PathBuf::from("/opt/cuda")]).collect()
}
