//! The run's folder: where it is, and the two JSON files that say what was recorded.

use crate::clock::nanoseconds;
use crate::config::Config;
use crate::json::Object;
use crate::rank::Rank;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What a process is and where it records; fixed at its start.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Random half of its ids.
    pub process: u64,
    /// The run's folder.
    pub run: PathBuf,
    /// The process's own folder in it.
    pub folder: PathBuf,
    /// Name of the program.
    pub app: String,
    /// Its arguments.
    pub argv: Vec<String>,
    /// Its place in a distributed job.
    pub rank: Rank,
    /// Wall time at its start.
    pub start_ns: u64,
    /// The process and scope it was started in: 16 hex digits each.
    pub parent: Option<(String, String)>,
}

impl Config {
    /// The folder of the run that a recorder with this configuration joins, or of a new one: for a
    /// launcher, which passes it on in `HODO_RUN`. Nothing is made.
    pub fn run_folder(&self) -> PathBuf {
        let rank = Rank::detect(|name| std::env::var(name).ok());
        folder(self, &rank, nanoseconds(libc::CLOCK_REALTIME), random())
    }
}

/// The run's folder: as it is said, else named by the job that all ranks share, else a new one.
fn folder(config: &Config, rank: &Rank, start_ns: u64, random: u64) -> PathBuf {
    let run = config.run.clone().unwrap_or_else(|| {
        let app = clean(&config.app_name());
        let name = match &rank.job {
            Some(job) => format!("{app}-{}", clean(job)),
            None => format!("{}-{app}-{:06x}", stamp(start_ns), random >> 40),
        };
        config.dir.clone().unwrap_or_else(|| ".hodo".into()).join(name)
    });
    std::path::absolute(&run).unwrap_or(run)
}

impl Identity {
    /// A new identity for this process.
    pub fn new(config: &Config) -> Identity {
        let process = random();
        let start_ns = nanoseconds(libc::CLOCK_REALTIME);
        let rank = Rank::detect(|name| std::env::var(name).ok());
        let app = config.app_name();
        let run = folder(config, &rank, start_ns, process);
        let pid = std::process::id();
        let folder = run.join(format!("p{pid}-{:08x}", process as u32));
        let argv = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
        let parent = config.parent.as_deref().and_then(split_id);
        Identity { process, run, folder, app, argv, rank, start_ns, parent }
    }

    /// Makes the folders and writes both JSON files, if they are not there.
    pub fn establish(&self, clock: &str, arena: Option<&str>) -> std::io::Result<()> {
        std::fs::create_dir_all(&self.folder)?;
        let own = format!("json.{:016x}", self.process);
        write_new(&self.run.join("run.json"), &own, &self.run_json())?;
        write_new(&self.folder.join("process.json"), &own, &self.process_json(clock, arena))
    }

    fn run_json(&self) -> String {
        let cwd = std::env::current_dir().unwrap_or_default();
        let id = self.run.file_name().unwrap_or_default().to_string_lossy();
        Object::default()
            .number("format", 1)
            .text("id", &id)
            .text("app", &self.app)
            .texts("argv", &self.argv)
            .text("cwd", &cwd.to_string_lossy())
            .maybe_text("git_revision", git_revision(&cwd).as_deref())
            .text("host", &host())
            .number("pid", std::process::id().into())
            .maybe_number("rank", self.rank.rank)
            .maybe_number("world_size", self.rank.world_size)
            .text("hodo", env!("CARGO_PKG_VERSION"))
            .number("start_ns", self.start_ns)
            .finish()
    }

    fn process_json(&self, clock: &str, arena: Option<&str>) -> String {
        let parent = self.parent.as_ref().map_or("null".into(), |(process, span)| {
            let object = Object::default().text("process", process).text("span", span);
            object.finish().split_whitespace().collect::<String>()
        });
        // SAFETY: getppid has no failure.
        let parent_pid = unsafe { libc::getppid() } as u64;
        Object::default()
            .number("format", 1)
            .text("process", &format!("{:016x}", self.process))
            .number("pid", std::process::id().into())
            .number("parent_pid", parent_pid)
            .text("host", &host())
            .texts("argv", &self.argv)
            .maybe_number("rank", self.rank.rank)
            .maybe_number("local_rank", self.rank.local_rank)
            .maybe_number("world_size", self.rank.world_size)
            .number("start_ns", self.start_ns)
            .text("clock", clock)
            .maybe_text("arena", arena)
            .raw("parent", &parent)
            .finish()
    }
}

/// Writes a file that appears whole or not at all, and leaves one that is there.
fn write_new(path: &Path, own: &str, text: &str) -> std::io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    let part = path.with_extension(own);
    let written = std::fs::File::create(&part).and_then(|mut file| file.write_all(text.as_bytes()));
    // A link fails where the name exists, so of two processes one writes the run's file.
    let linked = written.and_then(|()| match std::fs::hard_link(&part, path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(_) => std::fs::copy(&part, path).map(drop),
        Ok(()) => Ok(()),
    });
    let _ = std::fs::remove_file(&part);
    linked
}

/// 64 random bits.
pub fn random() -> u64 {
    let mut bytes = [0u8; 8];
    // SAFETY: the buffer is valid for eight bytes.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if got == 8 {
        return u64::from_le_bytes(bytes);
    }
    let mixed = nanoseconds(libc::CLOCK_REALTIME) ^ crate::clock::counter().rotate_left(32);
    mixed ^ u64::from(std::process::id())
}

/// Name of this machine.
pub fn host() -> String {
    let mut name = [0u8; 256];
    // SAFETY: the buffer is valid for its length, and stays NUL-terminated by its last byte.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let end = name.iter().position(|&b| b == 0).unwrap_or(0);
    String::from_utf8_lossy(&name[..end]).into_owned()
}

/// `YYYYMMDD-HHMMSS` in UTC.
fn stamp(wall_ns: u64) -> String {
    let seconds = (wall_ns / 1_000_000_000) as libc::time_t;
    // SAFETY: a zeroed tm is valid to be filled.
    let time = unsafe {
        let mut time: libc::tm = std::mem::zeroed();
        libc::gmtime_r(&seconds, &mut time);
        time
    };
    format!(
        "{:04}{:02}{:02}-{:02}{:02}{:02}",
        time.tm_year + 1900,
        time.tm_mon + 1,
        time.tm_mday,
        time.tm_hour,
        time.tm_min,
        time.tm_sec
    )
}

/// `text` as part of a folder's name.
pub fn clean(text: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-' || c == '.';
    let text: String = text.chars().take(48).map(|c| if fits(c) { c } else { '_' }).collect();
    if text.starts_with('.') { format!("_{text}") } else { text }
}

/// Process and span of a 32-digit id.
fn split_id(id: &str) -> Option<(String, String)> {
    let good = id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit());
    good.then(|| (id[..16].to_string(), id[16..].to_string()))
}

/// The commit that is checked out around `folder`, read without running git.
fn git_revision(folder: &Path) -> Option<String> {
    let dot_git = folder.ancestors().map(|f| f.join(".git")).find(|path| path.exists())?;
    let git = match std::fs::read_to_string(&dot_git) {
        Ok(text) => folder.join(text.strip_prefix("gitdir:")?.trim()),
        Err(_) => dot_git,
    };
    let head = std::fs::read_to_string(git.join("HEAD")).ok()?;
    let Some(name) = head.trim().strip_prefix("ref: ") else { return Some(head.trim().into()) };
    if let Ok(hash) = std::fs::read_to_string(git.join(name)) {
        return Some(hash.trim().into());
    }
    let packed = std::fs::read_to_string(git.join("packed-refs")).ok()?;
    let line = packed.lines().find(|line| line.ends_with(&format!(" {name}")))?;
    line.split(' ').next().map(str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_and_names_make_folder_names() {
        assert_eq!(stamp(1_700_000_000_000_000_000), "20231114-221320");
        assert_eq!(clean("../a b"), "_.._a_b");
        assert_eq!(split_id("00"), None);
        let id = format!("{:016x}{:016x}", 1, 2);
        assert_eq!(split_id(&id), Some(("0000000000000001".into(), "0000000000000002".into())));
    }
}
