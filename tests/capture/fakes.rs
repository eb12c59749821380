//! Builds the fakes and runs programs on them.

use hodo_trace::{ReadOptions, Run};
use serde_json::Value;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Longest a program may take; more is a deadlock.
const PATIENCE: Duration = Duration::from_secs(300);
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fake-cupti");
const HEADERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../cpp/include");

/// The folder with everything that was built, made once for all tests.
fn built() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fake-cupti");
    std::fs::create_dir_all(&folder).unwrap();
    // Each test may be a process of its own: one of them builds.
    let lock = File::create(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    let shared = ["-shared", "-fPIC", "-pthread"];
    let cuda = folder.join("libcuda.so.1");
    let named = ["-Wl,-soname,libcuda.so.1", "-Wl,-soname,libcupti.so.13"];
    compile(&cuda, "cc", "cuda.c", &[&shared[..], &[named[0], "-ldl"]].concat());
    let cuda = cuda.display().to_string();
    let cupti = [&shared[..], &[named[1], &cuda]].concat();
    compile(&folder.join("libcupti.so.13"), "cc", "cupti.c", &cupti);
    let without_clock = [&cupti[..], &["-DFAKE_WITHOUT_CLOCK"]].concat();
    compile(&folder.join("without-clock/libcupti.so.13"), "cc", "cupti.c", &without_clock);
    let program = ["-std=c++17", "-pthread", "-I", HEADERS, "-ldl"];
    compile(&folder.join("victim"), "c++", "victim.cpp", &program);
    folder
}

/// Compiles unless the file is newer than every source and the headers that matter.
fn compile(file: &Path, compiler: &str, source: &str, flags: &[&str]) {
    let changed = |path: &Path| std::fs::metadata(path).and_then(|meta| meta.modified());
    let sources = std::fs::read_dir(SOURCES).unwrap().flatten().map(|entry| entry.path());
    let newest = sources.filter_map(|path| changed(&path).ok()).max();
    if changed(file).ok() > newest {
        return;
    }
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let mut command = Command::new(compiler);
    command.args(["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-o"]).arg(file);
    command.arg(Path::new(SOURCES).join(source)).args(flags);
    assert!(command.status().expect(compiler).success(), "{command:?}");
}

/// libhodo.so as the test was built with it.
pub fn libhodo() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let library = test.with_file_name("libhodo_runtime.so");
    assert!(library.is_file(), "no {}", library.display());
    library
}

/// A program about to be run on the fakes, in a folder that is removed unless the test fails.
pub struct Victim {
    command: Command,
    pub folder: PathBuf,
    pub built: PathBuf,
}

impl Victim {
    /// The victim in `mode`, with everything as it would be on a machine with a GPU.
    pub fn new(mode: &str) -> Victim {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("capture-{mode}-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let built = built();
        let mut command = Command::new(built.join("victim"));
        let foreign = ["HODO", "CUDA_", "FAKE_"];
        for (key, _) in
            std::env::vars().filter(|(key, _)| foreign.iter().any(|f| key.starts_with(f)))
        {
            command.env_remove(key);
        }
        command
            .arg(mode)
            .current_dir(&folder)
            .env("HODO_DIR", folder.join("runs"))
            .env("HODO_GPU", "trace")
            .env("HODO_LIBRARY", libhodo())
            .env("HODO_CUPTI_PATH", built.join("libcupti.so.13"))
            .env("FAKE_CUDA", built.join("libcuda.so.1"));
        Victim { command, folder, built }
    }

    pub fn env(mut self, key: &str, value: impl AsRef<std::ffi::OsStr>) -> Victim {
        self.command.env(key, value);
        self
    }

    pub fn without(mut self, key: &str) -> Victim {
        self.command.env_remove(key);
        self
    }

    /// Runs it to an end that must be a good one.
    pub fn run(self) -> Ran {
        let ran = self.ends();
        assert!(ran.status.success(), "{}\n{}", ran.status, ran.stderr);
        ran
    }

    /// Runs it to its end, whatever that is.
    pub fn ends(mut self) -> Ran {
        let file = |name: &str| self.folder.join(name);
        let read = |name: &str| std::fs::read_to_string(self.folder.join(name)).unwrap();
        self.command.stdin(Stdio::null());
        self.command.stdout(File::create(file("stdout")).unwrap());
        self.command.stderr(File::create(file("stderr")).unwrap());
        let mut child = self.command.spawn().unwrap();
        let began = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if began.elapsed() > PATIENCE {
                child.kill().unwrap();
                panic!("the program hangs: {:?}\n{}", self.command, read("stderr"));
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let said = serde_json::Deserializer::from_str(&read("stdout"))
            .into_iter()
            .map(|value| value.unwrap_or_else(|e| panic!("{e}\n{}", read("stdout"))))
            .collect();
        Ran { status, stderr: read("stderr"), said, folder: self.folder }
    }
}

/// A program that has ended.
pub struct Ran {
    pub status: ExitStatus,
    pub stderr: String,
    /// What it printed: states of the capture, and the like.
    pub said: Vec<Value>,
    pub folder: PathBuf,
}

impl Ran {
    /// The last state it told.
    pub fn state(&self) -> &Value {
        self.said.last().unwrap_or(&Value::Null)
    }

    /// The runs it made, oldest first.
    pub fn runs(&self) -> Vec<Run> {
        let mut folders: Vec<PathBuf> = std::fs::read_dir(self.folder.join("runs"))
            .unwrap()
            .flatten()
            .map(|entry| entry.path())
            .collect();
        folders.sort();
        let open = |folder: &PathBuf| Run::open(folder, &ReadOptions::default()).unwrap();
        folders.iter().map(open).collect()
    }

    /// The only run.
    pub fn only(&self) -> Run {
        let mut runs = self.runs();
        assert_eq!(runs.len(), 1);
        runs.remove(0)
    }
}

impl Drop for Ran {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("left for a look: {}", self.folder.display());
        } else {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}
