//! The few colours hodo uses, and whether to use them.

use crate::args::When;
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use std::io::{IsTerminal, StdoutLock};

/// Ordinary text.
pub const PLAIN: Style = Style::new();
/// What the eye should land on: titles.
pub const STRONG: Style = Style::new().bold();
/// What it should pass over: tree lines, units, small values.
pub const DIM: Style = Style::new().dimmed();
/// Where time went: bars and tags.
pub const ACCENT: Style = AnsiColor::Cyan.on_default();
/// A large share.
pub const WARM: Style = AnsiColor::Yellow.on_default();
/// A very large share, a failure, a loss.
pub const HOT: Style = AnsiColor::Red.on_default().bold();
/// All is well.
pub const GOOD: Style = AnsiColor::Green.on_default();

/// `text` in `style`.
pub fn paint(style: Style, text: &str) -> String {
    if style.is_plain() || text.is_empty() {
        text.to_owned()
    } else {
        format!("{style}{text}{style:#}")
    }
}

/// Standard output that keeps colours only where they are wanted.
pub fn stdout(when: When) -> AutoStream<StdoutLock<'static>> {
    let out = std::io::stdout().lock();
    match when {
        // Terminal, NO_COLOR, CLICOLOR, CLICOLOR_FORCE and TERM=dumb are weighed there.
        When::Auto => AutoStream::auto(out),
        When::Always => AutoStream::new(out, ColorChoice::AlwaysAnsi),
        When::Never => AutoStream::never(out),
    }
}

/// Columns to lay out for: as told, else the terminal's, else no limit.
pub fn columns(told: Option<usize>) -> usize {
    const NARROWEST: usize = 40;
    let terminal = || {
        let tty = std::io::stdout().is_terminal();
        let size = terminal_size::terminal_size().map(|(w, _)| usize::from(w.0));
        size.filter(|_| tty)
    };
    let variable = || std::env::var("COLUMNS").ok()?.parse().ok();
    told.or_else(terminal).or_else(variable).map_or(usize::MAX, |w: usize| w.max(NARROWEST))
}
