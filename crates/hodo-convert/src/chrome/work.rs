//! GPU work of one process: a slice for every kernel, copy and set, and an arrow from its launch.

use super::Page;
use crate::ConvertError;
use crate::gpu::{self, Arg, Launch, Launcher, Piece, Pieces, Stream, Title};
use crate::timeline::{self, Timeline};
use hodo_trace::Process;
use std::collections::{HashMap, HashSet};
use std::io::Write;

/// Thread ids of streams begin here, above those of threads and their further rows.
const STREAM_TIDS: u64 = 1 << 48;

/// What writing the work of one process needs at hand.
struct Work<'a> {
    process: &'a Process,
    /// Names as JSON: there are few, and they are long.
    titles: HashMap<Title, String>,
    texts: HashMap<String, String>,
    /// Rows that have their name.
    titled: HashSet<u64>,
    event: String,
}

impl<W: Write> Page<'_, W> {
    /// Writes the work by stream.
    pub(super) fn gpu(
        &mut self,
        process: &Process,
        timeline: &Timeline<'_>,
    ) -> Result<(), ConvertError> {
        let mut pieces = Pieces::new(process, *timeline);
        let mut work = Work {
            process,
            titles: HashMap::new(),
            texts: HashMap::new(),
            titled: HashSet::new(),
            event: String::new(),
        };
        for (number, (stream, rows)) in (0u64..).zip(gpu::streams(process)) {
            pieces.next_stream();
            for row in rows {
                let piece = pieces.place(row);
                let tid = STREAM_TIDS + (number << 16) + piece.lane as u64;
                self.name_row(&mut work, stream, piece.lane, tid)?;
                self.piece(&mut work, &piece, tid)?;
                if let Some(launch) = piece.launch {
                    self.arrow(&mut work, launch, &piece, tid)?;
                }
                self.count();
            }
        }
        Ok(())
    }

    fn name_row(
        &mut self,
        work: &mut Work<'_>,
        stream: Stream,
        lane: usize,
        tid: u64,
    ) -> Result<(), ConvertError> {
        if !work.titled.insert(tid) {
            return Ok(());
        }
        let device = gpu::device_name(work.process, stream.device);
        let name = gpu::stream_name(work.process, stream, lane);
        self.title("thread_name", tid, &format!("{device} {name}"))
    }

    fn piece(&mut self, work: &mut Work<'_>, piece: &Piece, tid: u64) -> Result<(), ConvertError> {
        let title = Title::of(&piece.work);
        work.begin_event("X", self.pid, tid, &["gpu", title.sort()]);
        work.push_title(title)?;
        work.push_args(piece)?;
        let times =
            [("ts", piece.start_ns - self.start_ns), ("dur", piece.end_ns - piece.start_ns)];
        self.write(&work.event, &times)
    }

    /// An arrow leads from slice to slice, so the launch is one without length.
    fn arrow(
        &mut self,
        work: &mut Work<'_>,
        launch: Launch,
        piece: &Piece,
        to: u64,
    ) -> Result<(), ConvertError> {
        self.flow += 1;
        let from = self.launcher(work, launch.by)?;
        let at = launch.at_ns - self.start_ns;
        let pid = self.pid;
        let launch = |work: &mut Work<'_>, phase, tid, more: &str| {
            work.begin_event(phase, pid, tid, &["launch"]);
            work.event.push_str(",\"name\":\"launch\"");
            work.event.push_str(more);
        };
        launch(work, "X", from, "");
        self.write(&work.event, &[("ts", at), ("dur", 0)])?;
        let id = format!(",\"id\":{}", self.flow);
        launch(work, "s", from, &id);
        self.write(&work.event, &[("ts", at)])?;
        launch(work, "f", to, &(id + ",\"bp\":\"e\""));
        self.write(&work.event, &[("ts", piece.start_ns - self.start_ns)])
    }

    fn launcher(&mut self, work: &mut Work<'_>, by: Launcher) -> Result<u64, ConvertError> {
        match by {
            Launcher::Thread(number) => Ok(timeline::thread_id(work.process, number).into()),
            Launcher::Silent(os_tid) => {
                let tid = u64::from(os_tid);
                if work.titled.insert(tid) {
                    self.title("thread_name", tid, &format!("thread {os_tid}"))?;
                }
                Ok(tid)
            }
        }
    }
}

impl Work<'_> {
    fn begin_event(&mut self, phase: &str, pid: u32, tid: u64, categories: &[&str]) {
        let cat = categories.join(",");
        self.event = format!("{{\"ph\":\"{phase}\",\"cat\":\"{cat}\",\"pid\":{pid},\"tid\":{tid}");
    }

    fn push_title(&mut self, title: Title) -> Result<(), ConvertError> {
        if !self.titles.contains_key(&title) {
            let json = serde_json::to_string(&title.text(self.process))?;
            self.titles.insert(title, json);
        }
        self.event.push_str(",\"name\":");
        self.event.push_str(&self.titles[&title]);
        Ok(())
    }

    fn push_args(&mut self, piece: &Piece) -> Result<(), ConvertError> {
        let process = self.process;
        self.event.push_str(",\"args\":{");
        for (at, (key, arg)) in gpu::args(process, piece).into_iter().enumerate() {
            self.event.push_str(if at == 0 { "\"" } else { ",\"" });
            self.event.push_str(key.text());
            self.event.push_str("\":");
            self.push_arg(arg)?;
        }
        self.event.push('}');
        Ok(())
    }

    fn push_arg(&mut self, arg: Arg<'_>) -> Result<(), ConvertError> {
        match arg {
            Arg::Number(number) => self.event.push_str(&number.to_string()),
            Arg::Yes => self.event.push_str("true"),
            Arg::Id(id) => {
                let full = format!("\"{:016x}{:016x}\"", self.process.process, id.0);
                self.event.push_str(&full);
            }
            Arg::Text(text) => {
                if !self.texts.contains_key(text.as_ref()) {
                    self.texts.insert(text.to_string(), serde_json::to_string(&text)?);
                }
                self.event.push_str(&self.texts[text.as_ref()]);
            }
        }
        Ok(())
    }
}
