//! A frame: a function of what is known and of how the user looks at it.

mod gpus;
mod host;
mod paint;
mod scopes;
mod spark;
#[cfg(test)]
mod tests;

use super::model::{Mode, Model};
use super::view::{Pane, View};
use crate::term::number;
use crate::term::style::{ACCENT, DIM, HOT, PLAIN, STRONG, WARM};
use crate::term::table::Line;
use crate::term::text;
use paint::Canvas;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;

/// Lines that a run keeps for itself where the machine would take more.
const LEAST_OF_RUN: usize = 8;
/// From this width on the parts of a run stand side by side.
const WIDE: u16 = 140;
/// From this height on each processor is shown.
const HIGH: u16 = 32;

const KEYS: [(&str, &str); 11] = [
    ("q, Esc, Ctrl-C", "quit"),
    ("Tab, Shift-Tab", "the next pane, the one before"),
    ("up, down, j, k", "scroll a line"),
    ("PageUp, PageDown", "scroll ten lines"),
    ("Home, End", "the first and the last line"),
    ("s", "order of scopes: time, rate, mean, slowest, name"),
    ("r", "the next run that is recording"),
    ("space", "hold the picture still, and go on"),
    ("left, right", "in a replay: ten seconds back, ten seconds on"),
    ("Ctrl-Z", "to the shell; `fg` comes back"),
    ("?", "these keys"),
];

/// Draws the frame.
pub fn draw(model: &Model, view: &mut View, colour: bool, area: Rect, buffer: &mut Buffer) {
    let mut canvas = Canvas { buffer, colour };
    canvas.line_in(area, 0, &title(model, view), Modifier::empty());
    let body = Rect { y: area.y + 1, height: area.height.saturating_sub(2), ..area };
    canvas.line(area, area.height.saturating_sub(1), &footer(view, area.width.into()));
    let mut machine = machine_lines(model, area.width.into(), area.height >= HIGH);
    machine.extend(absent_lines(model, area.width.into(), false));
    let room = usize::from(body.height);
    let of_run = if model.run.is_some() { LEAST_OF_RUN } else { 2 };
    let height = machine.len().min(room.saturating_sub(of_run).max(room / 3));
    let upper = Rect { height: height as u16, ..body };
    let first = view.first(Pane::Machine, machine.len(), height);
    canvas.lines(upper, &machine, first);
    let lower = Rect { y: upper.bottom(), height: body.height - upper.height, ..body };
    run(model, view, lower, &mut canvas);
    if view.help {
        help(area, &mut canvas);
    }
}

/// The lines about the machine, GPUs first.
fn machine_lines(model: &Model, width: usize, cores: bool) -> Vec<Line> {
    let mut lines = gpus::lines(model, width);
    if model.history.is_empty() {
        lines.push(vec![(DIM, "nothing was read of this machine yet".to_owned())]);
    } else {
        lines.extend(host::lines(model, width, cores));
    }
    lines
}

/// What cannot be read; a frame has a line for each, a page all its words.
fn absent_lines(model: &Model, width: usize, whole: bool) -> Vec<Line> {
    let of = |words: &String| match whole {
        true => text::wrap(&text::safe(words), width),
        false => vec![text::fit(&text::safe(words), width)],
    };
    model.absent.iter().flat_map(of).map(|words| vec![(DIM, words)]).collect()
}

fn title(model: &Model, view: &View) -> Line {
    let mut line = vec![(STRONG, "hodo top  ".to_owned())];
    line.push((PLAIN, format!("{}  ", text::safe(&model.host))));
    if view.paused {
        line.push((HOT, "held still (space)  ".to_owned()));
    }
    line.push((DIM, format!("{} UTC", number::when(model.wall_ns))));
    if let Mode::Replay { at_ns, of_ns, speed } = model.mode {
        let [at, of] = [at_ns, of_ns].map(|ns| number::duration(ns as f64));
        line.push((WARM, format!("  replay: {at} of {of}, {} x", number::digits(speed))));
    }
    line
}

fn footer(view: &View, width: usize) -> Line {
    let order = view.order.word();
    let words = if width < 100 {
        format!("q quit  Tab pane  s order ({order})  r run  space hold  ? keys")
    } else {
        format!(
            "q quit   Tab pane   arrows, Page scroll   s order of scopes ({order})   \
             r next run   space hold still   ? keys"
        )
    };
    vec![(DIM, words)]
}

fn run(model: &Model, view: &mut View, area: Rect, canvas: &mut Canvas<'_>) {
    let width = usize::from(area.width);
    let rule = "─".repeat(width);
    canvas.line(area, 0, &vec![(DIM, rule)]);
    let Some(run) = &model.run else {
        for (y, words) in (1..area.height).zip(text::wrap(&model.no_run, width)) {
            canvas.line(area, y, &vec![(PLAIN, words)]);
        }
        return;
    };
    let header = scopes::header(run, model.wall_ns, model.runs);
    canvas.line(area, 0, &header_on_rule(header, width));
    let body = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    if area.width >= WIDE && body.height >= 9 {
        side_by_side(run, view, body, canvas);
    } else {
        one_of(run, view, body, canvas);
    }
}

/// The rule goes on behind the words.
fn header_on_rule(mut header: Line, width: usize) -> Line {
    let used: usize = header.iter().map(|(_, piece)| text::width(piece)).sum();
    header.insert(0, (DIM, "── ".to_owned()));
    header.push((DIM, format!(" {}", "─".repeat(width.saturating_sub(used + 4)))));
    header
}

/// Scopes at the left, the rest at the right, one below the other.
fn side_by_side(run: &hodo_trace::Now, view: &mut View, area: Rect, canvas: &mut Canvas<'_>) {
    let left = Rect { width: area.width / 100 * 55 + area.width % 100 * 55 / 100, ..area };
    pane(Pane::Scopes, run, view, left, canvas);
    let right = Rect { x: left.right() + 2, width: area.width - left.width - 2, ..area };
    let third = area.height / 3;
    let mut y = right.y;
    for (at, one) in [Pane::Kernels, Pane::Slowest, Pane::Marks].into_iter().enumerate() {
        let height = if at == 2 { right.bottom() - y } else { third };
        pane(one, run, view, Rect { y, height, ..right }, canvas);
        y += height;
    }
}

/// One pane, and the names of all above it.
fn one_of(run: &hodo_trace::Now, view: &mut View, area: Rect, canvas: &mut Canvas<'_>) {
    let mut tabs = Line::new();
    for pane in Pane::ALL {
        let chosen = view.pane == pane;
        let words =
            if chosen { format!("[{}]", pane.title()) } else { format!(" {} ", pane.title()) };
        tabs.push((if chosen { STRONG } else { DIM }, words));
    }
    canvas.line(area, 0, &tabs);
    let body = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    let shown = if view.pane == Pane::Machine { Pane::Scopes } else { view.pane };
    table(shown, run, view, body, canvas);
}

/// A pane under its own title.
fn pane(pane: Pane, run: &hodo_trace::Now, view: &mut View, area: Rect, canvas: &mut Canvas<'_>) {
    let chosen = view.pane == pane;
    let words = if chosen { format!("[{}]", pane.title()) } else { format!(" {} ", pane.title()) };
    canvas.line(area, 0, &vec![(if chosen { STRONG } else { ACCENT }, words)]);
    let body = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    table(pane, run, view, body, canvas);
}

/// The titles stay, the rows scroll; the last line says how many are below.
fn table(pane: Pane, run: &hodo_trace::Now, view: &mut View, area: Rect, canvas: &mut Canvas<'_>) {
    let lines = scopes::lines(pane, run, view.order, area.width.into());
    let Some((titles, rows)) = lines.split_first().filter(|_| area.height > 0) else { return };
    canvas.line(area, 0, titles);
    let room = usize::from(area.height) - 1;
    let first = view.first(pane, rows.len(), room);
    let body = Rect { y: area.y + 1, height: area.height - 1, ..area };
    canvas.lines(body, rows, first);
    let below = rows.len().saturating_sub(first + room);
    if below > 0 && room > 0 {
        let words = format!("… {} more below", below + 1);
        canvas.clear(Rect { y: body.bottom() - 1, height: 1, ..body });
        canvas.line(body, body.height - 1, &vec![(DIM, words)]);
    }
}

fn help(area: Rect, canvas: &mut Canvas<'_>) {
    let width = area.width.min(72);
    let height = area.height.min(KEYS.len() as u16 + 2);
    let x = area.x + (area.width - width) / 2;
    let y = area.y + (area.height - height) / 2;
    let frame = Rect { x, y, width, height };
    canvas.clear(frame);
    let across = "─".repeat(usize::from(width).saturating_sub(2));
    canvas.line(frame, 0, &vec![(PLAIN, format!("┌{across}┐"))]);
    for (row, (keys, what)) in (1..height.saturating_sub(1)).zip(KEYS) {
        let inside = usize::from(width).saturating_sub(4);
        let words = text::fit(&format!("{keys:<18}{what}"), inside);
        let pad = " ".repeat(inside.saturating_sub(text::width(&words)));
        canvas.line(frame, row, &vec![(PLAIN, format!("│ {words}{pad} │"))]);
    }
    canvas.line(frame, height.saturating_sub(1), &vec![(PLAIN, format!("└{across}┘"))]);
}

/// `71.2 of 141 GiB`, both in the unit of the second.
fn of_bytes(used: f64, total: f64) -> String {
    let whole = number::bytes(total as u64);
    let (digits, unit) = whole.split_once(' ').unwrap_or((&whole, ""));
    let scale = match unit {
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        "TiB" => 40,
        _ => 0,
    };
    format!("{}/{digits} {unit}", number::digits(used / 2f64.powi(scale)))
}

/// Bytes a second.
fn rate(bytes: f64) -> String {
    format!("{}/s", number::bytes(bytes.max(0.0) as u64))
}

/// Everything as plain text, nothing cut at the bottom: for a pipe.
pub fn page(model: &Model, width: usize) -> String {
    let mut lines = vec![title(model, &View::default())];
    lines.extend(machine_lines(model, width, true));
    lines.extend(absent_lines(model, width, true));
    match &model.run {
        None => {
            lines.extend(text::wrap(&model.no_run, width).into_iter().map(|w| vec![(PLAIN, w)]))
        }
        Some(run) => {
            lines.push(Line::new());
            lines.push(scopes::header(run, model.wall_ns, model.runs));
            lines.extend(scopes::lines(Pane::Scopes, run, Default::default(), width));
            for (pane, rows) in [
                (Pane::Slowest, run.slowest.len()),
                (Pane::Kernels, run.kernels.len()),
                (Pane::Marks, run.marks.len()),
            ] {
                if rows > 0 {
                    lines.push(Line::new());
                    lines.extend(scopes::lines(pane, run, Default::default(), width));
                }
            }
        }
    }
    let line = |line: Line| line.into_iter().map(|(_, piece)| piece).collect::<String>();
    lines.into_iter().map(|l| line(l).trim_end().to_owned() + "\n").collect()
}
