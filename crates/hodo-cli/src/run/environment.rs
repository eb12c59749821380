//! The variables through which a program, and every process it starts, is recorded into one run.

use crate::args::{Gpu, RunArgs};
use hodo::Config;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// How a program is started.
pub struct Launch {
    /// The run it records into.
    pub run: PathBuf,
    /// Whether another `hodo run` started this one: that one says how it went.
    pub is_inner: bool,
    /// What its environment gets.
    pub variables: Vec<(&'static str, OsString)>,
    /// What the user should know before.
    pub notes: Vec<String>,
}

/// Variables that name a tool to load, and what is not recorded when it is another.
const INJECTIONS: [(&str, &str); 2] = [
    ("CUDA_INJECTION64_PATH", "GPU work is not recorded"),
    ("NVTX_INJECTION64_PATH", "NVTX ranges are not recorded"),
];

impl Launch {
    /// How to start the program of `args`; `hooks` is what a Python program runs as it starts.
    pub fn new(args: &RunArgs, dir: &Path, library: &Path, hooks: Option<&Path>) -> Launch {
        let read = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        Launch::from(args, dir, library, hooks, read)
    }

    fn from(
        args: &RunArgs,
        dir: &Path,
        library: &Path,
        hooks: Option<&Path>,
        read: impl Fn(&str) -> Option<OsString>,
    ) -> Launch {
        let joined = read("HODO_RUN").map(PathBuf::from);
        let app = args.name.clone().map(OsString::from).or_else(|| read("HODO_APP"));
        let app = app.unwrap_or_else(|| app_name(&args.command));
        let config = Config {
            app: Some(app.to_string_lossy().into_owned()),
            dir: Some(dir.to_owned()),
            run: joined.clone(),
            ..Config::default()
        };
        let run = config.run_folder();
        let is_inner = joined.is_some() && read("HODO_INJECT").is_some();
        let mut launch = Launch { run, is_inner, variables: Vec::new(), notes: Vec::new() };
        if joined.is_some() && !is_inner {
            let words = format!("HODO_RUN is set: joining {}", launch.run.display());
            launch.notes.push(words);
        }
        launch.set("HODO_RUN", launch.run.clone());
        launch.set("HODO_APP", app);
        launch.set("HODO_INJECT", "1");
        launch.set("HODO_GPU", args.gpu.word());
        if let Some(start) = hooks {
            launch.set("HODO_HOOKS", args.hooks.clone().unwrap_or_default());
            let paths = read("PYTHONPATH").unwrap_or_else(|| start.into());
            let paths = std::env::split_paths(&paths).filter(|path| path != start);
            // A folder with a colon in it cannot be on the path, nor be installed into.
            if let Ok(paths) = std::env::join_paths([start.to_owned()].into_iter().chain(paths)) {
                launch.set("PYTHONPATH", paths);
            }
        }
        for (name, without) in INJECTIONS {
            let wanted = args.gpu != Gpu::Off || name != "CUDA_INJECTION64_PATH";
            match read(name).filter(|theirs| theirs != library) {
                Some(_) if is_inner => {}
                Some(theirs) => launch.notes.push(format!(
                    "{name} is set to {}: kept, so {without}",
                    theirs.to_string_lossy()
                )),
                None if wanted => launch.set(name, library),
                None => {}
            }
        }
        launch
    }

    fn set(&mut self, name: &'static str, value: impl Into<OsString>) {
        self.variables.push((name, value.into()));
    }
}

/// What a command is about: its Python script or module, else the program.
fn app_name(command: &[OsString]) -> OsString {
    let is_script = |word: &&OsString| Path::new(word).extension() == Some(OsStr::new("py"));
    let module = command.iter().skip_while(|word| *word != "-m").nth(1);
    let stem = |word: &OsString| Path::new(word).file_stem().map(OsStr::to_owned);
    let script = command.iter().find(is_script).and_then(stem);
    let named = script.or_else(|| module.cloned()).or_else(|| command.first().and_then(stem));
    named.unwrap_or_else(|| "program".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(gpu: Gpu, name: Option<&str>) -> RunArgs {
        let command = vec!["python".into(), "src/train.py".into()];
        RunArgs {
            gpu,
            name: name.map(str::to_owned),
            monitor: None,
            hooks: None,
            open: false,
            quiet: false,
            command,
        }
    }

    fn launch(args: &RunArgs, set: &[(&str, &str)]) -> Launch {
        let read = |name: &str| {
            set.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        };
        let hooks = args.hooks.is_some().then_some(Path::new("/lib/start"));
        Launch::from(args, Path::new("/runs"), Path::new("/lib/libhodo.so"), hooks, read)
    }

    fn variable<'a>(launch: &'a Launch, name: &str) -> Option<&'a str> {
        launch.variables.iter().find(|(known, _)| *known == name)?.1.to_str()
    }

    #[test]
    fn a_run_is_named_after_what_is_run() {
        let name = |words: &[&str]| {
            app_name(&words.iter().map(OsString::from).collect::<Vec<_>>()).into_string().unwrap()
        };
        assert_eq!(name(&["python", "-u", "src/train.py", "--lr", "3"]), "train");
        assert_eq!(name(&["python", "-m", "package.train", "x"]), "package.train");
        assert_eq!(name(&["torchrun", "--nproc-per-node", "8", "train.py"]), "train");
        assert_eq!(name(&["/usr/bin/nvcc"]), "nvcc");
        assert_eq!(name(&["/"]), "program");
    }

    #[test]
    fn the_program_gets_the_run_and_the_library() {
        let launch = launch(&args(Gpu::Auto, None), &[]);
        assert!(
            launch.run.starts_with("/runs") && launch.run.to_string_lossy().contains("-train-")
        );
        assert_eq!(variable(&launch, "HODO_RUN"), launch.run.to_str());
        assert_eq!(variable(&launch, "HODO_APP"), Some("train"));
        assert_eq!(variable(&launch, "HODO_INJECT"), Some("1"));
        assert_eq!(variable(&launch, "HODO_GPU"), Some("auto"));
        assert_eq!(variable(&launch, "CUDA_INJECTION64_PATH"), Some("/lib/libhodo.so"));
        assert_eq!(variable(&launch, "NVTX_INJECTION64_PATH"), Some("/lib/libhodo.so"));
        assert!(launch.notes.is_empty() && !launch.is_inner);
    }

    #[test]
    fn what_the_user_set_is_kept_and_told() {
        let set = [("NVTX_INJECTION64_PATH", "/their.so"), ("HODO_RUN", "/runs/theirs")];
        let launch = launch(&args(Gpu::Off, Some("sweep")), &set);
        assert_eq!(variable(&launch, "NVTX_INJECTION64_PATH"), None);
        assert_eq!(variable(&launch, "CUDA_INJECTION64_PATH"), None);
        assert_eq!(variable(&launch, "HODO_GPU"), Some("off"));
        assert_eq!(variable(&launch, "HODO_APP"), Some("sweep"));
        assert_eq!(variable(&launch, "HODO_RUN"), Some("/runs/theirs"));
        assert_eq!(launch.notes.len(), 2, "{:?}", launch.notes);
        assert!(launch.notes[1].contains("/their.so") && launch.notes[1].contains("NVTX ranges"));
    }

    #[test]
    fn hooks_are_a_folder_on_the_path_of_python_and_once() {
        let asked = RunArgs { hooks: Some("torch".into()), ..args(Gpu::Auto, None) };
        for before in ["/mine", "/lib/start:/mine"] {
            let launch = launch(&asked, &[("PYTHONPATH", before)]);
            assert_eq!(variable(&launch, "PYTHONPATH"), Some("/lib/start:/mine"));
            assert_eq!(variable(&launch, "HODO_HOOKS"), Some("torch"));
        }
        assert_eq!(variable(&launch(&asked, &[]), "PYTHONPATH"), Some("/lib/start"));
        let launch = launch(&args(Gpu::Auto, None), &[("PYTHONPATH", "/mine")]);
        assert!(
            variable(&launch, "PYTHONPATH").is_none() && variable(&launch, "HODO_HOOKS").is_none()
        );
    }

    #[test]
    fn a_run_inside_a_run_joins_it_silently() {
        let set = [
            ("HODO_RUN", "/runs/outer"),
            ("HODO_INJECT", "1"),
            ("HODO_APP", "outer"),
            ("NVTX_INJECTION64_PATH", "/lib/libhodo.so"),
            ("CUDA_INJECTION64_PATH", "/lib/libhodo.so"),
        ];
        let launch = launch(&args(Gpu::Auto, None), &set);
        assert!(launch.is_inner && launch.notes.is_empty(), "{:?}", launch.notes);
        assert_eq!(variable(&launch, "HODO_RUN"), Some("/runs/outer"));
        assert_eq!(variable(&launch, "HODO_APP"), Some("outer"));
    }
}
