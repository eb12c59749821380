//! What threads are called.

use crate::{ProcessInfo, Thread};

/// Bytes of a thread's name that Linux keeps.
const KEPT_BYTES: usize = 15;

/// A thread that nobody named has the program's name from the system: it is taken away from all
/// but the main thread, so that a view can tell them apart by number.
pub(super) fn forget_inherited_names(threads: &mut [Thread], info: &ProcessInfo) {
    let is_main = |thread: &Thread| thread.os_tid == info.pid;
    let main = threads.iter().find(|t| is_main(t)).map(|t| t.name.clone());
    let program = program(info);
    for thread in threads.iter_mut().filter(|t| !is_main(t)) {
        if main.as_ref() == Some(&thread.name) || program.as_ref() == Some(&thread.name) {
            thread.name.clear();
        }
    }
}

/// The program's name as the system gives it to threads.
fn program(info: &ProcessInfo) -> Option<String> {
    let name = info.argv.first()?.rsplit('/').next()?.as_bytes();
    Some(String::from_utf8_lossy(&name[..name.len().min(KEPT_BYTES)]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_main_thread_keeps_the_programs_name() {
        let thread = |os_tid, name: &str| Thread { os_tid, name: name.into(), ..Thread::default() };
        let info = |program: &str| ProcessInfo {
            pid: 7,
            argv: vec![program.into(), "--fast".into()],
            ..ProcessInfo::default()
        };
        let names = |mut threads: Vec<Thread>, info: &ProcessInfo| {
            forget_inherited_names(&mut threads, info);
            threads.into_iter().map(|t| t.name).collect::<Vec<_>>()
        };
        let found = vec![thread(7, "train"), thread(8, "train"), thread(9, "loader")];
        assert_eq!(names(found, &info("python3")), ["train", "", "loader"]);
        let without_main = vec![thread(8, "a-program-with-"), thread(9, "pool")];
        assert_eq!(names(without_main, &info("/bin/a-program-with-a-long-name")), ["", "pool"]);
    }
}
