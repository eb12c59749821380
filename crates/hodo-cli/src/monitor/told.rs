//! What a monitor says while it works.

use super::target::Target;
use crate::absent;
use crate::output;
use crate::term::{number, text};
use hodo_machine::{Absent, Standing, Status};
use std::collections::VecDeque;
use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// How often it says how it goes, on a terminal.
const EVERY: Duration = Duration::from_secs(60);

/// Reasons that are remembered as said: some name what comes and goes.
const MOST_SAID: usize = 256;

/// How a monitor speaks.
#[derive(Clone, Copy, Debug)]
pub struct Voice {
    /// Into a log, where each line needs its time.
    pub is_log: bool,
    /// Only of what goes wrong.
    pub is_quiet: bool,
}

impl Voice {
    /// Says what those who want quiet need not know.
    pub fn say(self, words: &str) {
        if !self.is_quiet {
            self.warn(words);
        }
    }

    /// Says it in any case.
    pub fn warn(self, words: &str) {
        output::note(&self.line(words, SystemTime::now()));
    }

    fn line(self, words: &str, now: SystemTime) -> String {
        let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let ns = i64::try_from(since.as_nanos()).unwrap_or(i64::MAX);
        match self.is_log {
            true => format!("{} UTC hodo monitor: {words}", number::when(ns)),
            false => format!("hodo monitor: {words}"),
        }
    }
}

/// Says what is new.
pub struct Teller {
    folder: PathBuf,
    interval: Duration,
    voice: Voice,
    began: Instant,
    said: Option<Instant>,
    standing: Standing,
    /// The reasons that were said last.
    absent: VecDeque<String>,
    trouble: String,
}

impl Teller {
    /// Says what is sampled and where; the run's folder goes to standard output.
    pub fn new(
        target: &Target,
        interval: Duration,
        prometheus: Option<SocketAddr>,
        voice: Voice,
    ) -> Teller {
        let teller = Teller {
            folder: target.machine.clone(),
            interval,
            voice,
            began: Instant::now(),
            said: None,
            standing: Standing::Starting,
            absent: VecDeque::new(),
            trouble: String::new(),
        };
        let run = text::safe(&target.run.display().to_string());
        // Nobody may be there to read it.
        let _ = writeln!(std::io::stdout(), "{run}");
        let own = if target.is_own { "a run of its own" } else { "the run above" };
        let every = number::duration(interval.as_nanos() as f64);
        voice.say(&format!("reads this machine every {every} into {own}"));
        if let Some(address) = prometheus {
            voice.say(&format!("answers Prometheus at http://{address}/metrics"));
        }
        teller
    }

    /// Says what changed, and now and then how it goes.
    pub fn look(&mut self, status: &Status) {
        self.tell_absent(status);
        self.tell_trouble(&status.kept.trouble);
        if status.standing != self.standing {
            self.tell_standing(&status.standing);
            self.standing = status.standing.clone();
        }
        let due = self.said.unwrap_or(self.began).elapsed() >= EVERY;
        if due && std::io::stderr().is_terminal() {
            self.said = Some(Instant::now());
            self.voice.say(&self.summary(status));
        }
    }

    fn tell_absent(&mut self, status: &Status) {
        let key = |absent: &Absent| format!("{}: {}", absent.part, absent.why);
        let new: Vec<&Absent> =
            status.absent.iter().filter(|one| !self.absent.contains(&key(one))).collect();
        for words in absent::lines(new.iter().copied()) {
            self.voice.say(&format!("without {words}"));
        }
        self.absent.extend(new.into_iter().map(key));
        while self.absent.len() > MOST_SAID {
            self.absent.pop_front();
        }
    }

    /// A full disk is said also to those who want quiet, and that it is one no more.
    fn tell_trouble(&mut self, trouble: &str) {
        if trouble != self.trouble {
            self.voice.warn(&match trouble {
                "" => "writes again what has waited".to_owned(),
                why => format!("{why}; readings wait in memory, and it is tried again"),
            });
            trouble.clone_into(&mut self.trouble);
        }
    }

    fn tell_standing(&self, standing: &Standing) {
        match standing {
            Standing::Linked(holder) => self.voice.say(&format!(
                "pid {} ({}) reads this host for the run already; waits to take over",
                holder.pid, holder.kind
            )),
            Standing::Sampling if self.standing != Standing::Starting => {
                self.voice.say("has taken over: reads and writes");
            }
            // What goes wrong is said also to those who want quiet.
            Standing::Failed(why) => self
                .voice
                .warn(&format!("nothing is written: {why}; it is tried again every second")),
            _ => {}
        }
    }

    /// Says how it went.
    pub fn end(&mut self, status: &Status) {
        self.look(status);
        self.voice.say(&self.summary(status));
    }

    fn summary(&self, status: &Status) -> String {
        let lasted = self.began.elapsed().as_nanos() as f64;
        let mut parts = vec![
            text::plural(status.cost.rounds, "round"),
            format!("{} on disk", number::bytes(bytes(&self.folder))),
            format!("{} of a processor", number::percent(status.cost.cpu_ns as f64 / lasted)),
        ];
        if status.cost.late > 0 {
            let every = number::duration(self.interval.as_nanos() as f64);
            parts.push(format!(
                "{} left out, the machine was too busy for one every {every}",
                number::count(status.cost.late)
            ));
        }
        if status.kept.lost_rows > 0 {
            parts.push(format!("{} lost", text::plural(status.kept.lost_rows, "row")));
        }
        if status.kept.removed_blocks > 0 {
            let blocks = text::plural(status.kept.removed_blocks, "old block");
            parts.push(format!("{blocks} removed to stay under the cap"));
        }
        parts.join(", ")
    }
}

/// Bytes of the files of readings, whoever wrote them.
fn bytes(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let is_samples = |path: &Path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("samples"))
    };
    let files = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|p| is_samples(p));
    files.filter_map(|path| Some(path.metadata().ok()?.len())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_log_have_their_time() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_794_773_700);
        let log = Voice { is_log: true, is_quiet: false };
        assert_eq!(log.line("works", now), "2026-11-15 20:15:00 UTC hodo monitor: works");
        let terminal = Voice { is_log: false, ..log };
        assert_eq!(terminal.line("works", now), "hodo monitor: works");
    }
}
