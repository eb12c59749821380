//! Colours and width on a real terminal.

use crate::program::{ID, folder, hodo};
use crate::samples;
use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::Path;

/// What `hodo` prints on a terminal of `columns` columns.
fn on_terminal(dir: &Path, columns: u16, args: &[&str], variables: &[(&str, &str)]) -> String {
    let (mut screen, terminal) = pair(columns);
    let mut command = hodo(dir, args);
    command.envs(variables.iter().copied()).stdout(terminal);
    let mut child = command.spawn().unwrap();
    // The terminal's other end must be closed for the screen to reach its end.
    drop(command);
    let mut text = Vec::new();
    // A closed terminal reads as an error on Linux.
    let _ = screen.read_to_end(&mut text);
    assert!(child.wait().unwrap().success());
    String::from_utf8(text).unwrap().replace("\r\n", "\n")
}

fn pair(columns: u16) -> (File, OwnedFd) {
    let (mut screen, mut terminal) = (0, 0);
    let size = libc::winsize { ws_row: 50, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the pointers are valid for the call; a null name and null settings are allowed.
    let made = unsafe {
        libc::openpty(&mut screen, &mut terminal, std::ptr::null_mut(), std::ptr::null(), &size)
    };
    assert_eq!(made, 0);
    // SAFETY: openpty just made both descriptors, and nothing else owns them.
    unsafe { (File::from_raw_fd(screen), OwnedFd::from_raw_fd(terminal)) }
}

#[test]
fn colours_appear_on_a_terminal_only_and_can_be_refused() {
    let dir = folder(&samples::training(100));
    let seen = |variables: &[(&str, &str)], args: &[&str]| {
        on_terminal(dir.path(), 100, &[&["report"], args].concat(), variables).contains('\x1b')
    };
    assert!(seen(&[], &[]));
    assert!(!seen(&[("NO_COLOR", "1")], &[]));
    assert!(!seen(&[("TERM", "dumb")], &[]));
    assert!(!seen(&[], &["--color", "never"]));
    assert!(seen(&[("NO_COLOR", "1")], &["--color", "always"]));
    let piped = |variables: &[(&str, &str)]| {
        let output =
            hodo(dir.path(), &["report"]).envs(variables.iter().copied()).output().unwrap();
        output.stdout.contains(&0x1b)
    };
    assert!(!piped(&[]));
    assert!(piped(&[("CLICOLOR_FORCE", "1")]));
}

#[test]
fn lines_fit_the_terminal() {
    let dir = folder(&samples::training(100));
    for columns in [50, 80, 132] {
        let text = on_terminal(dir.path(), columns, &["report"], &[("NO_COLOR", "1")]);
        let widest = text.lines().map(|l| l.chars().count()).max().unwrap();
        assert!(widest <= usize::from(columns), "{widest} of {columns}:\n{text}");
    }
}

#[test]
fn a_trace_is_not_thrown_at_a_terminal() {
    let dir = folder(&samples::training(100));
    for (format, ending) in [("perfetto", "pftrace"), ("chrome", "trace.json")] {
        let (_screen, terminal) = pair(80);
        let mut command = hodo(dir.path(), &["export", "--to", format]);
        let output = command.current_dir(dir.path()).stdout(terminal).output().unwrap();
        assert!(output.status.success());
        let file = dir.path().join(format!("{ID}.{ending}"));
        assert!(std::fs::metadata(&file).unwrap().len() > 0, "{format}");
    }
}
