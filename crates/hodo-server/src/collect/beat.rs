//! Signs of life of shippers.

use super::durable;
use super::refusal::Refusal;
use hodo_format::ship::{Part, SHIPPED_FILE};
use hodo_trace::Shipped;
use serde::Deserialize;
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Hosts of one run.
const MOST_HOSTS: usize = 4096;
/// Processes of one run on one host.
const MOST_PROCESSES: usize = 65_536;
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

/// What was told of each run, one writer for each at a time.
#[derive(Default)]
pub struct Beats(Mutex<HashMap<String, Arc<Mutex<()>>>>);

impl Beats {
    /// Keeps what a shipper told of a run, durably.
    pub fn take(&self, run: &str, folder: &Path, beat: Beat) -> io::Result<()> {
        let turn = {
            let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            turns.entry(run.to_owned()).or_default().clone()
        };
        let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut shipped = Shipped::read(folder).unwrap_or_default();
        if shipped.hosts.len() >= MOST_HOSTS && !shipped.hosts.contains_key(&beat.host) {
            let words = format!("a run has {MOST_HOSTS} hosts at most");
            return Err(io::Error::new(io::ErrorKind::QuotaExceeded, words));
        }
        shipped.format = Shipped::FORMAT;
        let host = shipped.hosts.entry(beat.host).or_default();
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        (host.heard_ns, host.done) = (now.map_or(0, |now| now.as_nanos() as u64), beat.done);
        host.processes.extend(beat.processes.into_iter().map(|told| (told.part, told.live)));
        durable::make_folder(folder)?;
        durable::replace(&folder.join(SHIPPED_FILE), &serde_json::to_vec(&shipped)?)
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
    fn hosts_tell_of_their_own_processes() -> io::Result<()> {
        let (folder, beats) = (Folder::new(), Beats::default());
        let run = folder.path().join("run");
        beats.take(
            "run",
            &run,
            beat(r#"{"host":"a","processes":[{"part":"p1-a","live":true}]}"#),
        )?;
        beats.take(
            "run",
            &run,
            beat(r#"{"host":"b","processes":[{"part":"p2-b","live":true}]}"#),
        )?;
        beats.take(
            "run",
            &run,
            beat(r#"{"host":"a","processes":[{"part":"p1-a","live":false}],"done":true}"#),
        )?;
        let shipped = Shipped::read(&run).unwrap_or_default();
        assert!(shipped.hosts["a"].done && !shipped.hosts["b"].done);
        assert!(!shipped.hosts["a"].processes["p1-a"] && shipped.hosts["b"].processes["p2-b"]);
        assert!(shipped.is_live() && !shipped.is_done());
        Ok(())
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
