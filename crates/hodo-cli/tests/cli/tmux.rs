//! A real terminal: tmux, its keys and what stands on its screen.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A server of its own with one shell in one window; it ends with this.
pub struct Tmux {
    socket: String,
}

impl Tmux {
    /// A terminal of that size, with `dir` as the folder of the runs; none without tmux.
    pub fn start(columns: u16, rows: u16, dir: &Path) -> Option<Tmux> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        if Command::new("tmux").arg("-V").output().is_err() {
            eprintln!("not checked: there is no tmux (`make test` installs it)");
            return None;
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let tmux = Tmux { socket: format!("hodo-{}-{number}", std::process::id()) };
        let program = Path::new(crate::program::PROGRAM).parent().unwrap();
        let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let mut command = Command::new("tmux");
        command
            .args(["-L", &tmux.socket, "-u", "-f", "/dev/null"])
            .args(["new-session", "-d", "-x", &columns, "-y", &rows, "env", "-u", "ENV", "sh"])
            .args([";", "set-option", "-g", "status", "off"])
            .args([";", "set-option", "-g", "window-size", "manual"])
            .args([";", "resize-window", "-x", &columns, "-y", &rows])
            .env("PATH", path)
            .env("HODO_DIR", dir)
            .env("LC_ALL", "C.UTF-8")
            .env("PS1", "$ ")
            .env_remove("NO_COLOR")
            .env_remove("HODO_RUN");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(tmux)
    }

    pub fn ask(&self, args: &[&str]) -> String {
        let output = Command::new("tmux").args(["-L", &self.socket]).args(args).output().unwrap();
        assert!(output.status.success(), "{args:?} {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// What stands on the screen.
    pub fn screen(&self) -> String {
        self.ask(&["capture-pane", "-p"])
    }

    /// Types a line.
    pub fn line(&self, text: &str) {
        // A semicolon at the end would divide tmux's own commands.
        let text = text.strip_suffix(';').map_or(text.to_owned(), |rest| format!("{rest}\\;"));
        self.ask(&["send-keys", "-l", &text]);
        self.ask(&["send-keys", "Enter"]);
    }

    /// Presses a key by its name in tmux.
    pub fn key(&self, name: &str) {
        self.ask(&["send-keys", name]);
    }

    pub fn resize(&self, columns: u16, rows: u16) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.ask(&["resize-window", "-x", &columns, "-y", &rows]);
    }

    /// Waits until the screen is as wanted, and gives it.
    #[track_caller]
    pub fn wait(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let patience = Instant::now() + Duration::from_secs(180);
        loop {
            let screen = self.screen();
            if wanted(&screen) {
                return screen;
            }
            assert!(Instant::now() < patience, "{what} did not come; the screen is:\n{screen}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Whether the shell's own screen is shown, with its cursor.
    pub fn is_given_back(&self) -> bool {
        self.ask(&["display-message", "-p", "#{alternate_on} #{cursor_flag}"]).trim() == "0 1"
    }

    /// The process that the shell runs.
    pub fn child(&self) -> u32 {
        let shell = self.ask(&["display-message", "-p", "#{pane_pid}"]);
        let shell = shell.trim();
        let children = format!("/proc/{shell}/task/{shell}/children");
        let children = std::fs::read_to_string(children).unwrap();
        children.split_whitespace().next().unwrap().parse().unwrap()
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = Command::new("tmux").args(["-L", &self.socket, "kill-server"]).output();
    }
}
