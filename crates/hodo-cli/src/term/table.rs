//! Aligned tables that give up columns, the least needed first, before they wrap.

use super::style::{self, PLAIN};
use super::text;
use anstyle::Style;

const GAP: usize = 2;

/// Which side of its column a cell leans on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its heading.
    pub title: &'static str,
    /// How its cells lean.
    pub align: Align,
    /// 0 stays whatever the width; of the others the largest goes first.
    pub rank: u8,
    /// Whether its cells may be cut to make room.
    pub cut: bool,
    /// Cells it takes at least, so that a table whose numbers change stands still.
    pub least: usize,
}

impl Column {
    /// A column of numbers, dropped when room is short: the largest `rank` first.
    pub const fn number(title: &'static str, rank: u8) -> Column {
        Column { title, align: Align::Right, rank, cut: false, least: 0 }
    }

    /// A column of text, dropped when room is short: the largest `rank` first.
    pub const fn text(title: &'static str, rank: u8) -> Column {
        Column { title, align: Align::Left, rank, cut: false, least: 0 }
    }

    /// The same column, whose cells may be cut.
    pub const fn cut(self) -> Column {
        Column { cut: true, ..self }
    }

    /// The same column, at least so wide.
    pub const fn least(self, cells: usize) -> Column {
        Column { least: cells, ..self }
    }
}

/// A line: pieces of text, each in its style.
pub type Line = Vec<(Style, String)>;

/// A cell: pieces of text, each in its style.
#[derive(Clone, Debug, Default)]
pub struct Cell(Vec<(Style, String)>);

impl Cell {
    /// A cell of one style; `text` is taken as safe to print.
    pub fn new(style: Style, text: impl Into<String>) -> Cell {
        Cell(vec![(style, text.into())])
    }

    /// An unstyled cell.
    pub fn plain(text: impl Into<String>) -> Cell {
        Cell::new(PLAIN, text)
    }

    /// The cell with one more piece at its end.
    pub fn and(mut self, style: Style, text: impl Into<String>) -> Cell {
        self.0.push((style, text.into()));
        self
    }

    fn width(&self) -> usize {
        self.0.iter().map(|(_, t)| text::width(t)).sum()
    }

    fn put(&self, cells: usize, out: &mut Line) {
        let mut left = cells;
        let fits = self.width() <= cells;
        for (style, piece) in &self.0 {
            let wide = text::width(piece);
            if fits || wide < left {
                out.push((*style, piece.clone()));
                left = left.saturating_sub(wide);
            } else {
                // Something is cut, so this piece must end in the mark that says so.
                out.push((*style, text::fit(&format!("{piece}  "), left)));
                break;
            }
        }
    }
}

/// Rows under columns.
#[derive(Debug, Default)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    indent: usize,
}

impl Table {
    /// An empty table.
    pub fn new(columns: Vec<Column>) -> Table {
        Table { columns, rows: Vec::new(), indent: 0 }
    }

    /// The table moved right by `cells`.
    pub fn indent(mut self, cells: usize) -> Table {
        self.indent = cells;
        self
    }

    /// Adds a row; it has a cell for every column.
    pub fn row(&mut self, cells: Vec<Cell>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The lines of the table in at most `limit` columns where that can be had.
    pub fn render(&self, limit: usize) -> String {
        let mut out = String::new();
        for line in self.lines(limit) {
            let start = out.len();
            line.iter().for_each(|(style, piece)| out.push_str(&style::paint(*style, piece)));
            out.truncate(start + out[start..].trim_end().len());
            out.push('\n');
        }
        out
    }

    /// The same as pieces of text, each in its style: the titles, if there are any, and the rows.
    pub fn lines(&self, limit: usize) -> Vec<Line> {
        let shown = self.layout(limit.saturating_sub(self.indent));
        let mut lines = Vec::with_capacity(self.rows.len() + 1);
        if self.columns.iter().any(|c| !c.title.is_empty()) {
            let heads: Vec<Cell> =
                self.columns.iter().map(|c| Cell::new(style::DIM, c.title)).collect();
            lines.push(self.line(&heads, &shown));
        }
        lines.extend(self.rows.iter().map(|row| self.line(row, &shown)));
        lines
    }

    /// Titles of the columns that do not fit into `limit` columns.
    pub fn dropped(&self, limit: usize) -> Vec<&'static str> {
        let shown = self.layout(limit.saturating_sub(self.indent));
        let gone = |i: &usize| !self.is_blank(*i) && shown.iter().all(|(k, _)| k != i);
        (0..self.columns.len()).filter(gone).map(|i| self.columns[i].title).collect()
    }

    /// The columns that stay, each with its width.
    fn layout(&self, limit: usize) -> Vec<(usize, usize)> {
        let mut shown: Vec<(usize, usize)> = (0..self.columns.len())
            .filter(|&i| !self.is_blank(i))
            .map(|i| (i, self.natural(i)))
            .collect();
        while total(&shown) > limit {
            let least = self.least(limit);
            let excess = total(&shown) - limit;
            let room: usize = shown
                .iter()
                .filter(|(i, _)| self.columns[*i].cut)
                .map(|(_, w)| w.saturating_sub(least))
                .sum();
            if excess <= room {
                self.shrink(&mut shown, excess, least);
                break;
            }
            let Some(worst) = self.worst(&shown) else {
                self.shrink(&mut shown, excess, 8);
                break;
            };
            shown.remove(worst);
        }
        shown
    }

    /// Cells a cut column keeps while others can still go.
    fn least(&self, limit: usize) -> usize {
        (limit * 2 / 5).max(20)
    }

    fn worst(&self, shown: &[(usize, usize)]) -> Option<usize> {
        let at = (0..shown.len()).max_by_key(|&k| self.columns[shown[k].0].rank)?;
        (self.columns[shown[at].0].rank > 0).then_some(at)
    }

    fn shrink(&self, shown: &mut [(usize, usize)], mut excess: usize, least: usize) {
        for (i, width) in shown.iter_mut().filter(|(i, _)| self.columns[*i].cut) {
            debug_assert!(self.columns[*i].cut);
            let take = excess.min(width.saturating_sub(least));
            *width -= take;
            excess -= take;
        }
    }

    fn natural(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|r| r[column].width());
        let title = text::width(self.columns[column].title);
        cells.chain([title, self.columns[column].least]).max().unwrap_or(0)
    }

    fn is_blank(&self, column: usize) -> bool {
        !self.rows.is_empty() && self.rows.iter().all(|r| r[column].width() == 0)
    }

    fn line(&self, row: &[Cell], shown: &[(usize, usize)]) -> Line {
        let mut line = vec![(PLAIN, " ".repeat(self.indent))];
        for (k, &(i, width)) in shown.iter().enumerate() {
            let cell = &row[i];
            let pad = || (PLAIN, " ".repeat(width.saturating_sub(cell.width().min(width))));
            if k > 0 {
                line.push((PLAIN, "  ".to_owned()));
            }
            match self.columns[i].align {
                Align::Left => {
                    cell.put(width, &mut line);
                    line.push(pad());
                }
                Align::Right => {
                    line.push(pad());
                    cell.put(width, &mut line);
                }
            }
        }
        line
    }
}

fn total(shown: &[(usize, usize)]) -> usize {
    shown.iter().map(|(_, w)| w).sum::<usize>() + GAP * shown.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut t = Table::new(vec![
            Column::text("scope", 0).cut(),
            Column::number("count", 0),
            Column::number("mean", 2),
            Column::number("max", 1),
        ]);
        for (name, n) in [("a_rather_long_name_of_a_scope", "1"), ("short", "12 345")] {
            t.row(vec![
                Cell::plain(name),
                Cell::plain(n),
                Cell::plain("1.0 ms"),
                Cell::plain("9 s"),
            ]);
        }
        t
    }

    fn bare(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn columns_line_up() {
        let expected = "\
scope                           count    mean  max
a_rather_long_name_of_a_scope       1  1.0 ms  9 s
short                          12 345  1.0 ms  9 s
";
        assert_eq!(bare(&table().render(usize::MAX)), expected);
    }

    #[test]
    fn a_narrow_table_cuts_names_then_drops_the_least_needed_column() {
        let expected = "\
scope                  count  max
a_rather_long_name_…       1  9 s
short                 12 345  9 s
";
        assert_eq!(bare(&table().render(33)), expected);
        assert_eq!(table().dropped(33), ["mean"]);
        assert!(bare(&table().render(30)).lines().all(|l| text::width(l) <= 30));
    }

    #[test]
    fn a_cut_cell_of_several_pieces_keeps_its_mark() {
        let cut = |cell: &Cell, cells| {
            let mut line = Line::new();
            cell.put(cells, &mut line);
            line.into_iter().map(|(_, piece)| piece).collect::<String>()
        };
        let cell = Cell::plain("├─ ").and(style::HOT, "forward").and(style::ACCENT, " / beam");
        assert_eq!(cut(&cell, 12), "├─ forward …");
        assert_eq!(cut(&cell, 10), "├─ forwar…");
        assert_eq!(cut(&cell, 17), "├─ forward / beam");
    }
}
