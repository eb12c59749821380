//! `hodo top` on a real terminal and in a pipe.

use crate::live::Demo;
use crate::made::Folder;
use crate::program::{hodo, is_same_as, run, same_as, stdout};
use crate::readings;
use crate::tmux::Tmux;

const RUN: &str = "20261115-201500-hodo_monitor-aaaaaa";

/// Rows and columns that are used.
fn size(screen: &str) -> (usize, usize) {
    let width = |line: &str| line.trim_end().chars().count();
    (screen.lines().map(width).max().unwrap_or(0), screen.trim_end().lines().count())
}

/// A terminal with a recording of `gpus` GPUs played to its end.
fn replayed(gpus: u32, columns: u16, rows: u16) -> Option<(Folder, Tmux)> {
    let dir = Folder::new();
    readings::write(dir.path(), RUN, gpus, 60);
    let tmux = Tmux::start(columns, rows, dir.path())?;
    tmux.line("NO_COLOR=1 hodo top --replay --speed 1000000");
    tmux.wait("the end of the recording", |screen| screen.contains("replay: 59.0 s of 59.0 s"));
    Some((dir, tmux))
}

#[test]
fn one_and_eight_gpus_at_both_sizes() {
    for (gpus, columns, rows) in [(1, 80, 24), (8, 80, 24), (1, 200, 60), (8, 200, 60)] {
        let Some((_dir, tmux)) = replayed(gpus, columns, rows) else { return };
        // A frame may be seen half drawn, and its last line is as it was before.
        let file = format!("top-{gpus}-gpus-{columns}x{rows}.txt");
        let screen = tmux.wait("the whole frame", |screen| is_same_as(screen, &file));
        let (wide, high) = size(&screen);
        assert!(wide <= columns.into() && high <= rows.into(), "{wide}x{high}:\n{screen}");
        assert!(wide > usize::from(columns) / 2, "{screen}");
        let is_gpu = |line: &&str| line.contains("/700 W");
        assert_eq!(screen.lines().filter(is_gpu).count(), gpus as usize, "{screen}");
        assert!(screen.contains("tensor") && screen.contains("CPU"), "{screen}");
        same_as(&screen, &file);
    }
}

#[test]
fn it_follows_the_size_of_the_terminal() {
    let Some((_dir, tmux)) = replayed(8, 80, 24) else { return };
    tmux.resize(160, 40);
    // A frame may be seen half drawn.
    let is_whole = |screen: &str| screen.contains("SM clock") && screen.contains("q quit");
    let screen = tmux.wait("a wider frame", is_whole);
    assert!(size(&screen).0 > 100, "{screen}");
    assert!(screen.lines().nth(39).is_some_and(|line| line.starts_with("q quit")), "{screen}");
    tmux.resize(40, 10);
    tmux.wait("a smaller frame", |screen| {
        screen.starts_with("hodo top") && screen.contains("q quit  Tab") && size(screen).1 <= 10
    });
}

#[test]
fn the_terminal_is_given_back_on_quit_and_on_sigterm() {
    let dir = Folder::new();
    readings::write(dir.path(), RUN, 1, 60);
    let Some(tmux) = Tmux::start(80, 24, dir.path()) else { return };
    tmux.line("echo as before");
    for end in ["q", "Escape", "C-c", "SIGTERM"] {
        tmux.line("hodo top --replay; echo ended $?");
        tmux.wait("a frame", |screen| screen.starts_with("hodo top  trainer"));
        assert!(!tmux.is_given_back());
        if end == "SIGTERM" {
            // SAFETY: a plain call; the process is the one that the shell waits for.
            unsafe { libc::kill(tmux.child() as libc::pid_t, libc::SIGTERM) };
        } else {
            tmux.key(end);
        }
        let code = if end == "SIGTERM" { "ended 143" } else { "ended 0" };
        let screen = tmux.wait(end, |screen| screen.contains(code));
        assert!(screen.contains("as before") && !screen.contains("SM clock"), "{screen}");
        assert!(tmux.is_given_back(), "after {end}");
        // Not before the prompt: what is typed while the screen is cleared goes with it.
        tmux.line("clear; echo as before");
        tmux.wait("the prompt on a clear screen", |screen| screen.trim_end() == "as before\n$");
    }
    tmux.line("stty -a | tr ';' '\\n' | grep -o '[-]*icanon.* [-]*echo '");
    tmux.wait("an ordinary terminal", |screen| screen.contains("\nicanon"));
}

#[test]
fn keys_turn_panes_hold_still_and_explain_themselves() {
    let Some((_dir, tmux)) = replayed(8, 80, 24) else { return };
    tmux.key("?");
    tmux.wait("the keys", |screen| screen.contains("the next pane, the one before"));
    tmux.key("Escape");
    tmux.wait("the frame again", |screen| !screen.contains("the next pane"));
    tmux.key("Space");
    tmux.wait("the words that it stands still", |screen| screen.contains("held still"));
    tmux.key("Left");
    tmux.wait("ten seconds before", |screen| screen.contains("replay: 49.0 s"));
    tmux.key("s");
    tmux.wait("another order", |screen| screen.contains("s order (rate)"));
}

#[test]
fn a_run_that_records_is_shown_while_it_does() {
    let dir = Folder::new();
    let demo = Demo::start(dir.path());
    let Some(tmux) = Tmux::start(120, 40, dir.path()) else { return };
    tmux.line("NO_COLOR=1 hodo top --interval 200ms");
    let screen = tmux.wait("the scopes of the demo", |screen| {
        ["demo  1 process live", "train", "epoch", "batch", "forward", "nothing lost"]
            .iter()
            .all(|words| screen.contains(words))
    });
    let train = screen.lines().find(|line| line.trim_start().starts_with("train ")).unwrap();
    assert!(train.contains(" s ") || train.contains(" ms "), "open, and how long: {train}");
    for (pane, words) in [("Kernels", "no GPU work"), ("Slowest", "x mean"), ("Marks", "loss")] {
        tmux.key("Tab");
        tmux.wait(pane, |screen| screen.contains(&format!("[{pane}]")) && screen.contains(words));
    }
    drop(demo);
    tmux.wait("the end of the run", |screen| screen.contains("demo  ended"));
    tmux.key("q");
    tmux.wait("the shell", |_| tmux.is_given_back());
}

#[test]
fn one_frame_as_text_in_a_pipe_and_where_nothing_can_be_drawn() {
    let dir = Folder::new();
    let text = stdout(dir.path(), &["top", "--interval", "100ms"]);
    assert!(text.starts_with("hodo top  ") && text.contains("CPU") && text.contains("memory"));
    assert!(text.contains("no run is recording on this host"), "{text}");
    assert!(!text.contains('\x1b'));
    readings::write(dir.path(), RUN, 2, 30);
    let text = stdout(dir.path(), &["top", "--replay", "--once"]);
    assert!(text.contains("trainer") && text.contains("29.0 s of 29.0 s"), "{text}");
    let Some(tmux) = Tmux::start(80, 24, dir.path()) else { return };
    tmux.line("TERM=dumb hodo top --interval 100ms; echo ended $?");
    let screen = tmux.wait("the frame as text", |screen| screen.contains("ended 0"));
    assert!(screen.contains("cannot be drawn on") && tmux.is_given_back(), "{screen}");
}

#[test]
fn what_makes_no_sense_is_refused_with_a_hint() {
    let dir = Folder::new();
    let refused = |args: &[&str], code: i32, words: &str| {
        let output = run(dir.path(), args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(words), "{said}");
    };
    refused(&["top", "--interval", "soon"], 2, "--interval 1s");
    refused(&["top", "--speed", "3"], 2, "--replay");
    refused(&["top", "--replay", "--speed", "0"], 2, "--speed");
    refused(&["top", "nothing"], 1, "nothing");
    let made = crate::program::folder(&crate::samples::training(100));
    let output = hodo(made.path(), &["top", "--replay", "--once"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("has no readings of a machine") && said.contains("hodo monitor"),
        "{said}"
    );
}
