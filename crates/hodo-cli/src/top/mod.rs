//! `hodo top`: what this machine and the run on it do now.

mod history;
mod live;
mod model;
mod replay;
mod screen;
mod ui;
mod view;

pub use live::gpu_names;
pub use model::GpuName;

use crate::absent;
use crate::args::{TopArgs, When};
use crate::output::{self, Failure, Outcome};
use crate::run::die_by;
use crate::runs;
use crate::term::style;
use hodo_machine::Absent;
use hodo_trace::Run;
use live::{Found, Gatherer, Gathering, Wanted};
use model::Model;
use ratatui::crossterm::event::{self, Event, KeyCode};
use replay::Replay;
use screen::Screen;
use std::collections::VecDeque;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};
use view::{View, Wish};

/// Rounds closer together cost more than they show.
const LEAST_INTERVAL: Duration = Duration::from_millis(100);
/// How long a key or a signal may wait.
const PATIENCE: Duration = Duration::from_millis(50);
/// Columns of a page where there is no terminal.
const PAGE_WIDTH: usize = 120;
/// Rounds that are kept while the picture is held still.
const HELD: usize = 240;
/// How far the arrow keys jump in a recording.
const JUMP_NS: i64 = 10_000_000_000;

/// Runs the verb.
pub fn run(args: &TopArgs, dir: &Path, color: When) -> Outcome {
    let interval = interval(&args.interval)?;
    let mut source = match args.replay {
        true => Source::recorded(args, dir)?,
        false => {
            let run = args.run.as_deref().map(|name| Run::find(dir, Some(name))).transpose()?;
            refuse_packed(run.as_deref())?;
            Source::Live(Wanted { dir: dir.to_owned(), run, interval })
        }
    };
    let mut model = Model { no_run: no_run(args, dir), ..Model::default() };
    if args.once || !can_draw() {
        return once(&mut source, &mut model);
    }
    let ended = Show::new(source, model, wants_colour(color), interval)?.run();
    match ended {
        Ok(None) => Ok(0),
        Ok(Some(signal)) => Ok(die_by(signal)),
        Err(error) => Err(Failure::Failed(format!(
            "cannot draw on this terminal: {error}; `hodo top --once` prints one frame as text"
        ))),
    }
}

/// A packed run is over, and what it was while it ran is in its tables.
fn refuse_packed(run: Option<&Path>) -> Result<(), Failure> {
    match run.filter(|run| hodo_trace::packed::is_packed(run)) {
        None => Ok(()),
        Some(run) => Err(Failure::Failed(format!(
            "{} is packed: nothing records into it; `hodo report` shows it, \
             `hodo top --replay` its machine's readings",
            run.display()
        ))),
    }
}

/// Where frames come from.
enum Source {
    Live(Wanted),
    Recorded(Box<Replay>),
}

impl Source {
    fn recorded(args: &TopArgs, dir: &Path) -> Result<Source, Failure> {
        if !(args.speed.is_finite() && args.speed > 0.0) {
            return Err(Failure::Usage("--speed is a number above 0, as in --speed 10".into()));
        }
        let run = runs::open_readings(dir, args.run.as_deref())?;
        let replay = Replay::new(&run, args.speed).ok_or_else(|| {
            Failure::Failed(format!(
                "{} has no readings of a machine; record some with `hodo monitor --run RUN`, \
                 `hodo run --monitor` or `hodo.init(telemetry=\"1s\")`",
                run.folder.display()
            ))
        })?;
        Ok(Source::Recorded(Box::new(replay)))
    }
}

/// Reads a time between rounds.
fn interval(text: &str) -> Result<Duration, Failure> {
    let ns = hodo_trace::parse_duration_ns(text).filter(|ns| ns.is_finite() && *ns > 0.0);
    let ns = ns.ok_or_else(|| {
        Failure::Usage(format!("`{text}` is no time with its unit; write --interval 1s or 500ms"))
    })?;
    Ok(Duration::from_nanos(ns as u64).max(LEAST_INTERVAL))
}

/// Whether standard output is a terminal that can be drawn on.
fn can_draw() -> bool {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
    let terminal = std::io::stdout().is_terminal();
    if terminal && dumb {
        output::note("this terminal cannot be drawn on (TERM); here is one frame as text");
    }
    terminal && !dumb
}

fn wants_colour(color: When) -> bool {
    match color {
        When::Always => true,
        When::Never => false,
        When::Auto => std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty()),
    }
}

fn no_run(args: &TopArgs, dir: &Path) -> String {
    if args.replay {
        return "this is a recording of the machine; `hodo report` shows the run's scopes".into();
    }
    format!(
        "no run is recording on this host in {}: `hodo run -- python train.py` records one, --dir names another folder",
        crate::term::text::safe(&dir.display().to_string())
    )
}

/// What cannot be read, a line for each reason.
fn absent_words(absent: &[Absent]) -> Vec<String> {
    absent::lines(absent.iter()).iter().map(|words| format!("no {words}")).collect()
}

fn wall_ns() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// Prints one frame as text. What grows is known only from two rounds.
fn once(source: &mut Source, model: &mut Model) -> Outcome {
    match source {
        Source::Live(wanted) => {
            let mut gatherer = Gatherer::new(wanted.clone());
            apply(gatherer.round(), model);
            std::thread::sleep(wanted.interval);
            apply(gatherer.round(), model);
        }
        Source::Recorded(replay) => replay.play_out(model),
    }
    let width = style::columns(None);
    let width = if width == usize::MAX { PAGE_WIDTH } else { width };
    std::io::stdout().lock().write_all(ui::page(model, width).as_bytes())?;
    Ok(0)
}

/// Takes over what a round found.
fn apply(found: Found, model: &mut Model) {
    for one in &found.readings {
        model.history.add(&one.source, one.metric, one.time_ns, one.value);
    }
    model.history.at(found.at_ns);
    model.history.forget_gone();
    model.wall_ns = wall_ns();
    if model.host.is_empty() {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        model.host = name.trim().to_owned();
    }
    model.gpus = found.gpus;
    model.absent = absent_words(&found.absent);
    (model.run, model.runs) = (found.run, found.runs);
}

/// The view on the screen.
struct Show {
    feed: Feed,
    model: Model,
    view: View,
    colour: bool,
    held: VecDeque<Found>,
}

/// What changes the model.
enum Feed {
    Live(Gathering),
    Recorded { replay: Box<Replay>, every: Duration, last: Instant },
}

impl Show {
    fn new(
        source: Source,
        model: Model,
        colour: bool,
        interval: Duration,
    ) -> Result<Show, Failure> {
        let feed = match source {
            Source::Live(wanted) => Feed::Live(Gathering::start(wanted).map_err(|error| {
                Failure::Failed(format!("cannot start the thread that reads: {error}"))
            })?),
            Source::Recorded(replay) => {
                let every = interval.min(Duration::from_millis(250));
                Feed::Recorded { replay, every, last: Instant::now() }
            }
        };
        Ok(Show { feed, model, view: View::default(), colour, held: VecDeque::new() })
    }

    /// Draws until the user or a signal ends it; says which signal.
    fn run(mut self) -> std::io::Result<Option<i32>> {
        let mut screen = Screen::take()?;
        if let Feed::Recorded { replay, .. } = &mut self.feed {
            replay.advance(Duration::ZERO, &mut self.model);
        }
        let mut changed = true;
        loop {
            if changed {
                let Show { model, view, colour, .. } = &mut self;
                screen.terminal.draw(|frame| {
                    ui::draw(model, view, *colour, frame.area(), frame.buffer_mut());
                })?;
            }
            changed = event::poll(PATIENCE)?;
            if changed {
                match self.react(&event::read()?) {
                    Wish::Quit => return Ok(None),
                    Wish::Suspend => screen.suspend()?,
                    Wish::NextRun | Wish::Draw => {}
                }
            }
            changed |= self.take_news();
            if let Some(signal) = Screen::signal() {
                return Ok(Some(signal));
            }
        }
    }

    fn react(&mut self, event: &Event) -> Wish {
        let Event::Key(key) = event else { return Wish::Draw };
        let by = match key.code {
            KeyCode::Left => -JUMP_NS,
            KeyCode::Right => JUMP_NS,
            _ => 0,
        };
        if let Feed::Recorded { replay, .. } = &mut self.feed
            && by != 0
        {
            replay.seek(by, &mut self.model);
            return Wish::Draw;
        }
        let wish = self.view.key(*key);
        if let (Wish::NextRun, Feed::Live(gathering)) = (wish, &self.feed) {
            gathering.next_run();
        }
        wish
    }

    /// Whether the picture changed.
    fn take_news(&mut self) -> bool {
        let paused = self.view.paused;
        match &mut self.feed {
            Feed::Recorded { last, .. } if paused => {
                *last = Instant::now();
                false
            }
            Feed::Recorded { replay, every, last } => {
                let due = last.elapsed() >= *every;
                if due {
                    replay.advance(last.elapsed(), &mut self.model);
                    *last = Instant::now();
                }
                due
            }
            Feed::Live(gathering) => {
                self.held.extend(gathering.found.try_iter());
                while self.held.len() > HELD {
                    self.held.pop_front();
                }
                let news = !paused && !self.held.is_empty();
                if news {
                    self.held.drain(..).for_each(|found| apply(found, &mut self.model));
                }
                news
            }
        }
    }
}
