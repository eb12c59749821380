//! How the user looks at it: which pane, how far down, in what order.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// The parts of the screen that can be scrolled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pane {
    /// GPUs and the host.
    Machine,
    /// Scopes by path.
    #[default]
    Scopes,
    /// GPU work by name.
    Kernels,
    /// The slowest scopes lately.
    Slowest,
    /// Marks.
    Marks,
}

impl Pane {
    /// All of them, in the order that Tab goes through.
    pub const ALL: [Pane; 5] =
        [Pane::Machine, Pane::Scopes, Pane::Kernels, Pane::Slowest, Pane::Marks];

    /// Its title.
    pub fn title(self) -> &'static str {
        match self {
            Pane::Machine => "Machine",
            Pane::Scopes => "Scopes",
            Pane::Kernels => "Kernels",
            Pane::Slowest => "Slowest",
            Pane::Marks => "Marks",
        }
    }
}

/// In what order scopes with the same parent stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Most time lately first.
    #[default]
    Time,
    /// Most often first.
    Rate,
    /// Longest mean first.
    Mean,
    /// Slowest first.
    Slowest,
    /// By name.
    Name,
}

impl Order {
    const ALL: [Order; 5] = [Order::Time, Order::Rate, Order::Mean, Order::Slowest, Order::Name];

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Order::Time => "time",
            Order::Rate => "rate",
            Order::Mean => "mean",
            Order::Slowest => "slowest",
            Order::Name => "name",
        }
    }

    fn next(self) -> Order {
        let at = Order::ALL.iter().position(|order| *order == self).unwrap_or(0);
        Order::ALL[(at + 1) % Order::ALL.len()]
    }
}

/// What the user chose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// The pane that keys go to.
    pub pane: Pane,
    /// Lines that are scrolled away, for each pane.
    pub scrolled: [usize; Pane::ALL.len()],
    /// Order of scopes.
    pub order: Order,
    /// Whether the keys are explained.
    pub help: bool,
    /// Whether the picture stands still.
    pub paused: bool,
}

/// What a key asks of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Only the picture changed, or nothing.
    Draw,
    /// The next run.
    NextRun,
    /// Leave the screen to the shell for a while.
    Suspend,
    /// The end.
    Quit,
}

/// Lines of a page.
const PAGE: usize = 10;

impl View {
    /// Takes a key.
    pub fn key(&mut self, key: KeyEvent) -> Wish {
        if key.kind == KeyEventKind::Release {
            return Wish::Draw;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c') => Wish::Quit,
                KeyCode::Char('z') => Wish::Suspend,
                _ => Wish::Draw,
            };
        }
        match key.code {
            KeyCode::Esc if self.help => self.help = false,
            KeyCode::Char('q') | KeyCode::Esc => return Wish::Quit,
            KeyCode::Char('r') => return Wish::NextRun,
            KeyCode::Char('?' | 'h') => self.help = !self.help,
            KeyCode::Char('s') => self.order = self.order.next(),
            KeyCode::Char(' ') => self.paused = !self.paused,
            KeyCode::Tab => self.turn(1),
            KeyCode::BackTab => self.turn(Pane::ALL.len() - 1),
            KeyCode::Up | KeyCode::Char('k') => self.scroll(|at| at.saturating_sub(1)),
            KeyCode::Down | KeyCode::Char('j') => self.scroll(|at| at.saturating_add(1)),
            KeyCode::PageUp => self.scroll(|at| at.saturating_sub(PAGE)),
            KeyCode::PageDown => self.scroll(|at| at.saturating_add(PAGE)),
            KeyCode::Home => self.scroll(|_| 0),
            KeyCode::End => self.scroll(|_| usize::MAX),
            _ => {}
        }
        Wish::Draw
    }

    fn turn(&mut self, by: usize) {
        self.pane = Pane::ALL[(self.pane as usize + by) % Pane::ALL.len()];
    }

    fn scroll(&mut self, to: impl Fn(usize) -> usize) {
        let at = &mut self.scrolled[self.pane as usize];
        *at = to(*at);
    }

    /// The first line to show of `lines` in `room`: never past the end, and kept so.
    pub fn first(&mut self, pane: Pane, lines: usize, room: usize) -> usize {
        let at = &mut self.scrolled[pane as usize];
        *at = (*at).min(lines.saturating_sub(room));
        *at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(view: &mut View, code: KeyCode) -> Wish {
        view.key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn keys_do_what_the_help_says() {
        let mut view = View::default();
        assert_eq!(press(&mut view, KeyCode::Char('q')), Wish::Quit);
        assert_eq!(press(&mut view, KeyCode::Esc), Wish::Quit);
        let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(view.key(control_c), Wish::Quit);
        assert_eq!(press(&mut view, KeyCode::Char('r')), Wish::NextRun);
        press(&mut view, KeyCode::Char('?'));
        assert!(view.help);
        assert_eq!(press(&mut view, KeyCode::Esc), Wish::Draw, "closes the help first");
        press(&mut view, KeyCode::Char('s'));
        assert_eq!(view.order, Order::Rate);
        press(&mut view, KeyCode::Tab);
        assert_eq!(view.pane, Pane::Kernels);
        press(&mut view, KeyCode::BackTab);
        assert_eq!(view.pane, Pane::Scopes);
    }

    #[test]
    fn scrolling_ends_at_the_last_line() {
        let mut view = View::default();
        press(&mut view, KeyCode::End);
        assert_eq!(view.first(Pane::Scopes, 30, 10), 20);
        press(&mut view, KeyCode::Up);
        assert_eq!(view.first(Pane::Scopes, 30, 10), 19);
        press(&mut view, KeyCode::PageDown);
        assert_eq!(view.first(Pane::Scopes, 30, 10), 20);
        assert_eq!(view.first(Pane::Scopes, 5, 10), 0, "less than fits");
    }
}
