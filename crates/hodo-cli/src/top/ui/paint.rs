//! Lines of styled pieces onto the screen's cells.

use crate::term::table::Line;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

/// The cells to draw on, and whether colours are wanted.
pub struct Canvas<'a> {
    pub buffer: &'a mut Buffer,
    pub colour: bool,
}

impl Canvas<'_> {
    /// Draws `line` at the row `y` of `area`; what does not fit is cut.
    pub fn line(&mut self, area: Rect, y: u16, line: &Line) {
        self.line_in(area, y, line, Modifier::empty());
    }

    /// The same with something added to every piece.
    pub fn line_in(&mut self, area: Rect, y: u16, line: &Line, modifier: Modifier) {
        if y >= area.height {
            return;
        }
        let mut x = area.x;
        for (style, piece) in line {
            let left = area.right().saturating_sub(x);
            if left == 0 {
                break;
            }
            let style = self.style(*style).add_modifier(modifier);
            (x, _) = self.buffer.set_stringn(x, area.y + y, piece, left.into(), style);
        }
    }

    /// Draws the lines that fit, from `first` on.
    pub fn lines(&mut self, area: Rect, lines: &[Line], first: usize) {
        for (y, line) in (0..area.height).zip(lines.iter().skip(first)) {
            self.line(area, y, line);
        }
    }

    /// Empties an area.
    pub fn clear(&mut self, area: Rect) {
        let blank = " ".repeat(area.width.into());
        for y in area.top()..area.bottom() {
            self.buffer.set_stringn(area.x, y, &blank, area.width.into(), Style::reset());
        }
    }

    fn style(&self, style: anstyle::Style) -> Style {
        let mut out = Style::new();
        let effects = style.get_effects();
        for (effect, modifier) in [
            (anstyle::Effects::BOLD, Modifier::BOLD),
            (anstyle::Effects::DIMMED, Modifier::DIM),
            (anstyle::Effects::INVERT, Modifier::REVERSED),
        ] {
            if effects.contains(effect) {
                out = out.add_modifier(modifier);
            }
        }
        let colour = style.get_fg_color().filter(|_| self.colour);
        colour.map_or(out, |colour| out.fg(ansi(colour)))
    }
}

fn ansi(colour: anstyle::Color) -> Color {
    use anstyle::AnsiColor;
    match colour {
        anstyle::Color::Ansi(AnsiColor::Red) => Color::Red,
        anstyle::Color::Ansi(AnsiColor::Green) => Color::Green,
        anstyle::Color::Ansi(AnsiColor::Yellow) => Color::Yellow,
        anstyle::Color::Ansi(AnsiColor::Cyan) => Color::Cyan,
        _ => Color::Reset,
    }
}
