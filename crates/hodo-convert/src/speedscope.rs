//! speedscope's file format: a profile for every row of a thread and of a stream, with what opened
//! and closed on it in order of time.

use crate::gpu::{self, Pieces, Title};
use crate::lanes::Lanes;
use crate::timeline::{self, Group, Timeline};
use crate::{ConvertError, OnProgress};
use hodo_trace::{Process, Row, Run};
use serde_json::json;
use std::collections::HashMap;
use std::io::Write;

const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

/// Writes `run`. Times are nanoseconds since the run's first record.
pub fn write(
    run: &Run,
    out: &mut impl Write,
    progress: OnProgress<'_>,
) -> Result<(), ConvertError> {
    let start_ns = run.processes.iter().map(|p| Timeline::new(p).first_ns()).min().unwrap_or(0);
    let (app, exporter) = (&run.info.app, format!("hodo {}", env!("CARGO_PKG_VERSION")));
    let head = json!({"$schema": SCHEMA, "name": app, "exporter": exporter}).to_string();
    write!(out, "{},\"profiles\":[", head.strip_suffix('}').unwrap_or(&head))?;
    let total = timeline::record_count(run);
    let mut page = Page {
        out,
        start_ns,
        first: true,
        frames: Vec::new(),
        known: HashMap::new(),
        done: 0,
        total,
        progress,
    };
    for process in &run.processes {
        page.process(run, process)?;
    }
    let frames: Vec<_> = page.frames.iter().map(|name| json!({"name": name})).collect();
    let Page { out, .. } = page;
    Ok(writeln!(out, "\n],\"shared\":{}}}", json!({"frames": frames}))?)
}

struct Page<'a, W> {
    out: &'a mut W,
    start_ns: u64,
    first: bool,
    /// Names in the order they first appeared.
    frames: Vec<String>,
    known: HashMap<String, usize>,
    done: u64,
    total: u64,
    progress: OnProgress<'a>,
}

/// Something that opens and closes.
struct Slice {
    frame: usize,
    start_ns: u64,
    end_ns: u64,
}

impl<W: Write> Page<'_, W> {
    fn process(&mut self, run: &Run, process: &Process) -> Result<(), ConvertError> {
        let timeline = Timeline::new(process);
        let whose = match run.processes.len() {
            1 => String::new(),
            _ => format!("{} (pid {}): ", timeline::process_name(run, process), process.info.pid),
        };
        let mut frames: HashMap<u32, usize> = HashMap::new();
        for (group, rows) in timeline::groups(process) {
            let row = match group {
                Group::Thread(number) => process.thread_name(number).into_owned(),
                Group::Async => "async".to_owned(),
            };
            for (lane, rows) in by_lane(&timeline, &rows).into_iter().enumerate() {
                let overlap = if lane > 0 { format!(" overlap {lane}") } else { String::new() };
                let slices = rows.into_iter().map(|row| {
                    let item = timeline.item(row);
                    (process.spans.name(row), item.start_ns, item.end_ns)
                });
                self.begin(&format!("{whose}{row}{overlap}"))?;
                let mut profile = Profile::default();
                for (name, start_ns, end_ns) in slices {
                    let frame = match frames.get(&name) {
                        Some(&frame) => frame,
                        None => {
                            let frame = self.frame(&process.names.text(name));
                            frames.insert(name, frame);
                            frame
                        }
                    };
                    self.slice(&mut profile, &Slice { frame, start_ns, end_ns })?;
                }
                self.end(profile)?;
            }
        }
        self.streams(process, timeline, &whose)
    }

    fn streams(
        &mut self,
        process: &Process,
        timeline: Timeline<'_>,
        whose: &str,
    ) -> Result<(), ConvertError> {
        let mut pieces = Pieces::new(process, timeline);
        let mut frames: HashMap<Title, usize> = HashMap::new();
        for (stream, rows) in gpu::streams(process) {
            pieces.next_stream();
            let mut lanes: Vec<Vec<Slice>> = Vec::new();
            for row in rows {
                let piece = pieces.place(row);
                let title = Title::of(&piece.work);
                let frame = match frames.get(&title) {
                    Some(&frame) => frame,
                    None => {
                        let frame = self.frame(&title.text(process));
                        frames.insert(title, frame);
                        frame
                    }
                };
                lanes.resize_with(lanes.len().max(piece.lane + 1), Vec::new);
                let (start_ns, end_ns) = (piece.start_ns, piece.end_ns);
                lanes[piece.lane].push(Slice { frame, start_ns, end_ns });
            }
            let device = gpu::device_name(process, stream.device);
            for (lane, slices) in lanes.into_iter().enumerate() {
                let name = gpu::stream_name(process, stream, lane);
                self.begin(&format!("{whose}{device} {name}"))?;
                let mut profile = Profile::default();
                for slice in &slices {
                    self.slice(&mut profile, slice)?;
                }
                self.end(profile)?;
            }
        }
        Ok(())
    }

    fn frame(&mut self, name: &str) -> usize {
        if let Some(&known) = self.known.get(name) {
            return known;
        }
        self.frames.push(name.to_owned());
        self.known.insert(name.to_owned(), self.frames.len() - 1);
        self.frames.len() - 1
    }

    fn begin(&mut self, name: &str) -> Result<(), ConvertError> {
        let comma = if std::mem::take(&mut self.first) { "" } else { "," };
        let head = json!({"type": "evented", "name": name, "unit": "nanoseconds"}).to_string();
        let head = head.strip_suffix('}').unwrap_or(&head);
        Ok(write!(self.out, "{comma}\n{head},\"startValue\":0,\"events\":[")?)
    }

    /// Opens a slice behind what ended before it; slices of a row come in order and never cross.
    fn slice(&mut self, profile: &mut Profile, slice: &Slice) -> Result<(), ConvertError> {
        while let Some((frame, end_ns)) =
            profile.open.pop_if(|(_, end)| *end <= slice.start_ns && *end < slice.end_ns.max(1))
        {
            self.event(profile, 'C', frame, end_ns)?;
        }
        self.event(profile, 'O', slice.frame, slice.start_ns)?;
        profile.open.push((slice.frame, slice.end_ns));
        self.done += 1;
        if self.done.is_multiple_of(65_536) {
            (self.progress)(self.done, self.total);
        }
        Ok(())
    }

    fn event(
        &mut self,
        profile: &mut Profile,
        kind: char,
        frame: usize,
        at_ns: u64,
    ) -> Result<(), ConvertError> {
        let comma = if std::mem::replace(&mut profile.begun, true) { "," } else { "" };
        profile.last_ns = profile.last_ns.max(at_ns);
        let at = profile.last_ns - self.start_ns;
        Ok(write!(self.out, "{comma}{{\"type\":\"{kind}\",\"frame\":{frame},\"at\":{at}}}")?)
    }

    fn end(&mut self, mut profile: Profile) -> Result<(), ConvertError> {
        while let Some((frame, end_ns)) = profile.open.pop() {
            self.event(&mut profile, 'C', frame, end_ns)?;
        }
        let end = profile.last_ns.saturating_sub(self.start_ns);
        Ok(write!(self.out, "],\"endValue\":{end}}}")?)
    }
}

/// A row in the making.
#[derive(Default)]
struct Profile {
    begun: bool,
    open: Vec<(usize, u64)>,
    last_ns: u64,
}

/// Rows of scopes by the lane they lie on.
fn by_lane(timeline: &Timeline<'_>, rows: &[Row]) -> Vec<Vec<Row>> {
    let mut lanes = Lanes::default();
    let mut by_lane: Vec<Vec<Row>> = Vec::new();
    for &row in rows {
        let place = lanes.place(&timeline.item(row), |_| ());
        by_lane.resize_with(by_lane.len().max(place.lane + 1), Vec::new);
        by_lane[place.lane].push(row);
    }
    by_lane
}
