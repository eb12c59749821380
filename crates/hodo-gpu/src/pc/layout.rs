//! The structures of CUPTI's PC sampling, as its headers have them from 12.0 to 13.x.

use std::ffi::{c_char, c_void};

/// A context's parameters: enabling, disabling, starting and stopping take the same three words.
#[repr(C)]
#[derive(Debug)]
pub struct OfContext {
    /// Bytes of the structure.
    pub size: usize,
    /// Null.
    pub private: *mut c_void,
    /// The context.
    pub context: *mut c_void,
}

/// Parameters of a question about a context whose answer is written to a place.
#[repr(C)]
#[derive(Debug)]
pub struct Fetch {
    /// The context.
    pub of: OfContext,
    /// The number of stall reasons (`usize`), or a [`Data`].
    pub into: *mut c_void,
}

/// `CUpti_PCSamplingGetStallReasonsParams`.
#[repr(C)]
#[derive(Debug)]
pub struct ReasonNames {
    /// The context.
    pub of: OfContext,
    /// How many there are.
    pub count: usize,
    /// Their numbers.
    pub indices: *mut u32,
    /// Their names, each of [`REASON_BYTES`].
    pub names: *mut *mut c_char,
}

/// Bytes of the name of a stall reason.
pub const REASON_BYTES: usize = 128;

/// `CUpti_PCSamplingConfigurationInfo`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// One of [`setting`].
    pub attribute: u32,
    /// CUPTI's answer to it.
    pub status: i32,
    /// Its value: a number or an address, as wide as the attribute has it.
    pub value: [u64; 3],
}

/// What can be set.
pub mod setting {
    /// Cycles between samples, as a power of two from 5 to 31.
    pub const PERIOD: u32 = 1;
    /// Bytes of host memory for samples that are not decoded yet.
    pub const SCRATCH_BYTES: u32 = 3;
    /// Bytes of device memory for samples.
    pub const DEVICE_BYTES: u32 = 4;
    /// Whether kernels are serialised.
    pub const MODE: u32 = 5;
    /// Whether samples are taken between start and stop alone.
    pub const START_STOP: u32 = 6;
    /// Where what is left goes when sampling is disabled.
    pub const BUFFER: u32 = 8;
}

/// `CUpti_PCSamplingConfigurationInfoParams`.
#[repr(C)]
#[derive(Debug)]
pub struct Settings {
    /// The context.
    pub of: OfContext,
    /// How many there are.
    pub count: usize,
    /// The first.
    pub first: *mut Setting,
}

/// `CUpti_PCSamplingStallReason`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Stalled {
    /// The reason's number.
    pub reason: u32,
    /// How often.
    pub samples: u32,
}

/// `CUpti_PCSamplingPCData`: an instruction and why warps stood there.
#[repr(C)]
#[derive(Debug)]
pub struct Pc {
    /// Bytes of the structure.
    pub size: usize,
    /// Checksum of the machine code.
    pub cubin: u64,
    /// Bytes from the function's first.
    pub offset: u64,
    /// The function's number in its module.
    pub function: u32,
    /// Nothing.
    pub padding: u32,
    /// The function's name, which CUPTI's other records may share.
    pub name: *const c_char,
    /// How many reasons there are.
    pub reasons: usize,
    /// The first.
    pub first: *mut Stalled,
    /// The launch, for kernels that were serialised; versions before 12.4 do not have it.
    pub correlation: u32,
}

/// `CUpti_PCSamplingData`: a buffer of [`Pc`] and what CUPTI says of it.
#[repr(C)]
#[derive(Debug)]
pub struct Data {
    /// Bytes of the structure.
    pub size: usize,
    /// Most instructions that fit.
    pub capacity: usize,
    /// Samples taken, of any code and dropped ones included.
    pub samples: u64,
    /// Samples that the hardware dropped.
    pub dropped: u64,
    /// Instructions that were filled in.
    pub filled: usize,
    /// Instructions that are still to be fetched.
    pub remaining: usize,
    /// The stretch they are of.
    pub range: u64,
    /// The first.
    pub first: *mut u8,
    /// Samples of code that is not the program's.
    pub foreign: u64,
    /// Whether the hardware's buffer was full, in versions that say so.
    pub device_full: u8,
}

/// `CUpti_GetCubinCrcParams`.
#[repr(C)]
#[derive(Debug)]
pub struct Checksum {
    /// Bytes of the structure.
    pub size: usize,
    /// Bytes of the machine code.
    pub bytes: usize,
    /// The machine code.
    pub cubin: *const c_void,
    /// The answer.
    pub checksum: u64,
}

/// `CUpti_GetSassToSourceCorrelationParams`.
#[repr(C)]
#[derive(Debug)]
pub struct SourceLine {
    /// Bytes of the structure.
    pub size: usize,
    /// The machine code.
    pub cubin: *const c_void,
    /// The function's name.
    pub function: *const c_char,
    /// Bytes of the machine code.
    pub bytes: usize,
    /// The line.
    pub line: u32,
    /// Bytes from the function's first.
    pub offset: u64,
    /// The file's name, to be freed.
    pub file: *mut c_char,
    /// Its folder, to be freed.
    pub folder: *mut c_char,
}

/// `CUpti_Profiler_Initialize_Params`.
#[repr(C)]
#[derive(Debug)]
pub struct Initialize {
    /// Bytes of the structure.
    pub size: usize,
    /// Null.
    pub private: *mut c_void,
}

impl OfContext {
    /// The first words of a structure of `size` bytes.
    pub fn new(context: *mut c_void, size: usize) -> OfContext {
        OfContext { size, private: std::ptr::null_mut(), context }
    }
}

/// Bytes from one [`Pc`] to the next as CUPTI `version` lays them out: 12.4 added the launch.
pub fn stride(version: u32) -> usize {
    const WITH_LAUNCH: u32 = 22;
    if version >= WITH_LAUNCH { size_of::<Pc>() } else { std::mem::offset_of!(Pc, correlation) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    /// Ours, under CUPTI's names: `type size`, `type.field offset`.
    fn ours() -> Vec<(&'static str, usize)> {
        vec![
            ("CUpti_PCSamplingEnableParams", size_of::<OfContext>()),
            ("CUpti_PCSamplingDisableParams", size_of::<OfContext>()),
            ("CUpti_PCSamplingStartParams", size_of::<OfContext>()),
            ("CUpti_PCSamplingStopParams.ctx", offset_of!(OfContext, context)),
            ("CUpti_PCSamplingGetDataParams", size_of::<Fetch>()),
            ("CUpti_PCSamplingGetDataParams.pcSamplingData", offset_of!(Fetch, into)),
            ("CUpti_PCSamplingGetNumStallReasonsParams", size_of::<Fetch>()),
            ("CUpti_PCSamplingGetStallReasonsParams", size_of::<ReasonNames>()),
            (
                "CUpti_PCSamplingGetStallReasonsParams.stallReasonIndex",
                offset_of!(ReasonNames, indices),
            ),
            ("CUpti_PCSamplingConfigurationInfo", size_of::<Setting>()),
            ("CUpti_PCSamplingConfigurationInfo.attributeData", offset_of!(Setting, value)),
            ("CUpti_PCSamplingConfigurationInfoParams", size_of::<Settings>()),
            ("CUpti_PCSamplingStallReason", size_of::<Stalled>()),
            ("CUpti_PCSamplingPCData.cubinCrc", offset_of!(Pc, cubin)),
            ("CUpti_PCSamplingPCData.pcOffset", offset_of!(Pc, offset)),
            ("CUpti_PCSamplingPCData.functionName", offset_of!(Pc, name)),
            ("CUpti_PCSamplingPCData.stallReasonCount", offset_of!(Pc, reasons)),
            ("CUpti_PCSamplingPCData.stallReason", offset_of!(Pc, first)),
            ("CUpti_PCSamplingData", size_of::<Data>()),
            ("CUpti_PCSamplingData.totalSamples", offset_of!(Data, samples)),
            ("CUpti_PCSamplingData.totalNumPcs", offset_of!(Data, filled)),
            ("CUpti_PCSamplingData.pPcData", offset_of!(Data, first)),
            ("CUpti_PCSamplingData.nonUsrKernelsTotalSamples", offset_of!(Data, foreign)),
            ("CUpti_GetCubinCrcParams", size_of::<Checksum>()),
            ("CUpti_GetCubinCrcParams.cubinCrc", offset_of!(Checksum, checksum)),
            ("CUpti_GetSassToSourceCorrelationParams", size_of::<SourceLine>()),
            ("CUpti_GetSassToSourceCorrelationParams.pcOffset", offset_of!(SourceLine, offset)),
            ("CUpti_GetSassToSourceCorrelationParams.fileName", offset_of!(SourceLine, file)),
        ]
    }

    #[test]
    fn what_lies_where_in_12_0_to_13_x() {
        assert_eq!((stride(18), stride(21), stride(22), stride(130_001)), (56, 56, 64, 64));
        assert_eq!((size_of::<Data>(), size_of::<Setting>(), size_of::<Stalled>()), (80, 32, 8));
        assert_eq!((size_of::<SourceLine>(), offset_of!(SourceLine, offset)), (64, 40));
        assert_eq!((offset_of!(Pc, correlation), offset_of!(Data, device_full)), (56, 72));
    }

    /// Compiles a program against every set of headers that `HODO_CUPTI_INCLUDE` names (folders,
    /// as in PATH) and compares; without the variable there is nothing to compare with.
    #[test]
    fn the_headers_say_the_same() {
        let Some(folders) = std::env::var_os("HODO_CUPTI_INCLUDE") else { return };
        for folder in std::env::split_paths(&folders) {
            let scratch = std::env::temp_dir().join(format!("hodo-layout-{}", std::process::id()));
            std::fs::create_dir_all(&scratch).unwrap();
            let told = told(&folder, &scratch);
            std::fs::remove_dir_all(&scratch).unwrap();
            for (name, mine) in ours() {
                assert_eq!(told.get(name), Some(&mine), "{name} in {}", folder.display());
            }
            let version = told["version"] as u32;
            assert_eq!(told["CUpti_PCSamplingPCData"], stride(version), "{version}");
        }
    }

    fn told(folder: &Path, scratch: &PathBuf) -> std::collections::HashMap<String, usize> {
        let mut source = String::from("#include <stdio.h>\n#include <cupti_pcsampling.h>\n");
        source += "#include <cupti_version.h>\nint main(void) {\n";
        source += "printf(\"version %zu\\n\", (size_t)CUPTI_API_VERSION);\n";
        for (name, _) in ours().iter().chain(&[("CUpti_PCSamplingPCData", 0)]) {
            let value = match name.split_once('.') {
                Some((kind, field)) => format!("offsetof({kind}, {field})"),
                None => format!("sizeof({name})"),
            };
            source += &format!("printf(\"{name} %zu\\n\", (size_t){value});\n");
        }
        std::fs::write(scratch.join("probe.c"), source + "}\n").unwrap();
        // All that these headers take from CUDA's own.
        let cuda = "typedef struct CUctx_st *CUcontext;\n";
        std::fs::write(scratch.join("cuda.h"), cuda).unwrap();
        let built = Command::new("cc")
            .args(["-DCUPTIAPI=", "-o", "probe", "probe.c"])
            .arg(format!("-I{}", scratch.display()))
            .arg(format!("-I{}", folder.display()))
            .current_dir(scratch)
            .status();
        assert!(built.unwrap().success());
        let output = Command::new(scratch.join("probe")).output().unwrap();
        let row = |line: &str| {
            let (name, value) = line.split_once(' ')?;
            Some((name.to_owned(), value.parse().ok()?))
        };
        String::from_utf8(output.stdout).unwrap().lines().filter_map(row).collect()
    }
}
