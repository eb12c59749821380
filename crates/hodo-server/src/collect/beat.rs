//! Signs of life of shippers.

use super::durable;
use super::refusal::Refusal;
use hodo_format::ship::{Part, SHIPPED_FILE};
use hodo_trace::Shipped;
use serde::Deserialize;
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Hosts of one run.
const MOST_HOSTS: usize = 4096;
/// Processes of one run on one host.
const MOST_PROCESSES: usize = 65_536;
/// What is kept of what the hosts of one run told.
const MOST_TOLD_BYTES: u64 = 8 << 20;
/// The longest name of a host.
const HOST_BYTES: usize = 255;

/// What a shipper tells.
#[derive(Debug, Deserialize)]
pub struct Beat {
    host: String,
    #[serde(default)]
    processes: Vec<Told>,
    #[serde(default)]
    done: bool,
}

#[derive(Debug, Deserialize)]
struct Told {
    part: String,
    live: bool,
}

impl Beat {
    /// Who tells it.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether it tells of a process that runs.
    pub fn tells_of_life(&self) -> bool {
        self.processes.iter().any(|told| told.live)
    }

    /// A beat as it is sent.
    pub fn parse(text: &[u8]) -> Result<Beat, Refusal> {
        let beat: Beat = serde_json::from_slice(text)
            .map_err(|error| Refusal::bad(format!("this is no beat: {error}")))?;
        let is_part = |told: &Told| {
            Part::parse(&told.part).is_some_and(|part| part.is_process() || part.is_machine())
        };
        match () {
            () if beat.host.is_empty() || beat.host.len() > HOST_BYTES => {
                Err(Refusal::bad(format!("`host` is a name of 1 to {HOST_BYTES} bytes")))
            }
            () if beat.processes.len() > MOST_PROCESSES => {
                Err(Refusal::bad(format!("a beat is of {MOST_PROCESSES} processes at most")))
            }
            () if !beat.processes.iter().all(is_part) => {
                Err(Refusal::bad("`part` is the name of a process's folder in the run"))
            }
            () => Ok(beat),
        }
    }
}

impl Beat {
    /// Keeps what was told of the run in `folder`, durably, by one at a time; `room` refuses what
    /// there is no room for. Returns the bytes of all that was told, before and after.
    pub fn keep(
        self,
        folder: &Path,
        room: impl FnOnce(u64) -> Result<(), Refusal>,
    ) -> Result<(u64, u64), Refusal> {
        let path = folder.join(SHIPPED_FILE);
        let (before, mut shipped) = told(&path)?;
        if shipped.hosts.len() >= MOST_HOSTS && !shipped.hosts.contains_key(&self.host) {
            return Err(Refusal::full(format!("a run has {MOST_HOSTS} hosts at most")));
        }
        shipped.format = Shipped::FORMAT;
        let mut is_news = !shipped.hosts.contains_key(&self.host);
        let host = shipped.hosts.entry(self.host).or_default();
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        (host.heard_ns, host.done) = (now.map_or(0, |now| now.as_nanos() as u64), self.done);
        for told in self.processes {
            is_news |= host.processes.insert(told.part, told.live).is_none();
        }
        let text = serde_json::to_vec(&shipped).map_err(io::Error::from)?;
        let after = text.len() as u64;
        if is_news && after > MOST_TOLD_BYTES {
            return Err(Refusal::full("a run has too many processes for one collector"));
        }
        // That a process has ended is heard in any case: only then may its run make room.
        if is_news {
            room(after.saturating_sub(before))?;
        }
        durable::replace(&path, &text)?;
        Ok((before, after))
    }

    /// That all of a host is shipped.
    #[cfg(test)]
    pub fn done(host: &str) -> Beat {
        Beat { host: host.to_owned(), processes: Vec::new(), done: true }
    }
}

/// What was told before, with its bytes; what cannot be read is not nothing.
fn told(path: &Path) -> io::Result<(u64, Shipped)> {
    match std::fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((0, Shipped::default())),
        Err(error) => Err(error),
        Ok(text) => {
            let shipped = serde_json::from_slice(&text).map_err(|error| {
                let words = format!("{} is damaged: {error}", path.display());
                io::Error::new(io::ErrorKind::InvalidData, words)
            })?;
            Ok((text.len() as u64, shipped))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::testing::Folder;

    fn beat(text: &str) -> Beat {
        Beat::parse(text.as_bytes()).unwrap_or_else(|refusal| panic!("{refusal:?}"))
    }

    #[test]
    fn hosts_tell_of_their_own_processes() -> Result<(), Refusal> {
        let folder = Folder::new();
        for told in [
            r#"{"host":"a","processes":[{"part":"p1-a","live":true}]}"#,
            r#"{"host":"b","processes":[{"part":"p2-b","live":true}]}"#,
            r#"{"host":"a","processes":[{"part":"p1-a","live":false}],"done":true}"#,
        ] {
            beat(told).keep(folder.path(), |_| Ok(()))?;
        }
        let shipped = Shipped::read(folder.path()).unwrap_or_default();
        assert!(shipped.hosts["a"].done && !shipped.hosts["b"].done);
        assert!(!shipped.hosts["a"].processes["p1-a"] && shipped.hosts["b"].processes["p2-b"]);
        assert!(shipped.is_live() && !shipped.is_done());
        Ok(())
    }

    #[test]
    fn who_has_no_room_may_still_say_that_it_has_ended() -> Result<(), Refusal> {
        let folder = Folder::new();
        let live = r#"{"host":"a","processes":[{"part":"p1-a","live":true}]}"#;
        let (before, after) = beat(live).keep(folder.path(), |_| Ok(()))?;
        assert!(before == 0 && after > 0);
        let full = |_| Err(Refusal::full("full"));
        let dead = live.replace("true", "false");
        assert_eq!(beat(&dead).keep(folder.path(), full)?.1, after + 1);
        let more = r#"{"host":"a","processes":[{"part":"p2-b","live":true}]}"#;
        assert!(beat(more).keep(folder.path(), full).is_err());
        assert!(beat(r#"{"host":"b"}"#).keep(folder.path(), full).is_err());
        assert!(!Shipped::read(folder.path()).unwrap_or_default().is_live());
        Ok(())
    }

    #[test]
    fn what_was_told_and_cannot_be_read_is_not_written_over() -> io::Result<()> {
        let folder = Folder::new();
        let path = folder.path().join(SHIPPED_FILE);
        std::fs::write(&path, r#"{"hosts":{"a"#)?;
        let refused = Beat::done("b").keep(folder.path(), |_| Ok(())).err();
        assert_eq!(refused.map(|refusal| refusal.status.as_u16()), Some(500));
        assert_eq!(std::fs::read_to_string(&path)?, r#"{"hosts":{"a"#);
        Ok(())
    }

    #[test]
    fn what_a_run_is_told_of_has_an_end() {
        let folder = Folder::new();
        let told = |host: usize| {
            let parts = (0..60_000).map(|n| format!(r#"{{"part":"p{n}-{host:x}","live":false}}"#));
            let parts = parts.collect::<Vec<_>>().join(",");
            beat(&format!(r#"{{"host":"h{host}","processes":[{parts}]}}"#))
        };
        let refused = (0..100).find_map(|host| told(host).keep(folder.path(), |_| Ok(())).err());
        assert!(refused.is_some_and(|refusal| refusal.status.as_u16() == 507));
        let bytes = folder.path().join(SHIPPED_FILE).metadata().map_or(0, |file| file.len());
        assert!(bytes > 0 && bytes <= MOST_TOLD_BYTES);
    }

    #[test]
    fn what_is_no_beat_is_refused() {
        let long = format!(r#"{{"host":"{}"}}"#, "a".repeat(256));
        let wrong = [
            "",
            "[]",
            "{}",
            r#"{"host":""}"#,
            &long,
            r#"{"host":"a","processes":[{"part":"../x","live":true}]}"#,
            r#"{"host":"a","processes":[{"part":"-","live":true}]}"#,
            r#"{"host":"a","processes":[{"part":"p1-a"}]}"#,
        ];
        for text in wrong {
            assert!(Beat::parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
