//! Where kernels stand and why: samples of the GPU's program counters, in windows that are asked
//! for. What a user calls is in [`crate::window`].

mod buffer;
pub mod contexts;
mod cubins;
mod layout;
mod resolve;
mod rows;
mod sampler;
mod stall;
mod told;

pub use cubins::Cubins;
pub use resolve::resolve;
pub use rows::{Rows, Whose};
pub use sampler::{Sampler, Totals};
pub use told::{Sampling, Window};

use crate::cupti::code::result;
use crate::cupti::{Cupti, Problem};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;

/// Whether kernels run one after another while they are sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Yes: every sample has its launch, so its scope.
    #[default]
    Serialized,
    /// No: samples belong to the scope that was innermost where the window began.
    Continuous,
}

impl Mode {
    /// The mode a word stands for; no word stands for the default.
    pub fn from_word(word: &str) -> Option<Mode> {
        match word {
            "" | "serialized" => Some(Mode::Serialized),
            "continuous" => Some(Mode::Continuous),
            _ => None,
        }
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Mode::Serialized => "serialized",
            Mode::Continuous => "continuous",
        }
    }
}

/// How to sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether kernels are serialised.
    pub mode: Mode,
    /// Cycles between samples, as a power of two; CUPTI's choice if none.
    pub period: Option<u32>,
    /// Device memory for samples; CUPTI's choice if none.
    pub device_bytes: Option<u64>,
    /// Whether samples are fetched while the window is open, too.
    pub fetch_often: bool,
    /// Whether records of kernels are switched off meanwhile.
    pub without_kernels: bool,
}

impl Options {
    /// The mode, and what `HODO_PC_*` says: `PERIOD` (5 to 31), `BUFFER_MIB`, `FETCH=often`,
    /// `KERNELS=off`.
    pub fn new(mode: Mode) -> Options {
        let read = |name: &str| std::env::var(format!("HODO_PC_{name}")).ok();
        let number = |name: &str| read(name).and_then(|word| word.parse::<u32>().ok());
        Options {
            mode,
            period: number("PERIOD").filter(|period| (5..=31).contains(period)),
            device_bytes: number("BUFFER_MIB").map(|mib| u64::from(mib) << 20),
            fetch_often: read("FETCH").as_deref() == Some("often"),
            without_kernels: read("KERNELS").as_deref() == Some("off"),
        }
    }

    /// Whether contexts are prepared as soon as they are made: `HODO_PC_ENABLE=early`.
    pub fn is_early() -> bool {
        std::env::var("HODO_PC_ENABLE").is_ok_and(|word| word == "early")
    }
}

/// Maps what CUPTI needs for profiling, from beside it: it would look them up by name, and find
/// those of another version or none. Says what could not be mapped.
pub fn preload(cupti: &Cupti) -> Vec<String> {
    const LIBRARIES: [&str; 3] =
        ["libnvperf_host.so", "libnvperf_target.so", "libpcsamplingutil.so"];
    let Some(folder) = cupti.path.parent().filter(|folder| folder.is_absolute()) else {
        return vec!["the folder of libcupti is not known".into()];
    };
    let open = |name: &&str| {
        let path = folder.join(name);
        let opened = CString::new(path.as_os_str().as_bytes()).is_ok_and(|path| {
            // SAFETY: a plain call of the loader; the library stays.
            !unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) }.is_null()
        });
        (!opened).then(|| format!("{} cannot be mapped", path.display()))
    };
    LIBRARIES.iter().filter_map(open).collect()
}

/// CUPTI's refusal with what to do about it.
pub fn explain(problem: &Problem) -> String {
    let fix = match problem.code {
        result::INSUFFICIENT_PRIVILEGES => {
            ": the driver lets only administrators profile. Run as root or with CAP_SYS_ADMIN (in \
             a container: --cap-add SYS_ADMIN), or let everyone: put `options nvidia \
             NVreg_RestrictProfilingToAdminUsers=0` into /etc/modprobe.d/ and reboot"
        }
        result::VIRTUALIZED_PRIVILEGES => {
            ": this virtual GPU may not be profiled; its host must allow it"
        }
        result::HARDWARE_BUSY => {
            ": another tool samples this GPU (Nsight Compute, DCGM); stop it first"
        }
        result::NOT_SUPPORTED => ": this GPU, driver or setup (MIG, confidential computing) cannot",
        result::NOT_COMPATIBLE => ": another use of CUPTI excludes sampling in this mode",
        result::INVALID_OPERATION => ": it does not fit the state that CUPTI is in",
        _ => "",
    };
    format!("{problem}{fix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_to_do() {
        let problem =
            Problem { function: "cuptiPCSamplingEnable".into(), code: 35, name: "X".into() };
        let text = explain(&problem);
        assert!(text.contains("answered 35") && text.contains("RestrictProfiling"), "{text}");
    }

    #[test]
    fn modes_have_words() {
        assert_eq!(Mode::from_word(""), Some(Mode::Serialized));
        for mode in [Mode::Serialized, Mode::Continuous] {
            assert_eq!(Mode::from_word(mode.word()), Some(mode));
        }
        assert_eq!(Mode::from_word("fast"), None);
    }
}
