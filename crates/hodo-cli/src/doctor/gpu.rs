//! Checks of what capturing the GPU needs. Nothing here starts CUDA.

use super::Check;
use crate::term::text;
use hodo_gpu::cupti::{CudaDriver, Cupti, candidates, find};
use std::path::{Path, PathBuf};

/// Variables by which a tool is loaded into every CUDA program.
const INJECTION: [&str; 2] = ["CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"];

/// The driver as files and the loader tell it.
#[derive(Debug, Default)]
struct Driver {
    /// Its version, as `/proc` tells it.
    version: Option<String>,
    /// The GPUs it runs.
    models: Vec<String>,
    /// The CUDA version that libcuda is for, as 13000; none when it cannot be opened.
    cuda: Option<u32>,
}

impl Driver {
    fn is_there(&self) -> bool {
        self.version.is_some() || Path::new("/dev/nvidiactl").exists()
    }
}

/// All checks; one line where there is no GPU.
pub fn all() -> Vec<Check> {
    let driver = driver();
    let mut checks = vec![driver_check(&driver, driver.is_there())];
    if driver.is_there() {
        checks.push(library(&driver));
        checks.extend(sampling());
    }
    let set = |name: &'static str| Some((name, std::env::var(name).ok()?));
    checks.extend(injection(&INJECTION.iter().filter_map(|name| set(name)).collect::<Vec<_>>()));
    checks
}

fn driver() -> Driver {
    let version = std::fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default();
    let gpus = std::fs::read_dir("/proc/driver/nvidia/gpus").into_iter().flatten().flatten();
    let about = |gpu: std::fs::DirEntry| std::fs::read_to_string(gpu.path().join("information"));
    Driver {
        version: version_of(&version),
        models: gpus.filter_map(|gpu| model_of(&about(gpu).ok()?)).collect(),
        cuda: libcuda(),
    }
}

/// `580.65.06` of the line `NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  …`.
fn version_of(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with("NVRM version"))?;
    let is_version = |word: &&str| word.contains('.') && word.starts_with(|c: char| c.is_numeric());
    line.split_ascii_whitespace().find(is_version).map(str::to_owned)
}

fn model_of(information: &str) -> Option<String> {
    let line = information.lines().find(|line| line.starts_with("Model:"))?;
    Some(line.trim_start_matches("Model:").trim().to_owned())
}

/// The CUDA version of libcuda, which opening does not start.
fn libcuda() -> Option<u32> {
    // SAFETY: a plain call of the loader; the library stays open.
    let library = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_LAZY) };
    let driver = CudaDriver::mapped().filter(|_| !library.is_null())?;
    Some(driver.version())
}

fn driver_check(driver: &Driver, is_there: bool) -> Check {
    const NAME: &str = "GPU";
    let models = match driver.models.as_slice() {
        [] => "an NVIDIA driver".to_owned(),
        [one] => one.clone(),
        [first, rest @ ..] if rest.iter().all(|model| model == first) => {
            format!("{} × {first}", rest.len() + 1)
        }
        several => several.join(", "),
    };
    let version = driver.version.as_ref().map(|v| format!(", driver {v}")).unwrap_or_default();
    let found = text::safe(&format!("{models}{version}"));
    match driver.cuda {
        None if !is_there => {
            Check::ok(NAME, "no NVIDIA driver here: scopes are recorded, and no GPU work")
        }
        None => Check::warn(
            NAME,
            format!("{found}, but libcuda.so.1 cannot be opened: no program here can use it"),
            "in a container, pass the driver in: docker run --gpus all, \
             NVIDIA_DRIVER_CAPABILITIES=compute,utility",
        ),
        Some(0) => Check::ok(NAME, found),
        Some(cuda) => {
            Check::ok(NAME, format!("{found}, for CUDA {}.{}", cuda / 1000, cuda % 1000 / 10))
        }
    }
}

/// Which CUPTI would be used.
fn library(driver: &Driver) -> Check {
    let major = driver.cuda.unwrap_or(0) / 1000;
    let named = std::env::var_os("HODO_CUPTI_PATH").filter(|path| !path.is_empty());
    let present = candidates(major).into_iter().filter(|found| found.path.is_file()).count();
    let found = find(major).filter(|found| found.how != "loader").map(|found| found.path);
    let by_loader =
        || find(major).map(|found| found.path).filter(|path| opens(driver, path).is_ok());
    let in_python = || packages().into_iter().find(|path| path.is_file());
    match found.or_else(in_python).or_else(by_loader) {
        Some(path) => library_check(&path, opens(driver, &path), present, named.is_some()),
        None => Check::warn(
            "CUPTI",
            "libcupti was not found: GPU work is not captured in programs that do not bring one",
            "PyTorch brings one, which is used by itself; else: pip install nvidia-cuda-cupti, \
             or HODO_CUPTI_PATH=/path/to/libcupti.so.13",
        ),
    }
}

fn library_check(
    path: &Path,
    version: Result<Option<String>, String>,
    present: usize,
    is_named: bool,
) -> Check {
    const NAME: &str = "CUPTI";
    let path = text::safe(&path.display().to_string());
    let how = if is_named { " (HODO_CUPTI_PATH)" } else { "" };
    let others = match present.saturating_sub(1) {
        0 => String::new(),
        others => format!("; {} beside it", text::plural(others as u64, "other")),
    };
    match version {
        Ok(Some(version)) => Check::ok(NAME, format!("{version} at {path}{how}{others}")),
        Ok(None) => Check::ok(NAME, format!("{path}{how}{others}; not tried without libcuda")),
        Err(why) => Check::warn(
            NAME,
            format!("{path}{how} does not work: {}", text::safe(&why)),
            "set HODO_CUPTI_PATH to a libcupti that fits the driver",
        ),
    }
}

/// The version that a libcupti tells; none where it must not be asked: without libcuda some crash.
fn opens(driver: &Driver, path: &Path) -> Result<Option<String>, String> {
    match driver.cuda {
        Some(cuda) if cuda > 0 => Cupti::open(path).map(|cupti| Some(cupti.version_text())),
        _ => Ok(None),
    }
}

/// Where the Python of this shell keeps a libcupti.
fn packages() -> Vec<PathBuf> {
    let roots = ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().filter_map(std::env::var_os);
    let versions = roots.flat_map(|root| folders(&PathBuf::from(root).join("lib"), "python"));
    let libraries = |folder: PathBuf| {
        let nvidia = folder.join("site-packages/nvidia");
        [("cu13", 13), ("cuda_cupti", 13), ("cuda_cupti", 12)]
            .map(|(part, major)| nvidia.join(part).join(format!("lib/libcupti.so.{major}")))
    };
    versions.flat_map(libraries).collect()
}

fn folders(of: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(of).into_iter().flatten().flatten();
    let named = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix))
    };
    entries.map(|entry| entry.path()).filter(named).collect()
}

/// Whether kernels may be sampled by instruction; nothing where the driver does not say.
fn sampling() -> Option<Check> {
    let params = std::fs::read_to_string("/proc/driver/nvidia/params").ok()?;
    // SAFETY: has no failure.
    let is_root = unsafe { libc::geteuid() } == 0;
    sampling_check(&params, is_root)
}

fn sampling_check(params: &str, is_root: bool) -> Option<Check> {
    const NAME: &str = "GPU sampling";
    let line = params.lines().find(|line| line.starts_with("RmProfilingAdminOnly:"))?;
    let is_restricted = line.rsplit(':').next()?.trim() != "0";
    Some(match (is_restricted, is_root) {
        (false, _) => Check::ok(NAME, "allowed for every user"),
        (true, true) => Check::ok(NAME, "allowed for this user, root; not for others"),
        (true, false) => Check::warn(
            NAME,
            "only root may sample instructions (RmProfilingAdminOnly); kernels are traced all the \
             same",
            "as root: echo options nvidia NVreg_RestrictProfilingToAdminUsers=0 > \
             /etc/modprobe.d/nvidia-profiling.conf, then reboot; in a container: \
             --cap-add=SYS_ADMIN",
        ),
    })
}

/// Tools that load themselves into every CUDA program; nothing when there are none.
fn injection(set: &[(&str, String)]) -> Option<Check> {
    const NAME: &str = "injection";
    let set: Vec<_> = set.iter().filter(|(_, path)| !path.is_empty()).collect();
    let is_ours = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        name.starts_with("libhodo")
    };
    let told = |(name, path): &&(&str, String)| text::safe(&format!("{name}={path}"));
    let foreign: Vec<_> = set.iter().copied().filter(|(_, path)| !is_ours(path)).collect();
    if set.is_empty() {
        return None;
    }
    let shown: Vec<String> = set.iter().map(told).collect();
    if foreign.is_empty() {
        return Some(Check::ok(NAME, shown.join(" ")));
    }
    let names: Vec<&str> = foreign.iter().map(|(name, _)| *name).collect();
    Some(Check::warn(
        NAME,
        format!(
            "{}: another tool is loaded into every CUDA program and may hold CUPTI",
            foreign.iter().map(told).collect::<Vec<_>>().join(" ")
        ),
        format!("unset {}, unless both are wanted", names.join(" ")),
    ))
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn the_driver_says_what_it_is() {
        let version =
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release\n";
        assert_eq!(version_of(version).as_deref(), Some("580.65.06"));
        assert_eq!(model_of("Model: \t\t NVIDIA H200\nIRQ: 7\n").as_deref(), Some("NVIDIA H200"));
        let models = vec!["NVIDIA H200".to_owned(); 8];
        let driver = Driver { version: version_of(version), models, cuda: Some(13_000) };
        let check = driver_check(&driver, true);
        assert_eq!(check.found, "8 × NVIDIA H200, driver 580.65.06, for CUDA 13.0");
        assert_eq!(driver_check(&Driver { cuda: None, ..driver }, true).state, State::Warn);
        assert_eq!(driver_check(&Driver::default(), false).state, State::Ok);
    }

    #[test]
    fn a_library_is_named_with_its_version_or_why_it_fails() {
        let path = Path::new("/opt/cuda/lib64/libcupti.so.13");
        let of = |version| library_check(path, version, 3, false);
        let ok = of(Ok(Some("13.0 update 1".into())));
        assert_eq!(ok.found, "13.0 update 1 at /opt/cuda/lib64/libcupti.so.13; 2 others beside it");
        assert_eq!(of(Ok(None)).state, State::Ok);
        assert_eq!(of(Err("cannot open".into())).state, State::Warn);
    }

    #[test]
    fn without_libcuda_no_function_of_cupti_is_called() {
        let driver = Driver { version: Some("580".into()), ..Driver::default() };
        assert_eq!(opens(&driver, Path::new("/nonexistent/libcupti.so.13")), Ok(None));
    }

    #[test]
    fn sampling_is_a_matter_of_who_asks() {
        let of = |admin_only, root| {
            let params = format!("EnableMSI: 1\nRmProfilingAdminOnly: {admin_only}\n");
            sampling_check(&params, root).map(|check| check.state)
        };
        assert_eq!(of(1, false), Some(State::Warn));
        assert_eq!((of(1, true), of(0, false)), (Some(State::Ok), Some(State::Ok)));
        assert_eq!(sampling_check("EnableMSI: 1\n", false), None);
    }

    #[test]
    fn another_tool_in_the_way_is_named() {
        let of = |path: &str| injection(&[("CUDA_INJECTION64_PATH", path.to_owned())]);
        assert_eq!(of(""), None);
        assert_eq!(of("/usr/lib/libhodo.so").map(|c| c.state), Some(State::Ok));
        let other = of("/opt/nsight/libToolsInjection64.so").expect("a check");
        assert_eq!(other.state, State::Warn);
        assert!(other.found.contains("libToolsInjection64.so"), "{other:?}");
    }
}
