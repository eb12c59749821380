//! Running the program.

use crate::made::{self, Folder, Made};
use std::path::Path;
use std::process::{Command, Output};

/// The program.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_hodo");

/// Variables that change what the program prints.
const VARIABLES: [&str; 23] = [
    "CI",
    "NO_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "HODO",
    "HODO_APP",
    "HODO_BIN",
    "HODO_CA",
    "HODO_DIR",
    "HODO_GPU",
    "HODO_HOOKS",
    "HODO_INJECT",
    "HODO_LIBRARY",
    "HODO_PLAIN_HTTP",
    "HODO_RUN",
    "HODO_SERVER",
    "HODO_SHIPPER",
    "HODO_SQL",
    "HODO_TOKEN",
    "HODO_TOKEN_FILE",
    "CUDA_INJECTION64_PATH",
    "NVTX_INJECTION64_PATH",
];

/// `hodo` with a clean environment, reading the runs in `dir`.
pub fn hodo(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    for variable in VARIABLES {
        command.env_remove(variable);
    }
    command.env("TERM", "xterm").env("HODO_DIR", dir).args(args);
    command
}

/// Runs `hodo` and waits for it.
pub fn run(dir: &Path, args: &[&str]) -> Output {
    hodo(dir, args).output().unwrap()
}

/// What `hodo` prints when all is well.
pub fn stdout(dir: &Path, args: &[&str]) -> String {
    let output = run(dir, args);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "hodo {args:?}: {:?} {errors}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// A folder with one run.
pub fn folder(run: &Made) -> Folder {
    let dir = Folder::new();
    made::write(dir.path(), ID, &[run]);
    dir
}

/// The id of the run in [`folder`].
pub const ID: &str = "20261115-201500-train-aaaaaa";

fn path(file: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/expected").join(file)
}

fn expected(file: &str) -> String {
    std::fs::read_to_string(path(file)).unwrap_or_default()
}

/// Whether `text` is what a file in `expected/` has, or is to have.
pub fn is_same_as(text: &str, file: &str) -> bool {
    std::env::var_os("HODO_BLESS").is_some() || expected(file) == text
}

/// Compares `text` with a file in `expected/`; HODO_BLESS=1 writes it.
#[track_caller]
pub fn same_as(text: &str, file: &str) {
    if std::env::var_os("HODO_BLESS").is_some() {
        let path = path(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let expected = expected(file);
    let differs = expected.lines().zip(text.lines()).find(|(a, b)| a != b);
    assert!(
        expected == text,
        "not as in {file}; first difference: {differs:#?}\n--- printed:\n{text}"
    );
}
