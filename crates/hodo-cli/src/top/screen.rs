//! The terminal while it is ours: taken whole, and given back as it was however we end.

use ratatui::DefaultTerminal;
use std::io;
use std::sync::atomic::{AtomicI32, Ordering};

/// Signals that end the view; the terminal is given back first. SIGHUP is not among them: it says
/// that the terminal is gone, and to wait for keys of one that is gone would never end.
const ENDING: [i32; 3] = [libc::SIGTERM, libc::SIGINT, libc::SIGQUIT];

static SIGNAL: AtomicI32 = AtomicI32::new(0);

extern "C" fn note(signal: i32) {
    SIGNAL.store(signal, Ordering::Relaxed);
}

/// The terminal in our hands.
pub struct Screen {
    /// What is drawn on.
    pub terminal: DefaultTerminal,
}

impl Screen {
    /// Takes the terminal: another screen, keys one by one, and back again on a panic.
    pub fn take() -> io::Result<Screen> {
        for signal in ENDING {
            // SAFETY: the handler does nothing but store a number.
            unsafe { libc::signal(signal, note as *const () as libc::sighandler_t) };
        }
        Ok(Screen { terminal: ratatui::try_init()? })
    }

    /// The signal that asked for the end, if one did.
    pub fn signal() -> Option<i32> {
        Some(SIGNAL.load(Ordering::Relaxed)).filter(|&signal| signal != 0)
    }

    /// Gives the terminal to the shell until it lets us go on.
    pub fn suspend(&mut self) -> io::Result<()> {
        ratatui::try_restore()?;
        // SAFETY: a signal that exists, to ourselves; it stops us until SIGCONT.
        unsafe { libc::raise(libc::SIGTSTP) };
        self.terminal = ratatui::try_init()?;
        self.terminal.clear()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing back.
        let _ = ratatui::try_restore();
    }
}
