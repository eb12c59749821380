use hodo_tests::acks::{Acks, get, stage};
use hodo_trace::{Counts, Loss, ReadOptions, Run};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Longest a victim may take over anything before the test calls it a hang.
const PATIENCE: Duration = Duration::from_secs(300);

/// A folder of one test, removed unless the test failed.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Scratch {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("{name}-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Where the victim's runs go.
    pub fn runs(&self) -> PathBuf {
        self.path("runs")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("left for a look: {}", self.0.display());
        } else {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

/// A victim about to be started.
pub struct Victim {
    command: Command,
    acks: Acks,
    stderr: PathBuf,
}

impl Victim {
    /// The victim program in `mode` with `lanes` lanes of acknowledgements.
    pub fn new(scratch: &Scratch, mode: &str, lanes: usize) -> Victim {
        let acks = Acks::create(&scratch.path("acks"), lanes.max(1)).unwrap();
        let stderr = scratch.path("stderr");
        let mut command = Command::new(env!("CARGO_BIN_EXE_hodo-victim"));
        for (key, _) in std::env::vars().filter(|(key, _)| key.starts_with("HODO")) {
            command.env_remove(key);
        }
        command
            .arg(mode)
            .arg(format!("acks={}", scratch.path("acks").display()))
            .current_dir(&scratch.0)
            .env("HODO_DIR", scratch.runs())
            .stdout(std::process::Stdio::null())
            .stderr(File::create(&stderr).unwrap());
        // It may be told to die of this, which a script's jobs ignore.
        let heed = || {
            // SAFETY: a plain call.
            unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
            Ok(())
        };
        // SAFETY: the closure makes one system call.
        unsafe { command.pre_exec(heed) };
        Victim { command, acks, stderr }
    }

    pub fn arg(mut self, key: &str, value: impl std::fmt::Display) -> Victim {
        self.command.arg(format!("{key}={value}"));
        self
    }

    pub fn env(mut self, key: &str, value: impl AsRef<std::ffi::OsStr>) -> Victim {
        self.command.env(key, value);
        self
    }

    pub fn start(mut self) -> Running {
        let child = self.command.spawn().unwrap();
        Running { child, acks: self.acks, stderr: self.stderr }
    }

    /// Runs it to its end, which must be a good one.
    pub fn run(self) -> Running {
        let mut running = self.start();
        let status = running.wait();
        assert!(status.success(), "{status}\n{}", running.stderr());
        running
    }
}

/// A victim that runs or has ended.
pub struct Running {
    pub child: Child,
    pub acks: Acks,
    stderr: PathBuf,
}

impl Running {
    /// Waits until the victim's stage is `stage`; false when it ended before.
    pub fn reaches(&mut self, stage: u64) -> bool {
        let began = Instant::now();
        while get(&self.acks.lane(0).stage) < stage {
            if self.child.try_wait().unwrap().is_some() {
                return false;
            }
            assert!(began.elapsed() < PATIENCE, "no stage {stage}\n{}", self.stderr());
            thread::sleep(Duration::from_micros(50));
        }
        true
    }

    /// Waits until the victim has started its recorder.
    pub fn started(&mut self) {
        assert!(self.reaches(stage::STARTED), "ended before it started\n{}", self.stderr());
    }

    pub fn set_stage(&self, stage: u64) {
        self.acks.lane(0).stage.store(stage, Ordering::SeqCst);
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// How it ended; one that does not end fails the test.
    pub fn wait(&mut self) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            if began.elapsed() > PATIENCE {
                self.child.kill().unwrap();
                panic!("the victim hangs\n{}", self.stderr());
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    pub fn stderr(&self) -> String {
        std::fs::read_to_string(&self.stderr).unwrap_or_default()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The only run in `dir`.
pub fn read(dir: &Path) -> Run {
    let folder =
        Run::find(dir, None).unwrap_or_else(|e| panic!("no run in {}: {e}", dir.display()));
    Run::open(&folder, &ReadOptions::default()).unwrap_or_else(|e| panic!("unreadable run: {e}"))
}

/// The counts a victim had when it ended.
#[derive(Debug, Default)]
pub struct Health {
    pub produced: Counts,
    pub stored: Counts,
    pub in_ring: Counts,
    pub lost: [Counts; Loss::COUNT],
}

impl Health {
    pub fn read(scratch: &Scratch) -> Health {
        Health::parse(&std::fs::read_to_string(scratch.path("health")).expect("health"))
    }

    pub fn parse(text: &str) -> Health {
        let mut health = Health::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let [name, numbers @ ..] = &words[..] else { continue };
            let numbers: Vec<u64> = numbers.iter().filter_map(|word| word.parse().ok()).collect();
            let [spans, marks, attrs] = numbers[..] else { continue };
            if let Some(counts) = health.field(name) {
                *counts = Counts { spans, marks, attrs };
            }
        }
        health
    }

    fn field(&mut self, name: &str) -> Option<&mut Counts> {
        match name {
            "produced" => Some(&mut self.produced),
            "stored" => Some(&mut self.stored),
            "in_ring" => Some(&mut self.in_ring),
            _ => Loss::ALL.iter().position(|loss| loss.name() == name).map(|at| &mut self.lost[at]),
        }
    }

    /// `acknowledged = stored + in memory + lost[reason]`, to the record.
    pub fn assert_accounts_for(&self, acknowledged: Counts) {
        let mut explained = self.stored;
        explained += self.in_ring;
        self.lost.iter().for_each(|lost| explained += *lost);
        assert_eq!(explained, acknowledged, "{self:#?}");
        assert_eq!(self.produced, acknowledged, "{self:#?}");
    }
}

/// A number from the environment.
pub fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Whether the heavy forms were asked for.
pub fn heavy() -> bool {
    setting("HODO_HEAVY", 0) != 0
}

/// Numbers that look random and repeat for the same `HODO_SEED`.
pub struct Random(u64);

impl Random {
    pub fn new() -> Random {
        let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
        let seed = setting("HODO_SEED", now);
        println!("HODO_SEED={seed}");
        Random(seed | 1)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16) % end
    }
}
