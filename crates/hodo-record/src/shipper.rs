//! Starts the program that ships the run, where `HODO_SERVER` names a collector.
//!
//! The program is nobody's child: a helper in between starts it and is gone at once. The helper has
//! no exit signal, so the host gets no SIGCHLD and its `wait` never sees a process it did not start;
//! it has descriptors of its own, of which it closes all, so nothing of the host's stays open. It
//! takes a millisecond or two; whether it worked, health tells.

use crate::process::Process;
use crate::{run, signals};
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, Ordering};

/// Names the program, where it is not beside this library or on the path.
const PROGRAM: &str = "HODO_BIN";
/// What must not follow into the shipper: libraries that others put into the host.
const LEFT_OUT: [&str; 5] =
    ["LD_PRELOAD", "LD_AUDIT", "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "HODO_INJECT"];
/// More than the helper's few calls need.
const STACK_BYTES: usize = 128 << 10;

/// Why the run is not shipped; empty when it is, or is not to be. Never waited for: in a forked
/// child a thread that is not there may hold it.
static TROUBLE: Mutex<String> = Mutex::new(String::new());

/// The shipper that was started; 0 where there is none to wait for.
static STARTED: AtomicI32 = AtomicI32::new(0);

/// Takes note of the shipper's end where it has become our child after all: the first process of a
/// container inherits all whose parents are gone, and few of them wait for those they do not know.
pub fn bury() {
    let shipper = STARTED.load(Ordering::Relaxed);
    // SAFETY: asks for that process alone, without waiting; where it is no child of ours, nothing
    // happens and it is not asked for again.
    if shipper > 0 && unsafe { libc::waitpid(shipper, std::ptr::null_mut(), libc::WNOHANG) } != 0 {
        STARTED.store(0, Ordering::Relaxed);
    }
}

/// Why the run is not shipped, if it should be.
pub fn trouble() -> Option<String> {
    let trouble = TROUBLE.try_lock().ok()?;
    (!trouble.is_empty()).then(|| trouble.clone())
}

/// Starts a shipper for the run of `process`, if one is wanted. Only for a recorder that was started
/// by name: a forked child's files are shipped by its parent's.
pub fn start(process: &Process) {
    keep("");
    let read = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if read("HODO_SERVER").is_none() || !process.identity.run.is_dir() {
        return;
    }
    // Whoever launched the host ships from this machine.
    if read("HODO_SHIPPER").is_some_and(|host| host == OsStr::new(&run::host())) {
        return;
    }
    let started = program(read).and_then(|program| {
        let errand = Errand::new(&program, &process.identity.run)?;
        // Not on a thread: a program may be over before that begins.
        signals::with_all_blocked(|| errand.run())
    });
    if let Err(why) = started {
        complain(&why);
    }
}

fn complain(why: &str) {
    let why = format!("not shipped: {why}; `hodo push` sends the run later");
    crate::warn(&why);
    keep(&why);
}

fn keep(why: &str) {
    if let Ok(mut trouble) = TROUBLE.try_lock() {
        why.clone_into(&mut trouble);
    }
}

/// The `hodo` program: as it is said, beside this library, or on the path.
fn program(read: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, String> {
    if let Some(said) = read(PROGRAM).map(PathBuf::from) {
        let why = || format!("{PROGRAM} names {}, which is no program", said.display());
        return if is_program(&said) { Ok(said) } else { Err(why()) };
    }
    let path = read("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join("hodo"));
    let mut found = beside(&library()).into_iter().chain(on_path);
    found.find(|path| is_program(path)).ok_or_else(|| {
        format!("the hodo program is neither beside the library nor on the PATH; set {PROGRAM}")
    })
}

/// Where the program lies as seen from a library of hodo: in a package of Python, in an installed
/// tree, or where both were built.
fn beside(library: &Path) -> Vec<PathBuf> {
    let name = library.file_name().unwrap_or_default().to_string_lossy();
    match library.parent() {
        Some(folder) if name.contains("hodo") => {
            ["bin/hodo", "../bin/hodo", "hodo"].map(|path| folder.join(path)).into()
        }
        _ => Vec::new(),
    }
}

/// The file that this code was loaded from.
fn library() -> PathBuf {
    // SAFETY: asks the loader about an address of our own; the name it gives stays.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        let here = library as *const () as *const libc::c_void;
        if libc::dladdr(here, &mut info) == 0 || info.dli_fname.is_null() {
            return PathBuf::new();
        }
        let name = std::ffi::CStr::from_ptr(info.dli_fname);
        std::path::absolute(OsStr::from_bytes(name.to_bytes())).unwrap_or_default()
    }
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// All that the helper needs, made before it is there: it must not allocate.
struct Errand {
    program: CString,
    words: Vec<CString>,
    variables: Vec<CString>,
}

impl Errand {
    fn new(program: &Path, run: &Path) -> Result<Errand, String> {
        let text = |text: &OsStr| {
            CString::new(text.as_bytes()).map_err(|_| "a path has a zero byte in it".to_owned())
        };
        let words = ["hodo".as_ref(), "ship".as_ref(), "--detached".as_ref(), run.as_os_str()];
        let variable = |(name, value): (OsString, OsString)| {
            let kept = !LEFT_OUT.iter().any(|out| name == *out);
            let bytes = [name.into_vec(), value.into_vec()].join(&b'=');
            kept.then(|| CString::new(bytes).ok()).flatten()
        };
        Ok(Errand {
            program: text(program.as_os_str())?,
            words: words.into_iter().map(text).collect::<Result<_, _>>()?,
            variables: std::env::vars_os().filter_map(variable).collect(),
        })
    }

    /// Starts the program; this thread waits until it runs.
    fn run(&self) -> Result<(), String> {
        let pointers = |texts: &[CString]| -> Vec<*mut libc::c_char> {
            let texts = texts.iter().map(|text| text.as_ptr().cast_mut());
            texts.chain([std::ptr::null_mut()]).collect()
        };
        let (words, variables) = (pointers(&self.words), pointers(&self.variables));
        let mut stack = vec![0u8; STACK_BYTES];
        // SAFETY: the attributes are made before they are used and given back after. The helper
        // shares memory with this thread, which stands still until the helper has ended, and runs on
        // a stack of its own; all it points to outlives it. Signals are blocked in this thread, so
        // none of the host's handlers runs in it.
        unsafe {
            let mut attributes: libc::posix_spawnattr_t = std::mem::zeroed();
            libc::posix_spawnattr_init(&mut attributes);
            let (mut none, mut all): (libc::sigset_t, libc::sigset_t) = std::mem::zeroed();
            libc::sigemptyset(&mut none);
            libc::sigfillset(&mut all);
            libc::posix_spawnattr_setsigmask(&mut attributes, &none);
            libc::posix_spawnattr_setsigdefault(&mut attributes, &all);
            let flags = libc::POSIX_SPAWN_SETSIGMASK | libc::POSIX_SPAWN_SETSIGDEF;
            libc::posix_spawnattr_setflags(&mut attributes, flags as libc::c_short);
            let mut task = Task {
                program: self.program.as_ptr(),
                words: words.as_ptr(),
                variables: variables.as_ptr(),
                attributes: &raw const attributes,
                started: 0,
            };
            let top = stack.as_mut_ptr().add(STACK_BYTES & !15).cast();
            let flags = libc::CLONE_VM | libc::CLONE_VFORK;
            let helper = libc::clone(help, top, flags, (&raw mut task).cast());
            let error = std::io::Error::last_os_error();
            let mut status = 0;
            if helper != -1 {
                libc::waitpid(helper, &mut status, libc::__WCLONE);
            }
            libc::posix_spawnattr_destroy(&mut attributes);
            match (helper, libc::WEXITSTATUS(status)) {
                (-1, _) => Err(format!("cannot start the shipper: {error}")),
                (_, 0) => {
                    STARTED.store(task.started, Ordering::Relaxed);
                    Ok(())
                }
                (_, number) => Err(format!(
                    "cannot start {}: {}",
                    self.program.to_string_lossy(),
                    std::io::Error::from_raw_os_error(number)
                )),
            }
        }
    }
}

#[repr(C)]
struct Task {
    program: *const libc::c_char,
    words: *const *mut libc::c_char,
    variables: *const *mut libc::c_char,
    attributes: *const libc::posix_spawnattr_t,
    /// What the helper tells: the process it started.
    started: libc::pid_t,
}

/// The helper: nothing but system calls, in the memory of the host and with descriptors of its own.
extern "C" fn help(task: *mut libc::c_void) -> libc::c_int {
    // SAFETY: the starter's task, which waits for us; the descriptors are a copy of the host's.
    unsafe {
        let task = &mut *task.cast::<Task>();
        close_all();
        for descriptor in 0..3 {
            let flags = if descriptor == 0 { libc::O_RDONLY } else { libc::O_WRONLY };
            // All are closed, so each gets the lowest number.
            libc::open(c"/dev/null".as_ptr(), flags);
        }
        libc::posix_spawn(
            &mut task.started,
            task.program,
            std::ptr::null(),
            task.attributes,
            task.words,
            task.variables,
        )
    }
}

/// Closes every descriptor of the helper.
unsafe fn close_all() {
    /// Where the kernel cannot close all at once and the limit is no limit.
    const MOST: libc::rlim_t = 1 << 16;
    // SAFETY: plain calls on descriptors that are the helper's own.
    unsafe {
        if libc::syscall(libc::SYS_close_range, 0, u32::MAX, 0) == 0 {
            return;
        }
        let mut limit = libc::rlimit { rlim_cur: MOST, rlim_max: MOST };
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        for descriptor in 0..limit.rlim_cur.min(MOST) {
            libc::close(descriptor as libc::c_int);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(folder: &Path, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = folder.join("hodo");
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("hodo-shipper-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn the_program_is_found_as_said_beside_and_on_the_path() {
        let folder = folder("find");
        let own = script(&folder, "");
        let found = program(|name| (name == PROGRAM).then(|| own.clone().into()));
        assert_eq!(found, Ok(own.clone()));
        let found = program(|name| (name == "PATH").then(|| folder.clone().into()));
        assert_eq!(found, Ok(own));
        let wrong = program(|name| (name == PROGRAM).then(|| "/nowhere/hodo".into()));
        assert!(wrong.unwrap_err().contains("HODO_BIN names /nowhere/hodo"));
        let none = program(|_| None);
        assert!(none.unwrap_err().contains("neither beside the library nor on the PATH"));
        let package = beside(Path::new("/site/hodo/_hodo.abi3.so"));
        assert_eq!(package[0], Path::new("/site/hodo/bin/hodo"));
        assert!(beside(Path::new("/usr/bin/train")).is_empty(), "not beside a program of others");
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// As the first process of a container, which gets what others leave behind.
    fn inherits_and_buries(folder: &Path) {
        let inherits = |on: libc::c_ulong| {
            // SAFETY: of this process alone, and taken back below.
            assert_eq!(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, on, 0, 0, 0) }, 0);
        };
        let errand = Errand::new(&script(folder, "exit 0"), Path::new("/x")).unwrap();
        inherits(1);
        signals::with_all_blocked(|| errand.run()).unwrap();
        inherits(0);
        let shipper = STARTED.load(Ordering::Relaxed);
        assert!(shipper > 0 && Path::new(&format!("/proc/{shipper}")).exists());
        while STARTED.load(Ordering::Relaxed) != 0 {
            bury();
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert!(!Path::new(&format!("/proc/{shipper}")).exists(), "it is left as a zombie");
    }

    /// The program gets its words, none of our descriptors, and is no child of ours.
    #[test]
    fn what_is_started_is_nobodys_child_and_holds_nothing() {
        let folder = folder("start");
        let out = folder.join("told");
        let part = folder.join("told.part");
        let told = format!(
            "{{ echo \"$@\"; ls /proc/$$/fd | sort -n | tail -1; cut -d' ' -f4 /proc/$$/stat; }} > {0}; mv {0} {1}",
            part.display(),
            out.display()
        );
        let own = script(&folder, &told);
        // A descriptor that is not closed by an exec.
        let file = std::fs::File::open("/dev/null").unwrap();
        use std::os::fd::AsRawFd;
        // SAFETY: a copy of an open descriptor, closed below.
        let left_open = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD, 77) };
        assert!(left_open >= 77);
        let errand = Errand::new(&own, Path::new("/a run")).unwrap();
        signals::with_all_blocked(|| errand.run()).unwrap();
        while !out.exists() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        // SAFETY: opened above.
        unsafe { libc::close(left_open) };
        let told = std::fs::read_to_string(&out).unwrap();
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(lines[0], "ship --detached /a run");
        // A shell has its script open at 10 or 255; nothing of ours is there.
        assert_ne!(lines[1], left_open.to_string());
        assert_ne!(lines[2], std::process::id().to_string(), "it is not our child");
        bury();
        assert_eq!(STARTED.load(Ordering::Relaxed), 0, "no child of ours is waited for");
        inherits_and_buries(&folder);
        let missing = Errand::new(&folder.join("none"), Path::new("/x")).unwrap();
        let why = signals::with_all_blocked(|| missing.run()).unwrap_err();
        assert!(why.contains("No such file"), "{why}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
