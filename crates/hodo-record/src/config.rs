//! What a recorder is started with, from code and from the environment.

use crate::clock::ClockSource;
use crate::cpu::CpuMethod;
use crate::telemetry::Telemetry;
use std::path::PathBuf;
use std::time::Duration;

/// How a recorder is started. `Config::default()` is what most programs want.
#[derive(Clone, Debug)]
pub struct Config {
    /// Name of the program in reports; the executable's name if not set.
    pub app: Option<String>,
    /// Folder that runs are kept in; `.hodo` if not set.
    pub dir: Option<PathBuf>,
    /// An existing run to join, as a launcher sets it in `HODO_RUN`.
    pub run: Option<PathBuf>,
    /// The scope that started this process, 32 hex digits, as `HODO_PARENT` gives it.
    pub parent: Option<String>,
    /// False: record nothing.
    pub enabled: bool,
    /// Memory for records not yet on disk.
    pub memory_bytes: usize,
    /// Scopes nested deeper than this are counted, not recorded.
    pub max_depth: u32,
    /// Most bytes of spool this process keeps; the oldest go first.
    pub spool_bytes: u64,
    /// Bytes at which a spool file is closed and the next one begun.
    pub spool_file_bytes: u64,
    /// How long records may wait in memory before they are written.
    pub flush_interval: Duration,
    /// How thread CPU time is read; `None` chooses the cheapest way that works.
    pub cpu_time: Option<CpuMethod>,
    /// Which clock is read; `None` chooses the counter where the kernel trusts it.
    pub clock: Option<ClockSource>,
    /// Put the run into this process's environment, so that child processes join it.
    pub share_run: bool,
    /// What is captured of the GPU, where the copy of hodo that records can.
    pub gpu: Gpu,
    /// How often the machine is read, where the copy of hodo that records can.
    pub telemetry: Telemetry,
}

/// What is captured of the GPU. Nothing here ever initialises CUDA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Gpu {
    /// As [`Gpu::Trace`] in a program that uses CUDA; silent where it does not.
    #[default]
    Auto = 0,
    /// Nothing.
    Off = 1,
    /// Readings of the device, no kernels.
    Monitor = 2,
    /// Every kernel, copy and set, under the scope that launched it.
    Trace = 3,
    /// As [`Gpu::Trace`], and where kernels stall, in windows that are asked for.
    PcSampling = 4,
}

impl Gpu {
    /// Every level, by its word.
    pub const WORDS: [(&'static str, Gpu); 5] = [
        ("auto", Gpu::Auto),
        ("off", Gpu::Off),
        ("monitor", Gpu::Monitor),
        ("trace", Gpu::Trace),
        ("pc-sampling", Gpu::PcSampling),
    ];

    /// The level a word stands for.
    pub fn from_word(word: &str) -> Option<Gpu> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|&(_, level)| level)
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, level)| *level == self).map_or("", |&(word, _)| word)
    }
}

impl Default for Config {
    fn default() -> Self {
        Config {
            app: None,
            dir: None,
            run: None,
            parent: None,
            enabled: true,
            memory_bytes: 64 << 20,
            max_depth: 64,
            spool_bytes: 4 << 30,
            spool_file_bytes: 64 << 20,
            flush_interval: Duration::from_secs(1),
            cpu_time: None,
            clock: None,
            share_run: true,
            gpu: Gpu::Auto,
            telemetry: Telemetry::default(),
        }
    }
}

impl Config {
    /// The defaults, overridden by the `HODO_*` variables.
    pub fn from_env() -> Config {
        Config::default().with_env(|name| std::env::var(name).ok())
    }

    /// Overrides what the variables of `read` set; words that make no sense change nothing.
    pub fn with_env(mut self, read: impl Fn(&str) -> Option<String>) -> Config {
        let read = |name: &str| read(name).filter(|value| !value.is_empty());
        self = self.completed(read);
        if let Some(bytes) = read("HODO_MEMORY").as_deref().and_then(parse_bytes) {
            self.memory_bytes = bytes as usize;
        }
        if let Some(bytes) = read("HODO_SPOOL_BYTES").as_deref().and_then(parse_bytes) {
            self.spool_bytes = bytes;
        }
        if let Some(depth) = read("HODO_MAX_DEPTH").and_then(|word| word.parse().ok()) {
            self.max_depth = depth;
        }
        if let Some(ms) = read("HODO_FLUSH").and_then(|word| word.parse().ok()) {
            self.flush_interval = Duration::from_millis(ms);
        }
        self.gpu = read("HODO_GPU").and_then(|word| Gpu::from_word(&word)).unwrap_or(self.gpu);
        let telemetry = read("HODO_TELEMETRY").and_then(|text| Telemetry::parse(&text).ok());
        self.telemetry = telemetry.unwrap_or(self.telemetry);
        self.cpu_time = read("HODO_CPU").and_then(|w| CpuMethod::from_name(&w)).or(self.cpu_time);
        self.clock = match read("HODO_CLOCK").as_deref() {
            Some("counter") => Some(ClockSource::Counter),
            Some("monotonic") => Some(ClockSource::Monotonic),
            _ => self.clock,
        };
        self
    }

    /// What `read` says that makes no sense, each with what would.
    pub(crate) fn nonsense(read: impl Fn(&str) -> Option<String>) -> Vec<String> {
        const WORDS: [(&str, &[&str]); 4] = [
            ("HODO", &["0", "1", "on", "off", "true", "false", "yes", "no"]),
            ("HODO_GPU", &["auto", "off", "monitor", "trace", "pc-sampling"]),
            ("HODO_CPU", &["auto", "rseq", "perf", "syscall", "off"]),
            ("HODO_CLOCK", &["auto", "counter", "monotonic"]),
        ];
        let word = |(name, known): &(&str, &[&str])| {
            let value = read(name).filter(|v| !v.is_empty() && !known.contains(&v.as_str()))?;
            Some(format!("{name}={value} is ignored: it is one of {}", known.join(", ")))
        };
        let number = |name: &&str| {
            let is_bytes = matches!(*name, "HODO_MEMORY" | "HODO_SPOOL_BYTES");
            let fits = |v: &str| if is_bytes { parse_bytes(v).is_some() } else { v.parse::<u32>().is_ok() };
            let value = read(name).filter(|v| !v.is_empty() && !fits(v))?;
            let wants = if is_bytes { "bytes, such as 64M" } else { "a whole number" };
            Some(format!("{name}={value} is ignored: it takes {wants}"))
        };
        let numbers = ["HODO_MEMORY", "HODO_SPOOL_BYTES", "HODO_MAX_DEPTH", "HODO_FLUSH"];
        let telemetry = read("HODO_TELEMETRY").filter(|text| !text.is_empty());
        let telemetry = telemetry.and_then(|text| Telemetry::parse(&text).err());
        let told = WORDS.iter().filter_map(word).chain(numbers.iter().filter_map(number));
        told.chain(telemetry.map(|error| format!("HODO_TELEMETRY: {error}"))).collect()
    }

    /// Fills in from `read` what was not set, and switches off if it says so: what every start
    /// does, so that `HODO=0` and the run of a launcher hold whatever the code asks for.
    pub(crate) fn completed(mut self, read: impl Fn(&str) -> Option<String>) -> Config {
        let read = |name: &str| read(name).filter(|value| !value.is_empty());
        if let Some(word) = read("HODO") {
            self.enabled &= !matches!(word.as_str(), "0" | "off" | "false" | "no");
        }
        self.app = self.app.or_else(|| read("HODO_APP"));
        self.dir = self.dir.or_else(|| read("HODO_DIR").map(PathBuf::from));
        self.run = self.run.or_else(|| read("HODO_RUN").map(PathBuf::from));
        self.parent = self.parent.or_else(|| read("HODO_PARENT"));
        self
    }

    /// The program's name: as set, else the executable's.
    pub fn app_name(&self) -> String {
        let exe = || {
            let path = std::env::current_exe().ok()?;
            Some(path.file_stem()?.to_string_lossy().into_owned())
        };
        self.app.clone().or_else(exe).unwrap_or_else(|| "program".into())
    }
}

/// Bytes written as a number with an optional suffix k, m or g (powers of 1024).
pub fn parse_bytes(word: &str) -> Option<u64> {
    let word = word.trim().to_ascii_lowercase();
    let digits = word.trim_end_matches("ib").trim_end_matches('b');
    let shift = match digits.chars().last()? {
        'k' => 10,
        'm' => 20,
        'g' => 30,
        _ => 0,
    };
    let number: u64 = digits.trim_end_matches(['k', 'm', 'g']).trim().parse().ok()?;
    number.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_take_suffixes() {
        assert_eq!(parse_bytes("4096"), Some(4096));
        assert_eq!(parse_bytes("64MiB"), Some(64 << 20));
        assert_eq!(parse_bytes("2g"), Some(2 << 30));
        assert_eq!(parse_bytes("lots"), None);
        assert_eq!(parse_bytes(""), None);
    }

    #[test]
    fn what_the_code_sets_stands_but_off_is_off() {
        let set = Config { dir: Some("here".into()), ..Config::default() };
        let config = set.completed(|name| match name {
            "HODO" => Some("off".into()),
            "HODO_DIR" => Some("there".into()),
            "HODO_RUN" => Some("there/run".into()),
            _ => None,
        });
        assert!(!config.enabled);
        assert_eq!(config.dir, Some("here".into()));
        assert_eq!(config.run, Some("there/run".into()));
    }

    #[test]
    fn words_that_make_no_sense_are_named() {
        let read = |name: &str| match name {
            "HODO" => Some("banana".into()),
            "HODO_MEMORY" => Some("lots".into()),
            "HODO_CPU" => Some("perf".into()),
            "HODO_FLUSH" => Some("soon".into()),
            _ => None,
        };
        let told = Config::nonsense(read);
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told[0].starts_with("HODO=banana is ignored"), "{told:?}");
    }

    #[test]
    fn variables_override_and_nonsense_does_not() {
        let config = Config::default().with_env(|name| {
            let value = match name {
                "HODO" => "0",
                "HODO_MAX_DEPTH" => "many",
                "HODO_CPU" => "syscall",
                "HODO_DIR" => "",
                _ => return None,
            };
            Some(value.into())
        });
        assert!(!config.enabled);
        assert_eq!(config.max_depth, 64);
        assert_eq!(config.cpu_time, Some(CpuMethod::Syscall));
        assert_eq!(config.dir, None);
    }
}
